#include "storage/leaf.h"

#include <utility>

#include "storage/buffered_chunk.h"

namespace diptych::storage {

PinnedColumn::PinnedColumn(PinnedColumn&& other) noexcept
    : chunk_(std::exchange(other.chunk_, nullptr)),
      pinned_(other.pinned_),
      values_(other.values_),
      nulls_(other.nulls_),
      bytes_a_value_(other.bytes_a_value_) {}

PinnedColumn& PinnedColumn::operator=(PinnedColumn&& other) noexcept {
  if (this == &other) return *this;
  unpin();
  chunk_ = std::exchange(other.chunk_, nullptr);
  pinned_ = other.pinned_;
  values_ = other.values_;
  nulls_ = other.nulls_;
  bytes_a_value_ = other.bytes_a_value_;
  return *this;
}

void PinnedColumn::unpin() {
  if (chunk_ != nullptr) chunk_->unpin();
}

bool PinnedColumn::stays() const {
  return chunk_ == nullptr || !chunk_->evictable();
}

}  // namespace diptych::storage
