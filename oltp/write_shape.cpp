#include "oltp/write_shape.h"

#include <algorithm>
#include <iterator>

#include "oltp/table.h"

namespace diptych::oltp {
namespace {

std::vector<base::ColumnId> ascending(std::span<const base::ColumnId> columns) {
  std::vector<base::ColumnId> sorted(columns.begin(), columns.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

}  // namespace

WriteShape::WriteShape(const Table& of_table, std::span<const base::ColumnId> of_columns)
    : table(&of_table), columns(ascending(of_columns)), pieces(of_table.layout, columns) {
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
  const WriteShape& shape = find(table, columns);
  if (columns.size() > place->columns.size()) return shape;
  *place = {&table, &shape, columns.size(), {}};
  std::copy(columns.begin(), columns.end(), place->columns.begin());
  return shape;
}

const WriteShape& WriteShapes::joined(const WriteShape& a, const WriteShape& b) {
  std::vector<base::ColumnId> both;
  std::set_union(a.columns.begin(), a.columns.end(), b.columns.begin(), b.columns.end(),
                 std::back_inserter(both));
  return find(*a.table, both);
}

const WriteShape& WriteShapes::find(const Table& table, std::span<const base::ColumnId> columns) {
  const std::vector<base::ColumnId> sorted = ascending(columns);
  for (const auto& shape : shapes_) {
    if (shape->table == &table && shape->columns == sorted) return *shape;
  }
  auto shape = std::make_unique<WriteShape>(table, sorted);
  shape->group = table.layout.column(sorted.front()).group;
  const auto is_apart = [&](base::ColumnId id) {
    return table.layout.column(id).group != shape->group;
  };
  if (std::any_of(sorted.begin(), sorted.end(), is_apart)) add_parts(shape.get());
  shape->is_plain = shape->parts.empty() && shape->flags == 0;
  shapes_.push_back(std::move(shape));
  return *shapes_.back();
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
}

}  // namespace diptych::oltp
