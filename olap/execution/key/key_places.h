// KeyPlaces: maps the places that dense_keys.h gives to a join's keys to numbers of keys.
//
// Array      a number for each place, in the order of insertion. Used if there are few places, or
//            if most of them are taken.
// Ranked     a bit for each place, and for each 32 places the number of taken places before them: a
//            sixteenth of an array's bytes. Bits and counts lie apart, because most look-ups need
//            only the bit. A key's number is the number of taken places before its own. If few
//            places are taken, nearly all look-ups end at a bit in a cache near the core; for a
//            large probe side, even millions of places are cheaper than a hash table.
//
// Threads    immutable once built.

#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "olap/execution/key/key_table.h"
#include "olap/execution/limits/growing_array.h"
#include "olap/execution/limits/stop_signal.h"
#include "olap/execution/vector/vector.h"

namespace diptych::olap {

class KeyPlaces {
 public:
  static constexpr uint32_t kNoKey = KeyTable::kNoKey;

  // The largest number of places that pays for a build and a probe side of so many rows (the latter
  // estimated); below 2^31.
  static uint64_t size_max(uint64_t build_rows, double probe_rows);

  // Builds the map from the rows' places, which are below `size`. Replaces each place in *rows by
  // the key's number and returns the number of keys. Called once.
  uint32_t build(uint32_t size, GrowingArray<uint32_t>* rows, const StopSignal& stop);

  // The number of the key at the place, which may be `size`, or kNoKey.
  uint32_t number(uint32_t place) const {
    if (is_array()) return numbers_[place];
    return ((taken_[place / 32] >> (place % 32)) & 1) != 0 ? rank(place) : kNoKey;
  }

  // Selects the rows whose place has a key. `places` is by slot and has room for kVectorRows; if
  // is_dense(rows), the places of all slots must be valid. It is overwritten. Benchmark:
  // BM_KeyPlaces.
  void select(uint32_t* places, const Selection& rows, Selection* with_key) const;
  // As select(), and sets numbers[k] to the key's number of the k-th row in *with_key.
  void match(uint32_t* places, const Selection& rows, Selection* with_key, uint32_t* numbers) const;

  // Bit p is set if place p has a key. `size` is the one passed to build().
  std::vector<uint64_t> taken(uint32_t size) const;

  size_t memory_bytes() const { return numbers_.bytes() + taken_.bytes() + before_.bytes(); }

 private:
  // An array of up to this size stays in a core's cache, whatever else the query touches.
  static constexpr uint64_t kArrayBytesNear = uint64_t{256} << 10;
  static constexpr uint64_t kArrayPlacesARow = 2;
  // Places may take kBytesABuildRow for each build row, or one byte for each probe row, between
  // kBytesNear and kBytesFarMax; whichever is more.
  static constexpr uint64_t kBytesABuildRow = 16;
  static constexpr uint64_t kBytesNear = uint64_t{512} << 10;
  static constexpr uint64_t kBytesFarMax = uint64_t{2} << 20;
  static constexpr uint64_t kRankedPlacesAByte = 4;

  uint32_t build_array(uint32_t size, GrowingArray<uint32_t>* rows, const StopSignal& stop);
  uint32_t build_ranked(uint32_t size, GrowingArray<uint32_t>* rows, const StopSignal& stop);
  bool is_array() const { return taken_.size() == 0; }
  uint32_t rank(uint32_t place) const {
    const uint32_t below = taken_[place / 32] & ((uint32_t{1} << (place % 32)) - 1);
    return before_[place / 32] + static_cast<uint32_t>(std::popcount(below));
  }

  GrowingArray<uint32_t> numbers_;  // Array: by place
  GrowingArray<uint32_t> taken_;    // Ranked: a bit for each place
  GrowingArray<uint32_t> before_;   // Ranked: for each 32 places, the taken places before them
};

}  // namespace diptych::olap
