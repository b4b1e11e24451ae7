#include "storage/encoded_rows.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/string_ref.h"
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

}  // namespace diptych::storage
