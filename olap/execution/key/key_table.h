// KeyTable: distinct packed keys, numbered 0, 1, 2... in the order of their first insertion.
//
// Open addressing with linear probing over 8-byte slots; a slot is the upper half of the key's hash
// and the key's number plus one, so a mismatch is mostly seen without touching the key. At most
// half of the slots are used, in small tables an eighth. Keys and hashes lie in dense arrays by
// number. A batch's slots are prefetched before any is looked at, where the table is larger than
// the caches near the core.
//
// Threads    find() from any number, while nobody inserts.
// Limits     2^32 - 2 keys; beyond, or over the memory limit: QueryFailure(kOutOfMemory). Memory:
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

  // Keeps references. Memory that it takes while it grows is charged meanwhile, before it is
  // touched, as a part of `what` (a literal: "the build side of a join"), and the signal is looked
  // at; where either throws, it is good for nothing but its end.
  KeyTable(const KeyPacker& packer, const QueryLimits& limits, const char* what)
      : packer_(&packer), limits_(limits), what_(what) {}

  uint32_t size() const { return static_cast<uint32_t>(hashes_.size()); }
  const uint64_t* keys() const { return keys_.data(); }
  const uint64_t* hashes() const { return hashes_.data(); }
  size_t memory_bytes() const;

  // The keys' texts, when nobody looks for keys any more.
  QueryHeap take_texts() { return std::exchange(heap_, QueryHeap()); }

  // How many keys may come, by an estimate: none of them is moved as more come.
  void expect(double keys);
  // Makes room for so many keys in all.
  void reserve(uint64_t keys);

  // numbers[k] = the number of key k, new or old. Long texts of new keys are copied to this table's
  // heap, unless they stay (StringLife::kQuery). Benchmark: BM_GroupByInt.
  void find_or_insert(const uint64_t* keys, const uint64_t* hashes, uint32_t count, StringLife life,
                      uint32_t* numbers);

  // The same for keys that are not in the table, and different from each other; their texts stay.
  void insert_new(const uint64_t* keys, const uint64_t* hashes, uint32_t count, uint32_t* numbers);

  // Keys that are not in the table, numbered from size() on, and have no long texts. Their slots
  // are made by the next find_or_insert() or insert_new(), and find() comes after these.
  void append(const uint64_t* keys, const uint64_t* hashes, uint32_t count);

  // Into an empty table: as find_or_insert() of all these keys, whose texts stay, would number
  // them, by all workers (key_table_build.cpp). The caller has charged the memory. Benchmark:
  // BM_BuildKeyTable.
  void build(GrowingArray<uint64_t> keys, GrowingArray<uint64_t> hashes, const Workers& workers,
             uint32_t* numbers);

  // numbers[k] = the number of key k, or kNoKey. Benchmark: BM_ProbeSmall, BM_ProbeLarge.
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
  void make_room(uint32_t keys);  // for so many more
  enum class Placed : uint8_t { kNew, kRepeated, kNoSlot };
  template <class Equal>
  Placed place(Equal equal, uint32_t key, uint64_t slot, uint64_t slot_end, uint32_t* numbers);
  template <class Equal>
  uint64_t place_all(Equal equal, const Workers& workers, uint32_t* numbers);
  void drop_repeated(const Workers& workers, uint32_t* numbers);

  static constexpr uint32_t kPrefetchKeys = 16;  // ahead of the one whose slot is looked for
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
