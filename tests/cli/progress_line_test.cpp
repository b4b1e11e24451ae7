#include "cli/progress_line.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/signal_stop.h"

namespace diptych::cli {
namespace {

// Standard error is a terminal for as long as it lives.
class Terminal {
 public:
  Terminal() {
    EXPECT_EQ(grantpt(controller_), 0);
    EXPECT_EQ(unlockpt(controller_), 0);
    const int terminal = open(ptsname(controller_), O_RDWR | O_NOCTTY);
    EXPECT_EQ(dup2(terminal, STDERR_FILENO), STDERR_FILENO);
    close(terminal);
  }
  ~Terminal() {
    dup2(before_, STDERR_FILENO);
    close(before_);
    close(controller_);
  }

  std::string shown() const {
    char text[256];
    const ssize_t bytes = ::read(controller_, text, sizeof(text));
    return {text, bytes > 0 ? static_cast<size_t>(bytes) : 0};
  }

 private:
  const int controller_ = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
  const int before_ = dup(STDERR_FILENO);
};

TEST(ProgressText, ShowsHowFarTheWorkIs) {
  EXPECT_EQ(progress_text("loading", 0.41, 12.3), "loading  [########------------]  41 %  12 s");
  EXPECT_EQ(progress_text("loading", 1.7, 3), "loading  [####################]  100 %  3 s");
  EXPECT_EQ(progress_text("saving", -1, 3), "saving  3 s");
}

TEST(ProgressLine, EndsAtOnceAndSaysNothingOfShortWork) {
  const Terminal terminal;
  uint64_t fastest_ns = UINT64_MAX;
  for (int i = 0; i < 10; ++i) {
    std::optional<ProgressLine> line("working");
    line->update("still working", 0.5);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // until its painter waits
    const uint64_t start_ns = base::steady_ns();
    line.reset();
    fastest_ns = std::min(fastest_ns, base::steady_ns() - start_ns);
  }
  EXPECT_LT(fastest_ns, 100'000'000) << "the painter was waited for";
  EXPECT_EQ(terminal.shown(), "");
}

TEST(SignalStop, TheFirstSignalSetsTheFlag) {
  std::signal(SIGINT, SIG_DFL);  // where the tests run in the background, it is ignored
  {
    const SignalStop stop;
    EXPECT_FALSE(stop.stopped());
    std::raise(SIGINT);
    EXPECT_TRUE(stop.stopped());
    // relaxed: the signal ran on this thread.
    EXPECT_TRUE(stop.flag().load(std::memory_order_relaxed));
  }
  const SignalStop again;
  EXPECT_FALSE(again.stopped());
}

TEST(SignalStop, WhatIsIgnoredStaysSo) {
  std::signal(SIGINT, SIG_IGN);
  {
    const SignalStop stop;
    std::raise(SIGINT);
    EXPECT_FALSE(stop.stopped());
  }
  EXPECT_EQ(std::signal(SIGINT, SIG_DFL), SIG_IGN);
}

TEST(SignalStopDeathTest, TheSecondSignalEndsTheProcess) {
  EXPECT_EXIT(
      {
        std::signal(SIGINT, SIG_DFL);
        const SignalStop stop;
        std::raise(SIGINT);
        std::raise(SIGINT);
      },
      testing::KilledBySignal(SIGINT), "");
}

}  // namespace
}  // namespace diptych::cli
