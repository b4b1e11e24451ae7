// WordSet: a hash set of keys of one or two words, which need neither a number nor a stored hash.
//
// The keys lie in the slots themselves, so a look-up reads one cache line. (A KeyTable reads three
// arrays and takes twice the memory.) A slot of zeros is free; a flag says if the zero key is in.
//
//   slot   hash >> shift, or the next free one: the upper bits of the hash, so that a larger array
//          is filled nearly in order from a smaller one
//
// From kPartedSlotsMin slots on, the array has kParts parts, by the uppermost bits of the hash, and
// a search stays in its part: from the end it goes on at the begin. (At most half of the slots are
// filled, by random hashes: no part is full.) So several workers may add keys of different parts.
//
// Merging    the keys of another set come in the order of its slots. They would fill one end of an
//            array that is still too small, and each search would pass all earlier keys. So
//            expect() makes room for them first.
//
// Threads    one worker, but for add_lists(); once the set is dense, any thread may read.

#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "olap/execution/limits/growing_array.h"
#include "olap/execution/limits/memory_budget.h"
#include "olap/execution/threads/workers.h"

namespace diptych::olap {

class WordSet {
 public:
  static constexpr uint32_t kWordsMax = 2;
  static constexpr uint32_t kParts = 256;

  // Keys have 1 or 2 words. While the set grows, it charges both arrays before it touches them, and
  // checks the stop signal. If either throws, the set can only be destroyed.
  WordSet(uint32_t words, const QueryLimits& limits);

  // The number of keys, at most 2^32 - 2; beyond, the query fails (kOutOfMemory).
  uint32_t size() const { return static_cast<uint32_t>(size_); }
  size_t memory_bytes() const { return slots_.bytes(); }

  // Makes room for this number of keys of another set, some of which may be in this set already.
  void expect(uint64_t keys);
  // Adds the keys that are new; at most kVectorRows at a time. Returns their number, and sets
  // added[i] to the place of the i-th of them among the keys.
  uint32_t add(const uint64_t* keys, uint32_t count, uint16_t* added);

  // Keys of other sets, by ranges of their hashes.
  class KeyLists {
   public:
    KeyLists(uint32_t words, uint32_t ranges) : words_(words), lists_(ranges) {}
    void add(const uint64_t* keys, uint32_t count);
    const GrowingArray<uint64_t>& range(uint64_t range) const { return lists_[range]; }
    size_t memory_bytes() const;

   private:
    uint32_t words_;
    std::vector<GrowingArray<uint64_t>> lists_;
  };
  // Called for the new ones among a range's keys; calls for different ranges come at a time.
  using Added =
      std::function<void(uint32_t range, const uint64_t* keys, const uint16_t* added, uint32_t)>;
  // Adds the keys of the lists, which all have this number of ranges, at most kParts. The workers
  // share the ranges.
  void add_lists(std::span<const KeyLists> lists, uint32_t ranges, const Workers& workers,
                 const Added& added);

  // Reads up to kVectorRows keys, in no order, from places below `end`, and advances *place. All
  // keys lie at the places below places(). Returns the number of keys read; 0 means that all have
  // been read.
  uint32_t read(uint64_t* place, uint64_t end, uint64_t* keys) const;
  uint64_t places() const { return is_dense_ ? size_ : slot_count_ + 1; }

  // Called after the last add(): from then on key(number) gives the size() keys by number.
  void make_dense();
  const uint64_t* key(uint32_t number) const { return slots_.data() + size_t{number} * words_; }

 private:
  static constexpr uint64_t kSlotsMin = 256;
  static constexpr uint32_t kPrefetchKeys = 64;
  static constexpr uint64_t kPrefetchBytesMin = uint64_t{256} << 10;  // a quarter of a core's L2

  static constexpr uint64_t kPartedSlotsMin = kParts * 1024;

  // As add(), with room for the keys; does not count them.
  template <uint32_t kWords>
  uint32_t place(const uint64_t* keys, uint32_t count, uint16_t* added);
  template <uint32_t kWords>
  void grow(uint64_t keys);  // to room for `keys`
  // Takes a larger array, whose slots mean nothing yet; returns the smaller one.
  GrowingArray<uint64_t> take_larger(uint64_t keys, MemoryCharge* charge);
  // Clears the slots of a range of parts, and places the keys of a smaller array of these parts.
  template <uint32_t kWords>
  void move_parts(const GrowingArray<uint64_t>& smaller, uint64_t smaller_count, RowRange parts);
  template <uint32_t kWords>
  uint64_t add_range(std::span<const KeyLists> lists, uint32_t range, const Added& added);

  const uint32_t words_;
  const QueryLimits limits_;
  GrowingArray<uint64_t> slots_;
  uint64_t slot_count_ = 0;  // a power of two, or 0
  uint32_t shift_ = 64;
  uint64_t last_in_part_ = 0;  // the number of slots in a part, or in all, less one
  uint64_t size_ = 0;
  bool has_zero_ = false;
  bool is_dense_ = false;
};

}  // namespace diptych::olap
