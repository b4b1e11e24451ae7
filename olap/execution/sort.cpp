#include "olap/execution/sort.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#include "olap/execution/comparison_kernels.h"
#include "olap/execution/query_failure.h"

namespace diptych::olap {

namespace {

constexpr uint64_t kTopRowsMax = 64 * 1024;  // above, a LIMIT sorts everything
constexpr uint64_t kSlackRows = 8 * kVectorRows;
constexpr size_t kRadixRowsMin = 1024;  // below, comparing is faster than counting bytes
// Where so small a share of the rows is wanted, they are picked out before they are sorted.
constexpr uint64_t kPickedShareMin = 8;

// Order-preserving: prefix(a) < prefix(b) only if a < b.
uint64_t prefix_of(int64_t value) {
  return static_cast<uint64_t>(value) ^ (uint64_t{1} << 63);
}
uint64_t prefix_of(int32_t value) {
  return prefix_of(int64_t{value});
}
uint64_t prefix_of(uint8_t value) {
  return value;
}
uint64_t prefix_of(int128_t value) {
  return prefix_of(static_cast<int64_t>(std::clamp<int128_t>(value, INT64_MIN, INT64_MAX)));
}
uint64_t prefix_of(double value) {
  if (std::isnan(value)) return UINT64_MAX;
  if (value == 0) value = 0;  // -0
  const auto bits = std::bit_cast<uint64_t>(value);
  return (bits >> 63) != 0 ? ~bits : bits | (uint64_t{1} << 63);
}
uint64_t prefix_of(const base::StringRef& text) {
  uint64_t bytes = 0;
  std::memcpy(&bytes, text.data(), std::min<size_t>(text.size(), 8));
  return __builtin_bswap64(bytes);
}

struct SortEntry {
  uint64_t prefix;
  uint32_t row;
};
static_assert(2 * sizeof(SortEntry) + sizeof(uint32_t) == kSortBytesARow);

class RowOrder {
 public:
  // `stop` may be null. The algorithms copy an order: `compared` is all copies' count.
  RowOrder(const ColumnStore& rows, const std::vector<SortKey>& keys, const StopSignal* stop,
           uint64_t* compared)
      : rows_(rows), keys_(keys), stop_(stop), compared_(compared) {}

  std::vector<SortEntry> entries() const {
    std::vector<SortEntry> entries(rows_.row_count());
    for (uint32_t row = 0; row < entries.size(); ++row) entries[row] = {0, row};
    if (keys_.empty()) return entries;
    const SortKey& key = keys_[0];
    with_physical_type(rows_.type(key.column), [&](auto value) {
      const auto* const values = rows_.values<decltype(value)>(key.column);
      for (SortEntry& entry : entries) {
        if (stop_ != nullptr) stop_->check_at(entry.row);
        if (rows_.is_null(key.column, entry.row)) {
          entry.prefix = key.nulls_first ? 0 : UINT64_MAX;
        } else {
          const uint64_t prefix = prefix_of(values[entry.row]);
          entry.prefix = key.descending ? ~prefix : prefix;
        }
      }
    });
    return entries;
  }

  // True where entries with equal prefixes are equal.
  bool is_prefix_all() const {
    if (keys_.empty()) return true;
    const uint32_t column = keys_[0].column;
    const PhysicalType type = rows_.type(column);
    return keys_.size() == 1 && !rows_.has_nulls(column) && type != PhysicalType::kInt128 &&
           type != PhysicalType::kString;
  }

  bool operator()(const SortEntry& a, const SortEntry& b) const {
    if (stop_ != nullptr) stop_->check_at(++*compared_);
    if (a.prefix != b.prefix) return a.prefix < b.prefix;
    for (const SortKey& key : keys_) {
      const int order = compare(key, a.row, b.row);
      if (order != 0) return order < 0;
    }
    return a.row < b.row;
  }

 private:
  int compare(const SortKey& key, uint32_t a, uint32_t b) const {
    const bool a_null = rows_.is_null(key.column, a);
    const bool b_null = rows_.is_null(key.column, b);
    if (a_null || b_null) {
      if (a_null == b_null) return 0;
      return a_null == key.nulls_first ? -1 : 1;
    }
    return with_physical_type(rows_.type(key.column), [&](auto value) {
      const auto* const values = rows_.values<decltype(value)>(key.column);
      const int order = value_less(values[a], values[b])   ? -1
                        : value_less(values[b], values[a]) ? 1
                                                           : 0;
      return key.descending ? -order : order;
    });
  }

  const ColumnStore& rows_;
  const std::vector<SortKey>& keys_;
  const StopSignal* stop_;
  uint64_t* compared_;
};

// Sorts by prefix, equal ones staying in their order: from the last byte to the first, without
// those that all entries have in common.
void sort_by_prefix(std::vector<SortEntry>* entries) {
  constexpr size_t kBytes = sizeof(uint64_t);
  std::vector<std::array<uint32_t, 256>> counts(kBytes);
  for (const SortEntry& entry : *entries) {
    for (size_t b = 0; b < kBytes; ++b) ++counts[b][(entry.prefix >> (8 * b)) & 0xff];
  }
  std::vector<SortEntry> sorted(entries->size());
  for (size_t b = 0; b < kBytes; ++b) {
    std::array<uint32_t, 256>& places = counts[b];
    if (places[(entries->front().prefix >> (8 * b)) & 0xff] == entries->size()) continue;
    std::exclusive_scan(places.begin(), places.end(), places.begin(), uint32_t{0});
    for (const SortEntry& entry : *entries) {
      sorted[places[(entry.prefix >> (8 * b)) & 0xff]++] = entry;
    }
    std::swap(sorted, *entries);
  }
}

void sort_entries(const RowOrder& order, std::vector<SortEntry>* entries) {
  if (entries->size() < kRadixRowsMin) {
    std::sort(entries->begin(), entries->end(), order);
    return;
  }
  sort_by_prefix(entries);
  if (order.is_prefix_all()) return;
  for (auto first = entries->begin(); first != entries->end();) {
    auto last = first + 1;
    while (last != entries->end() && last->prefix == first->prefix) ++last;
    if (last - first > 1) std::sort(first, last, order);
    first = last;
  }
}

}  // namespace

std::vector<uint32_t> sorted_rows(const ColumnStore& rows, const std::vector<SortKey>& keys,
                                  uint64_t limit, const StopSignal* stop) {
  if (rows.row_count() >= UINT32_MAX) {
    fail_query(base::ErrorCode::kOutOfMemory, "a sort has more than 2^32 - 2 rows");
  }
  uint64_t compared = 0;
  const RowOrder order(rows, keys, stop, &compared);
  std::vector<SortEntry> entries = order.entries();
  if (limit < entries.size() / kPickedShareMin) {
    std::nth_element(entries.begin(), entries.begin() + static_cast<int64_t>(limit), entries.end(),
                     order);
    entries.resize(limit);
  }
  sort_entries(order, &entries);
  if (limit < entries.size()) entries.resize(limit);
  std::vector<uint32_t> numbers(entries.size());
  for (size_t i = 0; i < entries.size(); ++i) numbers[i] = entries[i].row;
  return numbers;
}

uint64_t rows_wanted(const Operator& sort) {
  uint64_t wanted;
  return __builtin_add_overflow(sort.limit, sort.offset, &wanted) ? kNoLimit : wanted;
}

SortPart::SortPart(const Operator& sort, const NeededColumns& needed, MemoryBudget* memory)
    : sort_(sort),
      needed_(needed.of(sort)),
      wanted_(rows_wanted(sort)),
      rows_(sort.children[0]->output, needed_),
      charge_(memory, "the rows of a sort") {}

void SortPart::append(const Batch& batch) {
  rows_.append(batch.columns, *batch.selection);
  if (wanted_ <= kTopRowsMax && rows_.row_count() >= wanted_ * 2 + kSlackRows) drop_worst();
  charge_.set(rows_.memory_bytes());
}

QueryHeap SortPart::take_texts() {
  QueryHeap texts = rows_.take_texts();
  charge_.set(rows_.memory_bytes());
  return texts;
}

// Keeps the rows wanted, in their order of arrival, so that the sort stays stable.
void SortPart::drop_worst() {
  std::vector<uint32_t> best = sorted_rows(rows_, sort_.sort_keys, wanted_, nullptr);
  std::sort(best.begin(), best.end());
  ColumnStore kept(sort_.children[0]->output, needed_);
  kept.append_rows(rows_, best);
  rows_ = std::move(kept);
}

StoredSource::StoredSource(const ColumnStore& rows, const std::vector<uint32_t>& order,
                           uint64_t first, StagePtr next)
    : rows_(rows), order_(order), first_(first), next_(std::move(next)) {
  for (size_t c = 0; c < rows.column_count(); ++c) buffers_.emplace_back(rows.type(c));
  batch_.columns.resize(rows.column_count());
  batch_.selection = &selection_;
}

bool StoredSource::run(uint64_t morsel) {
  const uint64_t begin = first_ + morsel * kVectorRows;
  const uint64_t count = std::min<uint64_t>(kVectorRows, order_.size() - begin);
  select_all(static_cast<uint32_t>(count), &selection_);
  for (size_t c = 0; c < buffers_.size(); ++c) {
    batch_.columns[c] = rows_.gather(c, order_.data() + begin, selection_, &buffers_[c]);
  }
  return next_->push(batch_);
}

}  // namespace diptych::olap
