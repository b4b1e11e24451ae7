// The log and checkpoints: what they have of it, and how it waits where they are slow.

#include <algorithm>

#include "base/amount_text.h"
#include "base/clock.h"
#include "dispatcher/command_log/command_log.h"
#include "dispatcher/late_answers.h"

namespace diptych::dispatcher {
namespace {

constexpr size_t kGroupBytesMax = size_t{8} << 20;  // then the leader waits
constexpr uint64_t kFilePatienceNs = 50'000'000;    // of a checkpoint

}  // namespace

bool CommandLog::wants_checkpoint() {
  const std::lock_guard lock(mutex_);
  return uncovered_.take_wish();
}

bool CommandLog::outgrows_checkpoints() const {
  const std::lock_guard lock(mutex_);
  return stall_ || suspension_ || uncovered_.is_outgrown();
}

void CommandLog::update_hurry() {
  // relaxed: who reads it asks again.
  hurries_checkpoints_.store(stall_ || suspension_ || uncovered_.is_ahead(),
                             std::memory_order_relaxed);
}

bool CommandLog::holds_back() const {
  return uncovered_.is_full() && waits_for_space_ && !refuses();
}

void CommandLog::wait_for_room(const std::function<void()>& meanwhile) {
  LateAnswers late(meanwhile);
  while (true) {
    const uint32_t ticket = progress_.ticket();
    bool held_back = false;
    {
      const std::lock_guard lock(mutex_);
      held_back = holds_back();
      if (!held_back && (filling_.frame.bytes() <= kGroupBytesMax || refuses())) return;
    }
    if (held_back) {
      wait_for_checkpoint(meanwhile);
    } else {
      static_cast<void>(progress_.wait_for(ticket, kLateAnswerNs));
      late.waited();
    }
  }
}

// Outside of the gate: the checkpoint gets through it, and so do DDL and loads, whose saves do as
// well. It is asked for here, whether one is on its way or not: each one covers the log, or fails,
// which ends the wait, or is cancelled by who has the next one begun.
void CommandLog::wait_for_checkpoint(const std::function<void()>& meanwhile) {
  uint64_t bytes = 0;
  uint64_t since_ns = base::steady_ns();
  {
    const std::lock_guard lock(mutex_);
    bytes = uncovered_.bytes();
    held_since_ns_ = since_ns;
    ++figures_.checkpoint_waits;
  }
  if (held_notice_.is_due(since_ns)) {
    base::notify(
        "transactions wait for a checkpoint: {} of the log are in none, the limit is {} (said "
        "again after a minute without)",
        base::bytes_text(bytes), base::bytes_text(uncovered_.bytes_max()));
  }
  checkpoint_is_due_();
  LateAnswers late(meanwhile);
  while (true) {
    const uint32_t ticket = progress_.ticket();
    {
      const std::lock_guard lock(mutex_);
      if (!holds_back()) break;
    }
    static_cast<void>(progress_.wait_for(ticket, kLateAnswerNs));
    late.waited();
  }
  const uint64_t end_ns = base::steady_ns();
  held_notice_.goes_on(end_ns);
  const std::lock_guard lock(mutex_);
  figures_.checkpoint_wait_ns += end_ns - since_ns;
  held_since_ns_ = 0;
}

void CommandLog::begin_file(size_t used_min) {
  uint64_t wanted = 0;
  {
    const std::lock_guard lock(mutex_);
    uncovered_.checkpoint_begins();
    if (end_.bytes < used_min) return;
  }
  if (used_min != 0 && !files_.next_is_ready(kFilePatienceNs)) return;
  {
    const std::lock_guard lock(mutex_);
    wanted = ++files_wanted_;
  }
  work_.wake_all();
  while (true) {
    const uint32_t ticket = progress_.ticket();
    {
      const std::lock_guard lock(mutex_);
      if (files_begun_ >= wanted || failure_ || stall_ || stopping_) return;
    }
    progress_.wait(ticket);
  }
}

void CommandLog::cover(base::Vid vid) {
  // A file that stays is dropped by the next checkpoint.
  static_cast<void>(files_.drop_covered(vid));
  const std::lock_guard lock(mutex_);
  suspension_.reset();
  if (vid >= logged_) {
    uncovered_.cover_all();
  } else {
    uncovered_.cover_begun();
  }
  // relaxed: raised under mutex_.
  const uint64_t durable = durable_vid_.load(std::memory_order_relaxed);
  // release: pairs with the acquire in wait_until_durable.
  durable_vid_.store(std::max(durable, vid.value), std::memory_order_release);
  update_refusal();
}

void CommandLog::checkpoint_failed() {
  {
    const std::lock_guard lock(mutex_);
    uncovered_.checkpoint_failed();
  }
  progress_.wake_all();
}

}  // namespace diptych::dispatcher
