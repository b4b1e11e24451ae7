#include "olap/execution/group/rows_by_group.h"

#include <algorithm>
#include <utility>

#include "olap/execution/limits/query_failure.h"
#include "olap/execution/sort/sorted_rows.h"

namespace diptych::olap {

namespace {

std::vector<base::DataType> with_group(std::span<const base::DataType> arguments) {
  std::vector<base::DataType> types = {base::DataType{base::TypeKind::kInt}};
  types.insert(types.end(), arguments.begin(), arguments.end());
  return types;
}

}  // namespace

RowsByGroup::RowsByGroup(std::span<const base::DataType> arguments, std::span<const SortKey> order)
    : types_(with_group(arguments)), order_{{0, false, false}}, rows_(types_) {
  for (SortKey key : order) {
    ++key.column;
    order_.push_back(key);
  }
  for (size_t c = 0; c < rows_.column_count(); ++c) buffers_.emplace_back(rows_.type(c));
}

size_t RowsByGroup::memory_bytes() const {
  return rows_.memory_bytes() + rows_split_.memory_bytes() + rows_.row_count() * kSortBytesARow;
}

void RowsByGroup::update_all(std::span<const Vector> arguments, const Selection& rows,
                             const uint32_t* groups) {
  auto* const numbers = buffers_[0].values<int32_t>();
  for_numbered(rows, [&](uint32_t k, uint32_t slot) {
    numbers[slot] = static_cast<int32_t>(groups == nullptr ? 0 : groups[k]);
  });
  columns_.assign(1, buffers_[0].view());
  columns_.insert(columns_.end(), arguments.begin(),
                  arguments.begin() + static_cast<std::ptrdiff_t>(rows_.column_count() - 1));
  uint64_t present[kVectorWords];
  std::copy_n(rows.bits, kVectorWords, present);
  if (arguments[0].nulls != nullptr) {
    for (uint32_t w = 0; w < words_of(rows.slots); ++w) present[w] &= ~arguments[0].nulls[w];
  }
  select_bits(present, rows.slots, &present_);
  if (present_.count != 0) rows_.append(columns_, present_);
}

void RowsByGroup::split(const GroupSplit& groups, const StopSignal& stop) {
  const auto* const group = rows_.values<int32_t>(0);
  rows_split_ = NumbersByPartition(checked_rows(), groups.partitions(), stop, [&](uint32_t row) {
    return groups.partition_of(static_cast<uint32_t>(group[row]));
  });
}

void RowsByGroup::merge(const AggregateColumn& other, const GroupMerge& groups) {
  const StopSignal& stop = groups.workers.stop();
  const auto& column = static_cast<const RowsByGroup&>(other);
  const bool whole = groups.split.is_whole();
  const uint32_t merged = whole ? column.checked_rows() : column.rows_split_.size(groups.partition);
  std::vector<uint32_t> numbers(kVectorRows);
  for (uint32_t first = 0; first < merged; first += kVectorRows) {
    stop.check();
    const uint32_t count = std::min(kVectorRows, merged - first);
    for (uint32_t i = 0; i < count; ++i) {
      numbers[i] = whole ? first + i : column.rows_split_.at(groups.partition, first + i);
    }
    select_all(count, &present_);
    columns_.clear();
    for (size_t c = 0; c < buffers_.size(); ++c) {
      columns_.push_back(column.rows_.gather(c, numbers.data(), present_, &buffers_[c]));
    }
    auto* const group = buffers_[0].values<int32_t>();
    for (uint32_t i = 0; i < count; ++i) {
      group[i] = static_cast<int32_t>(groups.to_of(static_cast<uint32_t>(group[i])));
    }
    rows_.append(columns_, present_);
  }
}

void RowsByGroup::keep_only(std::span<const uint32_t> rows, const StopSignal& stop) {
  ColumnStore kept(types_);
  for (size_t first = 0; first < rows.size(); first += StopSignal::kRowsBetween) {
    stop.check();
    const size_t count = std::min<size_t>(StopSignal::kRowsBetween, rows.size() - first);
    kept.append_rows(rows_, rows.subspan(first, count));
  }
  rows_ = std::move(kept);
}

std::vector<uint32_t> RowsByGroup::sorted_numbers(const StopSignal& stop) const {
  checked_rows();
  return sorted_rows(rows_, order_, kNoLimit, Workers(stop));
}

uint32_t RowsByGroup::checked_rows() const {
  if (rows_.row_count() >= UINT32_MAX) {
    fail_query(base::ErrorCode::kOutOfMemory, "an ordered aggregate keeps more than 2^32 - 2 rows");
  }
  return static_cast<uint32_t>(rows_.row_count());
}

}  // namespace diptych::olap
