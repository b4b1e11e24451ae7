#include "storage/buffer_manager.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/check.h"

namespace diptych::storage {
namespace {

using encoding::Chunk;

// A larger arena is not registered: that would take all its memory at once, for little.
constexpr size_t kRegisteredBytesMax = size_t{256} << 20;

// Three quarters of the budget. The rest is for chunks that encode() and thaw() make.
size_t arena_bytes(const BufferOptions& options) {
  return options.bytes_max / 4 * 3 / kFilePageBytes * kFilePageBytes;
}

ReadWay way_to_read(const BufferOptions& options) {
  return arena_bytes(options) <= kRegisteredBytesMax ? ReadWay::kRegisteredRing : ReadWay::kRing;
}

}  // namespace

struct BufferManager::ChunkLoad {
  const BufferedChunk* chunk;
  ChunkRead read;
  uint64_t number;          // of all loads so far
  bool is_awaited = false;  // one thread waits for the disk, the others for it
};

BufferManager::BufferManager(std::unique_ptr<BlockFile> file, const BufferOptions& options)
    : options_(options),
      file_(std::move(file)),
      arena_(arena_bytes(options), options.node),
      reader_(file_.get(), &arena_, options.reads_max, way_to_read(options)),
      bytes_(arena_bytes(options)) {}

BufferManager::~BufferManager() {
  DIPTYCH_CHECK(resident_.empty(), "chunks go before their manager");
}

size_t BufferManager::cost(const ChunkMemory& memory) {
  return memory.in_arena() ? 0 : memory.memory_bytes();
}

void BufferManager::add_resident(const BufferedChunk* chunk) {
  chunk->resident_index_ = resident_.size();
  chunk->in_arena_ = chunk->memory_.in_arena();
  resident_.push_back(chunk);
  bytes_ += cost(chunk->memory_);
}

// So that add_resident does not throw.
void BufferManager::make_room_for_resident() {
  if (resident_.size() == resident_.capacity()) resident_.reserve(2 * resident_.size() + 1);
}

void BufferManager::remove_resident(const BufferedChunk* chunk, const ChunkMemory& memory) {
  const size_t index = chunk->resident_index_;
  resident_[index] = resident_.back();
  resident_[index]->resident_index_ = index;
  resident_.pop_back();
  // The one that took its index is the hand's next.
  if (index == hand_) hand_ = (index == 0 ? resident_.size() : index) - 1;
  bytes_ -= cost(memory);
}

void BufferManager::enter(const BufferedChunk* chunk) {
  const std::lock_guard lock(mutex_);
  make_room_for_resident();
  add_resident(chunk);
}

void BufferManager::leave(const BufferedChunk* chunk) {
  Lock lock(mutex_);
  written_.wait(lock, [&] { return written_now_ != chunk; });
  while (ChunkLoad* const load = load_of(chunk)) {
    static_cast<void>(finish(load, &lock));  // its bytes are not wanted any more
  }
  if (chunk->in_memory()) remove_resident(chunk, chunk->memory_);
}

void BufferManager::note_replaced(const BufferedChunk* chunk, size_t before, size_t after) {
  const std::lock_guard lock(mutex_);
  chunk->in_arena_ = false;
  bytes_ += after;
  bytes_ -= before;
}

const BufferedChunk* BufferManager::turn_hand() {
  hand_ = hand_ + 1 < resident_.size() ? hand_ + 1 : 0;
  const BufferedChunk* const chunk = resident_[hand_];
  if (chunk->is_cool()) return chunk;
  chunk->cool();
  return nullptr;
}

bool BufferManager::evict(const BufferedChunk* chunk) {
  ChunkMemory memory;
  if (!chunk->evict(&memory)) return false;
  remove_resident(chunk, memory);
  ++figures_.evictions;
  return true;
}

std::optional<ChunkMemory> BufferManager::evict_for(uint32_t bytes) {
  if (bytes > arena_.memory().size()) return std::nullopt;
  std::optional<ChunkMemory> memory = arena_.take(bytes);
  // Once round to cool what is hot, once more to take it.
  for (size_t steps = 2 * resident_.size(); !memory && steps != 0 && !resident_.empty(); --steps) {
    const BufferedChunk* const cool = turn_hand();
    if (cool == nullptr || !cool->in_arena_) continue;
    if (evict(cool)) memory = arena_.take(bytes);
  }
  return memory;
}

std::optional<ChunkMemory> BufferManager::find_room(uint32_t bytes, Excess excess, Lock* held) {
  if (!has_budget()) return ChunkMemory::on_heap(bytes);
  std::optional<ChunkMemory> memory = evict_for(bytes);
  if (memory) return memory;
  const bool fits = bytes_ + bytes <= options_.bytes_max;
  if (!fits && excess == Excess::kRefused) return std::nullopt;
  // What was read ahead and not pinned yet goes last.
  if (settle_finished_loads(Which::kAll, held)) memory = evict_for(bytes);
  if (memory) return memory;
  evict_from_heap(bytes);
  return ChunkMemory::on_heap(bytes);
}

void BufferManager::evict_from_heap(uint32_t bytes) {
  // As in evict_for.
  for (size_t steps = 2 * resident_.size(); steps != 0 && !resident_.empty(); --steps) {
    if (bytes_ + bytes <= options_.bytes_max) return;
    const BufferedChunk* const cool = turn_hand();
    if (cool != nullptr && !cool->in_arena_) evict(cool);
  }
}

bool BufferManager::is_evicted(const BufferedChunk* chunk) {
  // relaxed: the mutex orders; without it no chunk comes into memory or leaves it.
  const uint64_t swip = chunk->swip_.load(std::memory_order_relaxed);
  return (swip & BufferedChunk::kStateMask) == BufferedChunk::kEvicted;
}

BufferManager::ChunkLoad* BufferManager::load_of(const BufferedChunk* chunk) {
  // relaxed: as in is_evicted.
  const uint64_t swip = chunk->swip_.load(std::memory_order_relaxed);
  if ((swip & BufferedChunk::kStateMask) != BufferedChunk::kLoading) return nullptr;
  return reinterpret_cast<ChunkLoad*>(swip & BufferedChunk::kPlaceMask);
}

void BufferManager::start_load(const BufferedChunk* chunk, ChunkMemory memory) {
  // First, as it may throw: from there on somebody may wait for it.
  ChunkLoad* const load = loads_.emplace_back(std::make_unique<ChunkLoad>()).get();
  load->chunk = chunk;
  load->number = figures_.loads;
  load->read.address = chunk->address_;
  load->read.memory = std::move(memory);
  bytes_ += cost(load->read.memory);
  if (has_budget() && bytes_ > options_.bytes_max) {
    figures_.bytes_over_budget = std::max(figures_.bytes_over_budget, bytes_ - options_.bytes_max);
  }
  ++figures_.loads;
  figures_.bytes_read += chunk->address_.bytes;
  const auto place = reinterpret_cast<uint64_t>(load);
  // relaxed: only who holds the mutex follows it.
  chunk->swip_.store(place | BufferedChunk::kLoading, std::memory_order_relaxed);
  reader_.start(&load->read);
}

base::Result<void> BufferManager::finish(ChunkLoad* load, Lock* held) {
  const BufferedChunk* const chunk = load->chunk;
  if (load->is_awaited) {
    // Once only: by the time this thread runs, the chunk may have been evicted and be loading anew,
    // and nobody else need wait for that load.
    loaded_.wait(*held);
    return {};
  }
  load->is_awaited = true;
  held->unlock();
  // Whatever happens, others wait for its end.
  const auto or_no_memory = [](const auto& body) -> base::Result<void> {
    try {
      return body();
    } catch (const std::bad_alloc&) {
      return base::Error(base::ErrorCode::kOutOfMemory, "there is no memory left to read a chunk");
    }
  };
  base::Result<void> done = or_no_memory([&] {
    const base::Result<void> arrived = reader_.wait(&load->read);
    if (!arrived.ok()) return arrived;
    const auto& memory = std::as_const(load->read.memory);
    return check_chunk({chunk->address_, chunk->header_}, memory.bytes(), *file_);
  });
  held->lock();
  bytes_ -= cost(load->read.memory);
  if (done.ok()) {
    done = or_no_memory([&] {
      make_room_for_resident();
      return base::Result<void>();
    });
  }
  if (done.ok()) {
    chunk->set_resident(std::move(load->read.memory), BufferedChunk::kCool);
    add_resident(chunk);
  } else {
    chunk->set_evicted();
  }
  std::erase_if(loads_, [&](const auto& other) { return other.get() == load; });
  loaded_.notify_all();
  return done;
}

bool BufferManager::settle_finished_loads(Which which, Lock* held) {
  bool any = false;
  for (size_t i = 0; i < loads_.size();) {
    ChunkLoad* const load = loads_[i].get();
    const bool is_old = figures_.loads - load->number > 4 * uint64_t{options_.reads_max};
    const bool is_meant = which == Which::kAll || is_old;
    if (!is_meant || load->is_awaited || !reader_.done(load->read)) {
      ++i;
      continue;
    }
    static_cast<void>(finish(load, held));  // whoever pins it meets the error again
    any = true;
    i = 0;  // the mutex was open meanwhile
  }
  return any;
}

base::Result<Chunk> BufferManager::load_and_pin(const BufferedChunk* chunk) {
  Lock lock(mutex_);
  // What was just read stays cool: a scan that is done with it needs it no more.
  while (!chunk->try_pin(BufferedChunk::Heat::kKeep)) {
    if (ChunkLoad* const load = load_of(chunk)) {
      const base::Result<void> done = finish(load, &lock);
      if (!done.ok()) return done.error();
      continue;
    }
    std::optional<ChunkMemory> memory = find_room(chunk->address_.bytes, Excess::kAllowed, &lock);
    // The mutex may have been open: another thread may have begun the same.
    if (is_evicted(chunk)) start_load(chunk, std::move(*memory));
  }
  return Chunk::trusted(chunk->memory_.bytes());
}

bool BufferManager::read_ahead(const BufferedChunk* chunk) {
  Lock lock(mutex_);
  if (!is_evicted(chunk)) return true;
  // Twice what is in flight: who waits for one read leaves the disk the next.
  if (loads_.size() >= 2 * options_.reads_max) {
    settle_finished_loads(Which::kOld, &lock);
    if (loads_.size() >= 2 * options_.reads_max) return false;
  }
  std::optional<ChunkMemory> memory = find_room(chunk->address_.bytes, Excess::kRefused, &lock);
  if (!memory) return false;
  // The mutex may have been open meanwhile.
  if (is_evicted(chunk)) start_load(chunk, std::move(*memory));
  return true;
}

base::Result<void> BufferManager::trim() try {
  if (!has_budget()) return {};
  Lock lock(mutex_);
  settle_finished_loads(Which::kAll, &lock);
  for (size_t steps = 2 * resident_.size(); bytes_ > options_.bytes_max && steps != 0; --steps) {
    if (resident_.empty()) break;
    const BufferedChunk* const cool = turn_hand();
    if (cool == nullptr || cool->in_arena_) continue;
    if (cool->is_changed()) {
      if (const auto written = write(cool, &lock); !written.ok()) return written;
    }
    evict(cool);  // unless it is changed still, or pinned meanwhile
  }
  return {};
} catch (const std::bad_alloc&) {
  return base::ErrorCode::kOutOfMemory;
}

base::Result<void> BufferManager::write(const BufferedChunk* chunk, Lock* held) {
  std::unique_lock saving(saving_, std::try_to_lock);
  // A snapshot is being saved: this chunk perhaps, or the disk is busy; the next trim goes on.
  if (!saving.owns_lock()) return {};
  written_now_ = chunk;
  held->unlock();
  const base::Result<SavedChunk> saved = [&]() -> base::Result<SavedChunk> {
    try {
      return chunk->save_held();
    } catch (const std::bad_alloc&) {  // leave() waits for the end, whatever it is
      return base::ErrorCode::kOutOfMemory;
    }
  }();
  saving.unlock();
  held->lock();
  written_now_ = nullptr;
  written_.notify_all();
  if (!saved.ok()) return saved.error();
  ++figures_.writes;
  return {};
}

void BufferManager::evict_all() {
  Lock lock(mutex_);
  settle_finished_loads(Which::kAll, &lock);
  for (size_t i = resident_.size(); i-- != 0;) {  // who takes a place comes from behind it
    const BufferedChunk* const chunk = resident_[i];
    chunk->cool();
    evict(chunk);
  }
}

BufferFigures BufferManager::figures() const {
  const std::lock_guard lock(mutex_);
  BufferFigures figures = figures_;
  figures.memory_bytes = bytes_;
  return figures;
}

}  // namespace diptych::storage
