#include "storage/buffered_chunk.h"

#include <cstring>
#include <mutex>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "storage/buffer_manager.h"

namespace diptych::storage {

using encoding::Chunk;
using encoding::ChunkHeader;

base::Result<void> check_chunk(const SavedChunk& saved, std::span<const std::byte> bytes,
                               const BlockFile& file) {
  const base::Result<Chunk> opened = Chunk::open(bytes);
  std::string what;
  if (!opened.ok()) {
    what = opened.error().message;
  } else if (std::memcmp(bytes.data(), &saved.header, sizeof(ChunkHeader)) != 0) {
    what = "its header is not the one that the directory has";
  } else {
    return {};
  }
  return base::Error(
      base::ErrorCode::kCorrupt,
      fmt::format("{}: the chunk at byte {}: {}", file.path(), saved.address.offset(), what));
}

BufferedChunk::~BufferedChunk() {
  if (manager_ == nullptr) return;
  manager_->leave(this);
  give_up_place();
}

void BufferedChunk::fill(BufferManager* manager, ChunkMemory bytes) {
  DIPTYCH_CHECK(manager_ == nullptr && memory_.bytes().empty(), "a chunk is filled once");
  is_changed_.store(true, std::memory_order_relaxed);  // relaxed: nobody else knows it yet
  set_resident(std::move(bytes), kHot);
  if (manager != nullptr) manager->enter(this);
  manager_ = manager;  // not before: who has not entered does not leave
}

void BufferedChunk::fill(BufferManager* manager, const SavedChunk& saved) {
  DIPTYCH_CHECK(manager_ == nullptr && memory_.bytes().empty(), "a chunk is filled once");
  manager_ = manager;
  address_ = saved.address;
  header_ = saved.header;
  set_evicted();
}

bool BufferedChunk::evictable() const {
  return manager_ != nullptr && manager_->has_budget();
}

bool BufferedChunk::in_memory() const {
  // acquire: pairs with the release in set_resident; who sees the place sees the bytes.
  return is_resident(swip_.load(std::memory_order_acquire));
}

bool BufferedChunk::try_pin(Heat heat) const {
  // relaxed: the exchange that follows orders.
  uint64_t swip = swip_.load(std::memory_order_relaxed);
  while (is_resident(swip)) {
    const uint64_t pinned = (heat == Heat::kWarm ? swip & ~kStateMask : swip) + kPin;
    // acquire: pairs with the release in set_resident; who pins sees the bytes.
    if (swip_.compare_exchange_weak(swip, pinned, std::memory_order_acquire,
                                    std::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

base::Result<Chunk> BufferedChunk::pin() const {
  if (try_pin(Heat::kWarm)) return Chunk::trusted(memory_.bytes());
  return manager_->load_and_pin(this);
}

void BufferedChunk::unpin() const {
  // release: pairs with the acquire in evict; reads of the bytes come before they go.
  [[maybe_unused]] const uint64_t before = swip_.fetch_sub(kPin, std::memory_order_release);
  DIPTYCH_DCHECK(before >= kPin && is_resident(before), "only a pinned chunk is unpinned");
}

bool BufferedChunk::read_ahead() const {
  return in_memory() || manager_->read_ahead(this);
}

void BufferedChunk::set_resident(ChunkMemory memory, uint64_t state) const {
  memory_ = std::move(memory);
  const auto place = reinterpret_cast<uint64_t>(memory_.bytes().data());
  DIPTYCH_CHECK((place & ~kPlaceMask) == 0, "chunks lie at multiples of 64, below 2^48");
  // release: pairs with the acquire of who pins.
  swip_.store(place | state, std::memory_order_release);
}

void BufferedChunk::set_evicted() const {
  memory_ = ChunkMemory();
  // release: pairs with the acquire in in_memory; nobody reads the bytes after that.
  swip_.store((uint64_t{address_.page} << 2) | kEvicted, std::memory_order_release);
}

bool BufferedChunk::is_cool() const {
  // relaxed: a hint; evict() looks again.
  const uint64_t swip = swip_.load(std::memory_order_relaxed);
  return swip < kPin && (swip & kStateMask) == kCool;
}

void BufferedChunk::cool() const {
  // relaxed: a mark only.
  uint64_t swip = swip_.load(std::memory_order_relaxed);
  if (swip >= kPin || (swip & kStateMask) != kHot) return;
  // relaxed: as above. Where it fails, somebody has pinned the chunk: it is hot.
  swip_.compare_exchange_strong(swip, swip | kCool, std::memory_order_relaxed);
}

bool BufferedChunk::evict(ChunkMemory* memory) const {
  // relaxed: the exchange that follows orders.
  uint64_t swip = swip_.load(std::memory_order_relaxed);
  if (swip >= kPin || (swip & kStateMask) != kCool || is_changed()) return false;
  const uint64_t evicted = (uint64_t{address_.page} << 2) | kEvicted;
  // acquire: pairs with the release in unpin; those reads come before the bytes go. A chunk that
  // was pinned since the load above is hot, or has pins.
  if (!swip_.compare_exchange_strong(swip, evicted, std::memory_order_acquire,
                                     std::memory_order_relaxed)) {
    return false;
  }
  *memory = std::move(memory_);
  return true;
}

ChunkHeader BufferedChunk::header() const {
  // One that is changed may be saved and evicted before it is pinned: then it is changed no more.
  while (is_changed()) {
    if (!try_pin(Heat::kKeep)) continue;
    ChunkHeader found;
    std::memcpy(&found, std::as_const(memory_).bytes().data(), sizeof found);
    unpin();
    return found;
  }
  return header_;
}

size_t BufferedChunk::memory_bytes() const {
  if (!try_pin(Heat::kKeep)) return 0;
  const size_t bytes = memory_.memory_bytes();
  unpin();
  return bytes;
}

void BufferedChunk::give_up_place() {
  if (address_.is_set()) manager_->file().release(address_);
  address_ = ChunkAddress();
}

// Who would evict it, holding the mutex, looks at both.
void BufferedChunk::begin_change() {
  const ChunkPin pinned(*this);
  const auto lock = manager_ == nullptr ? std::unique_lock<std::mutex>()
                                        : std::unique_lock<std::mutex>(manager_->mutex_);
  // relaxed: the mutex orders, and nobody saves a chunk that is its writer's alone.
  is_changed_.store(true, std::memory_order_relaxed);
  give_up_place();
}

void BufferedChunk::replace(encoding::ChunkBytes bytes) {
  begin_change();
  const size_t before = manager_ == nullptr ? 0 : BufferManager::cost(memory_);
  set_resident(ChunkMemory(std::move(bytes)), kHot);
  if (manager_ != nullptr) manager_->note_replaced(this, before, BufferManager::cost(memory_));
}

// A changed chunk stays in memory where it is: nobody evicts it, and who saves it is alone.
base::Result<SavedChunk> BufferedChunk::save_held() const {
  if (!is_changed()) return SavedChunk{address_, header_};
  const base::Result<ChunkAddress> written = manager_->file().write(memory_.bytes());
  if (!written.ok()) return written.error();
  std::memcpy(&header_, std::as_const(memory_).bytes().data(), sizeof header_);
  address_ = *written;
  // release: pairs with the acquire in is_changed.
  is_changed_.store(false, std::memory_order_release);
  return SavedChunk{address_, header_};
}

// Where it lies is looked at by who loads or evicts it, with the mutex held; a pin forbids both.
base::Result<SavedChunk> BufferedChunk::move() const {
  // Damage is the error of who needs the bytes: until then the chunk stays where it is.
  if (const base::Result<Chunk> pinned = pin(); !pinned.ok()) return SavedChunk{address_, header_};
  const base::Result<ChunkAddress> moved = manager_->file().move(address_, memory_.bytes());
  if (moved.ok() && moved->page != address_.page) {
    const std::lock_guard lock(manager_->mutex_);
    manager_->file().release(std::exchange(address_, *moved));
  }
  unpin();
  if (!moved.ok()) return moved.error();
  return SavedChunk{*moved, header_};
}

base::Result<SavedChunk> BufferedChunk::save(const SavePace& pace) const {
  const bool stays = !is_changed();
  if (stays && !manager_->file().should_move(address_)) return SavedChunk{address_, header_};
  base::Result<SavedChunk> saved = stays ? move() : [&] {
    const std::lock_guard one_at_a_time(manager_->saving_);
    return save_held();
  }();
  if (!saved.ok()) return saved;
  const auto goes_on = keep_pace(pace, saved->address.pages() * size_t{kFilePageBytes});
  if (!goes_on.ok()) return goes_on.error();
  return saved;
}

}  // namespace diptych::storage
