#include "storage/leaf.h"

#include <utility>

#include "storage/buffered_chunk.h"

namespace diptych::storage {

PinnedColumn::PinnedColumn(PinnedColumn&& other) noexcept
    : chunk_(std::exchange(other.chunk_, nullptr)),
      pinned_(other.pinned_),
      values_(other.values_),
      nulls_(other.nulls_),
      kind_(other.kind_) {}

PinnedColumn& PinnedColumn::operator=(PinnedColumn&& other) noexcept {
  if (this == &other) return *this;
  unpin();
  chunk_ = std::exchange(other.chunk_, nullptr);
  pinned_ = other.pinned_;
  values_ = other.values_;
  nulls_ = other.nulls_;
  kind_ = other.kind_;
  return *this;
}

void PinnedColumn::unpin() {
  if (chunk_ != nullptr) chunk_->unpin();
}

std::optional<encoding::ChunkFilter> PinnedColumn::filter(
    const encoding::Predicate& predicate) const {
  if (chunk_ != nullptr) return pinned_->filter(predicate);
  return encoding::ChunkFilter::of_values({kind_, 0, values_, nulls_}, predicate);
}

bool PinnedColumn::stays() const {
  return chunk_ == nullptr || !chunk_->evictable();
}

}  // namespace diptych::storage
