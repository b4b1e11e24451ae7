#include "dispatcher/replica_comparison.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "base/string_ref.h"
#include "base/value.h"
#include "storage/buffered_chunk.h"
#include "storage/leaf.h"

namespace diptych::dispatcher {
namespace {

bool same_cell(const base::ColumnLayout& column, const std::byte* row,
               const storage::ColumnView& view, uint32_t i) {
  const bool null = view.is_null(i);
  if (null || base::is_null_cell(column, row)) return null == base::is_null_cell(column, row);
  if (column.type.is_string()) {
    return base::load_string(column, row) == view.as<base::StringRef>()[i].view();
  }
  if (column.type.kind == base::TypeKind::kDouble) {
    // A compressed column has one NaN.
    const double value = view.as<double>()[i];
    if (std::isnan(value)) return std::isnan(std::get<double>(base::load_value(column, row)));
  }
  const size_t bytes = storage::value_bytes(column.type);
  const auto* value = static_cast<const std::byte*>(view.values) + i * bytes;
  return std::memcmp(row + column.offset, value, bytes) == 0;
}

// A row of the OLTP replica, and where the OLAP replica's index says that it has it.
struct RowPair {
  base::RowId row_id;
  const std::byte* row;
  base::Tid tid;
  const storage::Leaf* leaf;
  uint32_t position;  // in the leaf
};

// The index spreads neighbours over all partitions: so many rows, in the order of their places,
// leave hardly a value to be decoded more than once.
constexpr size_t kPairsMax = size_t{1} << 14;

// Calls visit(pair, view, i) for each of these rows, which lie in the leaf whose column this is, in
// its order: the value is i of the view. Neighbours share a view.
template <class Visit>
void for_each_value(std::span<const RowPair> pairs, const storage::PinnedColumn& column,
                    storage::DecodeBuffer* buffer, Visit visit) {
  while (!pairs.empty()) {
    const uint32_t first = pairs.front().position / 64 * 64;
    uint32_t end = first;
    size_t count = 0;
    while (count < pairs.size() && pairs[count].position / 64 * 64 <= end &&
           pairs[count].position < first + storage::kVectorRows) {
      end = pairs[count].position / 64 * 64 + 64;
      ++count;
    }
    const uint32_t rows = std::min(end, pairs.front().leaf->row_slots()) - first;
    const storage::ColumnView view = column.view(first, rows, buffer);
    for (const RowPair& pair : pairs.first(count)) visit(pair, view, pair.position - first);
    pairs = pairs.subspan(count);
  }
}

class TableComparison {
 public:
  TableComparison(const oltp::Engine& engine, const storage::Table& table,
                  const propagation::Applier& applier, ReplicaComparison* out)
      : engine_(engine), table_(table), applier_(applier), out_(out) {}

  void run() {
    engine_.for_each_row(table_.schema().id, [this](base::RowId row_id, const std::byte* row) {
      ++out_->rows;
      add(row_id, row);
    });
    compare_pairs();
    if (found_ != table_.live_rows()) report_surplus();
  }

 private:
  void report(base::RowId row_id, std::string what) {
    ++out_->differences;
    if (out_->first.size() >= kDifferencesNamedMax) return;
    out_->first.push_back({table_.schema().name, row_id, std::move(what)});
  }

  void add(base::RowId row_id, const std::byte* row) {
    const std::optional<base::Tid> tid = applier_.find(table_.schema().id, row_id);
    if (!tid) {
      report(row_id, "missing in the OLAP replica");
      return;
    }
    uint32_t position = 0;
    const storage::Leaf& leaf = table_.partition(tid->partition).leaf_of(tid->ordinal, &position);
    pairs_.push_back({row_id, row, *tid, &leaf, position});
    if (pairs_.size() == kPairsMax) compare_pairs();
  }

  void compare_pairs() {
    std::ranges::sort(pairs_, {}, &RowPair::tid);
    for (auto begin = pairs_.begin(); begin != pairs_.end();) {
      const auto end = std::find_if(begin, pairs_.end(),
                                    [&](const RowPair& pair) { return pair.leaf != begin->leaf; });
      compare_leaf({begin, end});
      begin = end;
    }
    pairs_.clear();
  }

  // Of rows of one leaf, in its order. One column at a time is held in memory.
  void compare_leaf(std::span<const RowPair> pairs) {
    const storage::Leaf& leaf = *pairs.front().leaf;
    in_place_.clear();
    for_each_value(pairs, storage::value_or_throw(leaf.pin_row_ids()), &buffer_,
                   [&](const RowPair& pair, const storage::ColumnView& row_ids, uint32_t i) {
                     if (leaf.lives(pair.position) && row_ids.as<base::RowId>()[i] == pair.row_id) {
                       in_place_.push_back(pair);
                     } else {
                       report(pair.row_id,
                              "the OLAP replica's index leads to a dead or to another row");
                     }
                   });
    found_ += in_place_.size();
    for (size_t i = 0; i < table_.layout().columns.size(); ++i) {
      compare_column(leaf, base::ColumnId(static_cast<uint16_t>(i)));
    }
  }

  void compare_column(const storage::Leaf& leaf, base::ColumnId column) {
    const base::ColumnLayout& layout = table_.layout().column(column);
    for_each_value(in_place_, storage::value_or_throw(leaf.pin(column)), &buffer_,
                   [&](const RowPair& pair, const storage::ColumnView& values, uint32_t i) {
                     if (!same_cell(layout, pair.row, values, i)) report_cell(pair, column);
                   });
  }

  void report_cell(const RowPair& pair, base::ColumnId column) {
    const base::Value row_wise = base::load_value(table_.layout().column(column), pair.row);
    const base::Value columnar =
        table_.partition(pair.tid.partition).value(pair.tid.ordinal, column);
    report(pair.row_id, fmt::format("column {}: {} against {}", table_.schema().column(column).name,
                                    base::to_string(row_wise), base::to_string(columnar)));
  }

  base::RowId row_id_at(const storage::Leaf& leaf, uint32_t position) {
    const storage::PinnedColumn row_ids = storage::value_or_throw(leaf.pin_row_ids());
    const uint32_t first = position / 64 * 64;
    return row_ids.view(first, position - first + 1, &buffer_).as<base::RowId>()[position - first];
  }

  void report_surplus() {
    std::unordered_set<base::RowId> known;
    engine_.for_each_row(table_.schema().id,
                         [&](base::RowId row_id, const std::byte*) { known.insert(row_id); });
    for (uint32_t p = 0; p < table_.partition_count(); ++p) {
      const storage::Partition& partition = table_.partition(base::PartitionId(p));
      for (size_t l = 0; l < partition.leaf_count(); ++l) {
        const storage::Leaf& leaf = partition.leaf(l);
        for (uint32_t position = 0; position < leaf.row_slots(); ++position) {
          if (!storage::bit_at(leaf.live_bits(), position)) continue;
          const base::RowId row_id = row_id_at(leaf, position);
          // erase: the second of two rows with one RowID is surplus, too.
          if (known.erase(row_id) == 0) report(row_id, "only in the OLAP replica");
        }
      }
    }
  }

  const oltp::Engine& engine_;
  const storage::Table& table_;
  const propagation::Applier& applier_;
  ReplicaComparison* const out_;
  std::vector<RowPair> pairs_;     // to be compared
  std::vector<RowPair> in_place_;  // of a leaf: those whose row it has
  storage::DecodeBuffer buffer_;
  uint64_t found_ = 0;  // rows of the OLTP replica that live in the OLAP replica
};

}  // namespace

base::Result<ReplicaComparison> compare_replicas(const base::Catalog& catalog,
                                                 const oltp::Engine& engine,
                                                 const storage::Replica& replica,
                                                 const propagation::Applier& applier) try {
  DIPTYCH_CHECK(replica.table_count() == catalog.table_count(), "every table is replicated");
  engine.check_indexes();
  ReplicaComparison comparison;
  comparison.vid = engine.last_vid();
  for (const base::TableSchema& schema : catalog.tables()) {
    TableComparison(engine, replica.table(schema.id), applier, &comparison).run();
  }
  return comparison;
} catch (const storage::ChunkFailure& failure) {
  return failure.error();
}

}  // namespace diptych::dispatcher
