// TreeNodes: the nodes of an OrderedTree: layout, search within a node, memory.
//
// A key is kWords 64-bit words, the big-endian bytes of a normalised key (zero-padded) as integers,
// so that comparing words is comparing bytes, without a call to memcmp or a pointer to follow. The
// RowId is the last word: entries are unique though keys need not be.
//
//   inner   | count | separators ...        | children ... |   separator i <= all below child i + 1
//   leaf    | count | last insert | <- | -> | entries ...  |
//
// Threads    none of its own.
// Memory     an arena with free lists: nodes come back to the tree.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/arena.h"

namespace diptych::oltp {

template <size_t kWords, size_t kNodeBytes>
class TreeNodes {
 public:
  struct Entry {
    std::array<uint64_t, kWords> words;
    uint64_t row;

    bool operator==(const Entry&) const = default;
    bool operator<(const Entry& other) const {
      if constexpr (kWords <= 3) {
        // Every word, the last first: few enough to be cheaper than a branch that guesses.
        uint32_t less = row < other.row ? 1 : 0;
        for (size_t i = kWords; i-- > 0;) {
          const uint32_t below = words[i] < other.words[i] ? 1 : 0;
          const uint32_t equal = words[i] == other.words[i] ? 1 : 0;
          less = below | (equal & less);
        }
        return less != 0;
      } else {
        for (size_t i = 0; i < kWords; ++i) {
          if (words[i] != other.words[i]) return words[i] < other.words[i];
        }
        return row < other.row;
      }
    }
  };

  static constexpr uint32_t kEntriesMax =
      static_cast<uint32_t>(std::max<size_t>(4, kNodeBytes / sizeof(Entry)));
  static constexpr uint32_t kChildrenMax = kEntriesMax;

  struct Leaf {
    uint32_t count;
    uint32_t last_insert;  // the position of the newest entry
    Leaf* previous;
    Leaf* next;
    Entry entries[kEntriesMax];
  };
  struct Inner {
    uint32_t count;  // of children
    Entry separators[kChildrenMax - 1];
    void* children[kChildrenMax];
  };

  explicit TreeNodes(base::NumaNode node) : arena_(node, 64 * 1024) {}

  // Without branches on the comparison: its outcome is a coin toss.
  static uint32_t lower_bound_in(const Entry* entries, uint32_t count, const Entry& entry) {
    const Entry* base = entries;
    while (count > 0) {
      const uint32_t half = count / 2;
      const bool less = base[half] < entry;
      base = less ? base + half + 1 : base;
      count = less ? count - half - 1 : half;
    }
    return static_cast<uint32_t>(base - entries);
  }
  // The child to go to: the number of separators that are not greater.
  static uint32_t child_for(const Inner* inner, const Entry& entry) {
    const uint32_t at = lower_bound_in(inner->separators, inner->count - 1, entry);
    const bool equal = at < inner->count - 1 && inner->separators[at] == entry;
    return at + (equal ? 1 : 0);
  }

  // Moves items [from, end) to begin at `to`.
  template <class Item>
  static void shift(Item* items, uint32_t from, uint32_t end, uint32_t to) {
    std::memmove(static_cast<void*>(items + to), items + from, (end - from) * sizeof(Item));
  }

  // The lines that a binary search may meet first; the misses then overlap.
  static void prefetch(const void* node) {
    const char* const bytes = static_cast<const char*>(node);
    constexpr size_t kStep = std::max<size_t>(64, sizeof(Leaf) / 16);
    for (size_t at = 0; at < sizeof(Leaf); at += kStep) __builtin_prefetch(bytes + at);
  }

  Leaf* new_leaf() {
    Leaf* const leaf = take(&free_leaves_);
    leaf->count = 0;
    leaf->last_insert = 0;
    leaf->previous = nullptr;
    leaf->next = nullptr;
    return leaf;
  }
  Inner* new_inner() {
    Inner* const inner = take(&free_inners_);
    inner->count = 0;
    return inner;
  }
  void release(Leaf* leaf) { free_leaves_.push_back(leaf); }
  void release(Inner* inner) { free_inners_.push_back(inner); }

  size_t allocated_bytes() const { return arena_.allocated_bytes(); }

 private:
  template <class Node>
  Node* take(std::vector<Node*>* free) {
    if (free->empty()) return reinterpret_cast<Node*>(arena_.allocate(sizeof(Node), 64));
    Node* const node = free->back();
    free->pop_back();
    return node;
  }

  base::Arena arena_;
  std::vector<Leaf*> free_leaves_;
  std::vector<Inner*> free_inners_;
};

}  // namespace diptych::oltp
