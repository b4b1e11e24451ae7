#include "dispatcher/freshness_clock.h"

#include <algorithm>

#include "base/check.h"

namespace diptych::dispatcher {

void FreshnessClock::batch_begins(uint64_t now_ns) {
  const std::lock_guard lock(mutex_);
  DIPTYCH_CHECK(running_since_ns_ == 0, "the leader runs one batch at a time");
  running_since_ns_ = now_ns;
  if (unseen_since_ns_ == 0) unseen_since_ns_ = now_ns;
}

void FreshnessClock::batch_ends(base::Vid last) {
  const std::lock_guard lock(mutex_);
  running_since_ns_ = 0;
  last_ = last;
  if (last <= seen_) unseen_since_ns_ = 0;
}

propagation::CollectedSets FreshnessClock::collect(propagation::UpdateQueue* queue) {
  const std::lock_guard lock(mutex_);
  propagation::CollectedSets collected = queue->collect();
  // A batch that has ended was pushed before it told us so: only one that runs can be unseen.
  seen_ = std::max(seen_, collected.snapshot);
  unseen_since_ns_ = running_since_ns_;
  return collected;
}

base::Vid FreshnessClock::last() const {
  const std::lock_guard lock(mutex_);
  return last_;
}

uint64_t FreshnessClock::age_ns(uint64_t now_ns) const {
  const std::lock_guard lock(mutex_);
  if (unseen_since_ns_ == 0 || unseen_since_ns_ >= now_ns) return 0;
  return now_ns - unseen_since_ns_;
}

}  // namespace diptych::dispatcher
