#include "propagation/export/update_queue.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace diptych::propagation {
namespace {

constexpr size_t kJoinedBytesMax = size_t{16} << 10;   // more is not copied
constexpr size_t kJoinedToBytesMax = size_t{1} << 20;  // nor to what is larger

size_t bytes_of(const std::vector<SealedSet>& sets) {
  size_t bytes = 0;
  for (const SealedSet& set : sets) bytes += set.updates->pending_bytes();
  return bytes;
}

}  // namespace

void UpdateQueue::push(std::vector<SealedSet> sets, base::Vid snapshot) {
  for (const SealedSet& set : sets) {
    DIPTYCH_CHECK(set.updates != nullptr && !set.updates->empty(), "empty sets are not pushed");
  }
  {
    const std::lock_guard lock(mutex_);
    DIPTYCH_CHECK(snapshot >= snapshot_, "batches are pushed in VID order");
    for (SealedSet& set : sets) {
      if (join(set)) {
        set.updates->clear();
        // Beyond the limit it goes with `sets`, after the lock.
        if (empty_sets_.size() < kEmptySetsMax) empty_sets_.push_back(std::move(set.updates));
        continue;
      }
      // relaxed: a limit is compared with it; nothing is read on the strength of its value.
      pending_bytes_.fetch_add(set.updates->pending_bytes(), std::memory_order_relaxed);
      waiting_.push_back(std::move(set));
    }
    snapshot_ = snapshot;
  }
  parker_.wake_all();
}

bool UpdateQueue::join(const SealedSet& set) {
  if (set.updates->used_bytes() > kJoinedBytesMax) return false;
  const auto before = std::find_if(waiting_.rbegin(), waiting_.rend(), [&](const SealedSet& other) {
    return other.worker == set.worker && other.table == set.table;
  });
  if (before == waiting_.rend() || before->updates->used_bytes() > kJoinedToBytesMax) return false;
  const size_t bytes = before->updates->pending_bytes();
  before->updates->append_set(*set.updates);
  // relaxed: as in push.
  pending_bytes_.fetch_add(before->updates->pending_bytes() - bytes, std::memory_order_relaxed);
  return true;
}

CollectedSets UpdateQueue::collect() {
  CollectedSets collected;
  const std::lock_guard lock(mutex_);
  collected.sets.swap(waiting_);
  collected.snapshot = snapshot_;
  return collected;
}

void UpdateQueue::recycle(std::vector<SealedSet> sets) {
  const size_t bytes = bytes_of(sets);
  for (SealedSet& set : sets) set.updates->clear();
  // relaxed: a limit is compared with it; nothing is read on the strength of its value.
  const size_t pending = pending_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  DIPTYCH_CHECK(pending >= bytes, "only pushed sets are recycled, and once");
  {
    const std::lock_guard lock(mutex_);
    for (SealedSet& set : sets) {
      if (empty_sets_.size() == kEmptySetsMax) break;
      empty_sets_.push_back(std::move(set.updates));
    }
  }
  parker_.wake_all();
  // Those that are left in `sets` give their chunks back here.
}

std::unique_ptr<UpdateSet> UpdateQueue::take_empty() {
  {
    const std::lock_guard lock(mutex_);
    if (!empty_sets_.empty()) {
      std::unique_ptr<UpdateSet> set = std::move(empty_sets_.back());
      empty_sets_.pop_back();
      return set;
    }
  }
  return std::make_unique<UpdateSet>(&chunks_);
}

size_t UpdateQueue::empty_bytes() const {
  const std::lock_guard lock(mutex_);
  return chunks_.kept_bytes() + empty_sets_.size() * UpdateSet::kChunkBytes;
}

size_t UpdateQueue::pending_bytes() const {
  // relaxed: a limit is compared with it; nothing is read on the strength of its value.
  return pending_bytes_.load(std::memory_order_relaxed);
}

}  // namespace diptych::propagation
