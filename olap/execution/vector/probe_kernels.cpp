#include "olap/execution/vector/probe_kernels.h"

// As in storage/encoding/code_kernels.cpp: the scalar code is for tests, SSE would never be taken.
#define HWY_BROKEN_EMU128 1
#define HWY_DISABLE_PCLMUL_AES
#define HWY_COMPILE_ALL_ATTAINABLE
#define HWY_WANT_AVX3_DL
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "olap/execution/vector/probe_kernels.cpp"
// clang-format off
#include <hwy/foreach_target.h>
// clang-format on
#include <array>
#include <bit>
#include <cstring>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace diptych::olap {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Lanes = hn::ScalableTag<uint32_t>;
using Lane = hn::Vec<Lanes>;
using LaneMask = hn::Mask<Lanes>;

HWY_ATTR Lane gather(const uint32_t* from, Lane index) {
  const hn::RebindToSigned<Lanes> d;
  return hn::GatherIndex(Lanes(), from, hn::BitCast(d, index));
}

// A key's columns are put together in registers. What is stored might be a column's own fields, for
// all that the compiler knows: so they are read before.
template <uint32_t kCount>
HWY_ATTR void number_all(const PlaceColumn* columns, uint32_t slots, uint32_t none,
                         uint32_t* places) {
  const Lanes d;
  const hn::RebindToSigned<Lanes> signed_lanes;
  constexpr uint32_t kLanes = hn::MaxLanes(d);
  const int32_t* values[kCount];
  Lane min[kCount];
  Lane last[kCount];
  Lane stride[kCount];
  for (uint32_t c = 0; c < kCount; ++c) {
    values[c] = columns[c].values;
    min[c] = hn::Set(d, columns[c].min);
    last[c] = hn::Set(d, columns[c].last);
    stride[c] = hn::Set(d, columns[c].stride);
  }
  uint32_t i = 0;
  for (; i + kLanes <= slots; i += kLanes) {
    Lane place = hn::Zero(d);
    LaneMask inside = hn::FirstN(d, kLanes);
    for (uint32_t c = 0; c < kCount; ++c) {
      const Lane value = hn::BitCast(d, hn::LoadU(signed_lanes, values[c] + i));
      const Lane offset = hn::Sub(value, min[c]);
      inside = hn::And(inside, hn::Eq(hn::Max(offset, last[c]), last[c]));
      place = hn::Add(place, hn::Mul(offset, stride[c]));
    }
    hn::StoreU(hn::IfThenElse(inside, place, hn::Set(d, none)), d, places + i);
  }
  for (; i < slots; ++i) {
    uint32_t place = 0;
    bool is_outside = false;
    for (uint32_t c = 0; c < kCount; ++c) {
      const uint32_t offset = static_cast<uint32_t>(columns[c].values[i]) - columns[c].min;
      is_outside = is_outside || offset > columns[c].last;
      place += offset * columns[c].stride;
    }
    places[i] = is_outside ? none : place;
  }
}

HWY_ATTR void number_some(const PlaceColumn* columns, uint32_t count, uint32_t slots, uint32_t none,
                          uint32_t* places) {
  static_assert(kPlaceColumnsMax == 4);
  switch (count) {
    case 1: return number_all<1>(columns, slots, none, places);
    case 2: return number_all<2>(columns, slots, none, places);
    case 3: return number_all<3>(columns, slots, none, places);
    default: return number_all<4>(columns, slots, none, places);
  }
}

struct ByNumber {
  const uint32_t* numbers;

  HWY_ATTR LaneMask operator()(uint32_t* places) const {
    const Lane found = gather(numbers, hn::LoadU(Lanes(), places));
    hn::StoreU(found, Lanes(), places);
    return hn::Ne(found, hn::Set(Lanes(), UINT32_MAX));
  }
};

struct IsTaken {
  const uint32_t* taken;

  HWY_ATTR LaneMask operator()(const uint32_t* from) const {
    const Lane places = hn::LoadU(Lanes(), from);
    const Lane words = gather(taken, hn::ShiftRight<5>(places));
    const Lane bits = hn::Shr(words, hn::And(places, hn::Set(Lanes(), 31)));
    return hn::TestBit(bits, hn::Set(Lanes(), 1));
  }
};

// A mask is stored a byte or two at a time. What was found is not put together here: lanes that are
// compressed and stored where the last ones end take as long again as the look-ups.
template <class Place, class Lookup>
HWY_ATTR void find(Place* places, const uint64_t* selected, uint32_t words, Lookup lookup,
                   uint64_t* found) {
  const Lanes d;
  constexpr uint32_t kLanes = hn::MaxLanes(d);
  for (uint32_t w = 0; w < words; ++w) {
    const uint64_t wanted = selected[w];
    uint64_t word = 0;
    for (uint32_t i = 0; wanted != 0 && i < 64; i += kLanes) {
      uint8_t bytes[8] = {};
      hn::StoreMaskBits(d, lookup(places + size_t{w} * 64 + i), bytes);
      uint64_t here = 0;
      std::memcpy(&here, bytes, sizeof bytes);
      word |= here << i;
    }
    found[w] = word & wanted;
  }
}

HWY_ATTR void by_number(uint32_t* places, const uint64_t* selected, uint32_t words,
                        const uint32_t* numbers, uint64_t* found) {
  find(places, selected, words, ByNumber{numbers}, found);
}

HWY_ATTR void are_taken(const uint32_t* places, const uint64_t* selected, uint32_t words,
                        const uint32_t* taken, uint64_t* found) {
  find(places, selected, words, IsTaken{taken}, found);
}

// How many bits a word has is not to be guessed: nothing branches on it, but where there are none.
// What is stored whole ends, at most, where the positions of all bits until here would.
#if HWY_TARGET == HWY_SCALAR
uint32_t add_positions(uint64_t word, uint32_t first, uint16_t* out) {
  uint32_t count = 0;
  for (; word != 0; word &= word - 1) {
    out[count++] = static_cast<uint16_t>(first + static_cast<uint32_t>(std::countr_zero(word)));
  }
  return count;
}
#elif HWY_TARGET <= HWY_AVX3_DL  // which compress 16-bit lanes
HWY_ATTR uint32_t add_positions(uint64_t word, uint32_t first, uint16_t* out) {
  const hn::ScalableTag<uint16_t> d;
  constexpr uint32_t kLanes = hn::MaxLanes(d);
  const auto lane = hn::Iota(d, 0);
  uint32_t count = 0;
  if (word == 0) return 0;
  for (uint32_t i = 0; i < 64; i += kLanes) {
    uint8_t bytes[8];
    const uint64_t here = word >> i;
    std::memcpy(bytes, &here, sizeof bytes);
    const auto numbers = hn::Add(lane, hn::Set(d, static_cast<uint16_t>(first + i)));
    hn::StoreU(hn::Compress(numbers, hn::LoadMaskBits(d, bytes)), d, out + count);
    count += static_cast<uint32_t>(std::popcount(here & (~uint64_t{0} >> (64 - kLanes))));
  }
  return count;
}
#else
// By byte: the positions of the bits that are set in it, and then zeros.
constexpr auto kBytePositions = [] {
  std::array<std::array<uint8_t, 8>, 256> table{};
  for (uint32_t byte = 0; byte < table.size(); ++byte) {
    size_t count = 0;
    for (uint8_t i = 0; i < 8; ++i) {
      if (((byte >> i) & 1) != 0) table[byte][count++] = i;
    }
  }
  return table;
}();

// A byte of bits at a time. Compressing 32-bit lanes instead takes three times as long: each waits
// for the one before.
HWY_ATTR uint32_t add_positions(uint64_t word, uint32_t first, uint16_t* out) {
  const hn::FixedTag<uint16_t, 8> d;
  const hn::Rebind<uint8_t, decltype(d)> bytes;
  uint32_t count = 0;
  if (word == 0) return 0;
  for (uint32_t i = 0; i < 64; i += 8, word >>= 8) {
    const auto in_byte = hn::PromoteTo(d, hn::LoadU(bytes, kBytePositions[word & 0xFF].data()));
    hn::StoreU(hn::Add(in_byte, hn::Set(d, static_cast<uint16_t>(first + i))), d, out + count);
    count += static_cast<uint32_t>(std::popcount(word & 0xFF));
  }
  return count;
}
#endif

// One or two bits of each word without a branch, and others, which are rare, with one. What is
// stored for a word without bits is stored over; or behind the last, which is not at the end.
HWY_ATTR uint32_t few_positions(const uint64_t* bits, uint32_t words, uint16_t* out) {
  uint32_t count = 0;
  for (uint32_t w = 0; w < words; ++w) {
    uint64_t word = bits[w];
    for (int i = 0; i < 2; ++i) {
      out[count] = static_cast<uint16_t>(w * 64 + static_cast<uint32_t>(std::countr_zero(word)));
      count += static_cast<uint32_t>(word != 0);
      word &= word - 1;
    }
    for (; word != 0; word &= word - 1) {
      out[count++] = static_cast<uint16_t>(w * 64 + static_cast<uint32_t>(std::countr_zero(word)));
    }
  }
  return count;
}

HWY_ATTR uint32_t positions(const uint64_t* bits, uint32_t words, uint16_t* out) {
  uint32_t total = 0;
  for (uint32_t w = 0; w < words; ++w) total += static_cast<uint32_t>(std::popcount(bits[w]));
  // Of fewer most words are empty, which is foreseen.
  if (total > words / 4 && total <= words * 2) return few_positions(bits, words, out);
  uint32_t count = 0;
  for (uint32_t w = 0; w < words; ++w) count += add_positions(bits[w], w * 64, out + count);
  return count;
}

// Of a word's slots, those whose value differs from the one before it.
template <class T>
HWY_ATTR uint64_t changed(const T* values, T before) {
  const hn::ScalableTag<T> d;
  constexpr uint32_t kLanes = hn::MaxLanes(d);
  uint64_t word = 0;
  for (uint32_t i = 0; i < kLanes; ++i) {
    word |= uint64_t{values[i] != before} << i;
    before = values[i];
  }
  for (uint32_t i = kLanes; i < 64; i += kLanes) {
    uint8_t bytes[8] = {};
    hn::StoreMaskBits(d, hn::Ne(hn::LoadU(d, values + i), hn::LoadU(d, values + i - 1)), bytes);
    uint64_t here = 0;
    std::memcpy(&here, bytes, sizeof bytes);
    word |= here << i;
  }
  return word;
}

template <class T>
HWY_ATTR uint32_t changes(const T* values, uint32_t words, T before, uint16_t* out) {
  uint32_t count = 0;
  for (uint32_t w = 0; w < words; ++w) {
    const uint64_t word = changed(values + size_t{w} * 64, before);
    before = values[w * 64 + 63];
    count += add_positions(word, w * 64, out + count);
  }
  return count;
}

HWY_ATTR uint32_t changes64(const uint64_t* values, uint32_t words, uint64_t before,
                            uint16_t* out) {
  return changes(values, words, before, out);
}
HWY_ATTR uint32_t changes32(const uint32_t* values, uint32_t words, uint32_t before,
                            uint16_t* out) {
  return changes(values, words, before, out);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace diptych::olap
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace diptych::olap {
namespace {
HWY_EXPORT(number_some);
HWY_EXPORT(by_number);
HWY_EXPORT(are_taken);
HWY_EXPORT(positions);
HWY_EXPORT(changes64);
HWY_EXPORT(changes32);
}  // namespace

void number_places(const PlaceColumn* columns, uint32_t count, uint32_t slots, uint32_t none,
                   uint32_t* places) {
  HWY_DYNAMIC_DISPATCH(number_some)(columns, count, slots, none, places);
}
void look_up_numbers(uint32_t* places, const uint64_t* selected, uint32_t words,
                     const uint32_t* numbers, uint64_t* found) {
  HWY_DYNAMIC_DISPATCH(by_number)(places, selected, words, numbers, found);
}
void find_taken(const uint32_t* places, const uint64_t* selected, uint32_t words,
                const uint32_t* taken, uint64_t* found) {
  HWY_DYNAMIC_DISPATCH(are_taken)(places, selected, words, taken, found);
}
uint32_t collect_positions(const uint64_t* bits, uint32_t words, uint16_t* out) {
  return HWY_DYNAMIC_DISPATCH(positions)(bits, words, out);
}
uint32_t collect_changes(const uint64_t* values, uint32_t words, uint64_t before, uint16_t* out) {
  return HWY_DYNAMIC_DISPATCH(changes64)(values, words, before, out);
}
uint32_t collect_changes(const uint32_t* values, uint32_t words, uint32_t before, uint16_t* out) {
  return HWY_DYNAMIC_DISPATCH(changes32)(values, words, before, out);
}

}  // namespace diptych::olap
#endif  // HWY_ONCE
