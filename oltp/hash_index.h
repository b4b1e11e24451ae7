// HashIndex: equality by open addressing, in shards with a lock each.
//
// A slot is half a cache line; keys of up to 16 bytes lie in it, so a look-up usually costs one
// miss:
//
//   0      4      6        8      16                       32
//   | hash | size | unused | row  | key, or 8 bytes + pointer |      size 0: empty
//
// Linear probing at a load of at most 5/8; erase shifts the run back, so there are no tombstones. A
// shard doubles in one step (replaced by an index that grows without a stop: issue 3). With one
// worker there are two shards only, so that they soon lie on huge pages.
//
// Use        unique keys: entries with equal keys lie in one run, so thousands of rows with the
//            same key cost that many probes. Non-unique indexes use the ordered index instead.
// Threads    see index.h; one mutex a shard, none with one worker.
// Benchmark  tests/oltp/index_bench.cpp

#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <vector>

#include "base/arena.h"
#include "oltp/index.h"

namespace diptych::oltp {

class HashIndex final : public Index {
 public:
  HashIndex(Concurrency concurrency, base::NumaNode node);

  IndexInsert insert(std::string_view key, base::RowId row_id,
                     const UniquenessCheck* check) override;
  bool erase(std::string_view key, base::RowId row_id) override;
  void find(std::string_view key, const CandidateVisitor& visit) const override;
  void prefetch(std::string_view key) const override;
  void next_group(IndexCursor* cursor) const override;
  uint64_t entry_count() const override;
  size_t memory_bytes() const override;

 private:
  static constexpr uint32_t kShardBits = 4;
  static constexpr size_t kInlineBytes = 16;

  struct Slot {
    uint32_t hash;
    uint16_t size;
    uint16_t unused;
    base::RowId row_id;
    char key[kInlineBytes];

    std::string_view view() const;
  };
  static_assert(sizeof(Slot) == 32);

  // Long keys, by length in steps of 16 bytes.
  class KeyHeap {
   public:
    explicit KeyHeap(base::NumaNode node) : arena_(node, 16 * 1024) {}
    char* copy(std::string_view key);
    void release(char* key, size_t bytes);
    size_t allocated_bytes() const { return arena_.allocated_bytes(); }

   private:
    base::Arena arena_;
    std::array<std::vector<char*>, base::kKeyBytesMax / 16 + 1> free_;
  };

  struct alignas(64) Shard {
    explicit Shard(base::NumaNode node);
    Slot* slots() const { return reinterpret_cast<Slot*>(region.data()); }

    mutable std::mutex mutex;
    base::Region region;  // guarded by mutex, as is what follows
    uint64_t mask;        // slots - 1
    uint64_t entries = 0;
    KeyHeap long_keys;
  };

  Shard& shard_of(uint64_t hash) const { return *shards_[hash >> shard_shift_]; }
  std::unique_lock<std::mutex> lock(const Shard& shard) const;
  void grow(Shard* shard) const;

  Concurrency concurrency_;
  base::NumaNode node_;
  uint32_t shard_shift_;
  std::vector<std::unique_ptr<Shard>> shards_;
};

}  // namespace diptych::oltp
