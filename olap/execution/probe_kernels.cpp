#include "olap/execution/probe_kernels.h"

// As in storage/encoding/code_kernels.cpp: the scalar code is for tests, SSE would never be taken.
#define HWY_BROKEN_EMU128 1
#define HWY_DISABLE_PCLMUL_AES
#define HWY_COMPILE_ALL_ATTAINABLE
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "olap/execution/probe_kernels.cpp"
// clang-format off
#include <hwy/foreach_target.h>
// clang-format on
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

struct ByNumber {
  const uint32_t* numbers;

  HWY_ATTR Lane operator()(Lane places, LaneMask* found) const {
    const Lane values = gather(numbers, places);
    *found = hn::Ne(values, hn::Set(Lanes(), UINT32_MAX));
    return values;
  }
};

struct ByRank {
  const uint32_t* ranked;

  HWY_ATTR Lane operator()(Lane places, LaneMask* found) const {
    const Lane one = hn::Set(Lanes(), 1);
    const Lane words = gather(ranked, hn::ShiftLeft<1>(hn::ShiftRight<5>(places)));
    const Lane bits = hn::Shr(words, hn::And(places, hn::Set(Lanes(), 31)));
    *found = hn::Eq(hn::And(bits, one), one);
    return places;
  }
};

// A mask is stored a byte or two at a time. Compressed in a register and stored whole: a store that
// compresses is slow on some processors. It ends where the slots that were read end, at most.
template <class Lookup>
HWY_ATTR uint32_t collect(const uint32_t* places, const uint64_t* selected, uint32_t words,
                          Lookup lookup, uint32_t* out, uint64_t* found) {
  const Lanes d;
  constexpr uint32_t kLanes = hn::MaxLanes(d);
  uint32_t count = 0;
  for (uint32_t w = 0; w < words; ++w) {
    const uint64_t wanted = selected[w];
    uint64_t word = 0;
    for (uint32_t i = 0; wanted != 0 && i < 64; i += kLanes) {
      uint8_t bytes[8];
      const uint64_t wanted_here = wanted >> i;
      std::memcpy(bytes, &wanted_here, sizeof bytes);
      LaneMask mask;
      const Lane values = lookup(hn::LoadU(d, places + size_t{w} * 64 + i), &mask);
      mask = hn::And(mask, hn::LoadMaskBits(d, bytes));
      hn::StoreU(hn::Compress(values, mask), d, out + count);
      std::memset(bytes, 0, sizeof bytes);
      hn::StoreMaskBits(d, mask, bytes);
      uint64_t found_here = 0;
      std::memcpy(&found_here, bytes, sizeof bytes);
      word |= found_here << i;
      count += static_cast<uint32_t>(std::popcount(found_here));
    }
    found[w] = word;
  }
  return count;
}

HWY_ATTR uint32_t by_number(const uint32_t* places, const uint64_t* selected, uint32_t words,
                            const uint32_t* numbers, uint32_t* out, uint64_t* found) {
  return collect(places, selected, words, ByNumber{numbers}, out, found);
}

HWY_ATTR uint32_t by_rank(const uint32_t* places, const uint64_t* selected, uint32_t words,
                          const uint32_t* ranked, uint32_t* out, uint64_t* found) {
  return collect(places, selected, words, ByRank{ranked}, out, found);
}

// Up to so many bits of a word are found one by one.
constexpr int kFewBits = 6;

HWY_ATTR uint32_t positions(const uint64_t* bits, uint32_t words, uint16_t* out) {
  const Lanes d;
  const hn::RebindToSigned<Lanes> signed_d;
  const hn::Rebind<uint16_t, Lanes> narrow_d;
  constexpr uint32_t kLanes = hn::MaxLanes(d);
  const Lane lane = hn::Iota(d, 0);
  uint32_t count = 0;
  for (uint32_t w = 0; w < words; ++w) {
    uint64_t word = bits[w];
    const uint32_t first = w * 64;
    if (std::popcount(word) <= kFewBits) {
      for (; word != 0; word &= word - 1) {
        out[count++] = static_cast<uint16_t>(first + static_cast<uint32_t>(std::countr_zero(word)));
      }
      continue;
    }
    // What is stored whole ends, at most, where the positions of all bits until here would.
    for (uint32_t i = 0; i < 64; i += kLanes) {
      uint8_t bytes[8];
      const uint64_t here = word >> i;
      std::memcpy(bytes, &here, sizeof bytes);
      const Lane numbers = hn::Add(lane, hn::Set(d, first + i));
      const Lane set = hn::Compress(numbers, hn::LoadMaskBits(d, bytes));
      hn::StoreU(hn::DemoteTo(narrow_d, hn::BitCast(signed_d, set)), narrow_d, out + count);
      count += static_cast<uint32_t>(std::popcount(here & (~uint64_t{0} >> (64 - kLanes))));
    }
  }
  return count;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace diptych::olap
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace diptych::olap {
namespace {
HWY_EXPORT(by_number);
HWY_EXPORT(by_rank);
HWY_EXPORT(positions);
}  // namespace

uint32_t collect_numbers(const uint32_t* places, const uint64_t* selected, uint32_t words,
                         const uint32_t* numbers, uint32_t* out, uint64_t* found) {
  return HWY_DYNAMIC_DISPATCH(by_number)(places, selected, words, numbers, out, found);
}
uint32_t collect_taken(const uint32_t* places, const uint64_t* selected, uint32_t words,
                       const uint32_t* ranked, uint32_t* out, uint64_t* found) {
  return HWY_DYNAMIC_DISPATCH(by_rank)(places, selected, words, ranked, out, found);
}
uint32_t collect_positions(const uint64_t* bits, uint32_t words, uint16_t* out) {
  return HWY_DYNAMIC_DISPATCH(positions)(bits, words, out);
}

}  // namespace diptych::olap
#endif  // HWY_ONCE
