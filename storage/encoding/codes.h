// Codes: arrays of unsigned integers of w bits each, one behind the other, lowest bits first.
//
//   byte   0        1        2                         w = 6
//          111111|00 3333|2222 ...                     code i is bits [i * w, i * w + w)
//
// With w of 8, 16 or 32 that is an array of bytes, shorts or words, which is read as one. Others,
// with w of 24 too, are unpacked by shuffles and shifts (storage/encoding/code_kernels). 64 codes
// are w whole words, so a run that starts at a multiple of 64 starts at a byte. One code is one
// unaligned load, and in place of it another can be stored.
//
// Widths    0 (every code is 0), 1 to 25, 32; in 8-byte lanes 26 to 57 as well. 64 is for `plain`.
// Memory    readable for kReadableBehind bytes behind the last code (ChunkHeader's tail is).

#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "storage/vector_rows.h"

namespace diptych::storage::encoding {

inline constexpr uint32_t kReadableBehind = 16;

enum class Lanes : uint8_t { k4 = 4, k8 = 8 };  // bytes of a decoded value

struct Codes {
  const std::byte* data;
  uint32_t bits;

  uint64_t operator[](uint32_t i) const {
    if (bits == 0) return 0;
    const uint64_t bit = uint64_t{i} * bits;
    uint64_t word;
    std::memcpy(&word, data + bit / 8, sizeof word);
    return (word >> (bit % 8)) & ((uint64_t{1} << bits) - 1);
  }
};

// The least width for codes up to `code_max`; 64 where none is narrower than the lane.
constexpr uint32_t code_bits(uint64_t code_max, Lanes lanes) {
  const auto bits = static_cast<uint32_t>(std::bit_width(code_max));
  if (lanes == Lanes::k4) return bits <= 25 ? bits : 64;
  return bits <= 57 ? bits : 64;
}
// The least width of whole bytes: 8, 16, in 8-byte lanes 24 or 32; or 64.
constexpr uint32_t aligned_code_bits(uint64_t code_max, Lanes lanes) {
  if (code_max <= UINT8_MAX) return 8;
  if (code_max <= UINT16_MAX) return 16;
  if (lanes == Lanes::k4 || code_max > UINT32_MAX) return 64;
  return code_max < (1U << 24) ? 24 : 32;
}
constexpr uint64_t code_array_bytes(uint64_t count, uint32_t bits) {
  return (count * bits + 7) / 8;
}
// Whether an array may have this width: what a header says is not believed.
constexpr bool is_code_width(uint32_t bits, Lanes lanes) {
  return bits <= 25 || bits == 32 || (lanes == Lanes::k8 && bits <= 57);
}

// True of widths of whole bytes, where a store reads nothing before.
constexpr bool is_whole_width(uint32_t bits) {
  return bits == 8 || bits == 16 || bits == 24 || bits == 32;
}

namespace code_stores {

// Which waits for nothing.
template <class Code>
struct Store {
  void operator()(std::byte* data, uint32_t i, uint64_t code) const {
    const auto narrow = static_cast<Code>(code);
    std::memcpy(data + size_t{i} * sizeof narrow, &narrow, sizeof narrow);
  }
};

// Two stores: one of four bytes would write a byte of the next code.
struct StoreOf3Bytes {
  void operator()(std::byte* data, uint32_t i, uint64_t code) const {
    const auto low = static_cast<uint16_t>(code);
    const auto high = static_cast<uint8_t>(code >> 16);
    std::byte* const at = data + size_t{i} * 3;
    std::memcpy(at, &low, sizeof low);
    std::memcpy(at + sizeof low, &high, sizeof high);
  }
};

// Of a width that is not whole bytes: the words that the code lies in are read. These cross no
// cache line, and what was written to a neighbour just now is there.
inline void store_packed(std::byte* data, uint32_t bits, uint32_t i, uint64_t code) {
  if (bits == 0) return;
  const uint64_t bit = uint64_t{i} * bits;
  const uint32_t shift = bit % 64;
  const uint64_t mask = (uint64_t{1} << bits) - 1;
  std::byte* const at = data + bit / 64 * sizeof(uint64_t);
  uint64_t word;
  std::memcpy(&word, at, sizeof word);
  word = (word & ~(mask << shift)) | (code << shift);
  std::memcpy(at, &word, sizeof word);
  if (shift + bits <= 64) return;
  std::memcpy(&word, at + sizeof word, sizeof word);
  word = (word & ~(mask >> (64 - shift))) | (code >> (64 - shift));
  std::memcpy(at + sizeof word, &word, sizeof word);
}

}  // namespace code_stores

// use(set): set(data, i, code) writes code i of an array of this width, whose `data` starts at a
// word. For loops: what the width asks is asked once.
template <class Use>
auto with_code_store(uint32_t bits, const Use& use) {
  switch (bits) {
    case 8: return use(code_stores::Store<uint8_t>());
    case 16: return use(code_stores::Store<uint16_t>());
    case 24: return use(code_stores::StoreOf3Bytes());
    case 32: return use(code_stores::Store<uint32_t>());
    default: break;
  }
  return use([bits](std::byte* data, uint32_t i, uint64_t code) {
    code_stores::store_packed(data, bits, i, code);
  });
}

inline void set_code(std::byte* data, uint32_t bits, uint32_t i, uint64_t code) {
  with_code_store(bits, [&](const auto& set) { set(data, i, code); });
}

// Writes codes one behind the other into memory that is zero, and may write up to 8 bytes behind.
class CodeWriter {
 public:
  CodeWriter(std::byte* out, uint32_t bits) : out_(out), bits_(bits) {}
  void add(uint64_t code) {
    held_ |= code << held_bits_;
    held_bits_ += bits_;
    if (held_bits_ < 64) return;
    std::memcpy(out_, &held_, sizeof held_);
    out_ += sizeof held_;
    held_bits_ -= 64;
    held_ = held_bits_ == 0 ? 0 : code >> (bits_ - held_bits_);
  }
  void finish() { std::memcpy(out_, &held_, (held_bits_ + 7) / 8); }

 private:
  std::byte* out_;
  uint32_t bits_;
  uint64_t held_ = 0;
  uint32_t held_bits_ = 0;
};

// Of the codes of a dictionary, whose values ascend: the first that is not below.
template <class IsBelow>
uint64_t first_code(uint64_t entries, const IsBelow& is_below) {
  uint64_t first = 0;
  for (uint64_t count = entries; count > 0;) {
    const uint64_t half = count / 2;
    if (is_below(first + half)) {
      first += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  return first;
}

// True if all codes are below `end`.
bool codes_within(Codes codes, uint32_t count, uint64_t end);

}  // namespace diptych::storage::encoding
