// ProgressLine: one line on a terminal that says what a long piece of work is at.
//
//   loading warehouse 3 of 10  [########------------]  41 %  12 s
//
// Shown on standard error, only if that is a terminal and only once the work has taken two seconds;
// erased when the object ends.
//
// Threads    update() from any thread; a thread of its own repaints, so that the seconds run on
//            while the work says nothing.

#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/parker.h"

namespace diptych::cli {

class ProgressLine {
 public:
  explicit ProgressLine(std::string what);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // What is being done, and how far: 0 to 1; negative where that is unknown.
  void update(const std::string& what, double done);

 private:
  void repaint_until_end(const std::stop_token& end);
  void paint();

  const uint64_t begin_ns_ = base::steady_ns();
  std::mutex mutex_;  // guards what_, done_ and painted_
  std::string what_;
  double done_ = -1;
  bool painted_ = false;
  base::Parker ended_;
  std::jthread painter_;  // only on a terminal
};

// "what  [####----]  41 %  12 s", without the bar where `done` is negative.
std::string progress_text(const std::string& what, double done, double seconds);

}  // namespace diptych::cli
