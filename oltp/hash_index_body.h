// BasicHashIndex's operations (hash_index.h): included where it is instantiated, by
// hash_index.cpp and by tests of mutants.

#pragma once

#include <algorithm>
#include <new>

#include "base/check.h"
#include "oltp/hash_build.h"
#include "oltp/hash_growth.h"
#include "oltp/hash_index.h"

namespace diptych::oltp {
template <template <class> class Atomic>
BasicHashIndex<Atomic>::BasicHashIndex(Concurrency concurrency, base::MemoryPlace place)
    : concurrency_(concurrency), place_(place), level_(kLevelAtFirst), chains_(place.node) {
  segments_.emplace_back(sizeof(Bucket) << kLevelAtFirst, place.node);
  bases_[0] = reinterpret_cast<uintptr_t>(segments_.back().data());
}

template <template <class> class Atomic>
uint64_t BasicHashIndex<Atomic>::make_entry(uint64_t hash, base::RowId row_id) {
  DIPTYCH_DCHECK(row_id.value < kRowMask, "a table has fewer than 2^36 rows");
  return hash_bits(hash) << kRowBits | (row_id.value + 1);
}

template <template <class> class Atomic>
IndexInsert BasicHashIndex<Atomic>::look(const Bucket& first, uint64_t entry,
                                         const UniquenessCheck* check) const {
  IndexInsert outcome = IndexInsert::kInserted;
  HashPath path(&first, entry >> kRowBits);
  do {
    for (const Entry& slot : path.bucket().entries) {
      // seq_cst: H2.
      const uint64_t found = slot.load(std::memory_order_seq_cst);
      if (found == 0 || found >> kRowBits != entry >> kRowBits) continue;
      if (found == entry) outcome = IndexInsert::kPresent;
      if (found == entry || check == nullptr) continue;
      const KeyVerdict verdict = (*check)(row_of(found));
      if (verdict == KeyVerdict::kTaken) return IndexInsert::kTaken;
      if (verdict == KeyVerdict::kConflict) return IndexInsert::kConflict;
    }
  } while (path.advance());
  return outcome;
}

template <template <class> class Atomic>
IndexInsert BasicHashIndex<Atomic>::insert(std::string_view key, base::RowId row_id,
                                           const UniquenessCheck* check) {
  const uint64_t hash = key_hash(key);
  const uint64_t entry = make_entry(hash, row_id);
  Bucket& first = bucket_of(hash);
  if (const IndexInsert seen = look(first, entry, check); seen != IndexInsert::kInserted) {
    return seen;
  }
  if (is_single()) {
    place(&first, entry);
    // relaxed: one worker, here and below.
    const uint64_t entries = entries_.load(std::memory_order_relaxed) + 1;
    entries_.store(entries, std::memory_order_relaxed);
    if (2 * entries > kEntriesPerTwoBuckets * bucket_count()) grow();
    return IndexInsert::kInserted;
  }
  Entry& placed = place(&first, entry);
  if (check != nullptr) {
    const auto ask_others = [&](base::RowId other) {
      return other == row_id ? KeyVerdict::kFree : (*check)(other);
    };
    const UniquenessCheck others(ask_others);
    // A free entry differs from every other in its row, so it is not taken for present.
    const IndexInsert seen = look(first, entry & ~kRowMask, &others);
    if (seen != IndexInsert::kInserted) {
      // release: the entry was never more than a candidate.
      placed.store(0, std::memory_order_release);
      return seen;
    }
  }
  // relaxed: a count; the leader reads it at the boundary.
  entries_.fetch_add(1, std::memory_order_relaxed);
  return IndexInsert::kInserted;
}

template <template <class> class Atomic>
inline auto BasicHashIndex<Atomic>::place_in(Bucket* bucket, uint64_t entry) -> Entry* {
  for (Entry& slot : bucket->entries) {
    // relaxed: only whether it is free.
    uint64_t found = slot.load(std::memory_order_relaxed);
    if (found != 0) continue;
    if (is_single()) {
      // relaxed: one worker.
      slot.store(entry, std::memory_order_relaxed);
      return &slot;
    }
    // seq_cst: H2; and who finds the entry finds the row's word (release).
    if (slot.compare_exchange_strong(found, entry, std::memory_order_seq_cst)) return &slot;
  }
  return nullptr;
}

template <template <class> class Atomic>
inline auto BasicHashIndex<Atomic>::place(Bucket* first, uint64_t entry) -> Entry& {
  if (Entry* const placed = place_in(first, entry)) [[likely]]
    return *placed;
  return place_behind(first, entry);
}

template <template <class> class Atomic>
[[gnu::noinline]] auto BasicHashIndex<Atomic>::place_behind(Bucket* first, uint64_t entry)
    -> Entry& {
  HashPath path(first, entry >> kRowBits);
  while (true) {
    if (!path.advance()) {
      path.enter(chains_.extend(&path.bucket(), path.depth() + 1, concurrency_));
    }
    if (Entry* const placed = place_in(&path.bucket(), entry)) return *placed;
  }
}

template <template <class> class Atomic>
bool BasicHashIndex<Atomic>::erase(std::string_view key, base::RowId row_id) {
  const uint64_t hash = key_hash(key);
  const uint64_t entry = make_entry(hash, row_id);
  HashPath path(&bucket_of(hash), entry >> kRowBits);
  do {
    for (Entry& slot : path.bucket().entries) {
      // relaxed: the entry is this worker's, or a row's that nobody changes any more.
      uint64_t present = slot.load(std::memory_order_relaxed);
      if (present != entry) continue;
      if (is_single()) {
        // relaxed: one worker, here and below.
        slot.store(0, std::memory_order_relaxed);
        // relaxed: likewise.
        entries_.store(entries_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
        return true;
      }
      // Of a row whose key went to and fro in a batch, several may take it away at its end.
      // release: who reuses it comes later.
      if (!slot.compare_exchange_strong(present, 0, std::memory_order_release,
                                        std::memory_order_relaxed)) {
        continue;
      }
      // relaxed: a count.
      entries_.fetch_sub(1, std::memory_order_relaxed);
      return true;
    }
  } while (path.advance());
  return false;
}

template <template <class> class Atomic>
void BasicHashIndex<Atomic>::find(std::string_view key, const CandidateVisitor& on_row) const {
  visit(key_hash(key), on_row);
}

template <template <class> class Atomic>
void BasicHashIndex<Atomic>::next_group(IndexCursor*) const {
  DIPTYCH_CHECK(false, "a hash index has no order to scan in");
}

template <template <class> class Atomic>
template <class Visit>
void BasicHashIndex<Atomic>::find_alike(const Bucket& first, uint64_t entry,
                                        const Visit& on_row) const {
  HashPath path(&first, entry >> kRowBits);
  do {
    for (const Entry& slot : path.bucket().entries) {
      // seq_cst: H2.
      const uint64_t found = slot.load(std::memory_order_seq_cst);
      if (found == 0 || found == entry || found >> kRowBits != entry >> kRowBits) continue;
      on_row(row_of(found));
    }
  } while (path.advance());
}

template <template <class> class Atomic>
std::unique_ptr<IndexBuild> BasicHashIndex<Atomic>::begin_build(uint64_t entries_max,
                                                                uint32_t lanes) {
  return std::make_unique<HashBuild<Atomic>>(this, entries_max, lanes);
}

template <template <class> class Atomic>
uint64_t BasicHashIndex<Atomic>::entry_count() const {
  // relaxed: exact at the boundary.
  return entries_.load(std::memory_order_relaxed);
}

template <template <class> class Atomic>
uint64_t BasicHashIndex<Atomic>::check() const {
  uint64_t entries = 0;
  std::vector<uint64_t> chain;
  for (uint64_t number = 0; number < bucket_count(); ++number) {
    Bucket& first = bucket_at(number);
    const uint64_t low_bits = number & ((uint64_t{1} << kLevelAtFirst) - 1);
    chain.clear();
    const auto check_bucket = [&](const Bucket* bucket) {
      for (const Entry& slot : bucket->entries) {
        // relaxed: no operation is under way.
        const uint64_t entry = slot.load(std::memory_order_relaxed);
        if (entry == 0) continue;
        DIPTYCH_CHECK(&bucket_of(entry >> kRowBits << kLevelAtFirst | low_bits) == &first,
                      "an entry is where its hash leads");
        HashPath path(&first, entry >> kRowBits);
        while (&path.bucket() != bucket && path.advance()) continue;
        DIPTYCH_CHECK(&path.bucket() == bucket, "an entry is on the way of its hash bits");
        chain.push_back(entry);
      }
    };
    check_bucket(&first);
    HashChains<Atomic>::for_each_behind(&first, check_bucket);
    std::sort(chain.begin(), chain.end());
    DIPTYCH_CHECK(std::adjacent_find(chain.begin(), chain.end()) == chain.end(),
                  "no entry comes twice");
    entries += chain.size();
  }
  DIPTYCH_CHECK(entries == entry_count(), "entries are counted");
  return entries;
}

template <template <class> class Atomic>
size_t BasicHashIndex<Atomic>::memory_bytes() const {
  return bucket_count() * sizeof(Bucket) + chains_.allocated_bytes();
}

}  // namespace diptych::oltp
