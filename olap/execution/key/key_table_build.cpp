// KeyTable::build: many keys at once, by all workers.
//
// The slots are cut into ranges, and the keys listed by the range that their hash falls into. A
// range is filled by one worker: equal keys meet there, and nobody else writes to it. A key for
// which its range has no slot before its end is left for the end, when the caller alone places
// those few as ever. Meanwhile a key's number is its place among all; where keys came repeatedly,
// the others are then moved together.

#include <algorithm>
#include <bit>
#include <numeric>

#include "base/check.h"
#include "olap/execution/key/key_equality.h"
#include "olap/execution/key/key_table.h"
#include "olap/execution/vector/group_split.h"

namespace diptych::olap {

// Looks for key number `key` in slots [slot, slot_end), and places it in the first free one.
template <class Equal>
KeyTable::Placed KeyTable::place(Equal equal, uint32_t key, uint64_t slot, uint64_t slot_end,
                                 uint32_t* numbers) {
  const uint64_t hash = hashes_[key];
  const size_t words = packer_->words();
  for (; slot != slot_end; ++slot) {
    const uint64_t entry = slots_[slot];
    if (entry == 0) {
      slots_[slot] = (hash & kTagMask) | (key + uint64_t{1});
      return Placed::kNew;
    }
    const auto number = static_cast<uint32_t>(entry) - 1;
    if (((entry ^ hash) & kTagMask) == 0 &&
        equal(keys_.data() + key * words, keys_.data() + number * words)) {
      numbers[key] = number;
      return Placed::kRepeated;
    }
  }
  return Placed::kNoSlot;
}

// numbers[key] = the first key that equals it. Returns how many different keys there are.
template <class Equal>
uint64_t KeyTable::place_all(Equal equal, const Workers& workers, uint32_t* numbers) {
  const uint32_t ranges = std::min(workers.count(), GroupSplit::kPartitionsMax);
  const auto slot_bits = static_cast<uint32_t>(std::countr_zero(slots_.size()));
  const uint32_t pieces = workers.count();
  std::vector<NumbersByPartition> lists(pieces);
  workers.run(pieces, [&](uint32_t piece) {
    const RowRange keys = range_of(size(), piece, pieces);
    lists[piece] = NumbersByPartition(
        static_cast<uint32_t>(keys.end - keys.begin), ranges, workers.stop(),
        [&](uint32_t i) { return ((hashes_[keys.begin + i] & slot_mask_) * ranges) >> slot_bits; });
    // Here, since workers that fill ranges would write to the same lines of a cache.
    std::iota(numbers + keys.begin, numbers + keys.end, static_cast<uint32_t>(keys.begin));
  });
  std::vector<uint64_t> placed(ranges, 0);
  std::vector<std::vector<uint32_t>> left(ranges);
  workers.run(ranges, [&](uint32_t range) {
    const uint64_t slot_begin = (range * slots_.size() + ranges - 1) / ranges;
    const uint64_t slot_end = ((range + uint64_t{1}) * slots_.size() + ranges - 1) / ranges;
    workers.stop().fill(slots_.data() + slot_begin, slot_end - slot_begin, uint64_t{0});
    uint64_t different = 0;
    for (uint32_t piece = 0; piece < pieces; ++piece) {
      const auto first = static_cast<uint32_t>(range_of(size(), piece, pieces).begin);
      const uint32_t count = lists[piece].size(range);
      for (uint32_t i = 0; i < count; ++i) {
        workers.stop().check_at(i);
        if (i + kPrefetchKeys < count) {
          const uint32_t ahead = first + lists[piece].at(range, i + kPrefetchKeys);
          __builtin_prefetch(&slots_[hashes_[ahead] & slot_mask_], 1);
        }
        const uint32_t key = first + lists[piece].at(range, i);
        const uint64_t slot = hashes_[key] & slot_mask_;
        const Placed result = place(equal, key, slot, slot_end, numbers);
        if (result == Placed::kNoSlot) left[range].push_back(key);
        different += static_cast<uint64_t>(result == Placed::kNew);
      }
    }
    placed[range] = different;
  });
  uint64_t different = std::accumulate(placed.begin(), placed.end(), uint64_t{0});
  for (const std::vector<uint32_t>& keys : left) {
    for (const uint32_t key : keys) {
      workers.stop().check_at(key);
      const uint64_t home = hashes_[key] & slot_mask_;
      Placed result = place(equal, key, home, slots_.size(), numbers);
      if (result == Placed::kNoSlot) result = place(equal, key, 0, home, numbers);
      DIPTYCH_CHECK(result != Placed::kNoSlot, "at most half of the slots are used");
      different += static_cast<uint64_t>(result == Placed::kNew);
    }
  }
  return different;
}

// Numbers the different keys in the order of their first places, and keeps only those.
void KeyTable::drop_repeated(const Workers& workers, uint32_t* numbers) {
  const uint32_t pieces = workers.count();
  const size_t words = packer_->words();
  std::vector<uint32_t> firsts(pieces + size_t{1}, 0);
  workers.run(pieces, [&](uint32_t piece) {
    const RowRange keys = range_of(size(), piece, pieces);
    uint32_t count = 0;
    for (uint64_t key = keys.begin; key < keys.end; ++key) {
      count += static_cast<uint32_t>(numbers[key] == key);
    }
    firsts[piece + 1] = count;
  });
  std::partial_sum(firsts.begin(), firsts.end(), firsts.begin());
  GrowingArray<uint32_t> renamed;
  renamed.resize(size());
  GrowingArray<uint64_t> kept_keys;
  kept_keys.resize(firsts.back() * words);
  GrowingArray<uint64_t> kept_hashes;
  kept_hashes.resize(firsts.back());
  workers.run(pieces, [&](uint32_t piece) {
    const RowRange keys = range_of(size(), piece, pieces);
    uint32_t next = firsts[piece];
    for (uint64_t key = keys.begin; key < keys.end; ++key) {
      workers.stop().check_at(key);
      if (numbers[key] != key) continue;
      std::copy_n(keys_.data() + key * words, words, kept_keys.data() + next * words);
      kept_hashes[next] = hashes_[key];
      renamed[key] = next++;
    }
  });
  workers.run(pieces, [&](uint32_t piece) {
    const RowRange keys = range_of(size(), piece, pieces);
    for (uint64_t key = keys.begin; key < keys.end; ++key) {
      workers.stop().check_at(key);
      numbers[key] = renamed[numbers[key]];
    }
    const RowRange slots = range_of(slots_.size(), piece, pieces);
    for (uint64_t slot = slots.begin; slot < slots.end; ++slot) {
      workers.stop().check_at(slot);
      const uint64_t entry = slots_[slot];
      if (entry == 0) continue;
      const uint32_t number = renamed[static_cast<uint32_t>(entry) - 1];
      slots_[slot] = (entry & kTagMask) | (number + uint64_t{1});
    }
  });
  keys_ = std::move(kept_keys);
  hashes_ = std::move(kept_hashes);
}

void KeyTable::build(GrowingArray<uint64_t> keys, GrowingArray<uint64_t> hashes,
                     const Workers& workers, uint32_t* numbers) {
  DIPTYCH_CHECK(size() == 0 && keys.size() == hashes.size() * packer_->words(),
                "a table is built of all its keys");
  const uint64_t slots = slots_for(hashes.size());
  slots_ = GrowingArray<uint64_t>();
  slots_.resize(slots);
  slot_mask_ = slots - 1;
  keys_ = std::move(keys);
  hashes_ = std::move(hashes);
  uint64_t different = 0;
  with_equality(*packer_, [&](auto equal) { different = place_all(equal, workers, numbers); });
  if (different != size()) drop_repeated(workers, numbers);
  placed_ = size();
}

}  // namespace diptych::olap
