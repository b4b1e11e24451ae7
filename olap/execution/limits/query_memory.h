// Query memory: the large blocks that queries fill, kept from one query to the next.
//
// Fresh memory costs more than most queries do with it: the system zeroes it page by page at first
// touch (44 to 72 % of the time of CH's Q04, Q10, Q15 and Q16 before blocks were kept). Blocks are
// powers of two from kQueryBlockBytesMin on; freed ones are kept up to kQueryBytesKeptMax in all,
// the rest goes back to the system. Large ones are advised to be of huge pages: random access into
// 64 MB is twice as fast.
//
// Threads    any.
// Errors     std::bad_alloc.

#pragma once

#include <bit>
#include <cstddef>

#include "base/address_sanitizer.h"

namespace diptych::olap {

inline constexpr size_t kQueryBlockBytesMin = size_t{64} << 10;
inline constexpr size_t kQueryBytesKeptMax = base::kAddressSanitizer ? 0 : size_t{256} << 20;

// Of the block that is taken where so many bytes are asked for.
constexpr size_t query_block_bytes(size_t bytes) {
  return std::bit_ceil(bytes < kQueryBlockBytesMin ? kQueryBlockBytesMin : bytes);
}

// Uninitialised memory for max_align_t or cache lines; *bytes is what was asked for, at least
// kQueryBlockBytesMin, and becomes what there is.
void* take_query_block(size_t* bytes);
// A block of *bytes at least, as above, with what a smaller one has, which is there no more; where
// it throws, it still is. Large ones are not copied, unless into memory that was kept: the system
// maps their pages elsewhere, so that growth does not take the longer the larger they are.
void* grow_query_block(void* block, size_t block_bytes, size_t* bytes);
// A block that was taken, with the size that it had then.
void return_query_block(void* block, size_t bytes);

}  // namespace diptych::olap
