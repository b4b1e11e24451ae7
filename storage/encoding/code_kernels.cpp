#include "storage/encoding/code_kernels.h"

// The scalar code is compiled beside the others, for tests; SSE would never be taken, since the
// whole program is compiled for AVX2. No kernel uses AES. Scalar is HWY_SCALAR for any compiler.
#define HWY_BROKEN_EMU128 1
#define HWY_DISABLE_PCLMUL_AES
#define HWY_COMPILE_ALL_ATTAINABLE
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "storage/encoding/code_kernels.cpp"
// clang-format off
#include <hwy/foreach_target.h>
// clang-format on
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace diptych::storage::encoding {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Codes are fetched so far ahead: what the processor fetches by itself ends with a page.
constexpr size_t kAheadBytes = 2048;

#if HWY_TARGET == HWY_SCALAR

template <class Lane>
void unpack(const std::byte* from, uint32_t bits, uint32_t count, Lane base, Lane* out) {
  const Codes codes{from, bits};
  for (uint32_t i = 0; i < count; ++i) out[i] = static_cast<Lane>(base + codes[i]);
}

void translate(const uint8_t* table, uint32_t /*table_blocks*/, uint8_t* bytes, size_t count) {
  for (size_t i = 0; i < count; ++i) bytes[i] = table[bytes[i]];
}

#else

// A group of 8 codes is `bits` bytes. It is unpacked in blocks of 16 bytes, which hold 4 codes of
// up to 25 bits, or 2 of up to 57: a shuffle brings the bytes of each code into its lane, a shift
// and a mask cut it out. Lane's blocks in a group start at bytes start[b], with their own shuffle;
// two of them make a vector of 32 bytes, which every target here has.
template <class Lane>
struct GroupPlan {
  static constexpr uint32_t kLanes = 16 / sizeof(Lane);
  static constexpr uint32_t kBlocks = 8 / kLanes;
  uint32_t start[kBlocks]{};
  alignas(32) uint8_t shuffle[kBlocks][16]{};
  alignas(32) Lane shift[kBlocks][kLanes]{};

  explicit constexpr GroupPlan(uint32_t bits) {
    for (uint32_t block = 0; block < kBlocks; ++block) {
      const uint32_t block_bit = block * kLanes * bits;
      start[block] = block_bit / 8;
      for (uint32_t lane = 0; lane < kLanes; ++lane) {
        const uint32_t bit = block_bit % 8 + lane * bits;
        shift[block][lane] = bit % 8;
        for (uint32_t byte = 0; byte < sizeof(Lane); ++byte) {
          shuffle[block][lane * sizeof(Lane) + byte] = static_cast<uint8_t>(bit / 8 + byte);
        }
      }
    }
  }
};

// Plans for all widths, by width.
template <class Plan, size_t... kBits>
constexpr std::array<Plan, sizeof...(kBits)> plans_of(std::index_sequence<kBits...> /*widths*/) {
  return {Plan(kBits)...};
}
template <class Plan, uint32_t kBitsMax>
constexpr auto kPlans = plans_of<Plan>(std::make_index_sequence<kBitsMax + 1>());
template <class Lane>
constexpr uint32_t kGroupBitsMax = sizeof(Lane) == 4 ? 25 : 57;

// Blocks b and b + 1 of all whole groups.
template <class Lane>
HWY_ATTR void unpack_pairs(const uint8_t* group, uint32_t bits, uint32_t count,
                           const GroupPlan<Lane>& plan, uint32_t b, Lane base, Lane* out) {
  const hn::FixedTag<Lane, 2 * GroupPlan<Lane>::kLanes> d;
  const hn::FixedTag<uint8_t, 32> d8;
  const hn::FixedTag<uint8_t, 16> d8_block;
  const auto shuffle = hn::Load(d8, plan.shuffle[b]);
  const auto shift = hn::Load(d, plan.shift[b]);
  const auto mask = hn::Set(d, static_cast<Lane>((uint64_t{1} << bits) - 1));
  const auto add = hn::Set(d, base);
  const uint8_t* const end = group + size_t{count} / 8 * bits;
  const uint8_t* low = group + plan.start[b];
  const size_t high = plan.start[b + 1] - plan.start[b];
  for (; group != end; group += bits, low += bits, out += 8) {
    const auto bytes = hn::Combine(d8, hn::LoadU(d8_block, low + high), hn::LoadU(d8_block, low));
    const auto lanes = hn::BitCast(d, hn::TableLookupBytes(bytes, shuffle));
    hn::StoreU(hn::Add(hn::And(hn::Shr(lanes, shift), mask), add), d, out);
  }
}

// A whole vector of codes at a time, from one load: words are brought into the 16-byte blocks that
// have codes of them, and within these it goes on as above. A block's codes begin at a multiple of
// as many bits as it has codes, so they lie in four words where they are no wider than this.
template <class Lane>
constexpr uint32_t kVectorBitsMax = sizeof(Lane) == 4 ? 25 : 49;

template <class Lane>
struct VectorPlan {
  static constexpr uint32_t kLanes = hn::MaxLanes(hn::ScalableTag<Lane>());
  static constexpr uint32_t kWords = kLanes * sizeof(Lane) / sizeof(uint32_t);
  static constexpr uint32_t kBlockLanes = 16 / sizeof(Lane);
  static constexpr bool kIsWholeBytes = kLanes % 8 == 0;  // of codes of any width
  alignas(64) uint32_t words[kWords]{};
  alignas(64) uint8_t shuffle[kLanes * sizeof(Lane)]{};
  alignas(64) Lane shift[kLanes]{};

  explicit constexpr VectorPlan(uint32_t bits) {
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      const uint32_t first_word = lane / kBlockLanes * kBlockLanes * bits / 32;
      const uint32_t bit = lane * bits - first_word * 32;
      shift[lane] = bit % 8;
      for (uint32_t byte = 0; byte < sizeof(Lane); ++byte) {
        // The mask takes off what would come from behind the block.
        const uint32_t from = std::min(bit / 8 + byte, 15U);
        shuffle[lane * sizeof(Lane) + byte] = static_cast<uint8_t>(from);
      }
      for (uint32_t word = 0; word < 4; ++word) {
        words[lane / kBlockLanes * 4 + word] = first_word + word;
      }
    }
  }
};

// How many codes were unpacked: as far as whole vectors can be loaded.
template <class Lane>
HWY_ATTR uint32_t unpack_vectors(const uint8_t* from, uint32_t bits, uint32_t count, Lane base,
                                 Lane* out) {
  using Plan = VectorPlan<Lane>;
  static_assert(Plan::kIsWholeBytes);
  if (bits > kVectorBitsMax<Lane>) return 0;
  const Plan& plan = kPlans<Plan, kVectorBitsMax<Lane>>[bits];
  const hn::ScalableTag<Lane> d;
  const hn::ScalableTag<uint32_t> d_words;
  const hn::ScalableTag<uint8_t> d8;
  const auto words = hn::SetTableIndices(d_words, plan.words);
  const auto shuffle = hn::Load(d8, plan.shuffle);
  const auto shift = hn::Load(d, plan.shift);
  const auto mask = hn::Set(d, static_cast<Lane>((uint64_t{1} << bits) - 1));
  const auto add = hn::Set(d, base);
  const uint32_t step = Plan::kLanes / 8 * bits;
  const uint8_t* const end = from + code_array_bytes(count, bits) + kReadableBehind;
  uint32_t done = 0;
  for (; done + Plan::kLanes <= count && from + sizeof plan.shuffle <= end; done += Plan::kLanes) {
    __builtin_prefetch(from + kAheadBytes);
    const auto loaded = hn::BitCast(d_words, hn::LoadU(d8, from));
    const auto blocks = hn::BitCast(d8, hn::TableLookupLanes(loaded, words));
    const auto lanes = hn::BitCast(d, hn::TableLookupBytes(blocks, shuffle));
    hn::StoreU(hn::Add(hn::And(hn::Shr(lanes, shift), mask), add), d, out + done);
    from += step;
  }
  return done;
}

template <class Lane>
HWY_ATTR void unpack(const std::byte* from, uint32_t bits, uint32_t count, Lane base, Lane* out) {
  const auto* codes = reinterpret_cast<const uint8_t*>(from);
  uint32_t done = 0;
  if constexpr (VectorPlan<Lane>::kIsWholeBytes) {
    done = unpack_vectors(codes, bits, count, base, out);
  }
  if (done == count) return;
  codes += size_t{done} / 8 * bits;
  count -= done;
  out += done;
  using Plan = GroupPlan<Lane>;
  const Plan& plan = kPlans<Plan, kGroupBitsMax<Lane>>[bits];
  const hn::FixedTag<Lane, Plan::kLanes> d;
  const hn::FixedTag<uint8_t, 16> d8;
  const auto mask = hn::Set(d, static_cast<Lane>((uint64_t{1} << bits) - 1));
  const auto add = hn::Set(d, base);
  const auto block = [&](const uint8_t* group, uint32_t b) HWY_ATTR {
    const auto bytes = hn::LoadU(d8, group + plan.start[b]);
    const auto lanes = hn::BitCast(d, hn::TableLookupBytes(bytes, hn::Load(d8, plan.shuffle[b])));
    return hn::Add(hn::And(hn::Shr(lanes, hn::Load(d, plan.shift[b])), mask), add);
  };
  for (uint32_t b = 0; b < Plan::kBlocks; b += 2) {
    unpack_pairs(codes, bits, count, plan, b, base, out + b * Plan::kLanes);
  }
  const uint32_t i = count / 8 * 8;
  if (i == count) return;
  codes += size_t{i} / 8 * bits;
  // Only blocks with a code: others may lie more than 16 bytes behind the last one.
  alignas(16) Lane rest[8];
  for (uint32_t b = 0; b * Plan::kLanes < count - i; ++b) {
    hn::Store(block(codes, b), d, rest + b * Plan::kLanes);
  }
  std::memcpy(out + i, rest, (count - i) * sizeof(Lane));
}

HWY_ATTR void translate(const uint8_t* table, uint32_t table_blocks, uint8_t* bytes, size_t count) {
  const hn::ScalableTag<uint8_t> d;
  const auto low_mask = hn::Set(d, uint8_t{15});
  size_t i = 0;
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
    const auto codes = hn::LoadU(d, bytes + i);
    const auto low = hn::And(codes, low_mask);
    auto result = hn::TableLookupBytes(hn::LoadDup128(d, table), low);
    for (uint32_t block = 1; block < table_blocks; ++block) {
      const auto below = hn::Lt(codes, hn::Set(d, static_cast<uint8_t>(16 * block)));
      const auto looked_up = hn::TableLookupBytes(hn::LoadDup128(d, table + 16 * block), low);
      result = hn::IfThenElse(below, result, looked_up);
    }
    hn::StoreU(result, d, bytes + i);
  }
  for (; i < count; ++i) bytes[i] = table[bytes[i]];
}

#endif

// The compiler vectorises this one by itself, for each target. Of bytes a line gives so many values
// that the processor fetches too few ahead; of wider codes it fetches more than this would.
template <class Code, class Lane>
HWY_ATTR void widen(const std::byte* from, uint32_t count, Lane base, Lane* out) {
  constexpr uint32_t kLineCodes = 64 / sizeof(Code);
  const auto* const codes = reinterpret_cast<const Code*>(from);
  uint32_t i = 0;
  for (; i + kLineCodes <= count; i += kLineCodes) {
    if constexpr (sizeof(Code) == 1) __builtin_prefetch(from + i + kAheadBytes);
    for (uint32_t k = i; k < i + kLineCodes; ++k) out[k] = static_cast<Lane>(base + codes[k]);
  }
  for (; i < count; ++i) out[i] = static_cast<Lane>(base + codes[i]);
}

template <class Lane>
HWY_ATTR void decode(const std::byte* data, uint32_t bits, uint32_t first, uint32_t count,
                     Lane base, Lane* out) {
  const std::byte* const from = data + uint64_t{first} * bits / 8;
  switch (bits) {
    case 0:
      for (uint32_t i = 0; i < count; ++i) out[i] = base;
      return;
    case 8: return widen<uint8_t>(from, count, base, out);
    case 16: return widen<uint16_t>(from, count, base, out);
    case 32: return widen<uint32_t>(from, count, base, out);
    default: return unpack(from, bits, count, base, out);
  }
}

HWY_ATTR void decode4(const std::byte* data, uint32_t bits, uint32_t first, uint32_t count,
                      uint32_t base, uint32_t* out) {
  decode(data, bits, first, count, base, out);
}
HWY_ATTR void decode8(const std::byte* data, uint32_t bits, uint32_t first, uint32_t count,
                      uint64_t base, uint64_t* out) {
  decode(data, bits, first, count, base, out);
}

template <class Lane>
HWY_ATTR uint64_t select_64(const Lane* values, Lane first, Lane span) {
  const hn::CappedTag<Lane, 64> d;
  const auto low = hn::Set(d, first);
  const auto high = hn::Set(d, span);
  uint64_t word = 0;
  for (size_t i = 0; i < 64; i += hn::Lanes(d)) {
    const auto behind = hn::Lt(high, hn::Sub(hn::LoadU(d, values + i), low));
    uint64_t bits = 0;
    hn::StoreMaskBits(d, behind, reinterpret_cast<uint8_t*>(&bits));
    word |= bits << i;
  }
  return ~word;
}

template <class Lane>
HWY_ATTR void select(const Lane* values, uint32_t count, Lane first, Lane last, uint64_t* words) {
  const auto span = static_cast<Lane>(last - first);
  uint32_t i = 0;
  for (; i + 64 <= count; i += 64) words[i / 64] |= select_64(values + i, first, span);
  if (i == count) return;
  Lane rest[64] = {};
  std::memcpy(rest, values + i, (count - i) * sizeof(Lane));
  words[i / 64] |= select_64(rest, first, span) & ((uint64_t{1} << (count - i)) - 1);
}

HWY_ATTR void select1(const uint8_t* values, uint32_t count, uint8_t first, uint8_t last,
                      uint64_t* words) {
  select(values, count, first, last, words);
}
HWY_ATTR void select2(const uint16_t* values, uint32_t count, uint16_t first, uint16_t last,
                      uint64_t* words) {
  select(values, count, first, last, words);
}
HWY_ATTR void select4(const uint32_t* values, uint32_t count, uint32_t first, uint32_t last,
                      uint64_t* words) {
  select(values, count, first, last, words);
}
HWY_ATTR void select8(const uint64_t* values, uint32_t count, uint64_t first, uint64_t last,
                      uint64_t* words) {
  select(values, count, first, last, words);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace diptych::storage::encoding
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace diptych::storage::encoding {
namespace {
HWY_EXPORT(decode4);
HWY_EXPORT(decode8);
HWY_EXPORT(select1);
HWY_EXPORT(select2);
HWY_EXPORT(select4);
HWY_EXPORT(select8);
HWY_EXPORT(translate);
}  // namespace

void decode_codes(Codes codes, uint32_t first, uint32_t count, uint32_t base, uint32_t* out) {
  HWY_DYNAMIC_DISPATCH(decode4)(codes.data, codes.bits, first, count, base, out);
}
void decode_codes(Codes codes, uint32_t first, uint32_t count, uint64_t base, uint64_t* out) {
  HWY_DYNAMIC_DISPATCH(decode8)(codes.data, codes.bits, first, count, base, out);
}
void select_range(const uint8_t* values, uint32_t count, uint8_t first, uint8_t last,
                  uint64_t* words) {
  HWY_DYNAMIC_DISPATCH(select1)(values, count, first, last, words);
}
void select_range(const uint16_t* values, uint32_t count, uint16_t first, uint16_t last,
                  uint64_t* words) {
  HWY_DYNAMIC_DISPATCH(select2)(values, count, first, last, words);
}
void select_range(const uint32_t* values, uint32_t count, uint32_t first, uint32_t last,
                  uint64_t* words) {
  HWY_DYNAMIC_DISPATCH(select4)(values, count, first, last, words);
}
void select_range(const uint64_t* values, uint32_t count, uint64_t first, uint64_t last,
                  uint64_t* words) {
  HWY_DYNAMIC_DISPATCH(select8)(values, count, first, last, words);
}
void translate_bytes(const uint8_t* table, uint32_t table_blocks, uint8_t* bytes, size_t count) {
  HWY_DYNAMIC_DISPATCH(translate)(table, table_blocks, bytes, count);
}

}  // namespace diptych::storage::encoding
#endif  // HWY_ONCE
