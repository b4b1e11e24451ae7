// ChunkAddress: where a chunk lies in the block file, and what its bytes hash to.
//
// A chunk begins at a page and has whole pages to itself; what its last page has behind the chunk's
// bytes is zeroes. Page 0 is the file's header, so that 0 means nowhere.

#pragma once

#include <cstddef>
#include <cstdint>

namespace diptych::storage {

inline constexpr size_t kFilePageBytes = 4096;  // as direct I/O wants memory and offsets aligned

constexpr uint32_t file_pages(size_t bytes) {
  return static_cast<uint32_t>((bytes + kFilePageBytes - 1) / kFilePageBytes);
}

struct ChunkAddress {
  uint32_t page = 0;
  uint32_t bytes = 0;     // of the chunk; at least 1 if it is set
  uint64_t checksum = 0;  // XXH3-64 of the chunk's bytes

  bool is_set() const { return page != 0; }
  uint32_t pages() const { return file_pages(bytes); }
  uint64_t offset() const { return page * uint64_t{kFilePageBytes}; }  // in the file, in bytes

  bool operator==(const ChunkAddress&) const = default;
};

}  // namespace diptych::storage
