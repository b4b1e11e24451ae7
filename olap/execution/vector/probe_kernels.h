// The loops over a join's probe rows, and over selections, that SIMD makes fast, through Highway:
// each is compiled for AVX2, for AVX-512 and as scalar code, and the best that the machine has is
// taken at run time (hwy::SetSupportedTargetsForTest chooses another in tests).
//
// Slots come in `words` words of 64; all their places can be looked up, whatever is selected. Bit i
// of `found` is set for those of the selected slots whose place has something. `selected` and
// `found` may be the same. Benchmark: BM_KeyPlaces.

#pragma once

#include <cstdint>

namespace diptych::olap {

// A key's column of 32-bit values, and its part of a place: (value - min) * stride, where the value
// is in [min, min + last].
struct PlaceColumn {
  const int32_t* values;
  uint32_t min;
  uint32_t last;
  uint32_t stride;
};

// places[i] for each slot: the sum over `count` columns, 1 to kPlaceColumnsMax, or `none` where a
// value is out of bounds. Benchmark: BM_DenseKeys.
inline constexpr uint32_t kPlaceColumnsMax = 4;
void number_places(const PlaceColumn* columns, uint32_t count, uint32_t slots, uint32_t none,
                   uint32_t* places);

// Where numbers[places[i]] is not UINT32_MAX. In words with a selected slot it takes the place's
// place: places[i] = numbers[places[i]].
void look_up_numbers(uint32_t* places, const uint64_t* selected, uint32_t words,
                     const uint32_t* numbers, uint64_t* found);

// Where bit places[i] % 32 of taken[places[i] / 32] is set.
void find_taken(const uint32_t* places, const uint64_t* selected, uint32_t words,
                const uint32_t* taken, uint64_t* found);

// The positions of the bits that are set, ascending. `out` has room for 64 a word. Returns how many
// there are. Benchmark: BM_SelectBits.
uint32_t collect_positions(const uint64_t* bits, uint32_t words, uint16_t* out);

// The slots whose value differs from that of the slot before, ascending; `before` is the first
// one's. `out` has room for 64 a word. Returns how many there are. Benchmark: BM_StarBatch,
// BM_GroupLinesByOrder.
uint32_t collect_changes(const uint64_t* values, uint32_t words, uint64_t before, uint16_t* out);
uint32_t collect_changes(const uint32_t* values, uint32_t words, uint32_t before, uint16_t* out);

}  // namespace diptych::olap
