#include "oltp/read_set.h"

#include <algorithm>

#include "base/check.h"

namespace diptych::oltp {
namespace {

// Whether a transaction has committed a change of the row after the snapshot. The transaction's own
// claim tells what it found: never a newer one.
bool is_changed_since(const RowSlot& slot, GroupMask groups, base::Vid read_vid) {
  groups |= 1;
  for (uint32_t group = 0; groups != 0; ++group, groups >>= 1) {
    if ((groups & 1) == 0) continue;
    // acquire: pairs with the releases of claims and commits; another's Undo is looked into.
    const uint64_t word = slot.group(group).word.load(std::memory_order_acquire);
    const uint64_t newest = (word & kOwned) != 0 ? RowSlot::undo_of(word)->before : word;
    if ((newest & kVidMask) > read_vid.value) return true;
  }
  return false;
}

}  // namespace

void ReadSet::forget() {
  rows_.clear();
  absent_.clear();
  ranges_.clear();
  keys_.clear();
}

ReadSet::Bytes ReadSet::keep(std::string_view key) {
  const Bytes bytes{keys_.size(), key.size()};
  keys_.insert(keys_.end(), key.begin(), key.end());
  return bytes;
}

void ReadSet::add_key(const TableIndex& index, std::string_view key) {
  absent_.push_back({&index, keep(key)});
}

size_t ReadSet::add_range(const TableIndex& index, std::string_view lower, std::string_view upper,
                          GroupMask groups) {
  ranges_.push_back({&index, keep(lower), keep(upper), groups});
  return ranges_.size() - 1;
}

void ReadSet::cut_range(size_t range, std::string_view last_key, Direction direction) {
  DIPTYCH_DCHECK(range < ranges_.size(), "add_range gave the number");
  const Bytes last = keep(last_key);
  if (direction == Direction::kBackward) {
    ranges_[range].lower = last;
    return;
  }
  // The next key of this width; padded, no key lies between. Of the greatest one: no bound.
  char* const bytes = keys_.data() + last.first;
  for (size_t i = last.count; i-- > 0;) {
    bytes[i] = static_cast<char>(static_cast<uint8_t>(bytes[i]) + 1);
    if (bytes[i] != 0) {
      ranges_[range].upper = last;
      return;
    }
  }
}

void ReadSet::drop_covered(size_t range) {
  if (range == 0 || range + 1 != ranges_.size()) return;
  const RangeRead& newest = ranges_[range];
  const RangeRead& before = ranges_[range - 1];
  if (newest.index != before.index || (newest.groups & ~before.groups) != 0) return;
  const std::string_view upper = view(before.upper);
  const bool ends_within =
      upper.empty() || (newest.upper.count != 0 && view(newest.upper) <= upper);
  if (ends_within && view(before.lower) <= view(newest.lower)) ranges_.pop_back();
}

bool ReadSet::holds(const KeyRead& read, base::Vid read_vid) const {
  bool unchanged = true;
  const auto visit = [&](base::RowId row_id) {
    unchanged = !is_changed_since(read.index->table->rows.slot(row_id), 1, read_vid);
    return unchanged;
  };
  read.index->index->find(view(read.key), CandidateVisitor(visit));
  return unchanged;
}

bool ReadSet::holds(const RangeRead& read, base::Vid read_vid) const {
  const RowTable& rows = read.index->table->rows;
  IndexCursor cursor(view(read.lower), view(read.upper), Direction::kForward);
  const Index& index = *read.index->index;
  for (index.next_group(&cursor); cursor.count != 0; index.next_group(&cursor)) {
    for (size_t i = 0; i < cursor.count; ++i) {
      if (is_changed_since(rows.slot(cursor.rows[i]), read.groups, read_vid)) return false;
    }
  }
  return true;
}

bool ReadSet::still_hold(base::Vid read_vid) const {
  const auto unchanged = [&](const RowRead& read) {
    return !is_changed_since(*read.slot, read.groups, read_vid);
  };
  const auto still_so = [&](const auto& read) { return holds(read, read_vid); };
  return std::all_of(rows_.begin(), rows_.end(), unchanged) &&
         std::all_of(absent_.begin(), absent_.end(), still_so) &&
         std::all_of(ranges_.begin(), ranges_.end(), still_so);
}

}  // namespace diptych::oltp
