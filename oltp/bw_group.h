// BwGroup: up to kMax descents of a BwTree at once, so that their cache misses overlap: each takes
// one step while the others' next nodes are being fetched.
//
// Threads    as the tree's readers.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/alignment.h"
#include "oltp/bw_entry.h"

namespace diptych::oltp {

template <class Pages>
class BwGroup {
  using Nodes = typename Pages::Nodes;
  using Entry = typename Pages::Entry;
  using Node = typename Pages::Node;
  using Leaf = typename Pages::Leaf;
  using Inner = typename Pages::Inner;
  using Word = typename Pages::Word;

 public:
  static constexpr size_t kMax = 16;

  // Descends to the leaves of up to kMax entries together, one level at a time, prefetching the
  // next nodes of some while others are searched; of leaves, the heads. A descent that meets an old
  // state (P2) yields null or an inner node.
  static void descend(const Pages& pages_of_tree, std::span<const Entry> entries,
                      std::span<Node*> nodes) {
    std::array<const Word*, kMax> pages;
    std::fill(nodes.begin(), nodes.end(), pages_of_tree.root());
    for (bool inner = nodes[0]->level > 0; inner;) {
      inner = false;
      for (size_t i = 0; i < entries.size(); ++i) {
        pages[i] = next_page(nodes[i], entries[i]);
        if (pages[i] != nullptr) __builtin_prefetch(pages[i]);
      }
      for (size_t i = 0; i < entries.size(); ++i) {
        if (pages[i] == nullptr) continue;
        const bool to_leaf = nodes[i]->level == 1;
        nodes[i] = Pages::node_of(*pages[i]);
        if (nodes[i] == nullptr) continue;
        inner = true;
        to_leaf ? prefetch_head(nodes[i]) : Nodes::prefetch_inner(nodes[i]);
      }
    }
  }
  // As above, by hints where there are any; null where a hint's leaf has left the tree.
  template <class Hints>
  static void descend(const Pages& pages, std::span<const Entry> entries, std::span<Node*> nodes,
                      const Hints* hints) {
    if (hints == nullptr) return descend(pages, entries, nodes);
    std::array<const typename Hints::Hint*, kMax> known;
    std::array<Entry, kMax> unknown;
    std::array<Node*, kMax> found{};
    size_t count = 0;
    for (size_t i = 0; i < entries.size(); ++i) {
      known[i] = hints->find(entries[i]);
      known[i] == nullptr ? void(unknown[count++] = entries[i]) : prefetch_head(known[i]->leaf);
    }
    if (count != 0) descend(pages, {unknown.data(), count}, {found.data(), count});
    Node* const* next = found.data();
    for (size_t i = 0; i < entries.size(); ++i) {
      nodes[i] = known[i] == nullptr ? *next++ : known[i]->leaf_in_tree();
    }
  }
  static void prefetch_head(const Node* leaf) {
    Nodes::template prefetch<sizeof(Leaf) - sizeof(Leaf::entries)>(leaf);
  }

  // Null where a descent yielded null or an inner node.
  static const Leaf* leaf_or_null(const Node* node) {
    const bool is_leaf = node != nullptr && node->level == 0;
    return is_leaf ? static_cast<const Leaf*>(node) : nullptr;
  }
  // Prefetches `count` entries of the leaves from each start on.
  static void fetch_entries(std::span<const Entry> starts, std::span<Node* const> nodes,
                            size_t count) {
    std::array<const Leaf*, kMax> leaves;
    for (size_t i = 0; i < starts.size(); ++i) leaves[i] = leaf_or_null(nodes[i]);
    std::array<uint32_t, kMax> places;
    search(starts, leaves, places);
    const size_t bytes = count * sizeof(Entry);
    for (size_t i = 0; i < starts.size(); ++i) {
      if (leaves[i] == nullptr) continue;
      const char* const at = reinterpret_cast<const char*>(leaves[i]->entries + places[i]);
      for (size_t byte = 0; byte < bytes; byte += base::kLineBytes) __builtin_prefetch(at + byte);
    }
  }

  // For each leaf that is not null, the number of sorted entries that are less. All binary searches
  // take one step at a time, with prefetches, so a search costs only the lines that it looks at.
  static void search(std::span<const Entry> wanted, std::span<const Leaf* const> leaves,
                     std::span<uint32_t> places) {
    std::array<const Entry*, kMax> from;
    std::array<uint32_t, kMax> left;
    for (size_t i = 0; i < wanted.size(); ++i) {
      from[i] = leaves[i] == nullptr ? nullptr : leaves[i]->entries;
      left[i] = leaves[i] == nullptr ? 0 : leaves[i]->count;
      if (left[i] != 0) __builtin_prefetch(from[i] + (left[i] - 1) / 2);
    }
    for (bool more = true; more;) {
      more = false;
      for (size_t i = 0; i < wanted.size(); ++i) {
        if (left[i] == 0) continue;
        const uint32_t half = (left[i] + 1) / 2;
        const bool below = from[i][half - 1] < wanted[i];
        from[i] += below ? half : 0;
        left[i] = below ? left[i] - half : half - 1;
        if (left[i] != 0) __builtin_prefetch(from[i] + (left[i] - 1) / 2);
        more = true;
      }
    }
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (leaves[i] != nullptr) places[i] = static_cast<uint32_t>(from[i] - leaves[i]->entries);
    }
  }

 private:
  // Null: the node is a leaf, or an old state was met (P2).
  static const Word* next_page(const Node* node, const Entry& entry) {
    if (node == nullptr || node->level == 0) return nullptr;
    const auto& inner = *static_cast<const Inner*>(node);
    if (inner.template lies_beyond<Bound::kAtOrAfter>(entry)) return nullptr;
    return inner.children[inner.template child_for<Bound::kAtOrAfter>(entry)];
  }
};

}  // namespace diptych::oltp
