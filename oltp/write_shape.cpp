#include "oltp/write_shape.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <string_view>
#include <utility>

#include "oltp/row_reader.h"
#include "oltp/table.h"

namespace diptych::oltp {
namespace {

std::vector<base::ColumnId> ascending(std::span<const base::ColumnId> columns) {
  std::vector<base::ColumnId> sorted(columns.begin(), columns.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

size_t hash_of(const Table& table, std::span<const base::ColumnId> columns) {
  const std::string_view bytes(reinterpret_cast<const char*>(columns.data()), columns.size_bytes());
  return std::hash<std::string_view>()(bytes) ^ std::hash<const Table*>()(&table);
}

}  // namespace

WriteShape::WriteShape(const Table& of_table, std::span<const base::ColumnId> of_columns)
    : table(&of_table),
      columns(of_columns.begin(), of_columns.end()),
      writer(of_table.layout, columns) {
  for (const base::ColumnId id : columns) {
    flags |= of_table.column_flags[id.value];
    const base::ColumnLayout& column = of_table.layout.column(id);
    const WordSpan span = words_of(column.offset, column.bytes);
    // Columns lie in the row as they are numbered, and may share a word with the one before.
    if (!words.empty() && span.first <= words.back().first + words.back().count) {
      words.back().count = span.first + span.count - words.back().first;
    } else {
      words.push_back(span);
    }
  }
  for (const WordSpan span : words) image_bytes += sizeof(BeforeImage) + size_t{8} * span.count;
}

const WriteShape& WriteShapes::find_anew(const Table& table,
                                         std::span<const base::ColumnId> columns, Place* place) {
  const WriteShape& shape = find(table, ascending(columns));
  if (columns.size() > place->columns.size()) return shape;
  *place = {&table, &shape, columns.size(), {}};
  std::copy(columns.begin(), columns.end(), place->columns.begin());
  return shape;
}

const WriteShape& WriteShapes::joined(const WriteShape& a, const WriteShape& b) {
  std::vector<base::ColumnId> both;
  std::set_union(a.columns.begin(), a.columns.end(), b.columns.begin(), b.columns.end(),
                 std::back_inserter(both));
  if (const WriteShape* const there = look_up(*a.table, both)) return *there;
  size_t& count = joined_count_[a.table];
  if (count == kJoinedMax) return widened(*a.table, both);
  ++count;
  return add(*a.table, both);
}

const WriteShape& WriteShapes::widened(const Table& table,
                                       std::span<const base::ColumnId> columns) {
  const GroupMask groups = groups_of(table.layout, {false, columns, {}});
  const bool has_long = std::any_of(columns.begin(), columns.end(), [&](base::ColumnId id) {
    return (table.column_flags[id.value] & kLongStringColumn) != 0;
  });
  const uint8_t left_out = kPrimaryColumn | (has_long ? 0 : kLongStringColumn);
  std::vector<base::ColumnId> wide;
  for (size_t i = 0; i < table.layout.columns.size(); ++i) {
    if ((groups >> table.layout.columns[i].group & 1) == 0) continue;
    if ((table.column_flags[i] & left_out) == 0) wide.emplace_back(static_cast<uint16_t>(i));
  }
  WriteShape& shape = find(table, wide);
  shape.is_widened = true;
  return shape;
}

WriteShape* WriteShapes::look_up(const Table& table, std::span<const base::ColumnId> columns) {
  const auto [first, last] = shapes_.equal_range(hash_of(table, columns));
  const auto found = std::find_if(first, last, [&](const auto& entry) {
    return entry.second->table == &table && std::ranges::equal(entry.second->columns, columns);
  });
  return found == last ? nullptr : found->second.get();
}

WriteShape& WriteShapes::find(const Table& table, std::span<const base::ColumnId> columns) {
  WriteShape* const there = look_up(table, columns);
  return there != nullptr ? *there : add(table, columns);
}

WriteShape& WriteShapes::add(const Table& table, std::span<const base::ColumnId> columns) {
  auto made = std::make_unique<WriteShape>(table, columns);
  WriteShape& shape = *made;
  shape.group = table.layout.column(columns.front()).group;
  const auto is_apart = [&](base::ColumnId id) {
    return table.layout.column(id).group != shape.group;
  };
  if (std::any_of(columns.begin(), columns.end(), is_apart)) add_parts(&shape);
  shape.is_plain = shape.parts.empty() && shape.flags == 0;
  shapes_.emplace(hash_of(table, columns), std::move(made));
  return shape;
}

void WriteShapes::add_parts(WriteShape* shape) {
  for (uint32_t group = 0; group < shape->table->layout.group_count; ++group) {
    std::vector<base::ColumnId> columns;
    for (const base::ColumnId id : shape->columns) {
      if (shape->table->layout.column(id).group == group) columns.push_back(id);
    }
    if (!columns.empty()) shape->parts.push_back(&find(*shape->table, columns));
  }
}

void WriteShapes::clear() {
  places_.fill({});
  shapes_.clear();
  joined_count_.clear();
}

}  // namespace diptych::oltp
