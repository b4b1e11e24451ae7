// WordSet: a hash set of keys of one or two words, which need neither a number nor a stored hash.
//
// The keys lie in the slots themselves, so a look-up reads one cache line. (A KeyTable reads three
// arrays and takes twice the memory.) A slot of zeros is free; a flag says if the zero key is in.
//
//   slot   hash >> shift, or the next free one: the upper bits of the hash, so that a larger array
//          is filled nearly in order from a smaller one
//
// Merging    the keys of another set come in the order of its slots. They would fill one end of an
//            array that is still too small, and each search would pass all earlier keys. So
//            expect() makes room for them first.
//
// Threads    one worker; once the set is dense, any thread may read.

#pragma once

#include <cstdint>

#include "olap/execution/limits/growing_array.h"
#include "olap/execution/limits/memory_budget.h"

namespace diptych::olap {

class WordSet {
 public:
  static constexpr uint32_t kWordsMax = 2;

  // Keys have 1 or 2 words. While the set grows, it charges both arrays before it touches them, and
  // checks the stop signal. If either throws, the set can only be destroyed.
  WordSet(uint32_t words, const QueryLimits& limits);

  // The number of keys, at most 2^32 - 2; beyond, the query fails (kOutOfMemory).
  uint32_t size() const { return static_cast<uint32_t>(filled_) + (has_zero_ ? 1 : 0); }
  size_t memory_bytes() const { return slots_.bytes(); }

  // Makes room for this number of keys of another set, some of which may be in this set already.
  void expect(uint64_t keys);
  // Adds the keys that are new; at most kVectorRows at a time.
  void add(const uint64_t* keys, uint32_t count);

  // Reads up to kVectorRows keys, in no order, and advances *place, which is 0 for the first call.
  // Returns the number of keys read; 0 means that all have been read.
  uint32_t read(uint64_t* place, uint64_t* keys) const;

  // Called after the last add(): from then on key(number) gives the size() keys by number.
  void make_dense();
  const uint64_t* key(uint32_t number) const { return slots_.data() + size_t{number} * words_; }

 private:
  static constexpr uint64_t kSlotsMin = 256;
  static constexpr uint32_t kPrefetchKeys = 64;
  static constexpr uint64_t kPrefetchBytesMin = uint64_t{256} << 10;  // a quarter of a core's L2

  template <uint32_t kWords>
  void place(const uint64_t* keys, uint32_t count);
  template <uint32_t kWords>
  void grow(uint64_t keys);  // to room for `keys`

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
