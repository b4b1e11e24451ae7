// Half of a table's rows get other values, as from the applier. What a leaf's rows get is made of
// the values that the leaf had before.

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/split_mix.h"
#include "storage/buffered_chunk.h"
#include "storage/cell.h"
#include "workloads/scan/scan_measurement_parts.h"

namespace diptych::workloads::scan {
namespace {

using base::Result;
using storage::kVectorRows;

constexpr char kOtherLetter = '~';  // that no text of the column has

// As many values; numbers as far above the largest as they were above the least, or below.
void make_unknown(const base::DataType& type, ColumnValues* values) {
  for (std::string& text : values->texts) {
    if (text.empty() || type.length == 0 || text.size() < type.length) {
      text += kOtherLetter;
    } else {
      text.back() = kOtherLetter;
    }
  }
  if (values->numbers.empty()) return;
  const auto [least, largest] = std::minmax_element(values->numbers.begin(), values->numbers.end());
  const int64_t step = *largest - *least + 1;
  const bool is_int = storage::encoding::value_kind(type) == storage::encoding::ValueKind::kInt32;
  const int64_t end = is_int ? INT32_MAX : INT64_MAX;
  const int64_t direction = *largest <= end - step ? step : -step;
  for (int64_t& number : values->numbers) number += direction;
}

// Writes a column of rows of one partition, a vector at a time.
class ColumnWrites {
 public:
  ColumnWrites(storage::Partition* partition, const base::RowLayout& layout,
               const storage::ColumnFormat& format, base::ColumnId column)
      : partition_(*partition),
        format_(format),
        column_(column),
        row_bytes_(layout.bytes),
        rows_(size_t{kVectorRows} * row_bytes_) {}

  void add(uint32_t ordinal, const ColumnValues& values, size_t which) {
    const uint32_t block_rows = partition_.block_rows();
    if (!ordinals_.empty() && ordinals_.front() / block_rows != ordinal / block_rows) write();
    std::byte* const row = rows_.data() + ordinals_.size() * row_bytes_;
    std::byte* const cell = row + format_.cell_offset;
    if (values.texts.empty()) {
      const int64_t number = values.numbers[which];
      std::memcpy(cell, &number, format_.kind == storage::CellKind::kInt32 ? 4 : 8);
    } else {
      put_text(values.texts[which], row, cell);
    }
    ordinals_.push_back(ordinal);
    records_.push_back(row);
    if (ordinals_.size() == kVectorRows) write();
  }
  void write() {
    if (ordinals_.empty()) return;
    partition_.note_writes(ordinals_);
    partition_.update(ordinals_, column_, records_, format_.cell_offset);
    written_ += ordinals_.size();
    ordinals_.clear();
    records_.clear();
  }
  uint64_t written() const { return written_; }

 private:
  void put_text(const std::string& text, const std::byte* row, std::byte* cell) const {
    if (format_.kind == storage::CellKind::kInlineString) {
      cell[0] = static_cast<std::byte>(text.size());
      std::memcpy(cell + 1, text.data(), text.size());
      return;
    }
    // Its place is counted from the record's.
    const uintptr_t place =
        reinterpret_cast<uintptr_t>(text.data()) - reinterpret_cast<uintptr_t>(row);
    const base::Text from({reinterpret_cast<const char*>(place), text.size()});
    std::memcpy(cell, &from, sizeof from);
  }

  storage::Partition& partition_;
  const storage::ColumnFormat& format_;
  const base::ColumnId column_;
  const size_t row_bytes_;
  std::vector<std::byte> rows_;
  std::vector<const std::byte*> records_;
  std::vector<uint32_t> ordinals_;
  uint64_t written_ = 0;
};

struct LeafRows {
  uint32_t first_ordinal;
  uint32_t end_ordinal;
  ColumnValues values;
};

}  // namespace

Result<uint64_t> ScanMeasurement::update_half(base::TableId id, base::ColumnId column,
                                              NewValues values, uint64_t seed) try {
  storage::Table& table = parts_->table(id);
  const base::DataType& type = table.schema().columns[column.value].type;
  const storage::LeafFormat format(table.schema(), base::PartitionId(0), storage::kVectorRows);
  const storage::encoding::ValueKind kind = parts_->kind(id, column);
  DIPTYCH_CHECK(kind != storage::encoding::ValueKind::kDouble &&
                    kind != storage::encoding::ValueKind::kBoolean,
                "only integers and texts are written");
  uint64_t written = 0;
  uint64_t random = base::split_mix(seed);
  for (uint32_t p = 0; p < table.partition_count(); ++p) {
    storage::Partition& partition = table.partition(base::PartitionId(p));
    // Leaves may move where a block becomes pages: ordinals stay.
    std::vector<LeafRows> leaves;
    for (size_t l = 0; l < partition.leaf_count(); ++l) {
      const storage::Leaf& leaf = partition.leaf(l);
      auto had = values_of(leaf, column, kind);
      if (!had.ok()) return had.error();
      if (values == NewValues::kUnknown) make_unknown(type, &*had);
      leaves.push_back(
          {leaf.first_ordinal(), leaf.first_ordinal() + leaf.row_slots(), std::move(*had)});
    }
    ColumnWrites writes(&partition, table.layout(), format.columns[column.value], column);
    for (const LeafRows& leaf : leaves) {
      if (leaf.values.size() == 0) continue;
      for (uint32_t ordinal = leaf.first_ordinal; ordinal < leaf.end_ordinal; ordinal += 2) {
        uint32_t position = 0;
        if (!partition.leaf_of(ordinal, &position).lives(position)) continue;
        random += base::kSplitMixStep;
        writes.add(ordinal, leaf.values, base::split_mix(random) % leaf.values.size());
      }
      writes.write();
    }
    written += writes.written();
  }
  return written;
} catch (const storage::ChunkFailure& failure) {
  return failure.error();
}

}  // namespace diptych::workloads::scan
