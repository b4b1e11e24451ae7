// Notices: lines on standard error that tell whoever runs the program what no caller is told.
//
// notify() writes one line, "diptych: " and the text, in one piece. It never throws: not where
// standard error is a file on a full disk, which fmt::print does, and not where there is no memory
// for the text. The line is then the format up to its first placeholder, and says why it ends.
//
// What can happen again and again says how often it is told:
//
//   NoticeOnce      once in the life of the process, whichever thread is first
//   NoticePause     again after a pause since it was told, or since it last went on
//
// Threads    notify, NoticeOnce: any. NoticePause: one at a time.

#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/result.h"

// An error in the text of a notice: its text is made where it may fail.
template <>
struct fmt::formatter<diptych::base::Error> : fmt::formatter<fmt::string_view> {
  template <class Context>
  auto format(const diptych::base::Error& error, Context& context) const {
    return fmt::formatter<fmt::string_view>::format(error.to_string(), context);
  }
};

namespace diptych::base {

void notify_of(fmt::string_view format, fmt::format_args arguments) noexcept;

template <class... Arguments>
void notify(fmt::format_string<Arguments...> format, Arguments&&... arguments) noexcept {
  notify_of(format, fmt::make_format_args(arguments...));
}

class NoticeOnce {
 public:
  bool is_due() noexcept {
    // relaxed: nothing is read behind it.
    return !told_.test_and_set(std::memory_order_relaxed);
  }

 private:
  std::atomic_flag told_;
};

class NoticePause {
 public:
  explicit NoticePause(uint64_t pause_ns) : pause_ns_(pause_ns) {}

  // Whether it is to be told now, and if so, that it is. The first time it always is.
  bool is_due(uint64_t now_ns) {
    if (last_ns_ && now_ns - *last_ns_ < pause_ns_) return false;
    last_ns_ = now_ns;
    return true;
  }
  // It still happens: the pause begins here.
  void goes_on(uint64_t now_ns) { last_ns_ = now_ns; }

 private:
  const uint64_t pause_ns_;
  std::optional<uint64_t> last_ns_;
};

}  // namespace diptych::base
