// encode_rows: rows as chunks, a column each, RowIDs behind the last. What a compressed block is
// made of, and what pages are in the block file.
//
// A column is gathered from all rows into one run and encoded while it lies in the cache.

#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "storage/encoding/chunk.h"
#include "storage/encoding/chunk_bytes.h"
#include "storage/leaf_format.h"
#include "storage/plain_leaf.h"

namespace diptych::storage {

// Of adjacent leaves; all but the last are full. Empty where a column has more than
// `text_bytes_max` of text.
std::vector<encoding::ChunkBytes> encode_rows(const LeafFormat& format,
                                              std::span<const PlainLeaf* const> leaves,
                                              size_t text_bytes_max);

// Of rows in the format of update records, whose texts are copied side by side.
std::vector<encoding::ChunkBytes> encode_rows(const LeafFormat& format,
                                              std::span<const NewRow> rows, size_t text_bytes_max);

// Of the column that has most.
size_t text_bytes(const LeafFormat& format, const PlainLeaf& leaf);

}  // namespace diptych::storage
