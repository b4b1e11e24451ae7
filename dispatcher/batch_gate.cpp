#include "dispatcher/batch_gate.h"

#include "base/check.h"

namespace diptych::dispatcher {

BatchGate::Passage BatchGate::pass(Side side) {
  while (true) {
    const uint32_t ticket = changed_.ticket();
    {
      const std::lock_guard lock(mutex_);
      DIPTYCH_CHECK(!inside(side), "a side runs one batch at a time");
      if (excluders_ == 0) {
        inside(side) = true;
        return {this, side};
      }
    }
    changed_.wait(ticket);
  }
}

void BatchGate::leave(Side side) {
  bool awaited = false;
  {
    const std::lock_guard lock(mutex_);
    DIPTYCH_CHECK(inside(side) && !excluded_, "G1: a batch and an exclusive section never overlap");
    inside(side) = false;
    awaited = excluders_ != 0;
  }
  if (awaited) changed_.wake_all();
}

BatchGate::Exclusive BatchGate::exclude() {
  {
    const std::lock_guard lock(mutex_);
    ++excluders_;
  }
  while (true) {
    const uint32_t ticket = changed_.ticket();
    {
      const std::lock_guard lock(mutex_);
      if (!excluded_ && !inside(Side::kOltp) && !inside(Side::kOlap)) {
        excluded_ = true;
        return Exclusive(this);
      }
    }
    changed_.wait(ticket);
  }
}

void BatchGate::reopen() {
  {
    const std::lock_guard lock(mutex_);
    DIPTYCH_CHECK(excluded_ && excluders_ != 0, "G1: the gate is opened by who closed it");
    excluded_ = false;
    --excluders_;
  }
  changed_.wake_all();
}

}  // namespace diptych::dispatcher
