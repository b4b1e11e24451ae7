// BwEntry: an index entry: a normalised key as kWords big-endian 64-bit words (zero-padded, and
// compared as integers, without memcmp), and the RowId, which makes entries unique.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/int128.h"

namespace diptych::oltp {

template <size_t kWords>
struct BwEntry {
  std::array<uint64_t, kWords> words;
  uint64_t row;

  // std::array's comparison compiles to a call.
  bool has_key(const std::array<uint64_t, kWords>& key) const {
    uint64_t apart = 0;
    for (size_t i = 0; i < kWords; ++i) apart |= words[i] ^ key[i];
    return apart == 0;
  }
  bool operator==(const BwEntry& other) const { return row == other.row && has_key(other.words); }
  bool operator<(const BwEntry& other) const {
    if constexpr (kWords == 1) {
      return wide(0) < other.wide(0);
    } else {
      for (size_t i = 0; i < kWords; ++i) {
        if (words[i] != other.words[i]) return words[i] < other.words[i];
      }
      return row < other.row;
    }
  }

  // Word i of the key; behind its last word, the RowId.
  uint64_t word(size_t i) const { return i < kWords ? words[i] : row; }
  // Words i and i + 1 as one number.
  base::uint128_t wide(size_t i) const { return base::uint128_t{words[i]} << 64 | word(i + 1); }

  // Greater than every entry: no row has this id.
  static constexpr BwEntry infinity() {
    BwEntry entry{};
    entry.words.fill(~uint64_t{0});
    entry.row = ~uint64_t{0};
    return entry;
  }
};

// What a search wants: the place of an entry, or the last one before it.
enum class Bound : uint8_t { kAtOrAfter, kBefore };

class BwNode {
 public:
  static constexpr uint64_t kNoBirth = 0;

  // No other node of the tree ever has the same birth; kNoBirth: the node has left the tree. A
  // block may be asked while it becomes the next node.
  uint64_t birth() const {
    // relaxed: only a number. Whoever got it from a node in the tree has seen that node.
    return std::atomic_ref(const_cast<uint64_t&>(birth_)).load(std::memory_order_relaxed);
  }
  void set_birth(uint64_t birth) {
    // relaxed: likewise.
    std::atomic_ref(birth_).store(birth, std::memory_order_relaxed);
  }

 private:
  uint64_t birth_;  // not initialised, since that would not be an atomic store

 public:
  uint32_t level = 0;  // 0: a leaf
  uint32_t count = 0;  // of sorted entries, of children
};

}  // namespace diptych::oltp
