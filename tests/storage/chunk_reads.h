// Reads of a chunk that only tests want: a row by itself, and all that pass a predicate.

#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include "storage/encoding/chunk.h"
#include "storage/encoding/codec.h"

namespace diptych::storage::encoding::test {

// The cell that a run has for its row `i`.
inline Cell cell_of(const ColumnRun& run, uint32_t i) {
  if (run.is_null(i)) return Cell::null();
  switch (run.kind) {
    case ValueKind::kInt32: return Cell::number(run.as<int32_t>()[i]);
    case ValueKind::kInt64: return Cell::number(run.as<int64_t>()[i]);
    case ValueKind::kDouble: return Cell::number(double_key(run.as<double>()[i]));
    case ValueKind::kBoolean: return Cell::number(run.as<uint8_t>()[i]);
    case ValueKind::kText: break;
  }
  return Cell::of_text(run.as<base::StringRef>()[i].view());
}

// A number is decoded with those before it, a text found by itself, in the chunk or in `scratch`.
inline Cell cell_at(const Chunk& chunk, uint32_t row, std::string* scratch) {
  if (chunk.is_null(row)) return Cell::null();
  if (chunk.kind() == ValueKind::kText) {
    const auto& header = *reinterpret_cast<const ChunkHeader*>(chunk.span().data());
    return Cell::of_text(text_codec(chunk.encoding())->text_at(header, row, scratch));
  }
  RunBuffer buffer;
  const uint32_t first = row / 64 * 64;
  return cell_of(chunk.decode(first, row - first + 1, &buffer), row - first);
}

// Bit i of bitmap_words(chunk.rows()) words says whether row i passes; bits behind the last row are
// 0. By decoding where there is no other way.
inline void select(const Chunk& chunk, const Predicate& predicate, uint64_t* words) {
  const uint32_t rows = chunk.rows();
  const std::optional<ChunkFilter> filter = chunk.filter(predicate);
  const bool may_pass = !filter || filter->passes() != Passes::kNone;
  std::fill_n(words, bitmap_words(rows), may_pass ? ~uint64_t{0} : 0);
  if (may_pass && rows % 64 != 0) words[rows / 64] = (uint64_t{1} << (rows % 64)) - 1;
  if (filter) {
    if (filter->passes() == Passes::kSome) filter->narrow(0, rows, words);
    return;
  }
  RunBuffer buffer;
  for (uint32_t first = 0; first < rows; first += kVectorRows) {
    const uint32_t count = std::min(kVectorRows, rows - first);
    ChunkFilter::of_values(chunk.decode(first, count, &buffer), predicate)
        ->narrow(0, count, words + first / 64);
  }
}

}  // namespace diptych::storage::encoding::test
