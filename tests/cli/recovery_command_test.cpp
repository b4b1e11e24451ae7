// A database whose process died, from the command line: verify, query, checkpoint.

#include <csignal>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dispatcher/database.h"
#include "tests/cli/program_run.h"
#include "workloads/tpcc/procedures.h"
#include "workloads/tpcc/rows.h"
#include "workloads/tpcc/schema.h"

namespace diptych::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class CrashedProgram : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(run({"init", bank_, "--schema", DIPTYCH_SOURCE_DIR "/examples/bank/schema.sql"}).code,
              0);
  }

  // Two accounts, and the process is gone.
  void crash() const {
    const pid_t child = ::fork();
    if (child == 0) {
      auto database = *dispatcher::Database::open({.path = bank_});
      if (!database->load_procedures(DIPTYCH_BANK)) ::_exit(1);
      for (const int64_t id : {1, 2}) {
        const base::Value arguments[] = {id, int64_t{7}, std::string("Ada"), std::string("10.00")};
        if (!database->call_by_name("open_account", arguments)) ::_exit(1);
      }
      ::kill(::getpid(), SIGKILL);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
  }

  std::string log_file() const {
    for (const auto& entry : std::filesystem::directory_iterator(bank_)) {
      if (entry.path().extension() == ".dtl") return entry.path().string();
    }
    return {};
  }

  ScratchFolder folder_;
  const std::string bank_ = folder_.path("bank");
};

TEST_F(CrashedProgram, VerifySaysWhatIsToBeReplayedAndQueryWhatIsMissing) {
  crash();
  const Outcome verified = run({"verify", bank_});
  EXPECT_EQ(verified.code, 0) << verified.err;
  EXPECT_THAT(verified.out, AllOf(HasSubstr("saved: version 0, "), HasSubstr(" 0 damaged"),
                                  HasSubstr("log: 2 transactions to replay, up to version 2"),
                                  HasSubstr("\nlog: needs procedure \"open_account\", version 0, "
                                            "for 2 calls\n")));
  const Outcome inspected = run({"inspect", bank_});
  EXPECT_EQ(inspected.code, 0) << inspected.err;
  EXPECT_THAT(inspected.out, HasSubstr("log: 2 transactions not replayed"));
  EXPECT_THAT(run({"inspect", bank_, "--json", "-"}).out, HasSubstr("\"logged_transactions\": 2"));
  const Outcome queried = run({"query", bank_, "-c", "SELECT count(*) FROM account"});
  EXPECT_EQ(queried.code, 1);
  EXPECT_THAT(queried.err, AllOf(HasSubstr("2 transactions"), HasSubstr("\"open_account\"")));
  EXPECT_EQ(run({"checkpoint", bank_}).code, 1);
}

TEST_F(CrashedProgram, CheckpointReplaysAndSaves) {
  crash();
  const Outcome saved = run({"checkpoint", bank_, "--procedures", DIPTYCH_BANK});
  EXPECT_EQ(saved.code, 0) << saved.err;
  EXPECT_EQ(saved.out, bank_ + " is saved as of version 2; 2 transactions replayed\n");
  EXPECT_EQ(log_file(), "");
  const Outcome again = run({"checkpoint", bank_});
  EXPECT_EQ(again.out, bank_ + " is saved as of version 2; 0 transactions replayed\n");
  const Outcome queried =
      run({"query", bank_, "--format", "csv", "-c", "SELECT sum(balance) FROM account"});
  EXPECT_THAT(queried.out, HasSubstr("20.00"));
  EXPECT_THAT(run({"verify", bank_}).out, HasSubstr("log: nothing to replay"));
}

TEST_F(CrashedProgram, ACallReplaysWhatItsLibraryHas) {
  crash();
  const Outcome called = run({"call", bank_, "--procedures", DIPTYCH_BANK, "transfer", "1", "2",
                              "3.00", "--format", "csv"});
  EXPECT_EQ(called.code, 0) << called.err;
  EXPECT_EQ(called.out, "left\n7.00\n");
}

TEST_F(CrashedProgram, BackupAndRestoreAsOfAVersion) {
  crash();
  const std::string backup = folder_.path("backup");
  const Outcome backed_up = run({"backup", bank_, backup});
  EXPECT_EQ(backed_up.code, 0) << backed_up.err;
  EXPECT_THAT(backed_up.out,
              HasSubstr(bank_ + " is backed up to " + backup + ": versions 0 to 2, "));
  const Outcome verified = run({"verify", backup});
  EXPECT_EQ(verified.code, 0) << verified.err;
  EXPECT_THAT(verified.out, HasSubstr("backup: can be restored as of versions 0 to 2\n"));
  for (const uint64_t vid : {0U, 1U, 2U}) {
    const std::string restored = folder_.path("restored" + std::to_string(vid));
    const Outcome made = run({"restore", backup, restored, "--vid", std::to_string(vid)});
    EXPECT_EQ(made.code, 0) << made.err;
    EXPECT_THAT(made.out,
                HasSubstr(restored + " is restored as of version " + std::to_string(vid)));
    EXPECT_EQ(made.out.find("procedures: open_account") != std::string::npos, vid != 0);
    ASSERT_EQ(run({"checkpoint", restored, "--procedures", DIPTYCH_BANK}).code, 0);
    const Outcome queried =
        run({"query", restored, "--format", "csv", "-c", "SELECT count(*) FROM account"});
    EXPECT_THAT(queried.out, HasSubstr("\n" + std::to_string(vid) + "\n"));
  }
  const Outcome refused = run({"restore", backup, folder_.path("other"), "--vid", "3"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("it has versions 0 to 2"));
  EXPECT_EQ(run({"restore", backup, folder_.path("restored0")}).code, 1);
  EXPECT_EQ(run({"backup", bank_, backup}).code, 1);
  EXPECT_EQ(run({"backup", bank_, folder_.path("nowhere/backup")}).code, 2);
  EXPECT_EQ(run({"restore", backup, folder_.path("nowhere/other")}).code, 2);
  EXPECT_EQ(run({"restore", backup, folder_.path("other"), "--vid", "x"}).code, 2);
  EXPECT_EQ(run({"query", backup, "-c", "SELECT 1"}).code, 1);
  const Outcome within = run({"restore", backup, backup + "/in"});
  EXPECT_EQ(within.code, 1);
  EXPECT_THAT(within.err, HasSubstr("lies in the backup's own directory"));
  std::filesystem::remove(backup + "/backup.json");
  EXPECT_THAT(run({"restore", backup, folder_.path("other")}).err,
              HasSubstr("a backup whose backup.json is missing"));
  std::ofstream(backup + "/backup.incomplete").close();
  const Outcome again = run({"backup", bank_, backup});
  EXPECT_EQ(again.code, 1);
  EXPECT_THAT(again.err, AllOf(HasSubstr("has an incomplete backup"), HasSubstr("remove")));
  const Outcome incomplete = run({"verify", backup});
  EXPECT_EQ(incomplete.code, 1);
  EXPECT_THAT(incomplete.err, HasSubstr("was interrupted"));
}

TEST_F(CrashedProgram, AnInterruptedRestoreIsToldToTheNextOne) {
  const std::string backup = folder_.path("backup");
  ASSERT_EQ(run({"backup", bank_, backup}).code, 0);
  const std::string other = folder_.path("other");
  std::filesystem::create_directory(other);
  std::ofstream(other + "/blocks.dtb").close();
  std::ofstream(other + "/restore.incomplete").close();
  const Outcome again = run({"restore", backup, other});
  EXPECT_EQ(again.code, 1);
  EXPECT_THAT(again.err, AllOf(HasSubstr("has an incomplete restored database"),
                               HasSubstr("restore.incomplete"), HasSubstr("remove")));
}

// Who tried again would meet what was done.
TEST_F(CrashedProgram, AMessageThatCannotBeWrittenIsNoWorkThatWasNotDone) {
  const std::string backup = folder_.path("backup");
  const std::vector<std::vector<std::string>> commands = {
      {"ddl", bank_, "-c", "CREATE TABLE more (a INT PRIMARY KEY)"},
      {"load", bank_, "more", folder_.file("more.csv", "a\n1\n")},
      {"checkpoint", bank_},
      {"backup", bank_, backup},
      {"restore", backup, folder_.path("other")}};
  for (const auto& command : commands) {
    const Outcome outcome = run(command, {.output_path = "/dev/full"});
    EXPECT_EQ(outcome.code, 1) << command[0];
    EXPECT_THAT(outcome.err, HasSubstr("this was done; only the message could not be written"));
  }
  EXPECT_EQ(
      run({"query", folder_.path("other"), "--format", "csv", "-c", "SELECT a FROM more"}).out,
      "a\n1\n");
}

TEST_F(CrashedProgram, DamageOfTheLogIsNamedAndExitsWithOne) {
  crash();
  const std::string file = log_file();
  std::fstream stream(file, std::ios::binary | std::ios::in | std::ios::out);
  stream.seekp(100);
  stream.put('x');
  stream.close();
  const Outcome verified = run({"verify", bank_});
  EXPECT_EQ(verified.code, 1);
  EXPECT_THAT(verified.err, HasSubstr(file + ": byte 0"));
  const Outcome inspected = run({"inspect", bank_});
  EXPECT_EQ(inspected.code, 1);
  EXPECT_THAT(inspected.err, HasSubstr(file + ": byte 0"));
}

TEST_F(CrashedProgram, VerifyListsAFileThatWasNeverBegunAndNoDamagedOneAsSuch) {
  crash();
  const std::string next = bank_ + "/log-0000000002.dtl";
  std::ofstream(next, std::ios::binary) << std::string(8192, '\0');
  const Outcome verified = run({"verify", bank_});
  EXPECT_EQ(verified.code, 0) << verified.err;
  EXPECT_THAT(verified.out, AllOf(HasSubstr("log: 2 transactions to replay"),
                                  HasSubstr("log: " + next +
                                            " was made ready and never begun; it will be "
                                            "removed\n")));
  std::ofstream(next, std::ios::binary) << std::string(8192, 'x');
  const Outcome damaged = run({"verify", bank_});
  EXPECT_EQ(damaged.code, 1);
  EXPECT_THAT(damaged.err, HasSubstr(next + ": byte 0"));
}

TEST_F(CrashedProgram, VerifySaysThatBlocksHaveNoManifest) {
  crash();
  ASSERT_EQ(run({"checkpoint", bank_, "--procedures", DIPTYCH_BANK}).code, 0);
  std::filesystem::remove(bank_ + "/manifest.json");
  for (const char* const command : {"verify", "inspect"}) {
    const Outcome outcome = run({command, bank_});
    EXPECT_EQ(outcome.code, 1) << command;
    EXPECT_THAT(outcome.err, HasSubstr("holds blocks but no manifest")) << command;
  }
}

// TPC-C with one customer, who has paid twice, and the process is gone.
class CrashedTpcc : public testing::TestWithParam<workloads::SizePolicy> {
 protected:
  template <class Row>
  static bool load(dispatcher::Database* database, const dispatcher::TableRef<Row>& table,
                   const Row& row) {
    bool given = false;
    return database
        ->load(table.table,
               [&]() -> dispatcher::RowBatch {
                 if (std::exchange(given, true)) return {};
                 return {reinterpret_cast<const std::byte*>(&row), 1};
               })
        .ok();
  }

  bool pay_twice() const {
    namespace tpcc = workloads::tpcc;
    auto database = *dispatcher::Database::open({.path = path_});
    auto tables = tpcc::create_tables(database.get());
    if (!tables) return false;
    auto procedures = tpcc::register_procedures(database.get(), *tables, GetParam());
    if (!procedures) return false;
    tpcc::Warehouse warehouse{};
    warehouse.w_id = 1;
    tpcc::District district{};
    district.d_w_id = district.d_id = 1;
    tpcc::Customer customer{};
    customer.c_w_id = customer.c_d_id = customer.c_id = 1;
    customer.c_credit = std::string_view("GC");
    if (!load(database.get(), tables->warehouse, warehouse) ||
        !load(database.get(), tables->district, district) ||
        !load(database.get(), tables->customer, customer)) {
      return false;
    }
    tpcc::PaymentArguments paid{};
    paid.w_id = paid.d_id = paid.c_w_id = paid.c_d_id = paid.c_id = 1;
    paid.h_amount.units = 500;
    for (int i = 0; i < 2; ++i) {
      if (!database->call(procedures->payment, paid).get()) return false;
    }
    ::kill(::getpid(), SIGKILL);
    return true;
  }

  ScratchFolder folder_;
  const std::string path_ = folder_.path("tpcc");
};

TEST_P(CrashedTpcc, QueryReplaysItsLogWithTheProgramsOwnProcedures) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(pay_twice() ? 0 : 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  const Outcome queried = run({"query", path_, "--format", "csv", "-c",
                               "SELECT w_ytd, (SELECT count(*) FROM history) FROM warehouse"});
  EXPECT_EQ(queried.code, 0) << queried.err;
  // With constant size each payment takes the customer's previous one away.
  const bool grows = GetParam() == workloads::SizePolicy::kGrowing;
  EXPECT_THAT(queried.out, HasSubstr(grows ? "10.00,2" : "10.00,1"));
  EXPECT_EQ(run({"checkpoint", path_}).code, 0);
}

INSTANTIATE_TEST_SUITE_P(Sizes, CrashedTpcc,
                         testing::Values(workloads::SizePolicy::kGrowing,
                                         workloads::SizePolicy::kConstant));

}  // namespace
}  // namespace diptych::cli
