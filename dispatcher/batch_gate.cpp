#include "dispatcher/batch_gate.h"

#include <utility>

#include "base/check.h"
#include "base/clock.h"

namespace diptych::dispatcher {
namespace {

constexpr Side kSides[] = {Side::kOltp, Side::kOlap};

bool stops_side(Stops stops, Side side) {
  return stops == Stops::kBoth || side == Side::kOltp;
}

}  // namespace

BatchGate::Passage BatchGate::pass(Side side, const std::function<void()>& meanwhile) {
  LateAnswers late(meanwhile);
  while (true) {
    const uint32_t ticket = changed_.ticket();
    {
      const std::lock_guard lock(mutex_);
      DIPTYCH_CHECK(!door(side).inside, "a side runs one batch at a time");
      door(side).waiting = !may_pass(side);
      if (!door(side).waiting) {
        door(side).inside = true;
        // Interrupts wait for that.
        if (std::exchange(door(side).owed, false) && line_ != nullptr) changed_.wake_all();
        return {this, side};
      }
    }
    static_cast<void>(changed_.wait_for(ticket, kLateAnswerNs));
    late.waited();
  }
}

void BatchGate::leave(Side side) {
  bool awaited = false;
  {
    const std::lock_guard lock(mutex_);
    DIPTYCH_CHECK(door(side).inside, "a batch leaves once");
    door(side).inside = false;
    awaited = line_ != nullptr || held_.has_value();
  }
  if (awaited) changed_.wake_all();
}

bool BatchGate::may_pass(Side side) const {
  if (held_ && stops_side(*held_, side)) return false;
  if (door(side).owed) return true;
  for (const Waiter* waiter = line_; waiter != nullptr; waiter = waiter->next) {
    if (is_kept_out_by(*waiter, side)) return false;
  }
  return true;
}

// While a batch of the OLAP side is awaited, or owed, transactions go on.
bool BatchGate::is_kept_out_by(const Waiter& waiter, Side side) const {
  switch (waiter.section) {
    case Section::kOltp: return side == Side::kOltp;
    case Section::kBoth: return side == Side::kOlap || rests(Side::kOlap);
    case Section::kInterrupt: return false;
  }
  return false;
}

bool BatchGate::may_begin(Section section) const {
  if (held_) return false;
  switch (section) {
    case Section::kOltp: return rests(Side::kOltp);
    case Section::kBoth: return rests(Side::kOltp) && rests(Side::kOlap);
    case Section::kInterrupt: return !door(Side::kOltp).owed && !door(Side::kOlap).owed;
  }
  return false;
}

bool BatchGate::is_next(const Waiter& waiter) const {
  const Waiter* first = line_;
  while (first != nullptr && !may_begin(first->section)) first = first->next;
  return first == &waiter;
}

void BatchGate::line_up(Waiter* waiter) {
  Waiter** end = &line_;
  while (*end != nullptr) end = &(*end)->next;
  *end = waiter;
}

void BatchGate::leave_line(const Waiter* waiter) {
  Waiter** place = &line_;
  while (*place != waiter) place = &(*place)->next;
  *place = waiter->next;
}

bool BatchGate::take_turn(Section section, std::optional<uint64_t> deadline_ns) {
  Waiter self{section};
  {
    const std::lock_guard lock(mutex_);
    line_up(&self);
  }
  while (true) {
    const uint32_t ticket = changed_.ticket();
    {
      const std::lock_guard lock(mutex_);
      if (is_next(self)) {
        leave_line(&self);
        held_ = section == Section::kOltp ? Stops::kOltp : Stops::kBoth;
        return true;
      }
    }
    const uint64_t now_ns = deadline_ns ? base::steady_ns() : 0;
    if (!deadline_ns) {
      changed_.wait(ticket);
    } else if (now_ns < *deadline_ns) {
      static_cast<void>(changed_.wait_for(ticket, *deadline_ns - now_ns));
    } else {
      give_turn_up(&self);
      return false;
    }
  }
}

// Whoever it kept waiting need not any more.
void BatchGate::give_turn_up(const Waiter* waiter) {
  {
    const std::lock_guard lock(mutex_);
    leave_line(waiter);
  }
  changed_.wake_all();
}

BatchGate::Exclusive BatchGate::exclude(Stops stops) {
  take_turn(stops == Stops::kOltp ? Section::kOltp : Section::kBoth);
  return {this, stops};
}

base::Result<BatchGate::Exclusive> BatchGate::exclude_until(uint64_t deadline_ns) {
  if (!take_turn(Section::kBoth, deadline_ns)) return base::ErrorCode::kDeadlineExceeded;
  return Exclusive(this, Stops::kBoth);
}

BatchGate::Exclusive BatchGate::interrupt(const std::function<void()>& spoil) {
  take_turn(Section::kInterrupt);
  spoil();
  while (true) {
    const uint32_t ticket = changed_.ticket();
    {
      const std::lock_guard lock(mutex_);
      if (rests(Side::kOltp) && rests(Side::kOlap)) return {this, Stops::kBoth};
    }
    changed_.wait(ticket);
  }
}

void BatchGate::reopen(Stops stops) {
  {
    const std::lock_guard lock(mutex_);
    DIPTYCH_CHECK(held_ == stops, "G1: the gate is opened by who closed it");
    held_.reset();
    for (const Side side : kSides) {
      if (!stops_side(stops, side)) continue;
      DIPTYCH_CHECK(rests(side), "G1: a batch and an exclusive section never overlap");
      door(side).owed = door(side).waiting;
    }
  }
  changed_.wake_all();
}

}  // namespace diptych::dispatcher
