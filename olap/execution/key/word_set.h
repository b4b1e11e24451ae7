// WordSet: a set of keys of one or two words, where a key needs neither a number nor its hash.
//
// The keys lie in the slots themselves, so that a look goes to one cache line; a KeyTable goes to
// three arrays, and takes twice the memory. A slot of zeros is free: the key of zeros is a flag.
//
//   slot   hash >> shift, or behind it: the upper bits, so that a larger array is filled from a
//          smaller one nearly in order
//
// Merging    another set's keys come in the order of its slots, and would fill an array that is not
//            yet large enough from one end, where each is searched for behind all others:
//            expect() makes room for them first.
//
// Threads    one worker's; once it is dense, any may read.

#pragma once

#include <cstdint>

#include "olap/execution/limits/growing_array.h"
#include "olap/execution/limits/memory_budget.h"

namespace diptych::olap {

class WordSet {
 public:
  static constexpr uint32_t kWordsMax = 2;

  // Of keys of 1 or 2 words. While it grows, both arrays are charged, before they are touched, and
  // the signal is looked at; where either throws, it is good for nothing but its end.
  WordSet(uint32_t words, const QueryLimits& limits);

  // How many keys it has; at most 2^32 - 2, or the query fails (kOutOfMemory).
  uint32_t size() const { return static_cast<uint32_t>(filled_) + (has_zero_ ? 1 : 0); }
  size_t memory_bytes() const { return slots_.bytes(); }

  // So many keys of another set will be added, of which it may have some already.
  void expect(uint64_t keys);
  // Adds those of the keys that are not there yet; at most kVectorRows at a time.
  void add(const uint64_t* keys, uint32_t count);

  // Up to kVectorRows keys, in no order, from *place on, which is 0 at first and moves on. Returns
  // how many there were; 0: all have been read.
  uint32_t read(uint64_t* place, uint64_t* keys) const;

  // The last of add() was called: key(number) is one of size() keys from here on.
  void make_dense();
  const uint64_t* key(uint32_t number) const { return slots_.data() + size_t{number} * words_; }

 private:
  static constexpr uint64_t kSlotsMin = 256;
  static constexpr uint32_t kPrefetchKeys = 64;
  static constexpr uint64_t kPrefetchBytesMin = uint64_t{256} << 10;  // a quarter of a core's L2

  template <uint32_t kWords>
  void place(const uint64_t* keys, uint32_t count);
  template <uint32_t kWords>
  void grow(uint64_t keys);  // room for so many

  const uint32_t words_;
  const QueryLimits limits_;
  GrowingArray<uint64_t> slots_;
  uint64_t slot_count_ = 0;  // a power of two, or 0
  uint32_t shift_ = 64;
  uint64_t filled_ = 0;  // slots
  bool has_zero_ = false;
  bool is_dense_ = false;
};

}  // namespace diptych::olap
