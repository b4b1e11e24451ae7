#include "oltp/empty_ranges.h"

#include <algorithm>
#include <compare>

#include "base/check.h"

namespace diptych::oltp {
namespace {

// As entries compare: the shorter key is padded with zeros.
std::strong_ordering compare_keys(std::string_view a, std::string_view b) {
  const size_t both = std::min(a.size(), b.size());
  const int order = a.substr(0, both).compare(b.substr(0, both));
  if (order != 0) return order <=> 0;
  const auto is_zero = [](char byte) { return byte == 0; };
  if (!std::all_of(a.begin() + both, a.end(), is_zero)) return std::strong_ordering::greater;
  if (!std::all_of(b.begin() + both, b.end(), is_zero)) return std::strong_ordering::less;
  return std::strong_ordering::equal;
}

// Whether the entry is less than the range's end.
bool is_before_end(const EmptyRange& range, std::string_view key, uint64_t row) {
  const std::strong_ordering order = compare_keys(key, range.end_key);
  return order == 0 ? row < range.end_row : order < 0;
}

bool is_below_upper(std::string_view key, std::string_view upper) {
  return upper.empty() || compare_keys(key, upper) < 0;
}

bool contains(const EmptyRange& range, std::string_view key, uint64_t row) {
  if (range.direction == Direction::kForward) {
    return compare_keys(range.bound, key) <= 0 && is_before_end(range, key, row);
  }
  return is_below_upper(key, range.bound) && !is_before_end(range, key, row);
}

// Whether a scan from the bound begins with entries of the range, or at its end.
bool begins_in(const EmptyRange& range, std::string_view bound) {
  if (range.direction == Direction::kForward) {
    return compare_keys(range.bound, bound) <= 0 && is_before_end(range, bound, 0);
  }
  if (bound.empty()) return range.bound.empty();
  return !is_before_end(range, bound, 0) &&
         (range.bound.empty() || compare_keys(bound, range.bound) <= 0);
}

}  // namespace

EmptyRange* EmptyRanges::search(const TableIndex& index, Direction direction,
                                std::string_view bound) {
  const auto found = std::ranges::find_if(ranges_, [&](const EmptyRange& range) {
    return range.index == &index && range.direction == direction && begins_in(range, bound);
  });
  return found == ranges_.end() ? nullptr : &*found;
}

EmptyRange* EmptyRanges::note(const TableIndex& index, std::string_view bound,
                              const IndexCursor& cursor, EmptyRange* from) {
  DIPTYCH_DCHECK(cursor.count != 0, "it has passed a candidate");
  if (from == nullptr) {
    if (ranges_.size() < kRangesMax) {
      from = &ranges_.emplace_back();
    } else {
      from = &ranges_[oldest_];
      oldest_ = (oldest_ + 1) % kRangesMax;
    }
    from->index = &index;
    from->direction = cursor.direction;
    from->bound = bound;
  }
  from->end_key.assign(reinterpret_cast<const char*>(cursor.last_key), cursor.key_stride);
  from->end_row = cursor.rows[cursor.count - 1].value;
  if (cursor.direction == Direction::kForward) ++from->end_row;
  return from;
}

void EmptyRanges::cut(const TableIndex& index, std::string_view key, uint64_t row) noexcept {
  for (EmptyRange& range : ranges_) {
    if (range.index != &index || !contains(range, key, row)) continue;
    // No entry is wider than the present end, so there is room for the key.
    range.end_key.assign(key);
    range.end_row = range.direction == Direction::kForward ? row : row + 1;
  }
}

}  // namespace diptych::oltp
