// RecoveryProgress: says how far the opening of a database is, and how long it will take.
//
// To the listener of DatabaseOptions where there is one (a terminal's progress line), else in lines
// on standard error, one a second, so that a log has them.
//
// Threads    at() by one thread at a time.

#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "dispatcher/database_reports.h"

namespace diptych::dispatcher {

class RecoveryProgress {
 public:
  // `what`: "rows put back"; `of`: all of them. The listener outlives this.
  RecoveryProgress(std::string path, const RecoveryListener& listener, std::string what,
                   uint64_t of)
      : path_(std::move(path)), listener_(listener), what_(std::move(what)), of_(of) {}

  void at(uint64_t done) {
    const uint64_t now_ns = base::steady_ns();
    const uint64_t period_ns = listener_ ? kListenerNs : kLineNs;
    if (done == 0 || now_ns - said_ns_ < period_ns) return;
    said_ns_ = now_ns;
    const double spent = static_cast<double>(now_ns - begin_ns_) * 1e-9;
    const double left = static_cast<double>(of_ - std::min(of_, done));
    const double seconds_left = spent * left / static_cast<double>(done);
    const std::string text =
        fmt::format("{} of {} {}, {:.0f} s to go", done, of_, what_, seconds_left);
    if (listener_) {
      listener_(text, static_cast<double>(done) / static_cast<double>(std::max(of_, done)));
    } else {
      // Not fmt::print, which throws where the disk is full.
      std::fputs(fmt::format("diptych: {}: {}\n", path_, text).c_str(), stderr);
    }
  }

 private:
  static constexpr uint64_t kLineNs = 1'000'000'000;
  static constexpr uint64_t kListenerNs = 100'000'000;

  const std::string path_;
  const RecoveryListener& listener_;
  const std::string what_;
  const uint64_t of_;
  const uint64_t begin_ns_ = base::steady_ns();
  uint64_t said_ns_ = begin_ns_;
};

}  // namespace diptych::dispatcher
