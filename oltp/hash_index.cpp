#include "oltp/hash_index.h"

#define XXH_INLINE_ALL
#include <cstring>
#include <utility>

#include <xxhash.h>

#include "base/check.h"

namespace diptych::oltp {
namespace {

constexpr size_t kSlotsAtFirst = 128;

uint64_t hash_of(std::string_view key) {
  return XXH3_64bits(key.data(), key.size());
}

}  // namespace

std::string_view HashIndex::Slot::view() const {
  if (size <= kInlineBytes) return {key, size};
  const char* pointer;
  std::memcpy(&pointer, key + 8, sizeof pointer);
  return {pointer, size};
}

char* HashIndex::KeyHeap::copy(std::string_view key) {
  std::vector<char*>& free = free_[(key.size() - 1) / 16];
  char* at = nullptr;
  if (free.empty()) {
    at = reinterpret_cast<char*>(arena_.allocate((key.size() + 15) / 16 * 16, 16));
  } else {
    at = free.back();
    free.pop_back();
  }
  std::memcpy(at, key.data(), key.size());
  return at;
}

void HashIndex::KeyHeap::release(char* key, size_t bytes) {
  free_[(bytes - 1) / 16].push_back(key);
}

HashIndex::Shard::Shard(base::NumaNode node)
    : region(kSlotsAtFirst * sizeof(Slot), node), mask(kSlotsAtFirst - 1), long_keys(node) {}

HashIndex::HashIndex(Concurrency concurrency, base::NumaNode node)
    : concurrency_(concurrency),
      node_(node),
      shard_shift_(64 - (concurrency == Concurrency::kShared ? kShardBits : 1)) {
  const size_t shards = size_t{1} << (64 - shard_shift_);
  while (shards_.size() < shards) shards_.push_back(std::make_unique<Shard>(node));
}

std::unique_lock<std::mutex> HashIndex::lock(const Shard& shard) const {
  std::unique_lock guard(shard.mutex, std::defer_lock);
  if (concurrency_ == Concurrency::kShared) guard.lock();
  return guard;
}

IndexInsert HashIndex::insert(std::string_view key, base::RowId row_id,
                              const UniquenessCheck* check) {
  DIPTYCH_DCHECK(!key.empty() && key.size() <= base::kKeyBytesMax, "size 0 means an empty slot");
  const uint64_t hash = hash_of(key);
  Shard& shard = shard_of(hash);
  const auto guard = lock(shard);
  if ((shard.entries + 1) * 8 > (shard.mask + 1) * 5) grow(&shard);
  const auto tag = static_cast<uint32_t>(hash);
  Slot* const slots = shard.slots();
  uint64_t at = tag & shard.mask;
  bool present = false;
  for (; slots[at].size != 0; at = (at + 1) & shard.mask) {
    const Slot& slot = slots[at];
    if (slot.hash != tag || slot.view() != key) continue;
    if (slot.row_id == row_id) {
      present = true;
      continue;
    }
    if (check == nullptr) continue;
    const KeyVerdict verdict = (*check)(slot.row_id);
    if (verdict == KeyVerdict::kTaken) return IndexInsert::kTaken;
    if (verdict == KeyVerdict::kConflict) return IndexInsert::kConflict;
  }
  if (present) return IndexInsert::kPresent;
  Slot& slot = slots[at];
  slot.hash = tag;
  slot.size = static_cast<uint16_t>(key.size());
  slot.row_id = row_id;
  if (key.size() <= kInlineBytes) {
    std::memcpy(slot.key, key.data(), key.size());
  } else {
    const char* const copied = shard.long_keys.copy(key);
    std::memcpy(slot.key + 8, &copied, sizeof copied);
  }
  ++shard.entries;
  return IndexInsert::kInserted;
}

bool HashIndex::erase(std::string_view key, base::RowId row_id) {
  const uint64_t hash = hash_of(key);
  Shard& shard = shard_of(hash);
  const auto guard = lock(shard);
  const auto tag = static_cast<uint32_t>(hash);
  Slot* const slots = shard.slots();
  uint64_t hole = tag & shard.mask;
  while (slots[hole].row_id != row_id || slots[hole].hash != tag || slots[hole].view() != key) {
    if (slots[hole].size == 0) return false;
    hole = (hole + 1) & shard.mask;
  }
  if (key.size() > kInlineBytes) {
    shard.long_keys.release(const_cast<char*>(slots[hole].view().data()), key.size());
  }
  // Shifts back every later entry of the run that may lie at the hole or before its place.
  for (uint64_t at = (hole + 1) & shard.mask; slots[at].size != 0; at = (at + 1) & shard.mask) {
    const uint64_t home = slots[at].hash & shard.mask;
    if (((at - home) & shard.mask) < ((at - hole) & shard.mask)) continue;
    slots[hole] = slots[at];
    hole = at;
  }
  slots[hole].size = 0;
  --shard.entries;
  return true;
}

void HashIndex::find(std::string_view key, const CandidateVisitor& visit) const {
  const uint64_t hash = hash_of(key);
  const Shard& shard = shard_of(hash);
  const auto guard = lock(shard);
  const auto tag = static_cast<uint32_t>(hash);
  const Slot* const slots = shard.slots();
  for (uint64_t at = tag & shard.mask; slots[at].size != 0; at = (at + 1) & shard.mask) {
    if (slots[at].hash != tag || slots[at].view() != key) continue;
    if (!visit(slots[at].row_id)) return;
  }
}

void HashIndex::prefetch(std::string_view key) const {
  // With several workers the shard may be growing: its place is not read without the lock.
  if (concurrency_ == Concurrency::kShared) return;
  const uint64_t hash = hash_of(key);
  const Shard& shard = shard_of(hash);
  __builtin_prefetch(shard.slots() + (static_cast<uint32_t>(hash) & shard.mask));
}

void HashIndex::next_group(IndexCursor*) const {
  DIPTYCH_CHECK(false, "a hash index has no order to scan in");
}

void HashIndex::grow(Shard* shard) const {
  const uint64_t slot_count = shard->mask + 1;
  base::Region old = std::exchange(shard->region, base::Region());
  shard->region = base::Region(2 * slot_count * sizeof(Slot), node_);
  shard->mask = 2 * slot_count - 1;
  const auto* const from = reinterpret_cast<const Slot*>(old.data());
  Slot* const to = shard->slots();
  for (uint64_t i = 0; i < slot_count; ++i) {
    if (from[i].size == 0) continue;
    uint64_t at = from[i].hash & shard->mask;
    while (to[at].size != 0) at = (at + 1) & shard->mask;
    to[at] = from[i];
  }
}

uint64_t HashIndex::entry_count() const {
  uint64_t entries = 0;
  for (const auto& shard : shards_) {
    const auto guard = lock(*shard);
    entries += shard->entries;
  }
  return entries;
}

size_t HashIndex::memory_bytes() const {
  size_t bytes = 0;
  for (const auto& shard : shards_) {
    const auto guard = lock(*shard);
    bytes += shard->region.size() + shard->long_keys.allocated_bytes();
  }
  return bytes;
}

std::unique_ptr<Index> make_hash_index(Concurrency concurrency, base::NumaNode node) {
  return std::make_unique<HashIndex>(concurrency, node);
}

}  // namespace diptych::oltp
