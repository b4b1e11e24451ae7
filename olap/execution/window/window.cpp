#include "olap/execution/window/window.h"

#include <algorithm>
#include <cstring>

#include "olap/execution/expression/comparison_kernels.h"
#include "olap/execution/sort/sort.h"
#include "olap/execution/sort/sorted_rows.h"

namespace diptych::olap {

namespace {

// Sets differs[i] where the column's value at position i is another one than at i - 1. Nulls are
// equal to each other.
void mark_differences(const WindowOrder& order, uint32_t column, std::vector<uint8_t>* differs) {
  const ColumnStore& rows = *order.rows;
  const uint8_t* const nulls = rows.nulls(column);
  with_physical_type(rows.type(column), [&](auto type) {
    const auto* const values = rows.values<decltype(type)>(column);
    for (size_t i = 1; i < rows.row_count(); ++i) {
      order.stop->check_at(i);
      const bool null = nulls != nullptr && nulls[i] != 0;
      const bool previous_null = nulls != nullptr && nulls[i - 1] != 0;
      const bool differ =
          null || previous_null ? null != previous_null : !value_equal(values[i], values[i - 1]);
      (*differs)[i] |= static_cast<uint8_t>(differ);
    }
  });
}

}  // namespace

WindowPart::WindowPart(const Operator& window, const NeededColumns& needed, MemoryBudget* memory)
    : rows_(window.children[0]->output, needed.of(window)),
      charge_(memory, "the rows of a window") {}

WindowResults::WindowResults(PhysicalType physical, size_t rows, const StopSignal& stop)
    : type(physical), nulls(rows, 0) {
  bytes.resize(rows * physical_bytes(physical));
  stop.fill(bytes.data(), bytes.size(), std::byte{0});
}

WindowTable::WindowTable(const RunContext& context, const Operator& window, ColumnStore* rows)
    : charge_(context.memory, "the results of a window") {
  order_.rows = rows;
  order_.stop = context.stop;
  const size_t count = rows->row_count();
  size_t bytes = count * (kSortBytesARow + 3 * sizeof(uint32_t) + 2);
  for (const WindowFunction& function : window.window_functions) {
    bytes += count * (physical_bytes(physical_type(function.type)) + 1);
    // A segment tree has two states a leaf, of at most 64 bytes.
    if (function.kind == WindowKind::kAggregate) bytes += count / kSegmentTreeLeafRows * 128;
  }
  charge_.set(bytes);
  context.stop->check();
  const Workers workers(context.arena, *context.stop);
  sort(workers, window, rows);
  find_groups(window);
  for (size_t i = 0; i < window.window_functions.size(); ++i) {
    context.stop->check();
    results_.emplace_back(physical_type(window.window_functions[i].type), count, *context.stop);
    compute(context, window, i);
  }
}

size_t WindowTable::kept_bytes() const {
  size_t bytes = charge_.bytes();
  for (const WindowResults& results : results_) {
    for (const VectorTexts& texts : results.texts) bytes += texts.memory_bytes();
  }
  return bytes;
}

void WindowTable::sort(const Workers& workers, const Operator& window, ColumnStore* rows) {
  std::vector<SortKey> keys;
  for (const uint32_t column : window.window_partition) keys.push_back({column, false, false});
  keys.insert(keys.end(), window.sort_keys.begin(), window.sort_keys.end());
  rows->put_in_order(sorted_rows(*rows, keys, kNoLimit, workers), workers);
}

void WindowTable::find_groups(const Operator& window) {
  const auto count = static_cast<uint32_t>(order_.rows->row_count());
  std::vector<uint8_t> differs(count, 0);
  for (const uint32_t column : window.window_partition) mark_differences(order_, column, &differs);
  for (uint32_t begin = 0, end = 0; begin < count; begin = end) {
    do {
      order_.stop->check_at(++end);
    } while (end < count && differs[end] == 0);
    order_.partitions.push_back({begin, end});
  }
  for (const SortKey& key : window.sort_keys) mark_differences(order_, key.column, &differs);
  order_.group_of.resize(count);
  for (uint32_t i = 0; i < count; ++i) {
    order_.stop->check_at(i);
    if (i == 0 || differs[i] != 0) order_.group_starts.push_back(i);
    order_.group_of[i] = static_cast<uint32_t>(order_.group_starts.size() - 1);
  }
  order_.group_starts.push_back(count);
}

// One function over all partitions, in runs of partitions with about as many rows each.
void WindowTable::compute(const RunContext& context, const Operator& window, size_t function) {
  constexpr uint32_t kRunRowsMin = 4 * kVectorRows;
  const auto rows = static_cast<uint32_t>(order_.rows->row_count());
  const uint32_t run_rows = std::max(kRunRowsMin, rows / (4 * context.arena->threads()) + 1);
  std::vector<size_t> starts;  // of runs: numbers of partitions
  for (size_t p = 0; p < order_.partitions.size(); ++p) {
    const bool first = starts.empty() || order_.partitions[p].begin >=
                                             order_.partitions[starts.back()].begin + run_rows;
    if (first) starts.push_back(p);
  }
  starts.push_back(order_.partitions.size());
  const auto runs = static_cast<uint32_t>(starts.size() - 1);
  WindowResults& results = results_[function];
  for (uint32_t run = 0; run < runs; ++run)
    results.texts.emplace_back(context.limits(), "the texts of a window");
  context.arena->run(runs, [&](uint32_t run) {
    for (size_t p = starts[run]; p < starts[run + 1]; ++p) {
      context.stop->check();
      compute_window(order_, window, window.window_functions[function], order_.partitions[p],
                     &results, &results.texts[run]);
    }
  });
}

std::vector<VectorBuffer> WindowTable::make_buffers() const {
  std::vector<VectorBuffer> buffers;
  for (size_t c = 0; c < order_.rows->column_count(); ++c) {
    buffers.emplace_back(order_.rows->type(c));
  }
  for (const WindowResults& results : results_) buffers.emplace_back(results.type);
  return buffers;
}

void WindowTable::read(uint64_t first, const Selection& selection,
                       std::vector<VectorBuffer>* buffers, std::vector<Vector>* columns) const {
  const size_t inputs = order_.rows->column_count();
  for (size_t c = 0; c < inputs; ++c) {
    (*columns)[c] = order_.rows->view(c, first, selection.count, (*buffers)[c].nulls());
  }
  for (size_t f = 0; f < results_.size(); ++f) {
    const WindowResults& results = results_[f];
    VectorBuffer& buffer = (*buffers)[inputs + f];
    const size_t width = physical_bytes(results.type);
    std::memcpy(buffer.values<std::byte>(), results.bytes.data() + first * width,
                selection.count * width);
    buffer.clear_nulls();
    for (uint32_t i = 0; i < selection.count; ++i) {
      if (results.nulls[first + i] != 0) set_bit(buffer.nulls(), i);
    }
    (*columns)[inputs + f] = buffer.view_with_nulls();
  }
  // Texts lie in this table, which may go before what keeps them.
  for (Vector& column : *columns) column.string_life = StringLife::kBatch;
}

}  // namespace diptych::olap
