// KeyPlaces: the numbers of a join's keys, by the places that dense_keys.h gives them.
//
// Array      a number for each place, as they come: where there are few places, or most are taken.
// Ranked     a bit for each place, and by 32 of them how many are taken before: a sixteenth of an
//            array's bytes. The two lie apart, since most rows ask for a bit alone. A key's number
//            is how many places before its own are taken. Where few of many are, nearly all
//            lookups end at a bit in a cache near the core, and beside a large probe side even
//            millions of places are cheaper than a hash table.
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

  // How many places are worth having for a build and a probe side of so many rows (the latter
  // estimated); below 2^31.
  static uint64_t size_max(uint64_t build_rows, double probe_rows);

  // In `rows`, each row's place becomes its key's number. Returns how many keys there are. Places
  // are below `size`. Called once.
  uint32_t build(uint32_t size, GrowingArray<uint32_t>* rows, const StopSignal& stop);

  // The number of the key at the place, which may be `size`, or kNoKey.
  uint32_t number(uint32_t place) const {
    if (is_array()) return numbers_[place];
    return ((taken_[place / 32] >> (place % 32)) & 1) != 0 ? rank(place) : kNoKey;
  }

  // Selects those of the rows whose place has a key. `places`, by slot, has room for kVectorRows;
  // where is_dense(rows), those of all slots can be looked up, selected or not. They are
  // overwritten. Benchmark: BM_KeyPlaces.
  void select(uint32_t* places, const Selection& rows, Selection* with_key) const;
  // The same with the numbers of these keys: numbers[k] is the k-th row's.
  void match(uint32_t* places, const Selection& rows, Selection* with_key, uint32_t* numbers) const;

  // Bit p: place p has a key. `size` as at build().
  std::vector<uint64_t> taken(uint32_t size) const;

  size_t memory_bytes() const { return numbers_.bytes() + taken_.bytes() + before_.bytes(); }

 private:
  // An array of so many bytes stays in the cache of a core whatever else is there.
  static constexpr uint64_t kArrayBytesNear = uint64_t{256} << 10;
  static constexpr uint64_t kArrayPlacesARow = 2;
  // What places may take: by build row, by probe row, and whatever the rows are.
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

  GrowingArray<uint32_t> numbers_;  // of an array
  GrowingArray<uint32_t> taken_;    // bits, of 32 places each
  GrowingArray<uint32_t> before_;   // of each 32 places, how many are taken before them
};

}  // namespace diptych::olap
