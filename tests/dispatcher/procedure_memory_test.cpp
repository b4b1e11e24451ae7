// Memory that runs out at any allocation of who registers a procedure or loads a library: nothing
// of it is there, or all; what is there can be called, and more can be registered and loaded.

#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/dispatcher/bank_fixture.h"
#include "tests/failing_allocation.h"

namespace diptych::dispatcher {
namespace {

using base::ErrorCode;
using Lasts = test::FailingAllocation::Lasts;

class OutOfMemoryOfProcedures : public testing::TestWithParam<Lasts> {
 protected:
  static constexpr int kRight = 16;  // what a child exits with; less: it was wrong
  static constexpr int kFailed = 1;  // and an allocation has failed

  // `ask` in a process of its own, with each allocation failing in turn.
  static void ask_for_each(const std::function<int(uint64_t number)>& ask) {
    if (!test::kAllocationsCanFail) GTEST_SKIP() << "a sanitizer has its own operator new";
    for (uint64_t number = 1;; ++number) {
      SCOPED_TRACE(testing::Message() << "allocation " << number);
      ASSERT_LT(number, 1'000U);
      const pid_t child = ::fork();
      ASSERT_GE(child, 0);
      if (child == 0) {
        try {
          ::_exit(ask(number));
        } catch (const std::exception&) {
          ::_exit(0);
        }
      }
      int status = 0;
      ASSERT_EQ(::waitpid(child, &status, 0), child);
      ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
      ASSERT_GE(WEXITSTATUS(status), kRight) << "it is wrong: " << WEXITSTATUS(status);
      if (WEXITSTATUS(status) == kRight) {
        EXPECT_GT(number, 5U);
        return;
      }
    }
  }

  base::Result<LoadedProcedures> load(Database* database, const char* variant) const {
    ::setenv("DIPTYCH_TEST_VARIANT", variant, 1);
    return database->load_procedures(library_);
  }
  // What the procedure makes of 0; nothing: there is none.
  static std::optional<int64_t> call(Database* database, const char* procedure) {
    const base::Value arguments[] = {int64_t{0}};
    auto reply = database->call_by_name(procedure, arguments);
    if (reply) return std::get<int64_t>(reply->at(0));
    return std::nullopt;
  }
  const std::string library_ = DIPTYCH_MODULE_VARIANTS;  // made before memory is refused

  static int answers(Database* database) {
    return static_cast<int>(10 * call(database, "plus").value_or(9) +
                            call(database, "minus").value_or(9));
  }
};

INSTANTIATE_TEST_SUITE_P(Shortages, OutOfMemoryOfProcedures,
                         testing::Values(Lasts::kOnce, Lasts::kOn), [](const auto& test) {
                           return test.param == Lasts::kOnce ? "Once" : "On";
                         });

TEST_P(OutOfMemoryOfProcedures, ALibraryIsLoadedWhollyOrNotAtAll) {
  // What is there before (none, or another module of the name), and what is loaded then: it adds
  // procedures, takes the place of some, and removes some.
  struct Change {
    const char* before;
    const char* then;
  };
  for (const Change change :
       {Change{"", "first"}, Change{"minus alone", "first"}, Change{"first", "second"}}) {
    SCOPED_TRACE(testing::Message() << change.before << " -> " << change.then);
    ASSERT_NO_FATAL_FAILURE(ask_for_each([&](uint64_t number) {
      const auto bank = Bank::open({});
      Database* const database = bank->database.get();
      if (*change.before != 0 && !load(database, change.before)) return 1;
      const int before = answers(database);
      bool done = false;
      bool failed = false;
      {
        const test::FailingAllocation failing(number, GetParam());
        const auto loaded = load(database, change.then);
        done = loaded.ok();
        failed = failing.has_failed();
        if (!done && loaded.code() != ErrorCode::kOutOfMemory) return 2;
      }
      if (done == (answers(database) == before)) return 3;
      if (!load(database, change.then)) return 4;
      if (answers(database) == before) return 5;
      if (!load(database, "first") || answers(database) != 9) return 6;  // 10 * 1 - 1
      if (!load(database, "second") || answers(database) != 29) return 7;
      return kRight + (failed ? kFailed : 0);
    }));
  }
}

TEST_P(OutOfMemoryOfProcedures, OneIsRegisteredOrIsNot) {
  ASSERT_NO_FATAL_FAILURE(ask_for_each([](uint64_t number) {
    const auto bank = Bank::open({});
    Database* const database = bank->database.get();
    const auto body = [](Transaction&, const AccountArguments&) -> base::Result<oltp::Nothing> {
      return oltp::Nothing{};
    };
    const auto add = [&](const char* name) {
      return database->register_procedure<AccountArguments, oltp::Nothing>(name, body);
    };
    // With the bank's there are eight, so that the engine has to make room for the next.
    for (int i = 0; i < 5; ++i) {
      if (!add(("one of some: " + std::to_string(i)).c_str())) return 1;
    }
    bool done = false;
    bool failed = false;
    {
      const test::FailingAllocation failing(number, GetParam());
      try {
        const auto added = add("a procedure whose name has memory of its own");
        done = added.ok();
        if (!done && added.code() != ErrorCode::kOutOfMemory) return 2;
      } catch (const std::bad_alloc&) {  // where its definition is made
      }
      failed = failing.has_failed();
    }
    const auto other = add("another");
    if (!other || !database->call(*other, {}).get()) return 3;
    const auto again = add("a procedure whose name has memory of its own");
    if (again.ok() == done) return 4;
    if (!done && !database->call(*again, {}).get()) return 5;
    return kRight + (failed ? kFailed : 0);
  }));
}

}  // namespace
}  // namespace diptych::dispatcher
