#include "propagation/export/record_run.h"

#include <cstdint>
#include <cstring>

#include <fmt/format.h>

#include "base/types.h"

namespace diptych::propagation {
namespace {

base::Error corrupt(const UpdateRecord& record, std::string_view what) {
  return {base::ErrorCode::kCorrupt, fmt::format("the update of row {} under VID {} {}",
                                                 record.row_id.value, record.vid.value, what)};
}

// The string of a cell at `cell`, whose bytes lie in the record behind `from`.
bool string_lies_inside(const UpdateRecord& record, const base::ColumnLayout& column,
                        const std::byte* cell, size_t from) {
  if (column.nullable && cell[column.null_offset - column.offset] != std::byte{0}) return true;
  base::Text text;
  std::memcpy(&text, cell, sizeof text);
  const auto offset = reinterpret_cast<uintptr_t>(text.data);
  if (text.size == 0) return offset <= record.bytes;
  return offset >= from && offset <= record.bytes && text.size <= record.bytes - offset;
}

base::Result<void> check_row(const UpdateRecord& record, const base::RowLayout& layout) {
  const size_t fixed = sizeof(UpdateRecord) + layout.bytes;
  if (record.bytes < fixed) return corrupt(record, "is shorter than a row");
  for (const base::ColumnId id : layout.long_strings) {
    const base::ColumnLayout& column = layout.column(id);
    if (!string_lies_inside(record, column, record.body() + column.offset, fixed)) {
      return corrupt(record, "has a string that lies outside of it");
    }
  }
  return {};
}

base::Result<void> check_cells(const UpdateRecord& record, const base::RowLayout& layout) {
  size_t fixed = sizeof(UpdateRecord) + record.columns().size_bytes();
  for (const base::ColumnId id : record.columns()) {
    if (id.value >= layout.columns.size()) {
      return corrupt(record, fmt::format("names column {}, which is not there", id.value));
    }
    fixed += layout.column(id).bytes;
  }
  if (record.column_count == 0 || record.bytes < fixed) {
    return corrupt(record, "is shorter than it says");
  }
  const std::byte* cell = record.cells();
  for (const base::ColumnId id : record.columns()) {
    const base::ColumnLayout& column = layout.column(id);
    if (!column.type.is_inline()) {
      if (record.more != 0) return corrupt(record, "changes a long string of many rows");
      if (!string_lies_inside(record, column, cell, fixed)) {
        return corrupt(record, "has a string that lies outside of it");
      }
    }
    cell += column.bytes;
  }
  return {};
}

}  // namespace

base::Result<void> check_records(std::span<const std::byte> records, base::Vid after,
                                 base::Vid last) {
  const auto refused = [](std::string_view what) {
    return base::Error(base::ErrorCode::kCorrupt, fmt::format("a run of updates {}", what));
  };
  if (reinterpret_cast<uintptr_t>(records.data()) % alignof(UpdateRecord) != 0) {
    return refused("does not begin on a multiple of 8");
  }
  base::Vid newest(after.value + 1);
  while (!records.empty()) {
    if (records.size() < sizeof(UpdateRecord)) return refused("is cut short");
    const auto& record = *reinterpret_cast<const UpdateRecord*>(records.data());
    if (record.bytes < sizeof(UpdateRecord) || record.bytes % alignof(UpdateRecord) != 0 ||
        record.bytes > records.size()) {
      return corrupt(record, fmt::format("has {} bytes", record.bytes));
    }
    if (record.vid < newest || record.vid > last) return corrupt(record, "is of another batch");
    if (record.type > UpdateType::kReplace ||
        record.bytes - sizeof(UpdateRecord) < record.columns().size_bytes()) {
      return corrupt(record, "is none of those that there are");
    }
    if (record.more != 0 &&
        ((record.type != UpdateType::kUpdate && record.type != UpdateType::kDelete) ||
         record.row_id.value % base::kRowIdRun + record.more >= base::kRowIdRun)) {
      return corrupt(record, fmt::format("cannot be of {} rows", record.rows()));
    }
    newest = record.vid;
    records = records.subspan(record.bytes);
  }
  return {};
}

base::Result<void> check_record(const UpdateRecord& record, const base::RowLayout& layout) {
  switch (record.type) {
    case UpdateType::kInsert:
    case UpdateType::kReplace: return check_row(record, layout);
    case UpdateType::kUpdate: return check_cells(record, layout);
    case UpdateType::kDelete: break;
  }
  return {};
}

}  // namespace diptych::propagation
