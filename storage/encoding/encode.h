// encode: a column becomes a chunk, in the form that is smallest or nearly so.
//
// The size of each form is exact or estimated from a sample (ColumnProfile). Taken is the first in
// the order of the table that is at most 1/20 larger than the smallest: what stands higher up
// is read faster and takes patches. An estimate that turns out wrong costs one more try.
//
//   numbers    constant, plain, frame, packed frame, dictionary
//   texts      constant, dictionary, symbol dictionary, packed text, symbol text, plain
//
// thaw makes a form that takes patches with room for them, from one that could not take one;
// encode(decoded rows) freezes it again when it is quiet.
//
// Errors    kInvalidArgument: more rows than kChunkRowsMax, more text than kChunkTextBytesMax, or
//           a forced encoding that cannot hold the column.
//           kCorrupt: the values of a chunk that is to be thawed lie outside of its bounds.

#pragma once

#include "base/result.h"
#include "storage/encoding/chunk.h"
#include "storage/encoding/chunk_bytes.h"
#include "storage/encoding/chunk_header.h"
#include "storage/encoding/column.h"

namespace diptych::storage::encoding {

inline constexpr uint64_t kChunkTextBytesMax = 1U << 30;

enum class Choice : uint8_t {
  kFast,     // any row in nanoseconds, predicates on codes
  kSettled,  // zstd where it is at least 1/20 smaller
};

base::Result<ChunkBytes> encode(const ColumnRun& column, Choice choice = Choice::kFast);
base::Result<ChunkBytes> encode(const ColumnRun& column, Encoding forced);

enum class NullRoom : uint8_t { kNone, kMap };  // kMap: of a nullable column

// The rows of a chunk with row `row` set to `cell`, in a form that takes later patches: numbers in
// a frame of whole bytes that is at least half empty, or plain; texts of a dictionary in a spaced
// one, while they are not too many; packed and symbol text beside their patches, while few rows
// have one; others plain with free heap.
base::Result<ChunkBytes> thaw(const Chunk& chunk, uint32_t row, const Cell& cell, NullRoom nulls);

}  // namespace diptych::storage::encoding
