#include "storage/leaf.h"

#include <atomic>
#include <utility>

#include "storage/buffered_chunk.h"

namespace diptych::storage {
namespace {

uint64_t next_dictionary() {
  static std::atomic<uint64_t> numbers{0};
  // relaxed: only that no two are equal counts.
  return numbers.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

PinnedColumn::PinnedColumn(const BufferedChunk* pinned, const encoding::Chunk& chunk)
    : chunk_(pinned),
      pinned_(chunk),
      dictionary_(chunk.kind() == encoding::ValueKind::kText ? next_dictionary() : 0) {}

PinnedColumn::PinnedColumn(PinnedColumn&& other) noexcept
    : chunk_(std::exchange(other.chunk_, nullptr)),
      pinned_(other.pinned_),
      dictionary_(other.dictionary_),
      values_(other.values_),
      nulls_(other.nulls_),
      kind_(other.kind_) {}

PinnedColumn& PinnedColumn::operator=(PinnedColumn&& other) noexcept {
  if (this == &other) return *this;
  unpin();
  chunk_ = std::exchange(other.chunk_, nullptr);
  pinned_ = other.pinned_;
  dictionary_ = other.dictionary_;
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
