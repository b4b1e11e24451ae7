#include "cli/progress_line.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/output.h"

namespace diptych::cli {
namespace {

constexpr double kSilentSeconds = 2;
constexpr uint64_t kRepaintNs = 200'000'000;

}  // namespace

std::string progress_text(const std::string& what, double done, double seconds) {
  if (done < 0) return fmt::format("{}  {:.0f} s", what, seconds);
  constexpr size_t kBarWidth = 20;
  const double share = std::min(done, 1.0);
  const auto filled = static_cast<size_t>(share * static_cast<double>(kBarWidth));
  return fmt::format("{}  [{}{}]  {:.0f} %  {:.0f} s", what, std::string(filled, '#'),
                     std::string(kBarWidth - filled, '-'), share * 100, seconds);
}

ProgressLine::ProgressLine(std::string what) : what_(std::move(what)) {
  if (isatty(STDERR_FILENO) == 0) return;
  try {
    painter_ = std::jthread([this](const std::stop_token& end) { repaint_until_end(end); });
  } catch (const std::system_error&) {
    // Without a thread for it, nothing is painted.
  }
}

ProgressLine::~ProgressLine() {
  if (!painter_.joinable()) return;
  painter_.request_stop();
  ended_.wake_all();
  painter_.join();
  // Carriage return, then erase to the end of the line.
  if (painted_) say("\r\x1b[K");
}

void ProgressLine::update(const std::string& what, double done) {
  const std::lock_guard guard(mutex_);
  what_ = what;
  done_ = done;
}

void ProgressLine::repaint_until_end(const std::stop_token& end) {
  while (true) {
    const uint32_t ticket = ended_.ticket();
    if (end.stop_requested()) return;
    if (!ended_.wait_for(ticket, kRepaintNs)) paint();
  }
}

void ProgressLine::paint() {
  const double seconds = static_cast<double>(base::steady_ns() - begin_ns_) * 1e-9;
  if (seconds < kSilentSeconds) return;
  const std::lock_guard guard(mutex_);
  say(fmt::format("\r{}\x1b[K", progress_text(what_, done_, seconds)));
  painted_ = true;
}

}  // namespace diptych::cli
