// What an operator is told of the log that a process left.

#include "dispatcher/log_inspection.h"

#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/dispatcher/bank_fixture.h"

namespace diptych::dispatcher {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class LogInspectionTest : public DirectoryFixture {
 protected:
  std::vector<std::string> to_replay() const {
    const auto log = inspect_log(path());
    EXPECT_TRUE(log.ok());
    std::vector<std::string> lines;
    for (const ProcedureToReplay& one : log->procedures) {
      lines.push_back(fmt::format("{} {}: {}", one.name, one.version, one.calls));
    }
    return lines;
  }
};

TEST_F(LogInspectionTest, NamesTheProceduresThatAReplayNeedsAndCountsTheirCalls) {
  for (const LogMode mode : {LogMode::kCommand, LogMode::kPhysical}) {
    Bank::open({.path = path()})->fill(3);
    auto bank = Bank::open({.path = path(), .log = mode});
    const auto touch = *bank->database->register_procedure<AccountArguments, oltp::Nothing>(
        "a_touch",
        [index = bank->by_id](Transaction& txn,
                              const AccountArguments& arguments) -> base::Result<oltp::Nothing> {
          auto row = txn.get_for_update<&Account::version>(index, arguments.id);
          if (!row) return row.error();
          txn.update(*row, set<&Account::version>(row->values + 2));
          return oltp::Nothing{};
        },
        {.version = 7});
    const auto call = [&](const auto& procedure, int times) {
      for (int i = 0; i < times; ++i) {
        ASSERT_TRUE(bank->database->call(procedure, {.id = 1, .balance = {}}).get().ok());
      }
    };
    call(touch, 5);
    ASSERT_TRUE(bank->database->save().ok());  // which has these
    call(bank->bump, 2);
    call(touch, 3);
    static_cast<void>(bank->database->discard());
    if (mode == LogMode::kCommand) {
      EXPECT_THAT(to_replay(), ElementsAre("a_touch 7: 3", "bump 0: 2"));
    } else {
      EXPECT_THAT(to_replay(), IsEmpty());
    }
    std::filesystem::remove_all(path());
  }
}

}  // namespace
}  // namespace diptych::dispatcher
