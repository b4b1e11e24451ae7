// BwTree: a lock-free ordered index of (key, RowId) entries: the simplified Bw-tree of
// Makreshanski, Levandoski and Stutsman (To Lock, Swap, or Elide, VLDB'15): a mapping table, and a
// multi-word CAS that makes every structure change one atomic step.
//
// When to use   for keys of a bounded size, normalised (bw_nodes.h); narrow ones make a fast tree.
// Threads       any worker may call any operation at any time, lock-free; a reader writes only its
//               own hints (AsWorker, index.h). With Concurrency::kSingle there is one worker, and
//               no read-modify-write. Callbacks may not change the tree. set_concurrency, reclaim,
//               check and entry_count need a batch boundary, when no operation runs.
// Memory        BwMemory reuses replaced nodes after reclaim(). Each worker has its BwHints.
// Benchmark     tests/oltp/bw_tree_bench.cpp
//
// A scan visits entries that exist during the whole scan exactly once, in order. It reads each leaf
// as of one moment, and finds the next leaf from the root by the bound of the last one: siblings
// have no links that a split could break.
//
// Differences from the paper: there are no deltas. A leaf has free slots for new entries
// (bw_leaf.h), and an inner node is copied. A page's id is the address of its mapping word, so the
// table grows like an arena. Memory is reclaimed at the batch boundary, and not by epochs.

#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>
#include <span>

#include "oltp/bw_check.h"
#include "oltp/bw_group.h"
#include "oltp/bw_hints.h"
#include "oltp/bw_structure.h"
#include "oltp/index.h"

namespace diptych::oltp {

template <size_t kWords, size_t kNodeBytes = 2048, template <class> class Atomic = std::atomic>
class BwTree {
 public:
  using Pages = BwPages<kWords, kNodeBytes, Atomic>;
  using Entry = typename Pages::Entry;
  using Key = std::array<uint64_t, kWords>;
  static constexpr uint64_t kNoRow = ~uint64_t{0};

  BwTree(Concurrency concurrency, base::MemoryPlace place) : pages_(concurrency, place) {}

  void set_concurrency(Concurrency concurrency) {
    pages_.memory().set_concurrency(concurrency);
    near_ = nullptr;
  }
  Pages& pages_to_build() { return forget_near(), pages_; }  // to fill an empty tree (bw_build.h)
  void reclaim() { pages_.memory().reclaim(); }
  uint64_t check() const { return pages_.check(); }
  uint64_t entry_count() const { return pages_.count_entries(pages_.root()); }
  size_t allocated_bytes() const {
    return pages_.memory().allocated_bytes() + bytes_of(changes_) + bytes_of(scans_);
  }

  // As Index::insert() and Index::erase().
  IndexInsert insert(const Entry& entry, const UniquenessCheck* check = nullptr) {
    while (true) {
      Leaf* const leaf = leaf_for(entry);
      if (check != nullptr && key_spans_leaves(*leaf, entry)) return insert_spanning(entry, *check);
      const auto outcome = may_move(*leaf) ? Leaves::insert_alone(leaf, entry, check)
                                           : Leaves::insert_shared(leaf, entry, check);
      if (outcome) return *outcome;
      make_room(entry, *leaf);
    }
  }
  bool erase(const Entry& entry) {
    while (true) {
      Leaf* const leaf = leaf_for(entry);
      const auto outcome =
          may_move(*leaf) ? Leaves::erase_alone(leaf, entry) : Leaves::erase_shared(leaf, entry);
      if (!outcome) {
        make_room(entry, *leaf);
        continue;
      }
      if (*outcome && is_small(*leaf)) {
        forget_near();
        pages_.shrink(entry, 0);
      }
      return *outcome;
    }
  }

  // Prefetches the head of the leaf in which the worker made its last change near the entry; null
  // if it is unknown.
  const void* prefetch_near(const Entry& entry) const {
    const Hints* const hints = callers(changes_);
    const auto* const hint = hints == nullptr ? nullptr : hints->newest(entry);
    if (hint != nullptr) Nodes::template prefetch<sizeof(Leaf) - sizeof(Leaf::entries)>(hint->leaf);
    return hint;
  }
  // When the head has arrived, prefetches the lines for the next entries.
  void prefetch_newest(const void* hint_near) const {
    const Leaf* const leaf = static_cast<const typename Hints::Hint*>(hint_near)->leaf_in_tree();
    if (leaf == nullptr) return;
    pages_.is_alone() ? Leaves::prefetch_insert_alone(*leaf)
                      : Leaves::prefetch_insert_shared(*leaf);
  }

  // Calls visit(RowId) for the rows with the key until it returns false.
  template <class Visit>
  void find(const Key& key, const Visit& visit) const {
    for (Entry from{key, 0};;) {
      const Leaf* const leaf = pages_.template descend<Bound::kAtOrAfter>(from);
      if (!Leaves::find_in(*leaf, from, visit) || !leaf->goes_on(key)) return;
      from = leaf->high;
    }
  }

  // Sets rows[i] to a row with keys[i], or to kNoRow. The misses of up to 16 look-ups overlap.
  void find_each(std::span<const Key> keys, std::span<uint64_t> rows) const {
    DIPTYCH_CHECK(keys.size() == rows.size(), "one row a key");
    for (size_t at = 0; at < keys.size(); at += Group::kMax) {
      const size_t count = std::min(Group::kMax, keys.size() - at);
      find_group(keys.subspan(at, count), rows.subspan(at, count));
    }
  }

  // Prefetches the first `count` entries from each of up to 16 starts on; their misses overlap.
  void prefetch_ranges(std::span<const Entry> starts, size_t count) const {
    std::array<Node*, Group::kMax> nodes{};
    Group::descend(pages_, starts, {nodes.data(), starts.size()}, callers(scans_));
    Group::fetch_entries(starts, nodes, count);
  }

  // Calls visit(entry) for the entries in [lower, upper), ascending, until it returns false.
  // Returns true if the scan reached the end.
  template <class Visit>
  bool scan_forward(const Entry& lower, const Entry& upper, const Visit& visit) const {
    const Leaf* leaf = lower < upper ? leaf_by_hint(lower, callers(scans_)) : nullptr;
    for (Entry from = lower; from < upper; leaf = next_leaf(from, upper)) {
      if (Nodes::is_plain(*leaf)) {
        uint32_t i = Nodes::lower_bound(leaf->entries, leaf->count, from);
        const bool whole = !(upper < leaf->high);
        for (; i < leaf->count; ++i) {
          if (!whole && !(leaf->entries[i] < upper)) return true;
          if (!visit(leaf->entries[i])) return false;
        }
      } else {
        const LeafView view(*leaf);
        auto place = view.lower_bound(from);
        while (const Entry* const entry = view.next(&place)) {
          if (!(*entry < upper)) return true;
          if (!visit(*entry)) return false;
        }
      }
      from = leaf->high;
    }
    return true;
  }
  // As scan_forward(), descending.
  template <class Visit>
  bool scan_backward(const Entry& lower, const Entry& upper, const Visit& visit) const {
    for (Entry until = upper; lower < until;) {
      const Leaf* const leaf = pages_.template descend<Bound::kBefore>(until);
      if (Nodes::is_plain(*leaf)) {
        for (uint32_t i = Nodes::lower_bound(leaf->entries, leaf->count, until); i-- > 0;) {
          if (leaf->entries[i] < lower) return true;
          if (!visit(leaf->entries[i])) return false;
        }
      } else {
        const LeafView view(*leaf);
        auto place = view.lower_bound(until);
        while (const Entry* const entry = view.previous(&place)) {
          if (*entry < lower) return true;
          if (!visit(*entry)) return false;
        }
      }
      until = leaf->low;
    }
    return true;
  }

 private:
  using Group = BwGroup<Pages>;
  using Nodes = typename Pages::Nodes;
  using Leaves = typename Pages::Leaves;
  using Node = typename Nodes::Node;
  using Leaf = typename Nodes::Leaf;
  using LeafView = typename Nodes::LeafView;
  using Hints = BwHints<Leaf, Nodes::kFrozen>;

  // With one worker, tries the leaf of the last change first: the lines of an order are adjacent.
  // Otherwise uses the worker's hints.
  Leaf* leaf_for(const Entry& entry) {
    if (!pages_.is_alone()) return leaf_by_hint(entry, callers(changes_));
    if (near_ == nullptr || entry < near_->low || !(entry < near_->high)) {
      near_ = leaf_by_hint(entry, callers(changes_));
    }
    return near_;
  }
  Leaf* leaf_by_hint(const Entry& entry, Hints* hints) const {
    if (hints == nullptr) return pages_.template descend<Bound::kAtOrAfter>(entry);
    if (const auto* const hint = hints->find(entry)) {
      if (Leaf* const leaf = hint->leaf_in_tree()) return leaf;
    }
    Leaf* const leaf = pages_.template descend<Bound::kAtOrAfter>(entry);
    hints->note(entry, leaf);
    return leaf;
  }
  // Called if the leaf could take no change for the entry.
  void make_room(const Entry& entry, const Leaf& leaf) {
    typename Pages::Path path;
    if (pages_.descend(entry, &path) != &leaf) return;  // somebody has replaced it
    forget_near();
    pages_.make_room(path, entry);
    Hints* const hints = callers(changes_);
    Node* const now = Pages::node_of(*path.page);
    if (hints == nullptr || now == nullptr || now->level != 0) return;
    hints->note(entry, static_cast<Leaf*>(now));
  }
  void forget_near() {
    if (pages_.is_alone()) near_ = nullptr;
  }
  bool may_move(const Leaf& leaf) const { return pages_.is_alone() && Leaves::is_tidy(leaf); }
  // True once each time a leaf's size has halved, since a merge may be impossible for long.
  static bool is_small(const Leaf& leaf) {
    const uint32_t size = Nodes::is_plain(leaf) ? leaf.count : LeafView(leaf).size();
    return size < Nodes::kEntriesMax / 4 && (size & (size - 1)) == 0;
  }
  static bool key_spans_leaves(const Leaf& leaf, const Entry& entry) {
    return leaf.goes_on(entry.words) || (leaf.low.has_key(entry.words) && leaf.low.row != 0);
  }

  // The key's rows may lie in several leaves, so no single word orders its insertions. The entry is
  // published first and the others are checked again: of two workers that insert at once, the one
  // that publishes (or answers) later sees the other's entry, because publications and the reads of
  // status and pages are seq_cst. Both may see the other's; then both withdraw their own.
  IndexInsert insert_spanning(const Entry& entry, const UniquenessCheck& check) {
    if (const auto refused = ask_others(entry, check)) return *refused;
    const IndexInsert outcome = insert(entry);
    if (pages_.is_alone()) return outcome;
    const auto refused = ask_others(entry, check);
    if (refused && outcome == IndexInsert::kInserted) erase(entry);
    return refused.value_or(outcome);
  }
  std::optional<IndexInsert> ask_others(const Entry& entry, const UniquenessCheck& check) const {
    std::optional<IndexInsert> refused;
    find(entry.words, [&](base::RowId row_id) {
      if (row_id.value != entry.row) refused = Leaves::verdict_on(row_id, check);
      return !refused;
    });
    return refused;
  }

  const Leaf* next_leaf(const Entry& from, const Entry& upper) const {
    return from < upper ? pages_.template descend<Bound::kAtOrAfter>(from) : nullptr;
  }

  void find_group(std::span<const Key> keys, std::span<uint64_t> rows) const {
    std::array<Entry, Group::kMax> entries;
    std::array<Node*, Group::kMax> nodes{};
    for (size_t i = 0; i < keys.size(); ++i) entries[i] = {keys[i], 0};
    const std::span<const Entry> wanted(entries.data(), keys.size());
    Group::descend(pages_, wanted, {nodes.data(), keys.size()});
    std::array<const Leaf*, Group::kMax> leaves;
    for (size_t i = 0; i < keys.size(); ++i) {
      const Leaf* const leaf = Group::leaf_or_null(nodes[i]);
      leaves[i] = leaf != nullptr && entries[i] < leaf->high ? leaf : nullptr;
    }
    std::array<uint32_t, Group::kMax> places;
    Group::search(wanted, leaves, places);
    for (size_t i = 0; i < keys.size(); ++i) {
      rows[i] = kNoRow;
      const auto take = [&](base::RowId row_id) {
        rows[i] = row_id.value;
        return false;
      };
      const Leaf* const leaf = leaves[i];
      const bool ends_here =
          leaf != nullptr &&
          (!Leaves::find_at(*leaf, places[i], entries[i], take) || !leaf->goes_on(keys[i]));
      if (!ends_here && rows[i] == kNoRow) find(keys[i], take);  // alone, from the root
    }
  }

  using HintsOfWorkers = std::array<Hints, kWorkersMax>;
  // Null if the calling thread is not a worker; then there are no hints.
  Hints* callers(HintsOfWorkers& hints) const {
    const uint32_t worker = pages_.is_alone() ? 0 : AsWorker::current();
    return worker < kWorkersMax ? &hints[worker] : nullptr;
  }

  Pages pages_;
  Leaf* near_ = nullptr;  // leaf of a single worker's last change; null if it may be gone
  mutable HintsOfWorkers changes_;
  mutable HintsOfWorkers scans_;
};

}  // namespace diptych::oltp
