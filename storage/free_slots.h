// FreeSlots: the ordinals that deletes freed, lowest first, so that inserts keep a partition dense;
// those that follow it can be taken with it.
//
// A tree of bitmaps: bit i of level k + 1 is set if and only if word i of level k is not zero. Each
// operation touches one word a level; a level is 1/64 of the one below.
//
// Threads    one writer.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace diptych::storage {

class FreeSlots {
 public:
  bool empty() const { return count_ == 0; }
  size_t size() const { return count_; }
  bool has(uint32_t ordinal) const {
    const std::vector<uint64_t>& words = levels_[0];
    return ordinal / 64 < words.size() && (words[ordinal / 64] >> (ordinal % 64) & 1) != 0;
  }
  uint32_t lowest() const;  // must not be empty

  void add(uint32_t ordinal);   // must be absent
  uint32_t take_lowest();       // must not be empty
  bool take(uint32_t ordinal);  // false: it is not there
  // An add() of this ordinal, or a lower one, takes no memory from now on.
  void make_room(uint32_t ordinal);

  size_t memory_bytes() const;

 private:
  // Clears a bit of level 0 that is set, and the bits above that stood for its word.
  void remove(size_t bit);

  static constexpr size_t kLevels = 6;  // 64^6 > 2^32

  std::array<std::vector<uint64_t>, kLevels> levels_;
  size_t count_ = 0;
};

}  // namespace diptych::storage
