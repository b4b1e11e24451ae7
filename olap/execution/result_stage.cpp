#include "olap/execution/result_stage.h"

#include "base/check.h"

namespace diptych::olap {

namespace {

// From: the vector's type; To: the array's.
template <class From, class To>
void append_values(const Vector& vector, const Selection& rows, ResultArray* array) {
  const From* const from = vector.as<From>();
  To* const to = array->add_values<To>(rows.count);
  for_numbered(rows, [&](uint32_t k, uint32_t slot) { to[k] = static_cast<To>(from[slot]); });
}

void append_bits(const Vector& vector, const Selection& rows, ResultArray* array) {
  const uint8_t* const from = vector.as<uint8_t>();
  const uint64_t first = array->rows();
  for_numbered(rows,
               [&](uint32_t k, uint32_t slot) { array->add_bit(first + k, from[slot] != 0); });
}

void append_texts(const Vector& vector, const Selection& rows, ResultArray* array) {
  const auto* const from = vector.as<base::StringRef>();
  array->add_texts(rows.count, [&](uint64_t k) {
    const uint32_t slot = rows.row(static_cast<uint32_t>(k));
    return vector.is_null(slot) ? base::StringRef() : from[slot];
  });
}

void append_column(const Vector& vector, const Selection& rows, ResultArray* array) {
  const bool decimal = array->type().kind == base::TypeKind::kDecimal;
  switch (vector.type) {
    case PhysicalType::kInt32: append_values<int32_t, int32_t>(vector, rows, array); break;
    case PhysicalType::kInt64:
      if (decimal) {
        append_values<int64_t, int128_t>(vector, rows, array);
      } else {
        append_values<int64_t, int64_t>(vector, rows, array);
      }
      break;
    case PhysicalType::kInt128: append_values<int128_t, int128_t>(vector, rows, array); break;
    case PhysicalType::kDouble: append_values<double, double>(vector, rows, array); break;
    case PhysicalType::kInterval:
      append_values<base::Interval, base::Interval>(vector, rows, array);
      break;
    case PhysicalType::kBool: append_bits(vector, rows, array); break;
    case PhysicalType::kString: append_texts(vector, rows, array); break;
  }
  array->end_rows(rows.count, vector.nulls != nullptr,
                  [&](uint64_t k) { return vector.is_null(rows.row(static_cast<uint32_t>(k))); });
}

size_t memory_of(const ResultChunk& chunk) {
  size_t bytes = 0;
  for (const ResultArray& array : chunk.columns) bytes += array.memory_bytes();
  return bytes;
}

}  // namespace

void ResultPart::append(const std::vector<base::DataType>& types, const Batch& batch) {
  DIPTYCH_CHECK(batch.columns.size() >= types.size(), "a result has the plan's columns");
  const Selection& rows = *batch.selection;
  if (chunks_.empty() || chunks_.back().rows + rows.count > ResultTable::kRowsMax) {
    if (!chunks_.empty()) bytes_done_ += memory_of(chunks_.back());
    ResultChunk& chunk = chunks_.emplace_back();
    for (const base::DataType& type : types) chunk.columns.emplace_back(type);
  }
  ResultChunk& chunk = chunks_.back();
  for (size_t c = 0; c < types.size(); ++c) {
    DIPTYCH_CHECK(batch.columns[c].type == physical_type(types[c]),
                  "a result has the plan's types");
    append_column(batch.columns[c], rows, &chunk.columns[c]);
  }
  chunk.rows += rows.count;
  charge_.set(bytes_done_ + memory_of(chunk));
}

}  // namespace diptych::olap
