// BufferFigures: what a buffer manager has done so far (storage/buffer_manager.h).

#pragma once

#include <cstddef>
#include <cstdint>

namespace diptych::storage {

struct BufferFigures {
  size_t memory_bytes = 0;
  uint64_t loads = 0;
  uint64_t bytes_read = 0;
  uint64_t evictions = 0;
  uint64_t writes = 0;           // of changed chunks, so that they could go
  size_t bytes_over_budget = 0;  // at most so far
};

}  // namespace diptych::storage
