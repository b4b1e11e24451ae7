// Settling: columns of compressed blocks that nobody writes for long go further, into frames of
// zstd, in tables that were created so: CREATE TABLE ... WITH (settled = on).
//
//   frozen ──long quiet: settle──► settled ──a write: thaw──► thawed ──quiet: freeze──► frozen
//
// A row then costs its frame (encoding/zstd_frames.cpp: 16 KiB in the mean, or 64 rows where these
// have more, and 1,024 at most), and nothing is answered on codes: for data that is kept and seldom
// asked for. A column that zstd does not make 1/20 smaller stays as it is, and counts as settled
// until it was thawed.
//
// Looks     each call of compact() looks at the next kBlocksALook blocks of a partition, round and
//           round, and settles columns while its time lasts. A column is quiet enough after
//           kQuietFactor times as many rounds without a write as freezing waits for looks: twice as
//           many each time it was thawed again.
// Memory    a column whose chunk is in the block file only is read for it, once, as for freezing.
// Threads   as Partition::compact.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "storage/encoding/chunk.h"
#include "storage/encoding/chunk_bytes.h"
#include "storage/encoding/chunk_header.h"

namespace diptych::storage {

inline constexpr uint32_t kQuietFactor = 16;
inline constexpr size_t kBlocksALook = 64;

// The chunk's rows in frames of zstd; nothing where that is not 1/20 smaller, or where a dictionary
// of long texts stands for more than a chunk takes.
std::optional<encoding::ChunkBytes> settled_form(const encoding::Chunk& chunk);

}  // namespace diptych::storage
