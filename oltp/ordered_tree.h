// OrderedTree: a B+-tree of (key, RowId) entries of fixed width, dense in its leaves.
//
// Splits    in the middle; where inserts ascend (also in the midst of the tree, one run per
//           district, say), at the point of insertion, so that runs leave full leaves behind.
// Removal   an empty leaf leaves the tree at once (free-at-empty); a leaf below a quarter is merged
//           with a sibling where both fit three quarters of one.
// Threads   none of its own: OrderedIndex locks.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/check.h"
#include "oltp/tree_nodes.h"

namespace diptych::oltp {

// kNodeBytes: about the bytes of a node's entries; tests make it tiny, to force splits and merges.
template <size_t kWords, size_t kNodeBytes = 2048>
class OrderedTree {
 public:
  using Nodes = TreeNodes<kWords, kNodeBytes>;
  using Entry = typename Nodes::Entry;
  using Leaf = typename Nodes::Leaf;

  // The place of an entry, or past the last: leaf is null. Valid until the tree changes.
  struct Position {
    const Leaf* leaf;
    uint32_t index;

    bool valid() const { return leaf != nullptr; }
    const Entry& operator*() const { return leaf->entries[index]; }
    void advance() {
      if (++index < leaf->count) return;
      leaf = leaf->next;
      index = 0;
    }
    void retreat() {
      if (index-- > 0) return;
      leaf = leaf->previous;
      if (leaf != nullptr) index = leaf->count - 1;
    }
  };

  explicit OrderedTree(base::NumaNode node) : nodes_(node) { root_ = nodes_.new_leaf(); }

  uint64_t size() const { return size_; }
  size_t allocated_bytes() const { return nodes_.allocated_bytes(); }

  // The first entry that is not less.
  Position lower_bound(const Entry& entry) const {
    const Leaf* const leaf = descend(entry, nullptr);
    const uint32_t index = Nodes::lower_bound_in(leaf->entries, leaf->count, entry);
    if (index < leaf->count) return {leaf, index};
    return {leaf->next, 0};
  }
  // The last entry that is less.
  Position last_below(const Entry& entry) const {
    const Leaf* const leaf = descend(entry, nullptr);
    const uint32_t index = Nodes::lower_bound_in(leaf->entries, leaf->count, entry);
    if (index > 0) return {leaf, index - 1};
    return end_of(leaf->previous);
  }
  Position last() const {
    const void* node = root_;
    for (uint32_t level = height_; level > 0; --level) {
      const auto* inner = static_cast<const Inner*>(node);
      node = inner->children[inner->count - 1];
    }
    return end_of(static_cast<const Leaf*>(node));
  }

  // False: the entry is there already.
  bool insert(const Entry& entry) {
    Path path;
    Leaf* leaf = descend(entry, &path);
    uint32_t at = Nodes::lower_bound_in(leaf->entries, leaf->count, entry);
    if (at < leaf->count && leaf->entries[at] == entry) return false;
    if (leaf->count == kEntriesMax) leaf = split(leaf, entry, &path, &at);
    Nodes::shift(leaf->entries, at, leaf->count, at + 1);
    leaf->entries[at] = entry;
    leaf->last_insert = at;
    ++leaf->count;
    ++size_;
    return true;
  }

  // False: there is no such entry.
  bool erase(const Entry& entry) {
    Path path;
    Leaf* const leaf = descend(entry, &path);
    const uint32_t at = Nodes::lower_bound_in(leaf->entries, leaf->count, entry);
    if (at == leaf->count || !(leaf->entries[at] == entry)) return false;
    Nodes::shift(leaf->entries, at + 1, leaf->count, at);
    --leaf->count;
    --size_;
    if (height_ > 0 && leaf->count < kEntriesMax / 4) shrink(leaf, &path);
    return true;
  }

  // For tests: order, links, separators and counts; stops where one is wrong.
  void check_invariants() const;

 private:
  using Inner = typename Nodes::Inner;
  static constexpr uint32_t kEntriesMax = Nodes::kEntriesMax;
  static constexpr uint32_t kChildrenMax = Nodes::kChildrenMax;
  static constexpr uint32_t kHeightMax = 40;

  struct Step {
    Inner* node;
    uint32_t child;
  };
  using Path = std::array<Step, kHeightMax>;  // [level], 0 is just above the leaves

  static Position end_of(const Leaf* leaf) {
    if (leaf == nullptr || leaf->count == 0) return {nullptr, 0};
    return {leaf, leaf->count - 1};
  }

  Leaf* descend(const Entry& entry, Path* path) const {
    void* node = root_;
    for (uint32_t level = height_; level > 0; --level) {
      auto* const inner = static_cast<Inner*>(node);
      const uint32_t child = Nodes::child_for(inner, entry);
      if (path != nullptr) (*path)[level - 1] = {inner, child};
      node = inner->children[child];
      Nodes::prefetch(node);
    }
    return static_cast<Leaf*>(node);
  }
  // Splits a full leaf; returns the half that the entry belongs to, and its place there.
  Leaf* split(Leaf* leaf, const Entry& entry, Path* path, uint32_t* at) {
    const bool ascending = *at == leaf->last_insert + 1;
    uint32_t left_count = leaf->count / 2;
    if (*at == leaf->count && (ascending || leaf->next == nullptr))
      left_count = leaf->count;
    else if (ascending && *at > leaf->count / 4)
      left_count = *at;
    Leaf* const right = nodes_.new_leaf();
    right->count = leaf->count - left_count;
    std::memcpy(static_cast<void*>(right->entries), leaf->entries + left_count,
                right->count * sizeof(Entry));
    leaf->count = left_count;
    right->previous = leaf;
    right->next = leaf->next;
    if (right->next != nullptr) right->next->previous = right;
    leaf->next = right;
    add_child(path, 0, right->count == 0 ? entry : right->entries[0], right);
    if (right->count != 0 && *at <= left_count) return leaf;
    *at -= left_count;
    return right;
  }

  // Adds `child`, right of the one that the path took on this level.
  void add_child(Path* path, uint32_t level, const Entry& separator, void* child) {
    if (level == height_) {
      DIPTYCH_CHECK(height_ < kHeightMax, "a tree of 2^63 entries is less high");
      Inner* const root = nodes_.new_inner();
      root->count = 2;
      root->separators[0] = separator;
      root->children[0] = root_;
      root->children[1] = child;
      root_ = root;
      ++height_;
      return;
    }
    auto [inner, after] = (*path)[level];
    if (inner->count == kChildrenMax) {
      // At the right end all children but the last stay, as in split().
      const uint32_t stay = after + 1 == inner->count ? inner->count - 1 : inner->count / 2;
      Inner* const right = nodes_.new_inner();
      right->count = inner->count - stay;
      std::copy(inner->separators + stay, inner->separators + (inner->count - 1),
                right->separators);
      std::copy(inner->children + stay, inner->children + inner->count, right->children);
      inner->count = stay;
      add_child(path, level + 1, inner->separators[stay - 1], right);
      if (after >= stay) {
        inner = right;
        after -= stay;
      }
    }
    Nodes::shift(inner->separators, after, inner->count - 1, after + 1);
    Nodes::shift(inner->children, after + 1, inner->count, after + 2);
    inner->separators[after] = separator;
    inner->children[after + 1] = child;
    ++inner->count;
  }

  void shrink(Leaf* leaf, Path* path) {
    auto [parent, child] = (*path)[0];
    if (leaf->count == 0) {
      drop(leaf);
      remove_child(path, 0, child);
      return;
    }
    const uint32_t right_child = child + 1 < parent->count ? child + 1 : child;
    if (right_child == 0) return;
    auto* const left = static_cast<Leaf*>(parent->children[right_child - 1]);
    auto* const right = static_cast<Leaf*>(parent->children[right_child]);
    if (left->count + right->count > kEntriesMax * 3 / 4) return;
    std::copy(right->entries, right->entries + right->count, left->entries + left->count);
    left->count += right->count;
    drop(right);
    remove_child(path, 0, right_child);
  }
  void drop(Leaf* leaf) {
    if (leaf->previous != nullptr) leaf->previous->next = leaf->next;
    if (leaf->next != nullptr) leaf->next->previous = leaf->previous;
    nodes_.release(leaf);
  }
  // `child` of the path's node on this level is gone.
  void remove_child(Path* path, uint32_t level, uint32_t child) {
    Inner* const inner = (*path)[level].node;
    const uint32_t separator = child > 0 ? child - 1 : 0;
    if (inner->count > 1) {
      Nodes::shift(inner->separators, separator + 1, inner->count - 1, separator);
    }
    Nodes::shift(inner->children, child + 1, inner->count, child);
    --inner->count;
    if (inner->count == 0) {
      DIPTYCH_CHECK(level + 1 < height_, "the root has at least two children");
      nodes_.release(inner);
      remove_child(path, level + 1, (*path)[level + 1].child);
      return;
    }
    while (height_ > 0 && static_cast<Inner*>(root_)->count == 1) {
      auto* const old_root = static_cast<Inner*>(root_);
      root_ = old_root->children[0];
      nodes_.release(old_root);
      --height_;
    }
  }

  Nodes nodes_;
  void* root_ = nullptr;  // a Leaf where height_ is 0, else an Inner
  uint32_t height_ = 0;
  uint64_t size_ = 0;
};

template <size_t kWords, size_t kNodeBytes>
void OrderedTree<kWords, kNodeBytes>::check_invariants() const {
  const void* node = root_;
  for (uint32_t level = height_; level > 0; --level) {
    node = static_cast<const Inner*>(node)->children[0];
  }
  uint64_t entries = 0;
  const Entry* before = nullptr;
  const Leaf* previous = nullptr;
  for (const auto* leaf = static_cast<const Leaf*>(node); leaf != nullptr; leaf = leaf->next) {
    DIPTYCH_CHECK(leaf->previous == previous, "leaves are linked both ways");
    DIPTYCH_CHECK(leaf->count > 0 || height_ == 0, "an empty leaf leaves the tree");
    for (uint32_t i = 0; i < leaf->count; ++i) {
      const Entry& entry = leaf->entries[i];
      DIPTYCH_CHECK(before == nullptr || *before < entry, "entries ascend");
      DIPTYCH_CHECK(descend(entry, nullptr) == leaf, "separators lead to every entry");
      before = &entry;
    }
    entries += leaf->count;
    previous = leaf;
  }
  DIPTYCH_CHECK(entries == size_, "the size counts the entries");
}

}  // namespace diptych::oltp
