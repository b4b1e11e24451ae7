#include "propagation/update_merge.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace diptych::propagation {
namespace {

constexpr size_t kAheadBytes = 1024;  // some ten records

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

void UpdateMerge::Run::take(base::Vid last, size_t count,
                            std::vector<const UpdateRecord*>* records) {
  const UpdateRecord* head = head_;
  do {
    const base::Vid vid = head->vid;
    records->push_back(head);
    head = head->next();
    __builtin_prefetch(reinterpret_cast<const std::byte*>(head) + kAheadBytes);
    if (reinterpret_cast<const std::byte*>(head) == chunk_end_) [[unlikely]] {
      ++chunk_;
      find_chunk();
      head = head_;
      if (head == nullptr) return;
    }
    DIPTYCH_CHECK(head->vid >= vid, "a worker's sets are in VID order");
  } while (head->vid <= last && records->size() < count);
  head_ = head;
}

UpdateMerge::UpdateMerge(const CollectedSets& collected, base::TableId table)
    : snapshot_(collected.snapshot) {
  for (const SealedSet& set : collected.sets) {
    if (set.table != table || set.updates->empty()) continue;
    auto run = std::find_if(runs_.begin(), runs_.end(),
                            [&](const Run& r) { return r.worker() == set.worker; });
    if (run == runs_.end()) run = runs_.insert(runs_.end(), Run(set.worker));
    run->add(set.updates.get());
  }
  for (Run& run : runs_) run.start();
}

// As many runs as workers: a linear search for the least head is as quick as a heap, and it is done
// once a transaction.
void UpdateMerge::next(size_t count, std::vector<const UpdateRecord*>* records) {
  records->clear();
  while (!runs_.empty() && records->size() < count) {
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
    least->take(next, count, records);
    if (least->head() == nullptr) runs_.erase(least);
  }
  DIPTYCH_CHECK(records->empty() || records->back()->vid <= snapshot_,
                "sets end at their snapshot");
}

}  // namespace diptych::propagation
