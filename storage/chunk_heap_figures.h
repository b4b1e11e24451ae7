// ChunkHeapFigures: what the chunk heap takes (chunk_heap.h).

#pragma once

#include <cstddef>

namespace diptych::storage {

struct ChunkHeapFigures {
  size_t used_bytes = 0;
  size_t kept_bytes = 0;  // for the next chunks: what is free of extents that have memory
};

// Of the whole process, since all its databases share the heap. Any thread.
ChunkHeapFigures chunk_heap_figures();

}  // namespace diptych::storage
