#include "cli/progress_line.h"

#include <csignal>

#include <gtest/gtest.h>

#include "cli/signal_stop.h"

namespace diptych::cli {
namespace {

TEST(ProgressText, ShowsHowFarTheWorkIs) {
  EXPECT_EQ(progress_text("loading", 0.41, 12.3), "loading  [########------------]  41 %  12 s");
  EXPECT_EQ(progress_text("loading", 1.7, 3), "loading  [####################]  100 %  3 s");
  EXPECT_EQ(progress_text("saving", -1, 3), "saving  3 s");
}

TEST(ProgressLine, EndsAtOnce) {
  ProgressLine progress("working");
  progress.update("still working", 0.5);
}

TEST(SignalStop, TheFirstSignalSetsTheFlag) {
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

TEST(SignalStopDeathTest, TheSecondSignalEndsTheProcess) {
  EXPECT_EXIT(
      {
        const SignalStop stop;
        std::raise(SIGINT);
        std::raise(SIGINT);
      },
      testing::KilledBySignal(SIGINT), "");
}

}  // namespace
}  // namespace diptych::cli
