// A file system that gives no space ahead, as some network file systems and containers have it.

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <iterator>
#include <string>

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "dispatcher/backup.h"
#include "tests/dispatcher/bank_fixture.h"

namespace diptych::dispatcher {
namespace {

// From now on this process's calls of fallocate are refused.
bool refuse_fallocate() {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fallocate, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {std::size(code), code};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

class SpaceAhead : public DirectoryFixture {};

TEST_F(SpaceAhead, IsNotNeededToUseADatabaseAndToRestoreOne) {
  Bank::open({.path = path()})->fill(10);
  const auto all = [&] {
    if (!refuse_fallocate()) ::_exit(2);
    {
      auto bank = Bank::open({.path = path()});
      const auto bumped = bank->database->call(bank->bump, {.id = 3, .balance = {}}).get();
      if (!bumped) ::_exit(3);
    }
    const auto saved = backup_database(path(), path("backup"));
    const auto restored = restore_database(path("backup"), path("restored"));
    if (!restored) std::fprintf(stderr, "%s\n", restored.error().to_string().c_str());
    ::_exit(saved && restored ? 0 : 1);
  };
  EXPECT_EXIT(all(), ::testing::ExitedWithCode(0), "");
  auto bank = Bank::open({.path = path("restored"), .mode = OpenMode::kOpen});
  ASSERT_NE(bank, nullptr);
  EXPECT_EQ(*bank->number("SELECT version FROM account WHERE id = 3"), 1);
}

}  // namespace
}  // namespace diptych::dispatcher
