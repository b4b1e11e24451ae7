#include "base/notice.h"

#include <cstdio>
#include <string>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/failing_allocation.h"

namespace diptych::base {
namespace {

const Error kDamaged(ErrorCode::kCorrupt, "page 7");

template <class Call>
std::string told_by(const Call& call) {
  testing::internal::CaptureStderr();
  call();
  return testing::internal::GetCapturedStderr();
}

TEST(Notice, IsOneLineWithTheProgramsName) {
  EXPECT_EQ(told_by([] { notify("{} of {} are cold: {}", 3, "disks", kDamaged); }),
            "diptych: 3 of disks are cold: " + kDamaged.to_string() + "\n");
}

TEST(Notice, MayBeLong) {
  const std::string text(5000, 'x');
  EXPECT_EQ(told_by([&] { notify("{}", text); }), "diptych: " + text + "\n");
}

TEST(Notice, OfAFullDiskIsLostAndNothingElse) {
  std::fflush(stderr);
  const int kept = ::dup(STDERR_FILENO);
  const int full = ::open("/dev/full", O_WRONLY);
  ASSERT_NE(full, -1);
  ASSERT_NE(::dup2(full, STDERR_FILENO), -1);
  notify("nobody reads {}", "this");
  std::fflush(stderr);
  EXPECT_NE(::dup2(kept, STDERR_FILENO), -1);
  std::clearerr(stderr);
  ::close(full);
  ::close(kept);
}

TEST(Notice, WithoutMemoryIsWhatNeedsNone) {
  if (!test::kAllocationsCanFail) GTEST_SKIP() << "a sanitizer's own allocator";
  const Error error(ErrorCode::kCorrupt, std::string(600, 'x'));
  const std::string told = told_by([&] {
    const test::FailingAllocation failing(1, test::FailingAllocation::Lasts::kOn);
    notify("a page is lost: {}", error);
  });
  EXPECT_EQ(told, "diptych: a page is lost: (there is no memory left to say more)\n");
}

TEST(Notice, OnceIsOnce) {
  NoticeOnce once;
  EXPECT_TRUE(once.is_due());
  EXPECT_FALSE(once.is_due());
}

TEST(Notice, ComesAgainAfterAPause) {
  NoticePause pause(10);
  EXPECT_TRUE(pause.is_due(0)) << "the first time";
  EXPECT_FALSE(pause.is_due(9));
  EXPECT_TRUE(pause.is_due(10));
  EXPECT_FALSE(pause.is_due(19)) << "counted from the last one";
}

TEST(Notice, ComesAgainOnlyAfterItHasStopped) {
  NoticePause pause(10);
  EXPECT_TRUE(pause.is_due(100));
  pause.goes_on(109);
  EXPECT_FALSE(pause.is_due(118));
  EXPECT_TRUE(pause.is_due(119));
}

}  // namespace
}  // namespace diptych::base
