// Mutants: a copy of the code with one thing broken, which its test must find. A mutant may have no
// end, so it runs in processes of its own; one that is stopped for that has not been found.
//
//   EXPECT_MUTANT_FOUND(tries, fail_if_found(check(seed)), "found: ..."), EXPECT_RACE_FOUND(...)
//       -> [a process] try 1, 2, ... of `tries`, each in a process:
//              exits with 0                   nothing was found: the next try
//              stopped by its TryLimits       has no end, which shows nothing: the next try
//              anything else                  found, if the message is on standard error
//
// What finds it is a check that aborts (fail_if_found), a crash, or a sanitizer, which exits with
// a code of its own.
//
// Threads    the tries are forked where there is one thread: gtest's "threadsafe" style, which the
//            macro sets.

#pragma once

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>

#include <gtest/gtest.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

namespace diptych::test {

// Far more than a try takes, ThreadSanitizer on and the machine busy. Threads that go round in a
// ring meet the second limit first, those that wait for each other the other one.
struct TryLimits {
  itimerval time = {{0, 0}, {20, 0}};
  itimerval cpu_time = {{0, 0}, {10, 0}};  // of all threads together
};
// Threads that meet in nearly every try may miss each other where the machine is busy: found in one
// try as a rule, and a survivor costs this many.
constexpr uint64_t kRaceTriesMax = 50;
constexpr int kMutantFound = 90;  // exit codes that no sanitizer has
constexpr int kMutantSurvived = 91;

// What a check has found wrong, in words; nothing: "".
inline void fail_if_found(const std::string& found) {
  if (found.empty()) return;
  std::fprintf(stderr, "found: %s\n", found.c_str());
  std::abort();
}

// One try, in this process. Never returns.
[[noreturn]] inline void run_try(uint64_t seed, const std::function<void(uint64_t)>& run,
                                 const TryLimits& limits) {
  setitimer(ITIMER_REAL, &limits.time, nullptr);
  std::signal(SIGPROF, SIG_DFL);  // gtest has started this process with the signal ignored
  setitimer(ITIMER_PROF, &limits.cpu_time, nullptr);
  run(seed);
  std::exit(0);  // with ThreadSanitizer's code where it has reported something
}

// Exits with kMutantFound or kMutantSurvived.
[[noreturn]] inline void try_mutant(uint64_t tries, const std::function<void(uint64_t)>& run,
                                    const TryLimits& limits = {}) {
  for (uint64_t seed = 1; seed <= tries; ++seed) {
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) run_try(seed, run, limits);
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) {
      std::perror("a try of a mutant could not be run");
      _exit(kMutantSurvived);
    }
    if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGALRM || WTERMSIG(status) == SIGPROF)) {
      std::fprintf(stderr, "try %llu had no end\n", static_cast<unsigned long long>(seed));
      continue;
    }
    if (status != 0) _exit(kMutantFound);
  }
  std::fprintf(stderr, "the mutant has survived\n");
  _exit(kMutantSurvived);
}

// While it lives, processes of the "threadsafe" style end at ThreadSanitizer's first report: some
// mutants would make tens of thousands.
class HaltAtFirstRace {
 public:
  HaltAtFirstRace() {
    if (const char* const options = std::getenv(kVariable)) before_ = options;
    setenv(kVariable, (before_.value_or("") + ":halt_on_error=1").c_str(), 1);
  }
  ~HaltAtFirstRace() { before_ ? setenv(kVariable, before_->c_str(), 1) : unsetenv(kVariable); }
  HaltAtFirstRace(const HaltAtFirstRace&) = delete;
  HaltAtFirstRace& operator=(const HaltAtFirstRace&) = delete;

 private:
  static constexpr const char* kVariable = "TSAN_OPTIONS";
  std::optional<std::string> before_;
};

}  // namespace diptych::test

// `statement` may use `seed`, 1 to `tries`. By a check, or a crash.
#define EXPECT_MUTANT_FOUND(tries, statement, message)                                          \
  do {                                                                                          \
    ::testing::FLAGS_gtest_death_test_style = "threadsafe";                                     \
    EXPECT_EXIT(                                                                                \
        ::diptych::test::try_mutant(tries, [&]([[maybe_unused]] uint64_t seed) { statement; }), \
        ::testing::ExitedWithCode(::diptych::test::kMutantFound), message);                     \
  } while (false)

// By ThreadSanitizer, in one of kRaceTriesMax tries.
#define EXPECT_RACE_FOUND(statement)                                             \
  do {                                                                           \
    const ::diptych::test::HaltAtFirstRace halt;                                 \
    EXPECT_MUTANT_FOUND(::diptych::test::kRaceTriesMax, statement, "data race"); \
  } while (false)
