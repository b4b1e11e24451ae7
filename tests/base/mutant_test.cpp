// What counts as a mutant that was found: tests/mutant.h on processes that end in known ways.

#include "tests/mutant.h"

#include <csignal>
#include <cstdlib>

#include <gtest/gtest.h>

namespace diptych::test {
namespace {

constexpr itimerval kSoon = {{0, 0}, {0, 20'000}};
constexpr itimerval kNever = {};

[[noreturn]] void wait_without_end() {
  while (true) pause();
}

class MutantDeathTest : public ::testing::Test {
 protected:
  MutantDeathTest() { ::testing::FLAGS_gtest_death_test_style = "threadsafe"; }
};

TEST_F(MutantDeathTest, IsNotFoundByBeingStopped) {
  EXPECT_EXIT(try_mutant(2, [](uint64_t) { wait_without_end(); }, {.time = kSoon}),
              ::testing::ExitedWithCode(kMutantSurvived), "try 1 had no end\ntry 2 had no end\n");
}

TEST_F(MutantDeathTest, IsNotFoundByGoingRoundInARing) {
  EXPECT_EXIT(try_mutant(2,
                         [](uint64_t) {
                           for (volatile uint64_t round = 0;;) round = round + 1;
                         },
                         {.time = kNever, .cpu_time = kSoon}),
              ::testing::ExitedWithCode(kMutantSurvived), "try 1 had no end\ntry 2 had no end\n");
}

TEST_F(MutantDeathTest, IsNotFoundByWhatItSaidBeforeItWasStopped) {
  EXPECT_EXIT(try_mutant(1,
                         [](uint64_t) {
                           std::fprintf(stderr, "data race\n");
                           wait_without_end();
                         },
                         {.time = kSoon}),
              ::testing::ExitedWithCode(kMutantSurvived), "data race\ntry 1 had no end");
}

TEST_F(MutantDeathTest, IsNotFoundByEndingWell) {
  EXPECT_EXIT(try_mutant(3, [](uint64_t) { fail_if_found(""); }),
              ::testing::ExitedWithCode(kMutantSurvived), "the mutant has survived");
}

TEST_F(MutantDeathTest, IsFoundByALaterTryToo) {
  EXPECT_MUTANT_FOUND(3, fail_if_found(seed == 3 ? "it" : ""), "found: it");
}

TEST_F(MutantDeathTest, IsFoundByTheCodeOfASanitizer) {
  EXPECT_MUTANT_FOUND(1, std::exit(66), "");
}

TEST_F(MutantDeathTest, IsFoundByACrash) {
  EXPECT_MUTANT_FOUND(1, std::raise(SIGSEGV), "");
}

}  // namespace
}  // namespace diptych::test
