#include "olap/execution/join/join_sides.h"

#include <algorithm>

#include "olap/execution/expression/expression.h"
#include "olap/execution/pipeline/needed_columns.h"

namespace diptych::olap {

bool reads_probe_side(const Operator& join, const Expression& expression) {
  const size_t probe_columns = join.children[0]->output.size();
  const std::vector<uint32_t> columns = columns_read(expression);
  return !columns.empty() && std::all_of(columns.begin(), columns.end(),
                                         [&](uint32_t column) { return column < probe_columns; });
}

bool reads_build_side(const Operator& join, const Expression& expression) {
  const size_t probe_columns = join.children[0]->output.size();
  const std::vector<uint32_t> columns = columns_read(expression);
  return !columns.empty() && std::all_of(columns.begin(), columns.end(), [&](uint32_t column) {
    return column >= probe_columns &&
           !probe_twin(join, static_cast<uint32_t>(column - probe_columns)).has_value();
  });
}

void select_without_nulls(std::span<const Vector> keys, const Selection& rows, Selection* result) {
  bool any = false;
  uint64_t bits[kVectorWords];
  std::copy_n(rows.bits, kVectorWords, bits);
  for (const Vector& key : keys) {
    if (key.nulls == nullptr) continue;
    any = true;
    for (uint32_t w = 0; w < words_of(rows.slots); ++w) bits[w] &= ~key.nulls[w];
  }
  if (any) {
    select_bits(bits, rows.slots, result);
  } else {
    *result = rows;
  }
}

void for_build_batches(
    const Operator& join, const ColumnStore& rows, const std::vector<const Expression*>& read,
    const StopSignal& stop,
    const std::function<void(const Batch&, const Selection&, uint64_t first)>& visit) {
  const size_t probe_columns = join.children[0]->output.size();
  std::vector<uint32_t> columns;
  for (const Expression* expression : read) {
    for (const uint32_t column : columns_read(*expression)) columns.push_back(column);
  }
  std::vector<uint64_t> null_bits(columns.size() * kVectorWords);
  Selection all;
  Batch batch;
  batch.selection = &all;
  batch.columns.resize(probe_columns + rows.column_count());
  for (uint64_t first = 0; first < rows.row_count(); first += kVectorRows) {
    stop.check();
    const auto count =
        static_cast<uint32_t>(std::min<uint64_t>(kVectorRows, rows.row_count() - first));
    select_all(count, &all);
    for (size_t i = 0; i < columns.size(); ++i) {
      batch.columns[columns[i]] =
          rows.view(columns[i] - probe_columns, first, count, &null_bits[i * kVectorWords]);
    }
    visit(batch, all, first);
  }
}

}  // namespace diptych::olap
