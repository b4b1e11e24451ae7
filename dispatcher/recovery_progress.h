// RecoveryProgress: says how far the opening of a database is, and how long it will take.
//
// To the listener of DatabaseOptions where there is one; else in lines on standard error, one a
// second and, if it took that long, one at the end, so that a log has them.
//
// Threads    at(), finish() by one thread at a time.

#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/counted.h"
#include "base/notice.h"
#include "dispatcher/database_reports.h"

namespace diptych::dispatcher {

class RecoveryProgress {
 public:
  // `noun` and `done`: "row", "put back"; `of`: all of them. The listener outlives this.
  RecoveryProgress(std::string path, const RecoveryListener& listener, std::string noun,
                   std::string done, uint64_t of)
      : path_(std::move(path)),
        listener_(listener),
        noun_(std::move(noun)),
        done_(std::move(done)),
        of_(of) {}

  void at(uint64_t done) {
    const uint64_t now_ns = base::steady_ns();
    const bool is_heard = hears_ && now_ns - heard_ns_ >= kListenerNs;
    const bool is_written = writes_lines_ && now_ns - written_ns_ >= kLineNs;
    if (done == 0 || !(is_heard || is_written)) return;
    const double spent = static_cast<double>(now_ns - begin_ns_) * 1e-9;
    const double left = static_cast<double>(of_ - std::min(of_, done));
    const double seconds_left = spent * left / static_cast<double>(done);
    const std::string text = fmt::format("{} of {} {}, {:.0f} s to go", done,
                                         base::counted(of_, noun_), done_, seconds_left);
    if (is_heard) {
      heard_ns_ = now_ns;
      tell(text, static_cast<double>(done) / static_cast<double>(std::max(of_, done)));
    }
    if (is_written) {
      written_ns_ = now_ns;
      write(text);
    }
  }

  // The calling thread is in a listener: what waits for the recovery would wait for itself.
  static bool is_told_here() { return told_here_; }

  // All that there was to do is done.
  void finish(uint64_t done) {
    const uint64_t spent_ns = base::steady_ns() - begin_ns_;
    if (!writes_lines_ || spent_ns < kLineNs) return;
    write(fmt::format("{} {} in {:.3f} s", base::counted(done, noun_), done_,
                      static_cast<double>(spent_ns) * 1e-9));
  }

 private:
  // What it throws would end a replay in its middle.
  void tell(const std::string& text, double done) {
    told_here_ = true;
    try {
      listener_(text, done);
    } catch (...) {
      hears_ = false;
      write("the recovery_listener threw, and hears no more");
    }
    told_here_ = false;
  }

  void write(const std::string& text) const { base::notify("{}: {}", path_, text); }

  static constexpr uint64_t kLineNs = 1'000'000'000;
  static constexpr uint64_t kListenerNs = 100'000'000;

  static inline thread_local bool told_here_ = false;

  const std::string path_;
  const RecoveryListener& listener_;
  const std::string noun_;
  const std::string done_;
  const uint64_t of_;
  bool hears_ = listener_ != nullptr;
  const bool writes_lines_ = !hears_;
  const uint64_t begin_ns_ = base::steady_ns();
  uint64_t heard_ns_ = begin_ns_;
  uint64_t written_ns_ = begin_ns_;
};

}  // namespace diptych::dispatcher
