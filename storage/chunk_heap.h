// Chunk heap: the memory of chunks, but for small ones and those in an arena, and of strings of hot
// pages over 16 KiB, in pages of 4 KiB out of huge ones.
//
// Fresh memory costs more than most of what is done with it: a chunk that is made in, or read into,
// pages of 4 KiB takes a fault for each, 0.4 s a GiB where huge pages take 0.1; direct I/O has to
// pin each, and a scan or a patch needs more translations of addresses. So the heap is one range of
// addresses, which grows by extents of 16 MiB; runs of pages are taken from its lowest free ones,
// and freed extents stay for the next chunks up to kChunkHeapKeptMax.
//
// Threads    any.
// Errors     std::bad_alloc: the system gives no more memory, or the range is used up (four times
//            the machine's memory).
// Benchmark  BM_ChunkReaderHeap, `diptych bench recovery`

#pragma once

#include <cstddef>

#include "base/sanitizers.h"

namespace diptych::storage {

// Of extents that nobody uses; what is free in others stays, too.
inline constexpr size_t kChunkHeapKeptMax = base::kAddressSanitizer ? 0 : size_t{64} << 20;

// Whole pages for so many bytes, not zeroed, page-aligned. At least 1 byte.
void* take_chunk_pages(size_t bytes);
// `bytes` as they were taken.
void return_chunk_pages(void* pages, size_t bytes);

}  // namespace diptych::storage
