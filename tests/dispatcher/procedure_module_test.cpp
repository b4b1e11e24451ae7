// Libraries of procedures: what is loaded, what is replaced, and what is refused with which words.

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include "dispatcher/module_file.h"
#include "dispatcher/module_library.h"
#include "dispatcher/module_registry.h"
#include "storage/manifest.h"
#include "tests/dispatcher/bank_fixture.h"

namespace diptych::dispatcher {
namespace {

using base::ErrorCode;
using base::Value;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

// Copies of the module that are mapped now.
size_t mapped_copies() {
  std::ifstream maps("/proc/self/maps");
  size_t copies = 0;
  for (std::string line; std::getline(maps, line);) {
    if (line.find("memfd:diptych-procedures") != std::string::npos &&
        line.find(" 00000000 ") != std::string::npos) {
      ++copies;
    }
  }
  return copies;
}

class Modules : public DirectoryFixture {
 protected:
  ~Modules() override { ::unsetenv("DIPTYCH_TEST_VARIANT"); }

  Database& database() { return *bank_->database; }

  base::Result<LoadedProcedures> load(const std::string& variant = "first") {
    ::setenv("DIPTYCH_TEST_VARIANT", variant.c_str(), 1);
    return database().load_procedures(DIPTYCH_MODULE_VARIANTS);
  }
  base::Result<LoadedProcedures> load_bytes(const std::string& bytes) {
    const std::string file = path("changed.so");
    std::ofstream(file, std::ios::binary) << bytes;
    return database().load_procedures(file);
  }
  // The module with one text in it changed.
  static std::string module_with(const std::string& text, const std::string& instead) {
    std::string bytes = bytes_of(DIPTYCH_MODULE_VARIANTS);
    const size_t at = bytes.find(text);
    EXPECT_NE(at, std::string::npos) << text;
    return bytes.replace(at, instead.size(), instead);
  }
  base::Result<int64_t> call(const std::string& procedure, int64_t number) {
    const Value arguments[] = {number};
    auto reply = database().call_by_name(procedure, arguments);
    if (!reply) return reply.error();
    return std::get<int64_t>(reply->at(0));
  }
  void expect_refused(const base::Result<LoadedProcedures>& loaded, ErrorCode code,
                      const std::string& why) {
    ASSERT_FALSE(loaded.ok());
    EXPECT_EQ(loaded.code(), code) << loaded.error().to_string();
    EXPECT_THAT(loaded.error().message, HasSubstr(why));
  }

  std::unique_ptr<Bank> bank_ = Bank::open({});
};

TEST_F(Modules, ALoadedProcedureIsCalledByNameAndByRef) {
  const auto loaded = load();
  ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
  EXPECT_EQ(loaded->module, "variants");
  EXPECT_THAT(loaded->defined, ElementsAre("plus", "minus"));
  EXPECT_THAT(loaded->replaced, IsEmpty());
  EXPECT_EQ(*call("plus", 41), 42);
  EXPECT_EQ(*call("minus", 41), 40);
  const auto procedures = database().procedures();
  ASSERT_TRUE(procedures.ok());
  ASSERT_EQ(procedures->size(), 5u);
  EXPECT_EQ(procedures->at(0).name, "open_account");
  EXPECT_EQ(procedures->at(0).module, "");
  EXPECT_EQ(procedures->at(3).name, "plus");
  EXPECT_EQ(procedures->at(3).module, "variants");
  EXPECT_TRUE(procedures->at(3).by_name);
  EXPECT_EQ(procedures->at(3).arguments.at(0).name, "number");
}

TEST_F(Modules, LoadedAgainItReplacesAndWhatItLacksIsNoMore) {
  ASSERT_TRUE(load().ok());
  const auto second = load("second");
  ASSERT_TRUE(second.ok()) << second.error().to_string();
  EXPECT_THAT(second->replaced, ElementsAre("plus"));
  EXPECT_THAT(second->removed, ElementsAre("minus"));
  EXPECT_EQ(*call("plus", 40), 42);
  const auto gone = call("minus", 41);
  EXPECT_EQ(gone.code(), ErrorCode::kNotFound);
  EXPECT_THAT(gone.error().message, AllOf(HasSubstr("\"minus\""), HasSubstr("\"variants\"")));
  EXPECT_EQ(database().procedures()->size(), 4u);
  ASSERT_TRUE(load().ok());
  EXPECT_EQ(*call("plus", 41), 42);
  EXPECT_EQ(*call("minus", 41), 40);
}

TEST_F(Modules, WhatAModuleHasNoMoreAnotherOneMayDefine) {
  ASSERT_TRUE(load().ok());
  const std::string other = module_with(std::string("variants\0", 9), "varietys");
  ::setenv("DIPTYCH_TEST_VARIANT", "minus alone", 1);
  expect_refused(load_bytes(other), ErrorCode::kAlreadyExists,
                 "procedure \"minus\" is module \"variants\"'s already");
  ASSERT_TRUE(load("second").ok());
  ::setenv("DIPTYCH_TEST_VARIANT", "minus alone", 1);
  const auto moved = load_bytes(other);
  ASSERT_TRUE(moved.ok()) << moved.error().to_string();
  EXPECT_EQ(*call("minus", 42), 40);
  EXPECT_EQ(database().procedures()->back().module, "varietys");
  expect_refused(load(), ErrorCode::kAlreadyExists,
                 "procedure \"minus\" is module \"varietys\"'s already");
  ASSERT_TRUE(load("second").ok());
  EXPECT_EQ(*call("minus", 42), 40);
}

TEST_F(Modules, AReplacedLibraryIsClosed) {
  ASSERT_EQ(mapped_copies(), 0u);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(load().ok());
  EXPECT_EQ(mapped_copies(), 1u);
  EXPECT_FALSE(load("throws").ok());
  EXPECT_FALSE(load("own name").ok());
  EXPECT_EQ(mapped_copies(), 1u);
  bank_.reset();
  EXPECT_EQ(mapped_copies(), 0u);
}

TEST_F(Modules, TheFileMayBeOverwrittenAndRemovedWhileItIsInUse) {
  const std::string file = path("module.so");
  const std::string bytes = bytes_of(DIPTYCH_MODULE_VARIANTS);
  ::setenv("DIPTYCH_TEST_VARIANT", "first", 1);
  std::ofstream(file, std::ios::binary) << bytes;
  ASSERT_TRUE(database().load_procedures(file).ok());
  std::ofstream(file, std::ios::binary) << std::string(bytes.size(), 'x');
  EXPECT_EQ(*call("plus", 41), 42);
  expect_refused(database().load_procedures(file), ErrorCode::kInvalidArgument,
                 "not a shared library");
  std::filesystem::remove(file);
  EXPECT_EQ(*call("plus", 41), 42);
}

TEST_F(Modules, AFileThatIsNoModuleIsRefusedInWords) {
  expect_refused(database().load_procedures(path("absent.so")), ErrorCode::kNotFound,
                 "absent.so: it cannot be opened: No such file or directory");
  expect_refused(database().load_procedures(directory_), ErrorCode::kInvalidArgument,
                 "it is not a regular file");
  expect_refused(load_bytes("#!/bin/sh\n"), ErrorCode::kInvalidArgument,
                 "it is not a shared library");
  expect_refused(load_bytes(""), ErrorCode::kInvalidArgument, "it is not a shared library");
  expect_refused(load_bytes(module_with("diptych_procedure_module", "diptych_procedure_modest")),
                 ErrorCode::kInvalidArgument, "has no symbol diptych_procedure_module");
  expect_refused(database().load_procedures(DIPTYCH_UNDEFINED_SYMBOL), ErrorCode::kInvalidArgument,
                 "undefined symbol: diptych::oltp::gone_since_the_last_version(int)");
  expect_refused(database().load_procedures(DIPTYCH_NO_DEFINITION), ErrorCode::kInvalidArgument,
                 "it has no function that defines its procedures");
}

TEST_F(Modules, AnyTruncationIsAnErrorAndNoCrash) {
  const std::string bytes = bytes_of(DIPTYCH_MODULE_VARIANTS);
  for (size_t length = 0; length < bytes.size(); length += 1 + length / 64) {
    EXPECT_FALSE(check_module_file(std::string_view(bytes).substr(0, length)).ok()) << length;
  }
  // Every byte of the headers turned over: no crash, whatever is said.
  std::string damaged = bytes;
  for (size_t at = 0; at < 1'024; ++at) {
    damaged[at] = static_cast<char>(~damaged[at]);
    static_cast<void>(check_module_file(damaged).ok());
    damaged[at] = bytes[at];
  }
  EXPECT_TRUE(check_module_file(bytes).ok());
}

TEST_F(Modules, AnotherVersionOrLayoutIsRefusedBeforeItsCodeRuns) {
  const std::string magic(kProcedureModuleMagic, sizeof kProcedureModuleMagic);
  const std::string newer = magic + std::string("\x07\0\0\0", 4);
  expect_refused(load_bytes(module_with(magic, newer)), ErrorCode::kUnsupported,
                 "version 7 of the procedure interface, this program has version 5");
  static_assert(kProcedureInterface == 5, "as the module's bytes below say");
  const std::string head = magic + std::string("\x05\0\0\0\x80\0\0\0", 8);
  expect_refused(load_bytes(module_with(head, head + "!")), ErrorCode::kUnsupported,
                 "headers of another layout");
  expect_refused(load_bytes(module_with("libstdc++,", "libc++...,")), ErrorCode::kUnsupported,
                 "another C++ library (libc++...,");
  expect_refused(load_bytes(module_with(magic, "DIPTYCH")), ErrorCode::kInvalidArgument,
                 "is not what procedure_module() gives");
}

#ifdef DIPTYCH_OWN_CXX_LIBRARY
TEST_F(Modules, ACxxLibraryOfItsOwnIsRefused) {
  expect_refused(database().load_procedures(DIPTYCH_OWN_CXX_LIBRARY), ErrorCode::kUnsupported,
                 "it has a C++ library of its own: link it without -static-libstdc++");
}
#endif

TEST_F(Modules, ASymbolThatOutlivesItsLibraryIsRefused) {
  std::string bytes = bytes_of(DIPTYCH_MODULE_VARIANTS);
  // The entry itself made unique: it is the one object that the library shows.
  size_t changed = 0;
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  for (size_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, bytes.data() + header.e_shoff + i * sizeof section, sizeof section);
    if (section.sh_type != SHT_DYNSYM) continue;
    for (size_t at = section.sh_offset; at < section.sh_offset + section.sh_size;
         at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      std::memcpy(&symbol, bytes.data() + at, sizeof symbol);
      if (symbol.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT) continue;
      symbol.st_info = ELF64_ST_INFO(STB_GNU_UNIQUE, STT_OBJECT);
      std::memcpy(bytes.data() + at, &symbol, sizeof symbol);
      ++changed;
    }
  }
  ASSERT_EQ(changed, 1u);
  expect_refused(load_bytes(bytes), ErrorCode::kInvalidArgument, "-fno-gnu-unique");
}

TEST_F(Modules, AModulesOwnErrorIsTheLoads) {
  expect_refused(load("throws"), ErrorCode::kAborted, "no disk in the drive");
  expect_refused(load("throws a number"), ErrorCode::kAborted, "no std::exception");
  expect_refused(load("unknown table"), ErrorCode::kNotFound, "no table \"acount\"");
  expect_refused(load("unknown index"), ErrorCode::kNotFound, "no index \"account_by_name\"");
  expect_refused(load("unknown column"), ErrorCode::kInvalidArgument, "credit");
  expect_refused(load("throws"), ErrorCode::kAborted, "module \"variants\"");
  EXPECT_EQ(database().procedures()->size(), 3u);
}

TEST_F(Modules, ANameThatIsTakenOrDefinedTwiceFailsTheWholeLoad) {
  expect_refused(load("own name"), ErrorCode::kAlreadyExists,
                 "procedure \"transfer\" is the program's own already");
  EXPECT_EQ(call("new", 1).code(), ErrorCode::kNotFound);
  expect_refused(load("twice"), ErrorCode::kAlreadyExists, "procedure \"plus\" is defined twice");
  EXPECT_EQ(call("plus", 1).code(), ErrorCode::kNotFound);
  ASSERT_TRUE(load().ok());
  ::setenv("DIPTYCH_TEST_VARIANT", "second", 1);
  const std::string name("variants\0", 9);
  expect_refused(load_bytes(module_with(name, "varietys")), ErrorCode::kAlreadyExists,
                 "procedure \"plus\" is module \"variants\"'s already");
  EXPECT_EQ(*call("plus", 41), 42);
  const auto own = database().register_procedure<AccountArguments, Nothing>(
      "plus",
      [](Transaction&, const AccountArguments&) -> base::Result<Nothing> { return Nothing{}; });
  EXPECT_EQ(own.code(), ErrorCode::kAlreadyExists);
}

TEST_F(Modules, ChangedArgumentsAreRefusedAndNothingIsReplaced) {
  ASSERT_TRUE(load().ok());
  expect_refused(load("signature"), ErrorCode::kInvalidArgument,
                 "arguments with \"figure BIGINT NOT NULL\" at byte 0 instead of \"number BIGINT");
  EXPECT_EQ(*call("plus", 41), 42);
  EXPECT_EQ(*call("minus", 41), 40);
}

// The account that a library's "step" changes, in a database that a crash leaves a log of.
class ModulesAndLog : public Modules {
 protected:
  ModulesAndLog() { Bank::open({.path = path()})->fill(1); }

  void open(const std::string& variant, const DatabaseOptions& with) {
    bank_.reset();
    bank_ = Bank::open(with);
    const auto loaded = load(variant);
    ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
  }
  base::Result<int64_t> account_version() { return bank_->number("SELECT version FROM account"); }

  // The program's own; it takes the time.
  ProcedureRef<AccountArguments, oltp::Nothing> define_pause(std::chrono::milliseconds time) {
    return *database().register_procedure<AccountArguments, oltp::Nothing>(
        "pause",
        [by_id = bank_->by_id, time](Transaction& txn,
                                     const AccountArguments&) -> base::Result<oltp::Nothing> {
          auto row = txn.get_for_update<&Account::balance>(by_id, 0);
          if (!row) return row.error();
          txn.update(*row, set<&Account::balance>(base::Decimal<12, 2>{row->values.units + 1}));
          std::this_thread::sleep_for(time);
          return oltp::Nothing{};
        });
  }
};

// Without space for a new file, the log goes on in the one that has defined the old code.
TEST_F(ModulesAndLog, CallsOfAReplacedLibraryAreLoggedWithItsVersion) {
  std::atomic<bool> is_full{false};
  DatabaseOptions with{.path = path()};
  with.faults.before_step = [&](storage::FileStep step) -> base::Result<void> {
    char name[16] = {};
    ::pthread_getname_np(::pthread_self(), name, sizeof name);
    if (!is_full || step != storage::FileStep::kGrow || std::string_view(name) != "oltp-log") {
      return {};
    }
    return base::Error(ErrorCode::kNoSpace, "the test's disk refuses");
  };
  open("step 1", with);
  ASSERT_EQ(*call("step", 0), 1);
  is_full = true;
  ASSERT_TRUE(load("step 10").ok());
  EXPECT_EQ(database().metrics().log_files, 1u);
  ASSERT_EQ(*call("step", 0), 11);
  static_cast<void>(database().discard());
  open("step 10", {.path = path()});
  const auto found = account_version();
  ASSERT_TRUE(found.ok()) << found.error().to_string();
  EXPECT_EQ(*found, 11);
  EXPECT_EQ(database().metrics().recovered_transactions, 1u);
}

// For which the database is saved, after transactions of which nobody knows whether they are kept.
TEST_F(ModulesAndLog, NoLibraryIsReplacedOnceTheLogHasFailed) {
  std::atomic<bool> refuses{false};
  DatabaseOptions with{.path = path()};
  with.faults.before_step = [&](storage::FileStep step) -> base::Result<void> {
    if (step != storage::FileStep::kSync || !refuses) return {};
    refuses = false;
    return base::Error(ErrorCode::kIo, "the test's disk refuses");
  };
  open("step 1", with);
  refuses = true;
  EXPECT_EQ(call("step", 0).code(), ErrorCode::kIo);
  expect_refused(load("step 10"), ErrorCode::kIo, "the log cannot be written");
  static_cast<void>(database().discard());
}

TEST_F(ModulesAndLog, ALibraryThatIsReplacedDuringAReplayWaitsForItsEnd) {
  open("step 1", {.path = path()});
  const auto pause = define_pause(std::chrono::milliseconds(0));
  ASSERT_TRUE(database().call(pause, {}).get().ok());
  for (int64_t i = 1; i <= 3; ++i) ASSERT_EQ(*call("step", 0), i);
  static_cast<void>(database().discard());
  std::promise<void> replays;
  std::promise<void> may_go_on;
  DatabaseOptions with{.path = path()};
  // Called between two batches, in which the gate is free.
  with.recovery_listener = [&, stops = true](const std::string&, double) mutable {
    if (!std::exchange(stops, false)) return;
    replays.set_value();
    may_go_on.get_future().wait();
  };
  open("step 1", with);
  define_pause(std::chrono::milliseconds(110));  // so long, that the listener is told
  auto recovered = std::async(std::launch::async, [&] { return database().recover(); });
  replays.get_future().wait();
  auto replaced = std::async(std::launch::async, [&] { return load("step 10"); });
  EXPECT_EQ(replaced.wait_for(std::chrono::milliseconds(200)), std::future_status::timeout);
  may_go_on.set_value();
  const auto outcome = recovered.get();
  EXPECT_TRUE(outcome.ok()) << outcome.error().to_string();
  EXPECT_TRUE(replaced.get().ok());
  EXPECT_EQ(*account_version(), 3);
  EXPECT_EQ(*call("step", 0), 13);
}

// One that is replaced by a library without it is as one that was never loaded, and not what did
// something else than it did, which would be for good.
TEST_F(ModulesAndLog, AProcedureThatIsNoMoreBeforeAReplayIsMissing) {
  open("step 1", {.path = path()});
  ASSERT_EQ(*call("step", 0), 1);
  static_cast<void>(database().discard());
  open("step 1", {.path = path()});
  EXPECT_THAT(*database().procedures_to_recover(), IsEmpty());
  ASSERT_TRUE(load("minus alone").ok());
  EXPECT_THAT(*database().procedures_to_recover(), ElementsAre("step"));
  const auto refused = database().recover();
  EXPECT_EQ(refused.ok() ? ErrorCode::kClosed : refused.code(), ErrorCode::kNotFound);
  EXPECT_THAT(refused.error().message, HasSubstr("procedure \"step\", which is not there"));
  ASSERT_TRUE(load("step 1").ok());
  const auto recovered = database().recover();
  ASSERT_TRUE(recovered.ok()) << recovered.error().to_string();
  EXPECT_EQ(recovered->transactions, 1u);
  EXPECT_EQ(*account_version(), 1);
}

constexpr const char* kNewerDdl =
    "CREATE TABLE newer_account (id INT NOT NULL, balance DECIMAL(12,2) NOT NULL, "
    "version BIGINT NOT NULL, PRIMARY KEY (id))";

// So that a replay, which binds it anew, does what was done.
TEST_F(ModulesAndLog, DdlBindsALibraryAsALaterOpeningDoes) {
  open("put into the newest", {.path = path()});
  ASSERT_TRUE(call("put", 1).ok());
  // Nothing that it binds.
  const auto saved = [&] { return storage::read_manifest(path())->vid; };
  const base::Vid before = saved();
  ASSERT_TRUE(database().execute_ddl("CREATE TABLE other (id INT PRIMARY KEY)").ok());
  EXPECT_EQ(saved(), before);
  ASSERT_TRUE(database().execute_ddl(kNewerDdl).ok());
  EXPECT_GT(saved(), before) << "what was put before is not to be put elsewhere";
  ASSERT_TRUE(call("put", 2).ok());
  for (int opening = 0; opening < 2; ++opening) {
    EXPECT_EQ(*bank_->number("SELECT sum(id) FROM account"), 1);
    EXPECT_EQ(*bank_->number("SELECT sum(id) FROM newer_account"), 2);
    if (opening == 1) break;
    static_cast<void>(database().discard());
    open("put into the newest", {.path = path()});
  }
  EXPECT_EQ(database().metrics().recovered_transactions, 1u);
}

// What was logged could not be replayed without it.
TEST_F(ModulesAndLog, NothingGoesThatALibraryNeeds) {
  bank_ = Bank::open({.path = path()});
  ASSERT_TRUE(database().execute_ddl(kNewerDdl).ok());
  ASSERT_TRUE(load("put into newer_account").ok());
  ASSERT_TRUE(call("put", 1).ok());
  for (const std::string what : {"DROP TABLE newer_account", "DROP TABLE account, newer_account"}) {
    const auto refused = database().execute_ddl(what);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.code(), ErrorCode::kNotFound);
    EXPECT_THAT(refused.error().message,
                AllOf(HasSubstr("module \"variants\" would no longer load; load a version without "
                                "it first"),
                      HasSubstr("no table \"newer_account\"")));
  }
  ASSERT_TRUE(call("put", 2).ok());
  EXPECT_EQ(*bank_->number("SELECT sum(id) FROM newer_account"), 3);
  ASSERT_TRUE(database().execute_ddl("TRUNCATE newer_account").ok());
  ASSERT_TRUE(load("put into account").ok());
  ASSERT_TRUE(database().execute_ddl("DROP TABLE newer_account").ok());
  ASSERT_TRUE(call("put", 3).ok());
  static_cast<void>(database().discard());
  open("put into account", {.path = path()});
  EXPECT_EQ(*bank_->number("SELECT sum(id) FROM account"), 3);
}

TEST_F(Modules, AClosedDatabaseLoadsNothing) {
  ASSERT_TRUE(database().close().ok());
  EXPECT_EQ(load().code(), ErrorCode::kClosed);
}

}  // namespace
}  // namespace diptych::dispatcher
