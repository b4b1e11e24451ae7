// OrderedBuild: fills an empty ordered index from several threads (index_build.h): runs are sorted
// by the thread that adds them, and merged into the tree's leaves by the steps (bw_build.h).
//
// Threads    index_build.h.
// Memory     one array for all entries until finish(), on huge pages.

#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <vector>

#include "base/alignment.h"
#include "base/arena.h"
#include "base/check.h"
#include "oltp/bw_build.h"
#include "oltp/index_build.h"

namespace diptych::oltp {

// OrderedIndex: of ordered_index.cpp.
template <class OrderedIndex>
class OrderedBuild final : public IndexBuild {
  using Tree = typename OrderedIndex::Tree;
  using Entry = typename Tree::Entry;
  using Build = BwBuild<typename Tree::Pages>;
  using Run = typename Build::Run;

 public:
  OrderedBuild(OrderedIndex* index, uint64_t entries_max, uint32_t lanes, base::NumaNode node)
      : index_(index),
        pages_(&index->tree_.pages_to_build()),
        memory_(entries_max * sizeof(Entry), node),
        entries_(reinterpret_cast<Entry*>(memory_.data())),
        entries_max_(entries_max),
        lanes_(lanes) {
    pages_->memory().set_concurrency(Concurrency::kShared);
  }

  void begin_run(uint32_t lane, uint64_t entries_max) override {
    // relaxed: it only shares out places.
    const uint64_t first = taken_.fetch_add(entries_max, std::memory_order_relaxed);
    DIPTYCH_CHECK(first + entries_max <= entries_max_, "who begins a build knows its size");
    lanes_[lane] = {entries_ + first, entries_ + first, entries_ + first + entries_max};
  }
  void add(uint32_t lane, std::string_view key, base::RowId row_id) override {
    Lane& own = lanes_[lane];
    DIPTYCH_CHECK(own.end != own.limit && key.size() <= OrderedIndex::kWidth,
                  "a run has as many entries as it said, and the index is made for its keys");
    *own.end++ = OrderedIndex::entry_of(key, row_id.value);
  }
  void end_run(uint32_t lane) override {
    const Lane own = lanes_[lane];
    if (own.first == own.end) return;
    if (!std::is_sorted(own.first, own.end)) std::sort(own.first, own.end);
    const std::lock_guard lock(mutex_);
    runs_.emplace_back(own.first, own.end);
  }

  uint32_t make_steps(uint32_t steps_max) override {
    uint64_t entries = 0;
    for (const Run& run : runs_) entries += run.size();
    const uint64_t useful = std::max<uint64_t>(1, entries / kStepEntries);
    stretches_.resize(std::min<uint64_t>(steps_max, useful));
    parts_ = Build::cut(runs_, static_cast<uint32_t>(stretches_.size()));
    return static_cast<uint32_t>(stretches_.size());
  }
  void step(uint32_t number) override {
    stretches_[number].merge(pages_, std::move(parts_[number]));
  }
  std::optional<Suspects> finish() override {
    const auto alike = Build::link(pages_, &stretches_);
    pages_->memory().set_concurrency(index_->concurrency_);
    if (!alike) return std::nullopt;
    const Suspects suspects{base::RowId(alike->first), base::RowId(alike->second)};
    return share_key(suspects) ? std::optional(suspects) : std::nullopt;
  }

 private:
  static constexpr uint64_t kStepEntries = 50'000;  // fewer are not worth a thread
  struct alignas(base::kLineBytes) Lane {
    Entry* first = nullptr;
    Entry* end = nullptr;
    Entry* limit = nullptr;
  };

  OrderedIndex* index_;
  typename Tree::Pages* pages_;
  base::Region memory_;
  Entry* entries_;
  const uint64_t entries_max_;
  std::atomic<uint64_t> taken_{0};  // writers: lanes that begin runs
  std::vector<Lane> lanes_;
  std::mutex mutex_;
  std::vector<Run> runs_;  // guarded by mutex_ until make_steps
  std::vector<std::vector<Run>> parts_;
  std::vector<typename Build::Stretch> stretches_;
};

}  // namespace diptych::oltp
