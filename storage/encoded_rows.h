// encode_rows: the rows of adjacent plain leaves as chunks, a column each, RowIDs behind the last.
// What a compressed block is made of, and what pages are in the block file.

#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "storage/encoding/chunk.h"
#include "storage/leaf_format.h"
#include "storage/plain_leaf.h"

namespace diptych::storage {

// All leaves but the last are full. Empty where a column has more than `text_bytes_max` of text.
std::vector<encoding::ChunkBytes> encode_rows(const LeafFormat& format,
                                              std::span<const PlainLeaf* const> leaves,
                                              size_t text_bytes_max);

// Of the column that has most.
size_t text_bytes(const LeafFormat& format, const PlainLeaf& leaf);

}  // namespace diptych::storage
