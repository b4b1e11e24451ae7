// BwLeaf: the operations on one leaf of a BwTree: insertion, removal, freezing and look-up.
//
// With several workers an insertion claims a slot, fills it and shows it:
//
//   status  --claim: + one claimed slot-->  --publish: + its visible bit-->
//           --answer: + one answer-->       (the entry was there already)
//
// Each transition is one compare-and-swap of the whole status. Publish and answer fail if another
// entry was published or answered since the leaf was read, so reading and deciding are one atomic
// step, and nobody waits for a slot that is only claimed. Uniqueness needs this. It also needs
// answers: of two rows that want a key one of which already has an entry, the later to publish or
// answer sees the other.
//
// Erasing clears a visible bit or sets a dead bit. Freezing sets kFrozen in status and in all words
// of dead bits; the leaf then never changes and will be replaced (BwPages). With one worker,
// entries of a tidy leaf (no claimed slots, no dead bits) are moved in place without
// read-modify-write.
//
// Threads    any worker may call the *_shared functions and freeze. The *_alone functions are for
//            a single worker and a tidy leaf.
// Returns    nullopt: the leaf takes no change, because it is full or frozen.

#pragma once

#include <cstring>
#include <optional>

#include "base/alignment.h"
#include "oltp/bw_nodes.h"
#include "oltp/index.h"

namespace diptych::oltp {

template <size_t kWords, size_t kNodeBytes, template <class> class Atomic>
struct BwLeaf {
  using Nodes = BwNodes<kWords, kNodeBytes, Atomic>;
  using Entry = typename Nodes::Entry;
  using Leaf = typename Nodes::Leaf;

  static std::optional<IndexInsert> insert_shared(Leaf* leaf, const Entry& entry,
                                                  const UniquenessCheck* check) {
    const uint32_t first = first_of_interest(*leaf, entry, check);
    // acquire: pairs with the publication of the slots that it shows.
    uint64_t status = leaf->status.load(std::memory_order_acquire);
    uint64_t looked_at = Nodes::kFrozen;  // nothing yet
    std::optional<IndexInsert> found;
    std::optional<uint32_t> slot;
    while ((status & Nodes::kFrozen) == 0) {
      if ((status & Nodes::kShown) != looked_at) found = look(*leaf, status, first, entry, check);
      looked_at = status & Nodes::kShown;
      if (found && *found != IndexInsert::kPresent) return found;
      if (!found && !slot && Nodes::claimed(status) == leaf->slots_max()) return std::nullopt;
      const uint64_t wanted = found   ? Nodes::with_answer(status)
                              : !slot ? status + Nodes::kOneClaimed
                                      : status | uint64_t{1} << *slot;
      // seq_cst: publishes the entry; in one order with other leaves' (BwTree::insert_spanning).
      // acquire: on failure the new status is looked at.
      if (!leaf->status.compare_exchange_weak(status, wanted, std::memory_order_seq_cst,
                                              std::memory_order_acquire)) {
        continue;
      }
      if (found) return found;
      if (slot) return IndexInsert::kInserted;
      slot = Nodes::claimed(status);
      leaf->entries[leaf->count + *slot] = entry;
      status = wanted;
    }
    return std::nullopt;
  }

  static std::optional<IndexInsert> insert_alone(Leaf* leaf, const Entry& entry,
                                                 const UniquenessCheck* check) {
    uint32_t at = leaf->count;
    // Ascending keys go to the end, or behind the newest entry, without a search.
    if (goes_between(*leaf, leaf->newest, entry)) {
      at = leaf->newest + 1;
    } else if (at == 0 || !(leaf->entries[at - 1] < Entry{entry.words, 0})) {
      at = first_of_interest(*leaf, entry, check);
      if (const auto found = look(*leaf, 0, at, entry, check)) return found;
      // With a check, the search stopped at the first row of the key; skip the lesser ones.
      while (at < leaf->count && leaf->entries[at] < entry) ++at;
    }
    if (leaf->count == Nodes::kEntriesMax) return std::nullopt;
    shift(leaf->entries, at, leaf->count, at + 1);
    leaf->entries[at] = entry;
    leaf->newest = at;
    ++leaf->count;
    return IndexInsert::kInserted;
  }

  // Prefetch what an insertion behind the newest entry touches: alone, the entries that it moves;
  // shared, the newest entry with the next, and free slots.
  static void prefetch_insert_alone(const Leaf& leaf) {
    prefetch_lines(leaf.entries + leaf.newest, kMovedLines);
  }
  static void prefetch_insert_shared(const Leaf& leaf) {
    // relaxed: a guess.
    const uint32_t added = Nodes::claimed(leaf.status.load(std::memory_order_relaxed));
    prefetch_lines(leaf.entries + leaf.newest, kNewestLines);
    prefetch_lines(leaf.entries + leaf.count + added, kSlotLines);
  }

  // False: there is no such entry.
  static std::optional<bool> erase_shared(Leaf* leaf, const Entry& entry) {
    const uint32_t at = place_to_erase(*leaf, entry);
    if (at < leaf->count && leaf->entries[at] == entry) {
      Atomic<uint64_t>& dead = leaf->dead[at / Nodes::kDeadBits];
      const uint64_t bit = uint64_t{1} << (at % Nodes::kDeadBits);
      // acquire: pairs with the other workers' changes of the word.
      uint64_t bits = dead.load(std::memory_order_acquire);
      while ((bits & bit) == 0) {
        if ((bits & Nodes::kFrozen) != 0) return std::nullopt;
        // acq_rel: whoever adds the entry again has seen the bit, and publishes it with the entry.
        if (dead.compare_exchange_weak(bits, bits | bit, std::memory_order_acq_rel,
                                       std::memory_order_acquire)) {
          return true;
        }
      }
    }
    // acquire: pairs with the publication of the slots that it shows.
    uint64_t status = leaf->status.load(std::memory_order_acquire);
    while (true) {
      const uint32_t slot = slot_of(*leaf, status, entry);
      if (slot == Nodes::kAddedMax) return false;
      if ((status & Nodes::kFrozen) != 0) return std::nullopt;
      // acq_rel: as with the dead bits.
      if (leaf->status.compare_exchange_weak(status, status & ~(uint64_t{1} << slot),
                                             std::memory_order_acq_rel,
                                             std::memory_order_acquire)) {
        return true;
      }
    }
  }

  static bool erase_alone(Leaf* leaf, const Entry& entry) {
    const uint32_t at = Nodes::lower_bound(leaf->entries, leaf->count, entry);
    if (at == leaf->count || !(leaf->entries[at] == entry)) return false;
    shift(leaf->entries, at + 1, leaf->count, at);
    --leaf->count;
    return true;
  }

  // Visits the entries with the key of `from` that are not less. False: the visitor stopped.
  template <class Visit>
  static bool find_in(const Leaf& leaf, const Entry& from, const Visit& visit) {
    return find_at(leaf, Nodes::lower_bound(leaf.entries, leaf.count, from), from, visit);
  }
  // `at`: the number of sorted entries that are less.
  template <class Visit>
  static bool find_at(const Leaf& leaf, uint32_t at, const Entry& from, const Visit& visit) {
    // seq_cst: pairs with the publication of a slot; see insert_spanning.
    const uint64_t status = leaf.status.load(std::memory_order_seq_cst);
    for (uint32_t i = at; i < leaf.count && leaf.entries[i].has_key(from.words); ++i) {
      // acquire: after status, so that an entry erased and added again is not seen twice.
      const uint64_t dead = leaf.dead[i / Nodes::kDeadBits].load(std::memory_order_acquire);
      if ((dead >> (i % Nodes::kDeadBits) & 1) != 0) continue;
      if (!visit(base::RowId(leaf.entries[i].row))) return false;
    }
    for (uint32_t bits = Nodes::visible(status); bits != 0; bits &= bits - 1) {
      const Entry& added = leaf.entries[leaf.count + static_cast<uint32_t>(__builtin_ctz(bits))];
      if (!added.has_key(from.words) || added.row < from.row) continue;
      if (!visit(base::RowId(added.row))) return false;
    }
    return true;
  }

  static void freeze(Leaf* leaf) {
    // acq_rel: the copy will have all that was published or erased before.
    leaf->status.fetch_or(Nodes::kFrozen, std::memory_order_acq_rel);
    // acq_rel: likewise.
    for (auto& dead : leaf->dead) dead.fetch_or(Nodes::kFrozen, std::memory_order_acq_rel);
  }

  // Appends the live entries of `from`, which is frozen or the caller's own, to the sorted ones of
  // `to`.
  static void append_live(const Leaf& from, Leaf* to) {
    to->newest = to->count + from.newest;
    if (Nodes::is_plain(from)) {
      std::copy(from.entries, from.entries + from.count, to->entries + to->count);
      to->count += from.count;
      return;
    }
    const typename Nodes::LeafView view(from);
    const Entry* const newest = view.newest_added();
    auto place = view.begin();
    while (const Entry* const entry = view.next(&place)) {
      DIPTYCH_DCHECK(to->count < Nodes::kEntriesMax, "a copy is no longer than its original");
      if (entry == newest) to->newest = to->count;
      to->entries[to->count++] = *entry;
    }
  }

  // Sorted entries and nothing else, not even claimed slots.
  static bool is_tidy(const Leaf& leaf) {
    // relaxed: one worker.
    uint64_t bits = leaf.status.load(std::memory_order_relaxed);
    // relaxed: likewise.
    for (const auto& dead : leaf.dead) bits |= dead.load(std::memory_order_relaxed);
    return bits == 0;
  }

  // Moves items [from, end) to begin at `to`.
  template <class Item>
  static void shift(Item* items, uint32_t from, uint32_t end, uint32_t to) {
    std::memmove(static_cast<void*>(items + to), items + from, (end - from) * sizeof(Item));
  }

 private:
  // Of the cache: how far a prefetch goes, at most.
  static constexpr size_t kMovedLines = 6;
  static constexpr size_t kNewestLines = 2;
  static constexpr size_t kSlotLines = 5;
  static void prefetch_lines(const Entry* from, size_t lines) {
    for (size_t line = 0; line < lines; ++line) {
      __builtin_prefetch(reinterpret_cast<const char*>(from) + line * base::kLineBytes);
    }
  }
  // True if the entry belongs right behind sorted entry `at`, and neither that nor the next has its
  // key.
  static bool goes_between(const Leaf& leaf, uint32_t at, const Entry& entry) {
    if (at >= leaf.count || !(leaf.entries[at] < Entry{entry.words, 0})) return false;
    if (at + 1 == leaf.count) return true;
    const Entry& next = leaf.entries[at + 1];
    return entry < next && !entry.has_key(next.words);
  }
  // Tries the oldest live entry first: a queue erases that one.
  static uint32_t place_to_erase(const Leaf& leaf, const Entry& entry) {
    uint64_t dead[Nodes::kDeadWords];
    // relaxed: a guess.
    for (uint32_t i = 0; i < Nodes::kDeadWords; ++i)
      dead[i] = leaf.dead[i].load(std::memory_order_relaxed);
    const uint32_t oldest = Nodes::live_from(leaf, dead, 0);
    if (oldest < leaf.count && leaf.entries[oldest] == entry) return oldest;
    return Nodes::lower_bound(leaf.entries, leaf.count, entry);
  }
  static uint32_t first_of_interest(const Leaf& leaf, const Entry& entry,
                                    const UniquenessCheck* check) {
    // Ascending keys come behind the newest entry.
    if (goes_between(leaf, leaf.newest, entry)) return leaf.newest + 1;
    Entry first = entry;
    if (check != nullptr) first.row = 0;
    return Nodes::lower_bound(leaf.entries, leaf.count, first);
  }

  // The outcome that the leaf's entries dictate for this one; nullopt: it may be inserted. All
  // other rows are checked before the entry counts as present.
  static std::optional<IndexInsert> look(const Leaf& leaf, uint64_t status, uint32_t first,
                                         const Entry& entry, const UniquenessCheck* check) {
    bool present = false;
    std::optional<IndexInsert> refused;
    const auto meet = [&](const Entry& other) {
      if (other.row == entry.row) {
        present = true;
      } else if (check != nullptr && !refused) {
        refused = verdict_on(base::RowId(other.row), *check);
      }
    };
    for (uint32_t i = first; i < leaf.count && leaf.entries[i].has_key(entry.words); ++i) {
      // acquire: a dead entry may have been added again.
      const uint64_t bits = leaf.dead[i / Nodes::kDeadBits].load(std::memory_order_acquire);
      if ((bits >> (i % Nodes::kDeadBits) & 1) == 0) meet(leaf.entries[i]);
      if (check == nullptr) break;
    }
    for (uint32_t bits = Nodes::visible(status); bits != 0; bits &= bits - 1) {
      const Entry& other = leaf.entries[leaf.count + static_cast<uint32_t>(__builtin_ctz(bits))];
      if (other.has_key(entry.words)) meet(other);
    }
    if (refused) return refused;
    return present ? std::optional(IndexInsert::kPresent) : std::nullopt;
  }

  // The visible slot with the entry, or kAddedMax.
  static uint32_t slot_of(const Leaf& leaf, uint64_t status, const Entry& entry) {
    for (uint32_t bits = Nodes::visible(status); bits != 0; bits &= bits - 1) {
      const auto slot = static_cast<uint32_t>(__builtin_ctz(bits));
      if (leaf.entries[leaf.count + slot] == entry) return slot;
    }
    return Nodes::kAddedMax;
  }

 public:
  // The outcome that another row with the key dictates; nullopt: none.
  static std::optional<IndexInsert> verdict_on(base::RowId row_id, const UniquenessCheck& check) {
    switch (check(row_id)) {
      case KeyVerdict::kTaken: return IndexInsert::kTaken;
      case KeyVerdict::kConflict: return IndexInsert::kConflict;
      case KeyVerdict::kFree: break;
    }
    return std::nullopt;
  }
};

}  // namespace diptych::oltp
