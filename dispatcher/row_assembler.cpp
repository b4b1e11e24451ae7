#include "dispatcher/row_assembler.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/short_copy.h"
#include "base/string_ref.h"
#include "base/types.h"

namespace diptych::dispatcher {
namespace {

template <class Value>
void write_values(const base::ColumnLayout& column, const storage::ColumnView& view,
                  const std::vector<uint32_t>& positions, std::byte* const* rows) {
  const Value* const values = view.as<Value>();
  const size_t offset = column.offset;
  if (!column.nullable || view.nulls == nullptr) {
    for (size_t i = 0; i < positions.size(); ++i) {
      std::memcpy(rows[i] + offset, values + positions[i], sizeof(Value));
    }
    return;
  }
  for (size_t i = 0; i < positions.size(); ++i) {
    const uint32_t at = positions[i];
    if (view.is_null(at)) {
      rows[i][column.null_offset] = std::byte{1};
    } else {
      std::memcpy(rows[i] + offset, values + at, sizeof(Value));
    }
  }
}

}  // namespace

RowAssembler::RowAssembler(const storage::Table& rows, oltp::TableRestore* table, uint32_t lane)
    : rows_(rows),
      layout_(&rows.layout()),
      table_(table),
      lane_(lane),
      pinned_(layout_->columns.size() + 1) {}

base::Result<void> RowAssembler::restore(const storage::Leaf& leaf, base::PartitionId partition) {
  if (leaf.live_rows() == 0) return {};
  for (size_t i = 0; i < pinned_.size(); ++i) {
    base::Result<storage::PinnedColumn> pinned =
        i + 1 < pinned_.size() ? leaf.pin(base::ColumnId(static_cast<uint16_t>(i)))
                               : leaf.pin_row_ids();
    if (!pinned.ok()) return pinned.error();
    pinned_[i] = std::move(*pinned);
  }
  table_->begin_run(lane_, leaf.live_rows());
  for (uint32_t first = 0; first < leaf.row_slots(); first += storage::kVectorRows) {
    const uint32_t count = std::min(storage::kVectorRows, leaf.row_slots() - first);
    if (auto restored = restore_vector(leaf, partition, first, count); !restored) return restored;
  }
  table_->end_run(lane_);
  for (storage::PinnedColumn& pinned : pinned_) pinned = storage::PinnedColumn();
  return {};
}

base::Result<void> RowAssembler::restore_vector(const storage::Leaf& leaf,
                                                base::PartitionId partition, uint32_t first,
                                                uint32_t count) {
  const auto* const ids = pinned_.back().view(first, count, &buffer_).as<base::RowId>();
  positions_.clear();
  ids_.clear();
  for (uint32_t i = 0; i < count; ++i) {
    if (!leaf.lives(first + i)) continue;
    positions_.push_back(i);
    ids_.push_back(ids[i]);
  }
  if (ids_.empty()) return {};
  if (auto checked = check_partition(partition); !checked) return checked;
  const auto rows = table_->begin(lane_, ids_);
  if (!rows) return rows.error();
  for (size_t i = 0; i < layout_->columns.size(); ++i) write_column(i, first, count, rows->data());
  return table_->end(lane_);
}

base::Result<void> RowAssembler::check_partition(base::PartitionId partition) const {
  for (size_t i = 0; i < ids_.size(); ++i) {
    // Rows of one run, which mostly lie side by side, have one partition.
    const bool is_of_run_before =
        i != 0 && ids_[i].value / base::kRowIdRun == ids_[i - 1].value / base::kRowIdRun;
    if (is_of_run_before) continue;
    const base::PartitionId own = rows_.partition_of(ids_[i]);
    if (own == partition) continue;
    return base::Error(base::ErrorCode::kCorrupt,
                       fmt::format("row {} lies in partition {} in place of {}", ids_[i].value,
                                   partition.value, own.value));
  }
  return {};
}

void RowAssembler::write_column(size_t number, uint32_t first, uint32_t count,
                                std::byte* const* rows) {
  const base::ColumnLayout& column = layout_->columns[number];
  const storage::ColumnView view = pinned_[number].view(first, count, &buffer_);
  if (column.type.is_string()) return write_texts(column, view, rows);
  switch (storage::value_bytes(column.type)) {
    case 1: return write_values<uint8_t>(column, view, positions_, rows);
    case 4: return write_values<uint32_t>(column, view, positions_, rows);
    case 8: return write_values<uint64_t>(column, view, positions_, rows);
    default: DIPTYCH_CHECK(false, "a number has 1, 4 or 8 bytes");
  }
}

void RowAssembler::write_texts(const base::ColumnLayout& column, const storage::ColumnView& view,
                               std::byte* const* rows) {
  const auto* const texts = view.as<base::StringRef>();
  const bool is_inline = column.type.is_inline();
  for (size_t i = 0; i < positions_.size(); ++i) {
    const uint32_t at = positions_[i];
    if (column.nullable && view.is_null(at)) {
      rows[i][column.null_offset] = std::byte{1};
      continue;
    }
    std::byte* const cell = rows[i] + column.offset;
    const std::string_view text = texts[at].view();
    if (is_inline) {
      if (text.size() > column.type.length) {
        throw storage::ChunkFailure(
            {base::ErrorCode::kCorrupt, fmt::format("a text of {} bytes in a column of {}",
                                                    text.size(), column.type.to_string())});
      }
      cell[0] = static_cast<std::byte>(text.size());
      base::short_copy(cell + 1, text.data(), text.size());
    } else {
      const base::Text stays = table_->copy(lane_, text);
      std::memcpy(cell, &stays, sizeof stays);
    }
  }
}

}  // namespace diptych::dispatcher
