// SIMD loops over a join's probe rows and over selections, through Highway. Each loop is compiled
// for AVX2, for AVX-512 and as scalar code; the best for the machine is chosen at run time
// (hwy::SetSupportedTargetsForTest chooses another in tests).
//
// Slots come in `words` words of 64. The places of all slots can be looked up, also of slots that
// are not selected. Bit i of `found` is set if slot i is selected and its place is taken.
// `selected` and `found` may be the same. Benchmark: BM_KeyPlaces.

#pragma once

#include <cstdint>

namespace diptych::olap {

// A key column of 32-bit values. A value in [min, min + last] contributes (value - min) * stride to
// the place.
struct PlaceColumn {
  const int32_t* values;
  uint32_t min;
  uint32_t last;
  uint32_t stride;
};

// Sets places[i] of each slot to the sum over `count` columns (1 to kPlaceColumnsMax), or to `none`
// if a value is out of bounds. Benchmark: BM_DenseKeys.
inline constexpr uint32_t kPlaceColumnsMax = 4;
void number_places(const PlaceColumn* columns, uint32_t count, uint32_t slots, uint32_t none,
                   uint32_t* places);

// Finds the slots for which numbers[places[i]] is not UINT32_MAX. In words with a selected slot, it
// replaces places[i] by numbers[places[i]].
void look_up_numbers(uint32_t* places, const uint64_t* selected, uint32_t words,
                     const uint32_t* numbers, uint64_t* found);

// Finds the slots for which bit places[i] % 32 of taken[places[i] / 32] is set.
void find_taken(const uint32_t* places, const uint64_t* selected, uint32_t words,
                const uint32_t* taken, uint64_t* found);

// Writes the positions of the set bits to `out`, ascending, and returns their number. `out` has
// room for 64 positions a word. Benchmark: BM_SelectBits.
uint32_t collect_positions(const uint64_t* bits, uint32_t words, uint16_t* out);

// Writes the slots whose value differs from the previous slot's to `out`, ascending, and returns
// their number. `before` is the value previous to the first slot. `out` has room for 64 slots a
// word. Benchmark: BM_StarBatch, BM_GroupLinesByOrder.
uint32_t collect_changes(const uint64_t* values, uint32_t words, uint64_t before, uint16_t* out);
uint32_t collect_changes(const uint32_t* values, uint32_t words, uint32_t before, uint16_t* out);

}  // namespace diptych::olap
