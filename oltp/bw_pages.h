// BwPages: the pages of a BwTree, the descent to a leaf, and every change of the tree's structure.
//
// A page is named by its mapping word; inner nodes name their children by these words. Structure
// changes build new nodes beside the old ones and show them in one atomic step:
//
//   consolidate  leaf                         1 word
//   split        parent, left; right is new   2 words   the parent has room: it was split before
//   root split   root; both halves are new    1 word
//   merge        parent, left, right          3 words
//   last merge   root, left, right            3 words   the merged node becomes the root
//
// No half-done change is ever visible. A leaf is frozen first, and any worker that meets a frozen
// leaf may replace it, so a stalled worker blocks nobody. A failed step changes nothing, and its
// caller restarts at the root.
//
// Threads    any worker; reads resolve the words that they meet and never help. check and
//            count_entries need a time when no operation runs.
//
// Invariants (check())
//   P1  The children of an inner node cover its range without gap or overlap, on one level.
//   P2  A page's lower bound never changes; its upper bound does only together with its parent.
//       So if a descent meets a node that does not cover the entry, it has read an old state, and
//       restarts.
//   P3  The root is always page root_, and has at least two children if it is an inner node.
//   P4  Every page and node that is neither free nor retired is reachable from the root.
//   P5  A node that left the tree is not reused while an operation is under way (BwMemory), so
//       addresses satisfy M2 of MultiWordCas.

#pragma once

#include "base/check.h"
#include "oltp/bw_leaf.h"
#include "oltp/bw_memory.h"
#include "oltp/bw_nodes.h"

namespace diptych::oltp {

template <size_t kWords, size_t kNodeBytes, template <class> class Atomic>
class BwPages {
 public:
  using Nodes = BwNodes<kWords, kNodeBytes, Atomic>;
  using Leaves = BwLeaf<kWords, kNodeBytes, Atomic>;
  using Memory = BwMemory<Nodes::kBytes, Atomic>;
  using Cas = typename Memory::Cas;
  using Word = typename Memory::Word;
  using Entry = typename Nodes::Entry;
  using Node = typename Nodes::Node;
  using Leaf = typename Nodes::Leaf;
  using Inner = typename Nodes::Inner;
  static constexpr uint32_t kHeightMax = 40;

  struct Step {
    Word* page;
    Inner* node;
    uint32_t child;
  };
  // The descent to a leaf: steps[0] is at its parent, steps[height - 1] at the root.
  struct Path {
    Word* page;
    Leaf* leaf;
    uint32_t height;
    Step steps[kHeightMax];
  };

  BwPages(Concurrency concurrency, base::MemoryPlace place) : memory_(concurrency, place) {
    const auto lane = memory_.enter();
    Leaf* const leaf = lane->template take_node<Leaf>();
    leaf->low = Entry{};
    leaf->high = Entry::infinity();
    root_ = lane->take_page();
    put(root_, leaf);
  }

  Memory& memory() { return memory_; }
  const Memory& memory() const { return memory_; }
  bool is_alone() const { return memory_.is_alone(); }

  static Node* node_of(const Word& page) {
    const uint64_t value = Cas::read(page);
    return value == Memory::kGonePage ? nullptr : reinterpret_cast<Node*>(value);
  }
  Node* root() const { return node_of(*root_); }
  // Also prefetches the child; null if it is gone.
  static Node* child_of(const Inner& inner, uint32_t child) {
    Node* const node = node_of(*inner.children[child]);
    if (node == nullptr) return node;
    inner.level == 1 ? Nodes::prefetch_leaf(node) : Nodes::prefetch_inner(node);
    return node;
  }

  // The leaf with the place of the entry, or with the last one before it.
  template <Bound kBound>
  Leaf* descend(const Entry& entry) const {
    while (true) {
      Node* node = root();
      while (node != nullptr && node->level > 0) {
        const auto* const inner = static_cast<Inner*>(node);
        if (!is_alone() && inner->template lies_beyond<kBound>(entry)) break;  // P2
        node = child_of(*inner, inner->template child_for<kBound>(entry));
      }
      if (node == nullptr || node->level > 0) continue;
      auto* const leaf = static_cast<Leaf*>(node);
      if (is_alone()) return leaf;
      if (!Nodes::template lies_beyond<kBound>(*leaf, entry)) return leaf;
    }
  }
  // Also records the path, for a change of the structure.
  Leaf* descend(const Entry& entry, Path* path) const {
    while (!try_descend(entry, path)) continue;
    return path->leaf;
  }

  // Called if the path's leaf could take no change for `entry`: makes a leaf that will, or takes a
  // step towards one.
  void make_room(const Path& path, const Entry& entry);
  // Called if the page around the entry on this level (0: the leaf) has become small: merges it
  // with a neighbour under the same parent, if both fit in one, and then looks at the parent.
  void shrink(const Entry& entry, uint32_t level);

  // Makes this node the root of an empty tree that nobody uses (bw_build.h).
  void replace_root(Node* node) {
    DIPTYCH_CHECK(root()->level == 0 && root()->count == 0, "the tree is empty");
    memory_.enter()->retire(root());
    put(root_, node);
  }

  // Stops where an invariant does not hold; returns the number of entries.
  uint64_t check() const;
  uint64_t count_entries(const Node* node) const {
    if (node->level == 0) return live_entries(*static_cast<const Leaf*>(node));
    const auto& inner = *static_cast<const Inner*>(node);
    uint64_t entries = 0;
    for (uint32_t i = 0; i < inner.count; ++i)
      entries += count_entries(node_of(*inner.children[i]));
    return entries;
  }

 private:
  struct Census {
    uint64_t entries = 0;
    uint64_t pages = 0;
  };

  // What replaces the path's node on a level: two halves, their pages, the separator between them.
  struct Halves {
    Word* left_page;
    Node* left;
    Word* right_page;
    Node* right;
    Entry separator;
  };

  enum class Merge { kDone, kDoesNotFit, kOvertaken };  // kOvertaken: the pages have changed

  static void put(Word* page, Node* node) {
    // relaxed: the page is not in the tree yet; the swap that shows it publishes this.
    page->store(reinterpret_cast<uint64_t>(node), std::memory_order_relaxed);
  }
  static const Entry& upper_bound(const Step& step) { return step.node->separators[step.child]; }
  static uint64_t value_of(const Node* node) { return reinterpret_cast<uint64_t>(node); }
  static uint32_t live_entries(const Leaf& leaf) { return typename Nodes::LeafView(leaf).size(); }

  bool try_descend(const Entry& entry, Path* path) const;
  bool split_leaf(typename Memory::Guard& lane, const Path& path, Leaf* left, const Entry& entry);
  bool split_inner(typename Memory::Guard& lane, const Path& path, uint32_t level);
  bool show_halves(typename Memory::Guard& lane, const Path& path, uint32_t level, Node* old,
                   Halves halves);
  Inner* with_child(typename Memory::Guard& lane, const Step& parent, const Halves& halves) const;
  Inner* without_child(typename Memory::Guard& lane, const Inner& parent, uint32_t left) const;
  Node* merged(typename Memory::Guard& lane, Node* left, Node* right) const;
  bool fit_in_one(const Node* left, const Node* right) const;
  Merge try_merge(const Path& path, uint32_t level);
  Merge merge_children(const Path& path, uint32_t level, uint32_t at);  // with the one behind it
  void check_page(const Word& page, const Entry& low, const Entry& high, Census* census) const;
  void check_leaf(const Leaf& leaf, const Entry& low, const Entry& high, Census* census) const;

  Memory memory_;
  Word* root_;
};

template <size_t kWords, size_t kNodeBytes, template <class> class Atomic>
bool BwPages<kWords, kNodeBytes, Atomic>::try_descend(const Entry& entry, Path* path) const {
  Word* page = root_;
  Node* node = node_of(*page);
  path->height = node->level;
  while (node->level > 0) {
    auto* const inner = static_cast<Inner*>(node);
    if (inner->template lies_beyond<Bound::kAtOrAfter>(entry)) return false;  // P2
    const uint32_t child = inner->template child_for<Bound::kAtOrAfter>(entry);
    path->steps[inner->level - 1] = {page, inner, child};
    page = inner->children[child];
    node = child_of(*inner, child);
    if (node == nullptr) return false;
  }
  path->page = page;
  path->leaf = static_cast<Leaf*>(node);
  return !Nodes::template lies_beyond<Bound::kAtOrAfter>(*path->leaf, entry);
}

}  // namespace diptych::oltp
