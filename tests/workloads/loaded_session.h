// A loaded one-warehouse session for the tests of this folder, and short ways to ask it things.

#pragma once

#include <atomic>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "workloads/session.h"

namespace diptych::workloads {

inline const StopFlag kNeverStop{false};
inline void ignore_progress(const std::string&, double) {}

inline BenchmarkOptions small_options(uint64_t seed, SizePolicy size = SizePolicy::kGrowing) {
  BenchmarkOptions options;
  options.warehouses = 1;
  options.transaction_clients = 8;
  options.query_clients = 1;
  options.warmup_seconds = 0.1;
  options.seconds = 1;
  options.cooldown_seconds = 0.1;
  options.size = size;
  options.seed = seed;
  return options;
}

inline std::unique_ptr<Session> loaded_session(const BenchmarkOptions& options) {
  auto session = Session::open(options, kNeverStop, ignore_progress);
  if (!session) {
    ADD_FAILURE() << session.error().to_string();
    return nullptr;
  }
  return std::move(*session);
}

inline void expect_clean(const Checks& checks) {
  EXPECT_EQ(checks.consistency_violations, 0U)
      << fmt::format("{}", fmt::join(checks.violations, "\n"));
  EXPECT_EQ(checks.replica_differences, 0U)
      << fmt::format("{}", fmt::join(checks.differences, "\n"));
  EXPECT_EQ(checks.close_error, "");
}

// The first value of a query's first row as an integer; decimals as their units, NULL as -1.
inline int64_t integer(Session* session, const std::string& sql) {
  auto result = session->database()->query(sql);
  if (!result) {
    ADD_FAILURE() << sql << ": " << result.error().to_string();
    return -1;
  }
  if (result->rows.empty()) return -1;
  const base::Value& value = result->rows[0][0];
  if (const auto* whole = std::get_if<int64_t>(&value)) return *whole;
  if (const auto* decimal = std::get_if<base::DecimalValue>(&value)) {
    return static_cast<int64_t>(decimal->units);
  }
  return -1;
}

}  // namespace diptych::workloads
