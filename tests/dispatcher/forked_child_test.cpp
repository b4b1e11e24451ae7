// A child that is forked while a database is open: it is told that it has none.

#include <string>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sanitizers.h"
#include "tests/dispatcher/bank_fixture.h"

namespace diptych::dispatcher {
namespace {

using base::ErrorCode;

class ForkedChild : public DirectoryFixture {
 protected:
  void SetUp() override {
    if (base::kSanitized) GTEST_SKIP() << "sanitizers have threads and locks of their own";
  }
  // The child's exit code; a signal's number and 128 where one ended it.
  template <class Body>
  static int in_child(const Body& body) {
    const pid_t child = ::fork();
    if (child == 0) {
      constexpr unsigned kSecondsMax = 30;
      ::alarm(kSecondsMax);
      ::_exit(body());
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
};

TEST_F(ForkedChild, CannotUseTheDatabaseAndDestroysNothing) {
  auto bank = Bank::open({.path = path()});
  bank->fill(10);
  const int code = in_child([&] {
    Database& database = *bank->database;
    const auto called = database.call(bank->bump, {.id = 3, .balance = {}}).get();
    const auto shown = database.query("SELECT 1");
    const auto closed = database.close();
    for (const ErrorCode told : {called.code(), shown.code(), closed.code()}) {
      if (told != ErrorCode::kInvalidArgument) return 1;
    }
    if (closed.error().message.find("in a forked child of process") == std::string::npos) return 2;
    bank.reset();
    return 0;
  });
  EXPECT_EQ(code, 0);
  ASSERT_TRUE(bank->database->call(bank->bump, {.id = 3, .balance = {}}).get().ok());
  EXPECT_EQ(*bank->number("SELECT version FROM account WHERE id = 3"), 1);
  EXPECT_TRUE(bank->database->close().ok());
}

}  // namespace
}  // namespace diptych::dispatcher
