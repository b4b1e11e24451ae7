// Query memory: large blocks that queries fill, and that are kept from one query to the next.
//
// Fresh memory often costs more than the query's own work, because the system zeroes it page by
// page at first touch (44 to 72 % of the time of CH's Q04, Q10, Q15 and Q16 before blocks were
// kept). Block sizes are powers of two from kQueryBlockBytesMin on. While there are executors,
// freed blocks are kept up to the limit that they give, and up to kQueryBytesKeptMax; the rest goes
// back to the system. Large blocks ask for huge pages, which make random access into 64 MB twice as
// fast.
//
// Threads    any.
// Errors     std::bad_alloc.

#pragma once

#include <bit>
#include <cstddef>

#include "base/sanitizers.h"

namespace diptych::olap {

inline constexpr size_t kQueryBlockBytesMin = size_t{64} << 10;
inline constexpr size_t kQueryBytesKeptMax = base::kAddressSanitizer ? 0 : size_t{256} << 20;

// The size of the block that a request for `bytes` gets.
constexpr size_t query_block_bytes(size_t bytes) {
  return std::bit_ceil(bytes < kQueryBlockBytesMin ? kQueryBlockBytesMin : bytes);
}

// Takes a block of at least *bytes (at least kQueryBlockBytesMin) and sets *bytes to its size. The
// memory is uninitialised and aligned to max_align_t and cache lines.
void* take_query_block(size_t* bytes);
// Replaces a block by one of at least *bytes with the same contents, and sets *bytes to its size.
// If it throws, the old block is unchanged. The pages of large blocks are remapped and not copied,
// unless the new block is kept memory, so that the time of growth does not depend on the size.
void* grow_query_block(void* block, size_t block_bytes, size_t* bytes);
// Gives back a block; `bytes` is the size that it was taken or grown with.
void return_query_block(void* block, size_t bytes);

// Of an executor: from here on blocks are kept, up to `bytes_max` (of several executors, the
// largest counts).
void begin_keeping_query_blocks(size_t bytes_max);
// Once for each begin_keeping_query_blocks(). With the last one, what is kept goes back to the
// system.
void end_keeping_query_blocks();

}  // namespace diptych::olap
