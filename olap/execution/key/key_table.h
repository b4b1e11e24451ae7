// KeyTable: a hash table that numbers distinct packed keys 0, 1, 2... in the order of insertion.
//
// It uses open addressing with linear probing over 8-byte slots. A slot holds the upper half of the
// key's hash and the key's number plus one, so most mismatches are found without reading the key.
// At most half of the slots are used, in small tables an eighth. Keys and hashes lie in dense
// arrays by number. If the table is larger than the caches near the core, a batch's slots are
// prefetched before the first look-up.
//
// Threads    find() from any number, while nobody inserts.
// Errors     QueryFailure(kOutOfMemory) for more than 2^32 - 2 keys, or over the memory limit;
//            std::bad_alloc.

#pragma once

#include <cstdint>
#include <utility>

#include "olap/execution/key/key_packer.h"
#include "olap/execution/limits/memory_budget.h"
#include "olap/execution/threads/workers.h"
#include "olap/execution/vector/column_store.h"

namespace diptych::olap {

class KeyTable {
 public:
  static constexpr uint32_t kNoKey = UINT32_MAX;

  // Keeps references to the packer and the limits. While the table grows, it charges the memory
  // before it touches it, in the name of `what` (a literal: "the build side of a join"), and checks
  // the stop signal. If either throws, the table can only be destroyed.
  KeyTable(const KeyPacker& packer, const QueryLimits& limits, const char* what)
      : packer_(&packer), limits_(limits), what_(what) {}

  uint32_t size() const { return static_cast<uint32_t>(hashes_.size()); }
  const uint64_t* keys() const { return keys_.data(); }
  const uint64_t* hashes() const { return hashes_.data(); }
  size_t memory_bytes() const;

  // Gives away the keys' texts, when nobody looks up keys any more.
  QueryHeap take_texts() { return std::exchange(heap_, QueryHeap()); }

  // Announces an estimated number of keys, so that further keys move none.
  void expect(double keys);
  // Makes room for this number of keys in all.
  void reserve(uint64_t keys);

  // Sets numbers[k] to the number of key k, which is inserted if it is new. Long texts of new keys
  // are copied to this table's heap, unless they live as long as the query (StringLife::kQuery).
  // Benchmark: BM_GroupByInt.
  void find_or_insert(const uint64_t* keys, const uint64_t* hashes, uint32_t count, StringLife life,
                      uint32_t* numbers);

  // Inserts distinct keys that are not in the table; their texts live as long as the query.
  void insert_new(const uint64_t* keys, const uint64_t* hashes, uint32_t count, uint32_t* numbers);

  // Appends keys that are not in the table; they get numbers from size() on, and their texts live
  // as long as the query.
  // The next find_or_insert() or insert_new() makes their slots; until then find() is not allowed.
  void append(const uint64_t* keys, const uint64_t* hashes, uint32_t count);

  // Fills an empty table with all workers and numbers the keys as find_or_insert() would
  // (key_table_build.cpp). Their texts live as long as the query, and the caller has charged the
  // memory. Benchmark: BM_BuildKeyTable.
  void build(GrowingArray<uint64_t> keys, GrowingArray<uint64_t> hashes, const Workers& workers,
             uint32_t* numbers);

  // Sets numbers[k] to the number of key k, or to kNoKey. Benchmark: BM_ProbeSmall, BM_ProbeLarge.
  void find(const uint64_t* keys, const uint64_t* hashes, uint32_t count, uint32_t* numbers) const;

 private:
  template <class Equal>
  void find_or_insert_with(Equal equal, const uint64_t* keys, const uint64_t* hashes,
                           uint32_t count, StringLife life, uint32_t* numbers);
  template <class Equal>
  void find_with(Equal equal, const uint64_t* keys, const uint64_t* hashes, uint32_t count,
                 uint32_t* numbers) const;
  uint32_t insert(uint64_t slot, const uint64_t* key, uint64_t hash, StringLife life);
  void prefetch(const uint64_t* hashes, uint32_t count) const;
  static uint64_t slots_for(uint64_t keys);
  void rebuild(uint64_t slots);
  void make_room(uint32_t keys);  // for this number of further keys
  enum class Placed : uint8_t { kNew, kRepeated, kNoSlot };
  template <class Equal>
  Placed place(Equal equal, uint32_t key, uint64_t slot, uint64_t slot_end, uint32_t* numbers);
  template <class Equal>
  uint64_t place_all(Equal equal, const Workers& workers, uint32_t* numbers);
  void drop_repeated(const Workers& workers, uint32_t* numbers);

  static constexpr uint32_t kPrefetchKeys = 16;  // keys ahead whose slots are prefetched
  static constexpr uint64_t kTagMask = ~uint64_t{UINT32_MAX};

  const KeyPacker* packer_;
  const QueryLimits limits_;
  const char* const what_;
  GrowingArray<uint64_t> slots_;  // hash & kTagMask | number + 1; 0 is free
  uint32_t placed_ = 0;           // keys that have a slot: all, or there are appended ones
  uint64_t slot_mask_ = 0;
  GrowingArray<uint64_t> keys_;
  GrowingArray<uint64_t> hashes_;
  QueryHeap heap_;
};

}  // namespace diptych::olap
