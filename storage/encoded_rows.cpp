#include "storage/encoded_rows.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/string_ref.h"
#include "storage/cell.h"
#include "storage/encoding/encode.h"

namespace diptych::storage {
namespace {

using encoding::ChunkBytes;
using encoding::ColumnRun;

// The values of a column, one leaf's behind the other's.
class Gathered {
 public:
  Gathered(uint32_t rows, uint32_t value_bytes)
      : value_bytes_(value_bytes), values_((size_t{rows} * value_bytes + 7) / 8) {}

  void add(const PinnedColumn& column, uint32_t rows) {
    DecodeBuffer unused;
    const ColumnView view = column.view(0, rows, &unused);
    auto* const to = reinterpret_cast<std::byte*>(values_.data()) + size_t{rows_} * value_bytes_;
    std::memcpy(to, view.values, size_t{rows} * value_bytes_);
    if (view.nulls != nullptr) {
      nulls_.resize(rows_ / 64);
      nulls_.insert(nulls_.end(), view.nulls, view.nulls + encoding::bitmap_words(rows));
    }
    rows_ += rows;
  }

  ColumnRun run(encoding::ValueKind kind) {
    if (!nulls_.empty()) nulls_.resize(encoding::bitmap_words(rows_));
    return {kind, rows_, values_.data(), nulls_.empty() ? nullptr : nulls_.data()};
  }

 private:
  uint32_t value_bytes_;
  uint32_t rows_ = 0;
  std::vector<uint64_t> values_;  // as words: any value type is aligned
  std::vector<uint64_t> nulls_;
};

constexpr size_t kRowsAhead = 16;

// One column of rows in the format of update records; reused for the next.
class GatheredCells {
 public:
  explicit GatheredCells(std::span<const NewRow> rows)
      : rows_(rows), values_(rows.size() * sizeof(base::StringRef) / sizeof(uint64_t)) {}

  void row_ids() {
    for (size_t i = 0; i < rows_.size(); ++i) values_[i] = rows_[i].row_id.value;
    nullable_ = false;
  }
  // False: more than `text_bytes_max` bytes of text.
  bool gather(const ColumnFormat& column, size_t text_bytes_max) {
    nullable_ = column.nullable;
    nulls_.assign(nullable_ ? encoding::bitmap_words(row_count()) : 0, 0);
    switch (column.kind) {
      case CellKind::kInt32: numbers<int32_t>(column); return true;
      case CellKind::kInt64: numbers<int64_t>(column); return true;
      case CellKind::kDouble: numbers<double>(column); return true;
      case CellKind::kBoolean: booleans(column); return true;
      case CellKind::kInlineString:
      case CellKind::kLongString: break;
    }
    return texts(column, text_bytes_max);
  }
  encoding::ColumnRun run(encoding::ValueKind kind) const {
    return {kind, row_count(), values_.data(), nullable_ ? nulls_.data() : nullptr};
  }

  uint32_t row_count() const { return static_cast<uint32_t>(rows_.size()); }

 private:
  // Calls take(i, cell) for each row whose cell is not null.
  template <class Take>
  void for_each_cell(const ColumnFormat& column, const Take& take) {
    for (size_t i = 0; i < rows_.size(); ++i) {
      const size_t ahead = std::min(i + kRowsAhead, rows_.size() - 1);
      __builtin_prefetch(rows_[ahead].row + column.cell_offset);
      const std::byte* const cell = rows_[i].row + column.cell_offset;
      if (column.nullable && cell[column.null_in_cell] != std::byte{0}) {
        nulls_[i / 64] |= uint64_t{1} << (i % 64);
      } else {
        take(i, cell);
      }
    }
  }
  // A null's value is meaningless, but the same in every run.
  template <class Value>
  Value* cleared_values() {
    auto* const values = reinterpret_cast<Value*>(values_.data());
    if (nullable_) std::fill_n(values, rows_.size(), Value{});
    return values;
  }
  template <class Value>
  void numbers(const ColumnFormat& column) {
    auto* const values = cleared_values<Value>();
    for_each_cell(column, [&](size_t i, const std::byte* cell) { values[i] = load<Value>(cell); });
  }
  void booleans(const ColumnFormat& column) {
    auto* const values = cleared_values<uint8_t>();
    for_each_cell(column, [&](size_t i, const std::byte* cell) {
      values[i] = *cell != std::byte{0} ? 1 : 0;
    });
  }
  size_t text_bytes_at_most(const ColumnFormat& column) {
    if (column.kind == CellKind::kInlineString) return rows_.size() * column.type.length;
    size_t bytes = 0;
    for_each_cell(column, [&](size_t i, const std::byte* cell) {
      bytes += cell_string(column.kind, cell, rows_[i].strings_base).size();
    });
    return bytes;
  }
  bool texts(const ColumnFormat& column, size_t text_bytes_max) {
    const size_t bytes = text_bytes_at_most(column);
    if (bytes > text_bytes_max) return false;
    if (texts_.size() < bytes) texts_.resize(bytes);
    char* to = texts_.data();
    auto* const values = cleared_values<base::StringRef>();
    for_each_cell(column, [&](size_t i, const std::byte* cell) {
      const std::string_view text = cell_string(column.kind, cell, rows_[i].strings_base);
      if (!text.empty()) std::memcpy(to, text.data(), text.size());
      values[i] = base::StringRef(std::string_view(to, text.size()));
      to += text.size();
    });
    return true;
  }

  std::span<const NewRow> rows_;
  std::vector<uint64_t> values_;  // as words: any value type is aligned
  std::vector<uint64_t> nulls_;
  std::vector<char> texts_;
  bool nullable_ = false;
};

size_t text_bytes(const ColumnRun& run) {
  size_t bytes = 0;
  for (uint32_t i = 0; i < run.rows; ++i) bytes += run.as<base::StringRef>()[i].size();
  return bytes;
}

ChunkBytes encoded(const ColumnRun& run) {
  base::Result<ChunkBytes> chunk = encoding::encode(run);
  DIPTYCH_CHECK(chunk.ok(), "rows of a block are far below what a chunk takes");
  // Without what its making had to spare.
  if (chunk->capacity() > chunk->size() + chunk->size() / 32) {
    return ChunkBytes(chunk->begin(), chunk->end());
  }
  return std::move(*chunk);
}

}  // namespace

size_t text_bytes(const LeafFormat& format, const PlainLeaf& leaf) {
  size_t most = 0;
  for (size_t c = 0; c < format.columns.size(); ++c) {
    if (!format.columns[c].is_string()) continue;
    Gathered column(leaf.row_slots(), format.columns[c].value_bytes);
    column.add(*leaf.pin(base::ColumnId(static_cast<uint16_t>(c))), leaf.row_slots());
    most = std::max(most, text_bytes(column.run(encoding::ValueKind::kText)));
  }
  return most;
}

std::vector<ChunkBytes> encode_rows(const LeafFormat& format,
                                    std::span<const PlainLeaf* const> leaves,
                                    size_t text_bytes_max) {
  uint32_t rows = 0;
  for (const PlainLeaf* leaf : leaves) {
    DIPTYCH_CHECK(rows % 64 == 0, "all leaves but the last are full");
    rows += leaf->row_slots();
  }
  std::vector<ChunkBytes> chunks;
  for (size_t c = 0; c < format.columns.size(); ++c) {
    const ColumnFormat& column = format.columns[c];
    Gathered values(rows, column.value_bytes);
    for (const PlainLeaf* leaf : leaves) {
      values.add(*leaf->pin(base::ColumnId(static_cast<uint16_t>(c))), leaf->row_slots());
    }
    const ColumnRun run = values.run(encoding::value_kind(column.type));
    if (column.is_string() && text_bytes(run) > text_bytes_max) return {};
    chunks.push_back(encoded(run));
  }
  Gathered row_ids(rows, sizeof(uint64_t));
  for (const PlainLeaf* leaf : leaves) row_ids.add(*leaf->pin_row_ids(), leaf->row_slots());
  chunks.push_back(encoded(row_ids.run(encoding::ValueKind::kInt64)));
  return chunks;
}

std::vector<ChunkBytes> encode_rows(const LeafFormat& format, std::span<const NewRow> rows,
                                    size_t text_bytes_max) {
  std::vector<ChunkBytes> chunks;
  GatheredCells gathered(rows);
  for (const ColumnFormat& column : format.columns) {
    if (!gathered.gather(column, text_bytes_max)) return {};
    chunks.push_back(encoded(gathered.run(encoding::value_kind(column.type))));
  }
  gathered.row_ids();
  chunks.push_back(encoded(gathered.run(encoding::ValueKind::kInt64)));
  return chunks;
}

}  // namespace diptych::storage
