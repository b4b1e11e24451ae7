#include "propagation/update_merge.h"

#include <algorithm>
#include <limits>

#include "base/alignment.h"
#include "base/check.h"

namespace diptych::propagation {
namespace {

constexpr size_t kAheadBytes = 4096;  // 85 updates of stock (update_set.h)

}  // namespace

void UpdateMerge::Run::find_chunk() {
  for (; set_ < sets_.size(); ++set_, chunk_ = 0) {
    const std::span<const UpdateSet::Chunk> chunks = sets_[set_]->chunks();
    if (chunk_ == chunks.size()) continue;
    head_ = reinterpret_cast<const UpdateRecord*>(chunks[chunk_].data);
    chunk_end_ = chunks[chunk_].data + chunks[chunk_].used;
    return;
  }
  head_ = nullptr;
}

size_t UpdateMerge::Run::take(base::Vid last, std::span<const UpdateRecord*> room) {
  const UpdateRecord* head = head_;
  size_t count = 0;
  do {
    const base::Vid vid = head->vid;
    room[count++] = head;
    head = head->next();
    const auto* const at = reinterpret_cast<const std::byte*>(head);
    // Most records have two lines at most: no loop.
    __builtin_prefetch(at + kAheadBytes);
    __builtin_prefetch(at + kAheadBytes + base::kLineBytes);
    if (at == chunk_end_) [[unlikely]] {
      ++chunk_;
      find_chunk();
      head = head_;
      if (head == nullptr) return count;
    }
    DIPTYCH_CHECK(head->vid >= vid, "a worker's sets are in VID order");
  } while (head->vid <= last && count < room.size());
  head_ = head;
  return count;
}

UpdateMerge::UpdateMerge(const CollectedSets& collected, base::TableId table)
    : snapshot_(collected.snapshot) {
  for (const SealedSet& set : collected.sets) {
    if (set.table != table || set.updates->empty()) continue;
    auto run = std::find_if(runs_.begin(), runs_.end(),
                            [&](const Run& r) { return r.worker() == set.worker; });
    if (run == runs_.end()) run = runs_.insert(runs_.end(), Run(set.worker));
    run->add(set.updates.get());
    left_ += set.updates->change_count();
  }
  for (Run& run : runs_) run.start();
}

// As many runs as workers: a linear search for the least head is as quick as a heap, and it is done
// once a transaction.
size_t UpdateMerge::next(std::span<const UpdateRecord*> room) {
  size_t count = 0;
  while (!runs_.empty() && count < room.size()) {
    auto least = runs_.begin();
    base::Vid next(std::numeric_limits<uint64_t>::max());  // the least head of the others
    for (auto run = runs_.begin() + 1; run != runs_.end(); ++run) {
      if (run->head()->vid < least->head()->vid) {
        next = least->head()->vid;
        least = run;
      } else {
        next = std::min(next, run->head()->vid);
      }
    }
    count += least->take(next, room.subspan(count));
    if (least->head() == nullptr) runs_.erase(least);
  }
  DIPTYCH_CHECK(count <= left_, "each record was counted");
  left_ -= count;
  DIPTYCH_CHECK(count == 0 || room[count - 1]->vid <= snapshot_, "sets end at their snapshot");
  return count;
}

}  // namespace diptych::propagation
