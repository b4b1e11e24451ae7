// HashBuild: fills an empty hash index from several threads (index_build.h).
//
// The buckets are all made beforehand, so none is split. A lane keeps some entries back while their
// buckets come into the cache. Two entries with the same hash bits may be of one key: each is
// placed before its thread looks for others (H2 of hash_index.h), so at least one of two lanes
// finds the other's. Of several lanes the rows are compared at the end. A single one compares them
// at once, and takes no more when two have the same key: many entries of one key lie on one way,
// and each would look at all of them.
//
// Threads    index_build.h.

#pragma once

#include <array>
#include <optional>
#include <vector>

#include "base/alignment.h"
#include "oltp/hash_index.h"
#include "oltp/index_build.h"

namespace diptych::oltp {

template <template <class> class Atomic>
class HashBuild final : public IndexBuild {
  using HashIndex = BasicHashIndex<Atomic>;

 public:
  HashBuild(HashIndex* index, uint64_t entries_max, uint32_t lanes)
      : index_(index), concurrency_(index->concurrency_), lanes_(lanes) {
    index->reserve(entries_max);
    index->concurrency_ = lanes > 1 ? Concurrency::kShared : Concurrency::kSingle;
  }

  void begin_run(uint32_t, uint64_t) override {}
  void add(uint32_t lane, std::string_view key, base::RowId row_id) override {
    Lane& own = lanes_[lane];
    if (own.same) return;
    const uint64_t hash = key_hash(key);
    HashIndex::fetch(index_->place_of(hash));
    own.waiting[own.count++] = {hash, row_id};
    if (own.count == kWaiting) place_all(&own);
  }
  void end_run(uint32_t lane) override { place_all(&lanes_[lane]); }

  uint32_t make_steps(uint32_t) override { return 0; }
  void step(uint32_t) override {}
  std::optional<Suspects> finish() override {
    uint64_t placed = 0;
    std::optional<Suspects> same;
    for (const Lane& lane : lanes_) {
      placed += lane.placed;
      if (!same) same = lane.same;
      for (const Suspects& suspects : lane.suspects) {
        if (!same && share_key(suspects)) same = suspects;
      }
    }
    // relaxed: the leader alone, at a boundary.
    index_->entries_.store(placed, std::memory_order_relaxed);
    index_->concurrency_ = concurrency_;
    return same;
  }

 private:
  static constexpr size_t kWaiting = 32;
  struct Waiting {
    uint64_t hash;
    base::RowId row_id;
  };
  struct alignas(base::kLineBytes) Lane {
    size_t count = 0;
    std::array<Waiting, kWaiting> waiting;
    uint64_t placed = 0;
    std::optional<Suspects> same;    // of a single lane
    std::vector<Suspects> suspects;  // of one of several
  };

  void place_all(Lane* lane) {
    for (size_t i = 0; i < lane->count && !lane->same; ++i) {
      const auto [hash, row_id] = lane->waiting[i];
      const uint64_t entry = HashIndex::make_entry(hash, row_id);
      typename HashIndex::Bucket& first = index_->bucket_of(hash);
      index_->place(&first, entry);
      ++lane->placed;
      index_->find_alike(first, entry, [&](base::RowId other) {
        const Suspects suspects{other, row_id};
        if (lanes_.size() != 1) {
          lane->suspects.push_back(suspects);
        } else if (!lane->same && share_key(suspects)) {
          lane->same = suspects;
        }
      });
    }
    lane->count = 0;
  }

  HashIndex* index_;
  Concurrency concurrency_;  // as it was
  std::vector<Lane> lanes_;
};

}  // namespace diptych::oltp
