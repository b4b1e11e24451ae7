// SignalStop: Ctrl-C (SIGINT) and SIGTERM as a flag that long work looks at.
//
// The first signal sets the flag (and Ctrl-C says so on standard error), a second one ends the
// process at once. One that was ignored when the program began still is. A signal has no other way
// in than a static object; one SignalStop may exist at a time, and its end restores what was.

#pragma once

#include <csignal>

#include "workloads/run_control.h"

namespace diptych::cli {

class SignalStop {
 public:
  SignalStop();
  ~SignalStop();
  SignalStop(const SignalStop&) = delete;
  SignalStop& operator=(const SignalStop&) = delete;

  const workloads::StopFlag& flag() const;
  bool stopped() const;

 private:
  struct sigaction interrupt_before_ = {};
  struct sigaction terminate_before_ = {};
};

}  // namespace diptych::cli
