// ChangeWatch: what of a partition changed since somebody looked, for who keeps statistics of it
// and reads only that again.
//
//   rows that come, go or are updated ──drawn by a hash of their ordinals──► rows, each once
//                                     ──by block_rows ordinals─────────────► ranges, each once
//
// Which rows are drawn is a function of ordinal and level alone, so that a row that comes belongs
// to the sample, or does not, by the rule that drew the others. A level draws half of what the one
// below draws.
//
// Threads    the partition's writer; take and draw between batches.
// Cost       a multiplication or two and a comparison a row; a bit a row of a drawn partition.

#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace diptych::storage {

class ChangeWatch {
 public:
  // Of a range: nothing; cells of columns whose Partition::changes went up; any summary.
  enum class Change : uint8_t { kNone, kCells, kAny };
  struct Changes {
    struct Range {
      uint32_t number;
      Change change;
    };
    bool is_all = true;          // of everything that is there; the rest is empty then
    std::vector<uint32_t> rows;  // ordinals, of rows that live or are gone
    std::vector<Range> ranges;
  };

  static constexpr uint32_t kLevelMax = 31;
  // Whether the row is among those that `level` draws: one in 2^level, all at 0.
  static bool is_drawn(uint32_t ordinal, uint32_t level) { return mixed(ordinal) < below(level); }

  // Rows are drawn at this level from now on; none are before.
  void draw(uint32_t level) {
    below_ = below(level);
    forget_rows();
  }
  // What changed since the call before, or since this was made.
  Changes take() {
    for (const uint32_t ordinal : changes_.rows) seen_[ordinal / 64] = 0;
    for (Changes::Range& range : changes_.ranges) {
      range.change = std::exchange(changed_[range.number], Change::kNone);
    }
    Changes taken;
    taken.is_all = false;
    std::swap(taken, changes_);
    return taken;
  }

  void note_row(uint32_t ordinal) {
    if (mixed(ordinal) < below_) [[unlikely]]
      add_row(ordinal);
  }
  void note_range(uint32_t number, Change change) {
    if (number < changed_.size() && changed_[number] >= change) [[likely]]
      return;
    add_range(number, change);
  }
  void note_all() {
    forget_rows();
    changed_.clear();
    changes_ = {};
  }

 private:
  // Murmur3's first steps: neighbours are drawn as if they did not know of each other, so that
  // values that come at regular distances are drawn as often as others.
  static uint32_t mixed(uint32_t ordinal) {
    uint32_t bits = ordinal * 0x85ebca6bU;
    bits ^= bits >> 15;
    return bits * 0xc2b2ae35U;
  }
  static uint64_t below(uint32_t level) { return (uint64_t{1} << 32) >> level; }

  void forget_rows() {
    changes_.rows.clear();
    seen_.clear();
  }
  void add_row(uint32_t ordinal) {
    if (changes_.is_all) return;
    const size_t word = ordinal / 64;
    if (word >= seen_.size()) seen_.resize(word + 1);
    const uint64_t bit = uint64_t{1} << (ordinal % 64);
    if ((seen_[word] & bit) != 0) return;
    seen_[word] |= bit;
    changes_.rows.push_back(ordinal);
  }
  void add_range(uint32_t number, Change change) {
    if (changes_.is_all) return;
    if (number >= changed_.size()) changed_.resize(number + 1, Change::kNone);
    if (changed_[number] == Change::kNone) changes_.ranges.push_back({number, change});
    changed_[number] = change;
  }

  uint64_t below_ = 0;
  std::vector<uint64_t> seen_;   // a bit for each of changes_.rows
  std::vector<Change> changed_;  // by range
  Changes changes_;
};

}  // namespace diptych::storage
