#include "propagation/export/update_chunks.h"

#include <algorithm>

namespace diptych::propagation {

UpdateChunks::UpdateChunks(base::NumaNode node) : node_(node) {
  warm_.reserve(kKeptBytesMax / kChunkBytes);
}

std::byte* UpdateChunks::take() {
  const std::lock_guard lock(mutex_);
  if (warm_.empty() && cold_.empty()) {
    // For all chunks that there are then: put() needs room for them.
    const size_t chunks = (slabs_.size() + 1) * (kSlabBytes / kChunkBytes);
    if (cold_.capacity() < chunks) cold_.reserve(2 * chunks);
    slabs_.emplace_back(kSlabBytes, node_);
    for (size_t end = kSlabBytes; end > 0; end -= kChunkBytes) {
      cold_.push_back(slabs_.back().data() + end - kChunkBytes);
    }
  }
  std::vector<std::byte*>& idle = warm_.empty() ? cold_ : warm_;
  std::byte* const chunk = idle.back();
  idle.pop_back();
  return chunk;
}

void UpdateChunks::put(std::span<std::byte* const> chunks) {
  {
    const std::lock_guard lock(mutex_);
    const size_t room = kKeptBytesMax / kChunkBytes - warm_.size();
    const size_t kept = std::min(room, chunks.size());
    warm_.insert(warm_.end(), chunks.begin(), chunks.begin() + static_cast<std::ptrdiff_t>(kept));
    chunks = chunks.subspan(kept);
  }
  if (chunks.empty()) return;
  for (std::byte* const chunk : chunks) base::release_memory(chunk, kChunkBytes);
  const std::lock_guard lock(mutex_);
  cold_.insert(cold_.end(), chunks.begin(), chunks.end());
}

size_t UpdateChunks::kept_bytes() const {
  const std::lock_guard lock(mutex_);
  return warm_.size() * kChunkBytes;
}

}  // namespace diptych::propagation
