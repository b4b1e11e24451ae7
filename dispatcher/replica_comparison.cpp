#include "dispatcher/replica_comparison.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>

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

class TableComparison {
 public:
  TableComparison(const oltp::Engine& engine, const storage::Table& table,
                  const propagation::Applier& applier, ReplicaComparison* out)
      : engine_(engine), table_(table), applier_(applier), out_(out) {}

  void run() {
    engine_.for_each_row(table_.schema().id, [this](base::RowId row_id, const std::byte* row) {
      ++out_->rows;
      compare_row(row_id, row);
    });
    if (found_ != table_.live_rows()) report_surplus();
  }

 private:
  void report(base::RowId row_id, std::string what) {
    ++out_->differences;
    if (out_->first.size() >= kDifferencesNamedMax) return;
    out_->first.push_back({table_.schema().name, row_id, std::move(what)});
  }

  void compare_row(base::RowId row_id, const std::byte* row) {
    const std::optional<base::Tid> tid = applier_.find(table_.schema().id, row_id);
    if (!tid) {
      report(row_id, "missing in the OLAP replica");
      return;
    }
    uint32_t position = 0;
    const storage::Leaf& leaf = table_.partition(tid->partition).leaf_of(tid->ordinal, &position);
    if (!storage::bit_at(leaf.live_bits(), position) || row_id_at(leaf, position) != row_id) {
      report(row_id, "the OLAP replica's index leads to a dead or to another row");
      return;
    }
    ++found_;
    for (size_t i = 0; i < table_.layout().columns.size(); ++i) {
      compare_cell(*tid, leaf, position, base::ColumnId(static_cast<uint16_t>(i)), row_id, row);
    }
  }

  void compare_cell(base::Tid tid, const storage::Leaf& leaf, uint32_t position,
                    base::ColumnId column, base::RowId row_id, const std::byte* row) {
    const base::ColumnLayout& layout = table_.layout().column(column);
    const uint32_t first = position / 64 * 64;
    const uint32_t count = std::min<uint32_t>(64, leaf.row_slots() - first);
    const storage::PinnedColumn values = storage::value_or_throw(leaf.pin(column));
    const storage::ColumnView view = values.view(first, count, &buffer_);
    if (same_cell(layout, row, view, position - first)) return;
    const base::Value columnar = table_.partition(tid.partition).value(tid.ordinal, column);
    report(row_id,
           fmt::format("column {}: {} against {}", table_.schema().column(column).name,
                       base::to_string(base::load_value(layout, row)), base::to_string(columnar)));
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
  storage::DecodeBuffer buffer_;
  uint64_t found_ = 0;  // rows of the OLTP replica that live in the OLAP replica
};

}  // namespace

base::Result<ReplicaComparison> compare_replicas(const base::Catalog& catalog,
                                                 const oltp::Engine& engine,
                                                 const storage::Replica& replica,
                                                 const propagation::Applier& applier) try {
  DIPTYCH_CHECK(replica.table_count() == catalog.table_count(), "every table is replicated");
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
