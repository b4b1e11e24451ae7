// LogFault: a bank on a disk that refuses what a test says.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <pthread.h>

#include "tests/dispatcher/bank_fixture.h"
#include "tests/dispatcher/step_counter.h"

namespace diptych::dispatcher {

inline std::string thread_name() {
  char name[16] = {};
  ::pthread_getname_np(::pthread_self(), name, sizeof name);
  return name;
}

inline bool is_thread_of_the_log() {
  return thread_name().starts_with("oltp-log");
}

inline int occurrences(std::string_view text, std::string_view part) {
  int count = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

class LogFault : public DirectoryFixture {
 protected:
  DatabaseOptions options() {
    return {.path = path(), .log_file_bytes = 16 << 10, .faults = {.before_step = steps_.hook()}};
  }
  static base::Result<void> bump(Bank* bank, int32_t id = 3) {
    auto done = bank->database->call(bank->bump, {.id = id, .balance = {}}).get();
    return done ? base::Result<void>() : done.error();
  }
  // That a recovery finds.
  int64_t bumps() {
    auto bank = Bank::open({.path = path(), .mode = OpenMode::kOpen});
    if (bank == nullptr) return -1;
    expect_equal_replicas(bank->database.get());
    const auto number = bank->number("SELECT version FROM account WHERE id = 3");
    EXPECT_TRUE(number.ok()) << number.error().to_string();
    static_cast<void>(bank->database->discard());
    return number ? *number : -1;
  }

  StepCounter steps_;
};

}  // namespace diptych::dispatcher
