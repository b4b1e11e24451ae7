// HashBucket, and what follows a full one: HashChains, HashPath.
//
//   bucket -> bucket -> 16 buckets -> 16 buckets -> ...
//
// Most full buckets need one more. Where that does not do, the table holds far more than it was
// made for, as in a long transaction beside other workers (H1 of hash_index.h): from there on the
// ways part by four bits of the hash at a time, so that each looks at a few buckets among however
// many entries. Entries with the same hash bits lie on one way, and no entry moves.
//
//   hash bits of an entry   27 ... 24 | 23 ... 20 | ... | 3 ... 0
//   choose at depth            2           3               8
//
// Beyond that, entries agree in all their bits, and buckets follow each other one by one.
//
// Threads    extend: any, lock-free but for the memory; a HashPath: any; the rest: one, alone.
// Memory     in an arena; what is taken apart is used again.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "base/alignment.h"
#include "base/arena.h"
#include "oltp/index.h"

namespace diptych::oltp {

template <template <class> class Atomic>
struct alignas(base::kLineBytes) HashBucket {
  static constexpr size_t kEntries = 7;
  static constexpr uint32_t kHashBits = 28;  // the high ones of an entry
  static constexpr uint32_t kFanBits = 4;

  // How many buckets follow side by side at a depth.
  static size_t fan_at(size_t depth) {
    return depth < 2 || depth > 1 + kHashBits / kFanBits ? 1 : size_t{1} << kFanBits;
  }
  // Which of them an entry with these hash bits chooses.
  static size_t choice_at(size_t depth, uint64_t hash_bits) {
    if (fan_at(depth) == 1) return 0;
    return hash_bits >> (kHashBits - kFanBits * (depth - 1)) & (fan_at(depth) - 1);
  }

  std::array<Atomic<uint64_t>, kEntries> entries;  // writers: hash_index.h
  Atomic<HashBucket*> next;  // writer: who adds it, by compare-and-swap; the leader
};

// The buckets where an entry with some hash bits may be, from the first on.
template <class Bucket>
class HashPath {
 public:
  HashPath(Bucket* first, uint64_t hash_bits) : bucket_(first), hash_bits_(hash_bits) {}

  Bucket& bucket() const { return *bucket_; }
  size_t depth() const { return depth_; }
  // False: it is at the last one.
  bool advance() {
    // acquire: pairs with the release in extend; what follows is empty or filled.
    Bucket* const next = bucket_->next.load(std::memory_order_acquire);
    if (next == nullptr) return false;
    enter(next);
    return true;
  }
  // The buckets that follow.
  void enter(Bucket* next) { bucket_ = next + Bucket::choice_at(++depth_, hash_bits_); }

 private:
  Bucket* bucket_;
  uint64_t hash_bits_;
  size_t depth_ = 0;
};

template <template <class> class Atomic>
class HashChains {
 public:
  using Bucket = HashBucket<Atomic>;

  explicit HashChains(base::NumaNode node) : memory_(node) {}

  // What follows `last`, at the depth: it is made if there is nothing yet.
  Bucket* extend(Bucket* last, size_t depth, Concurrency concurrency) {
    if (concurrency == Concurrency::kSingle) {
      Bucket* const added = take(depth);
      // relaxed: one worker.
      last->next.store(added, std::memory_order_relaxed);
      return added;
    }
    Bucket* const fresh = [&] {
      const std::lock_guard lock(mutex_);
      return take(depth);
    }();
    Bucket* present = nullptr;
    // release: pairs with the acquire in advance; the bucket is empty. acquire: another worker's.
    if (last->next.compare_exchange_strong(present, fresh, std::memory_order_acq_rel,
                                           std::memory_order_acquire)) {
      return fresh;
    }
    const std::lock_guard lock(mutex_);
    give_back(fresh, depth);
    return present;
  }

  // How many times a bucket got followers since the last call. The leader, between batches.
  uint64_t take_extended() { return std::exchange(extended_, 0); }

  // Calls on_bucket(Bucket*) for all that follow the first one, which loses them. It must empty the
  // bucket, and may extend the first one anew.
  template <class OnBucket>
  void take_apart(Bucket* first, const OnBucket& on_bucket) {
    const auto detach = [](Bucket* bucket) {
      // relaxed: nobody else is at the table.
      bucket->next.store(nullptr, std::memory_order_relaxed);
    };
    walk(&walked_, first, detach, on_bucket,
         [this](const Siblings& siblings) { give_back(siblings.first, siblings.depth); });
  }
  // The same, and they stay.
  template <class OnBucket>
  static void for_each_behind(Bucket* first, const OnBucket& on_bucket) {
    std::vector<Siblings> noted;
    walk(
        &noted, first, [](Bucket*) {}, on_bucket, [](const Siblings&) {});
  }

  // Whether what is in the bucket and behind it has room in fewer buckets: in one, or two.
  static bool needs_fewer(Bucket* first) {
    // relaxed: nobody else is at the table.
    if (first->next.load(std::memory_order_relaxed) == nullptr) return false;
    size_t buckets = 0;
    size_t taken = 0;
    const auto count = [&](const Bucket* bucket) {
      ++buckets;
      for (const auto& entry : bucket->entries) {
        // relaxed: as above.
        if (entry.load(std::memory_order_relaxed) != 0) ++taken;
      }
    };
    count(first);
    for_each_behind(first, count);
    return taken <= (buckets > 2 ? 2 : 1) * Bucket::kEntries;
  }

  size_t allocated_bytes() const { return memory_.allocated_bytes(); }

 private:
  struct Siblings {
    Bucket* first;
    size_t depth;
  };

  template <class OnNoted, class OnBucket, class OnLeft>
  static void walk(std::vector<Siblings>* noted, Bucket* first, const OnNoted& on_noted,
                   const OnBucket& on_bucket, const OnLeft& on_left) {
    const auto note = [&](Bucket* bucket, size_t depth) {
      // relaxed: nobody else is at the table.
      Bucket* const next = bucket->next.load(std::memory_order_relaxed);
      if (next == nullptr) return;
      on_noted(bucket);
      noted->push_back({next, depth});
    };
    note(first, 1);
    while (!noted->empty()) {
      const Siblings siblings = noted->back();
      noted->pop_back();
      for (size_t i = 0; i < Bucket::fan_at(siblings.depth); ++i) {
        Bucket* const bucket = siblings.first + i;
        note(bucket, siblings.depth + 1);
        on_bucket(bucket);
      }
      on_left(siblings);
    }
  }

  // Under mutex_, where others may, here and below.
  Bucket* take(size_t depth) {
    ++extended_;
    const size_t count = Bucket::fan_at(depth);
    std::vector<Bucket*>& idle = count == 1 ? idle_ : idle_fans_;
    if (!idle.empty()) {
      Bucket* const buckets = idle.back();
      idle.pop_back();
      return buckets;
    }
    auto* const buckets =
        static_cast<Bucket*>(static_cast<void*>(memory_.allocate(count * sizeof(Bucket), 64)));
    for (size_t i = 0; i < count; ++i) new (buckets + i) Bucket{};
    return buckets;
  }
  void give_back(Bucket* buckets, size_t depth) {
    (Bucket::fan_at(depth) == 1 ? idle_ : idle_fans_).push_back(buckets);
  }

  std::mutex mutex_;                // of what is added to chains; rare, and not with one worker
  base::Arena memory_;              // guarded by mutex_, with several workers
  std::vector<Bucket*> idle_;       // likewise: empty ones
  std::vector<Bucket*> idle_fans_;  // likewise, by their firsts
  uint64_t extended_ = 0;           // likewise
  std::vector<Siblings> walked_;    // of take_apart; empty between its calls
};

}  // namespace diptych::oltp
