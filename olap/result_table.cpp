#include "olap/result_table.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace diptych::olap {

namespace {

using base::int128_t;
using base::TypeKind;

template <class T>
T value_at(const std::byte* values, uint64_t row) {
  T value;
  std::memcpy(&value, values + row * sizeof(T), sizeof(T));
  return value;
}

}  // namespace

ResultArray::ResultArray(const base::DataType& type) : type_(type) {
  if (type.is_string()) *add_values<int64_t>(1) = 0;
}

std::string_view ResultArray::text(uint64_t row) const {
  const auto begin = value_at<int64_t>(values(), row);
  const auto end = value_at<int64_t>(values(), row + 1);
  return {texts() + begin, static_cast<size_t>(end - begin)};
}

base::Value ResultArray::value(uint64_t row) const {
  DIPTYCH_DCHECK(row < rows_, "a row of the array");
  if (is_null(row)) return base::Value();
  switch (type_.kind) {
    case TypeKind::kInt: return int64_t{value_at<int32_t>(values(), row)};
    case TypeKind::kBigInt: return value_at<int64_t>(values(), row);
    case TypeKind::kDecimal:
      return base::DecimalValue{value_at<int128_t>(values(), row), type_.scale};
    case TypeKind::kDouble: return value_at<double>(values(), row);
    case TypeKind::kBoolean:
      return ((values_[row / 8] >> (row % 8)) & std::byte{1}) != std::byte{0};
    case TypeKind::kDate: return base::Date{value_at<int32_t>(values(), row)};
    case TypeKind::kTimestamp: return base::Timestamp{value_at<int64_t>(values(), row)};
    case TypeKind::kInterval: return value_at<base::Interval>(values(), row);
    case TypeKind::kChar:
    case TypeKind::kVarchar: break;
  }
  return std::string(text(row));
}

void ResultArray::add_bit(uint64_t row, bool bit) {
  if (row % 8 == 0) values_.push_back(std::byte{0});
  if (bit) values_[row / 8] |= std::byte{1} << (row % 8);
}

void ResultArray::make_valid(uint64_t first) {
  const size_t bytes = (rows_ + 7) / 8;
  if (validity_.size() == 0) {
    validity_.resize(bytes, 0xff);
    return;
  }
  if (first % 8 != 0) {
    validity_[first / 8] = static_cast<uint8_t>(validity_[first / 8] | (0xffU << (first % 8)));
  }
  validity_.resize(bytes, 0xff);
}

void ResultArray::add(const base::Value& value) {
  const bool null = base::is_null(value);
  // A value of another type than the column's is the caller's bug: std::get throws.
  const auto put = [&]<class T>(T) { return add_values<T>(1); };
  switch (type_.kind) {
    case TypeKind::kInt:
      *put(int32_t{}) = null ? 0 : static_cast<int32_t>(std::get<int64_t>(value));
      break;
    case TypeKind::kBigInt: *put(int64_t{}) = null ? 0 : std::get<int64_t>(value); break;
    case TypeKind::kDecimal:
      *put(int128_t{}) = null ? 0 : std::get<base::DecimalValue>(value).units;
      break;
    case TypeKind::kDouble: *put(double{}) = null ? 0 : std::get<double>(value); break;
    case TypeKind::kBoolean: add_bit(rows_, !null && std::get<bool>(value)); break;
    case TypeKind::kDate: *put(int32_t{}) = null ? 0 : std::get<base::Date>(value).days; break;
    case TypeKind::kTimestamp:
      *put(int64_t{}) = null ? 0 : std::get<base::Timestamp>(value).micros;
      break;
    case TypeKind::kInterval:
      *put(base::Interval{}) = null ? base::Interval{} : std::get<base::Interval>(value);
      break;
    case TypeKind::kChar:
    case TypeKind::kVarchar: {
      const std::string_view text = null ? std::string_view() : std::get<std::string>(value);
      add_texts(1, [text](uint64_t) { return base::StringRef(text); });
      break;
    }
  }
  end_rows(1, null, [null](uint64_t) { return null; });
}

ResultTable::ResultTable(std::vector<ResultColumn> columns, std::vector<ResultChunk> chunks,
                         MemoryHold hold)
    : hold_(std::move(hold)), columns_(std::move(columns)), chunks_(std::move(chunks)) {
  std::erase_if(chunks_, [](const ResultChunk& chunk) { return chunk.rows == 0; });
  number_rows();
}

ResultTable::ResultTable(std::vector<ResultColumn> columns,
                         const std::vector<std::vector<base::Value>>& rows)
    : columns_(std::move(columns)) {
  for (const std::vector<base::Value>& row : rows) {
    DIPTYCH_CHECK(row.size() == columns_.size(), "a row has a value of each column");
    if (chunks_.empty() || chunks_.back().rows == kRowsMax) {
      ResultChunk& chunk = chunks_.emplace_back();
      for (const ResultColumn& column : columns_) chunk.columns.emplace_back(column.type);
    }
    ResultChunk& chunk = chunks_.back();
    for (size_t c = 0; c < row.size(); ++c) chunk.columns[c].add(row[c]);
    ++chunk.rows;
  }
  number_rows();
}

void ResultTable::number_rows() {
  starts_ = {0};
  for (const ResultChunk& chunk : chunks_) {
    for (const ResultArray& array : chunk.columns) {
      DIPTYCH_CHECK(array.rows() == chunk.rows, "a chunk's columns have its rows");
    }
    starts_.push_back(starts_.back() + chunk.rows);
  }
}

size_t ResultTable::memory_bytes() const {
  size_t bytes = 0;
  for (const ResultChunk& chunk : chunks_) {
    for (const ResultArray& array : chunk.columns) bytes += array.memory_bytes();
  }
  return bytes;
}

base::Value ResultTable::value(uint64_t row, size_t column) const {
  DIPTYCH_CHECK(row < row_count() && column < columns_.size(), "a cell of the table");
  const auto next = std::upper_bound(starts_.begin(), starts_.end(), row);
  const auto chunk = static_cast<size_t>(next - starts_.begin()) - 1;
  return chunks_[chunk].columns[column].value(row - starts_[chunk]);
}

}  // namespace diptych::olap
