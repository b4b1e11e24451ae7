// The structure changes of BwPages; included by bw_tree.h.

#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <utility>

#include "base/check.h"
#include "oltp/bw_pages.h"

namespace diptych::oltp {

template <size_t kWords, size_t kNodeBytes, template <class> class Atomic>
void BwPages<kWords, kNodeBytes, Atomic>::make_room(const Path& path, const Entry& entry) {
  auto lane = memory_.enter();
  // A split needs room in the parent. Only a leaf with dead entries might need none.
  if (path.height > 0 && path.steps[0].node->count == Nodes::kChildrenMax) {
    split_inner(lane, path, 1);
    return;
  }
  if (!is_alone()) Leaves::freeze(path.leaf);
  Leaf* const copy = lane->template take_node<Leaf>();
  copy->low = path.leaf->low;
  copy->high = path.leaf->high;
  Leaves::append_live(*path.leaf, copy);
  const uint32_t reserve = is_alone() ? 1 : Nodes::kAddedMax / 2;
  if (copy->count + reserve > Nodes::kEntriesMax) {
    split_leaf(lane, path, copy, entry);
    return;
  }
  const typename Cas::Change change{path.page, value_of(path.leaf), value_of(copy)};
  if (lane->swap({&change, 1})) {
    lane->retire(path.leaf);
  } else {
    lane->give_back(copy);
  }
}

// `left` is a copy of the path's leaf. If inserts ascend (also within the tree, as with a run for
// each district), it is cut at the point of insertion, so that runs leave full leaves behind.
template <size_t kWords, size_t kNodeBytes, template <class> class Atomic>
bool BwPages<kWords, kNodeBytes, Atomic>::split_leaf(typename Memory::Guard& lane, const Path& path,
                                                     Leaf* left, const Entry& entry) {
  const uint32_t count = left->count;
  const uint32_t at = Nodes::lower_bound(left->entries, count, entry);
  const bool ascends = at == left->newest + 1;
  uint32_t stay = count / 2;
  if (at == count && (ascends || left->high == Entry::infinity())) {
    stay = count;
  } else if (ascends && at > count / 4) {
    stay = at;
  }
  Leaf* const right = lane->template take_node<Leaf>();
  right->count = count - stay;
  std::copy(left->entries + stay, left->entries + count, right->entries);
  left->count = stay;
  left->newest = std::min(left->newest, stay - 1);
  // The separator has no row where keys differ, so that all entries of a key stay in one leaf.
  Entry separator = stay == count ? entry : right->entries[0];
  if (separator.words != left->entries[stay - 1].words) separator.row = 0;
  right->low = separator;
  right->high = left->high;
  left->high = separator;
  return show_halves(lane, path, 0, path.leaf, {path.page, left, nullptr, right, separator});
}

// Splits the path's node on this level, or, if its parent is full, the parent instead.
template <size_t kWords, size_t kNodeBytes, template <class> class Atomic>
bool BwPages<kWords, kNodeBytes, Atomic>::split_inner(typename Memory::Guard& lane,
                                                      const Path& path, uint32_t level) {
  if (level < path.height && path.steps[level].node->count == Nodes::kChildrenMax) {
    return split_inner(lane, path, level + 1);
  }
  const auto [page, old, child] = path.steps[level - 1];
  // At the right end all children but the last stay, as in split_leaf().
  const uint32_t stay = child + 1 == old->count ? old->count - 1 : old->count / 2;
  Inner* const halves[] = {lane->template take_node<Inner>(), lane->template take_node<Inner>()};
  const uint32_t bounds[] = {0, stay, old->count};
  for (int i = 0; i < 2; ++i) {
    halves[i]->level = old->level;
    halves[i]->count = bounds[i + 1] - bounds[i];
    std::copy(old->separators + bounds[i], old->separators + bounds[i + 1], halves[i]->separators);
    std::copy(old->children + bounds[i], old->children + bounds[i + 1], halves[i]->children);
    halves[i]->seal();
  }
  return show_halves(lane, path, level, old,
                     {page, halves[0], nullptr, halves[1], old->separators[stay - 1]});
}

template <size_t kWords, size_t kNodeBytes, template <class> class Atomic>
bool BwPages<kWords, kNodeBytes, Atomic>::show_halves(typename Memory::Guard& lane,
                                                      const Path& path, uint32_t level, Node* old,
                                                      Halves halves) {
  const bool splits_root = level == path.height;
  // A neighbour may have been merged into the node since its parent was read.
  if (!splits_root && !(halves.separator < upper_bound(path.steps[level]))) {
    for (Node* const node : {halves.left, halves.right}) lane->give_back(node);
    return false;
  }
  halves.right_page = lane->take_page();
  put(halves.right_page, halves.right);
  Inner* parent;
  if (splits_root) {
    DIPTYCH_CHECK(level + 1 < kHeightMax, "a tree of 2^63 entries is less high");
    halves.left_page = lane->take_page();
    put(halves.left_page, halves.left);
    parent = lane->template take_node<Inner>();
    parent->level = level + 1;
    parent->count = 2;
    parent->separators[0] = halves.separator;
    parent->separators[1] = Entry::infinity();
    parent->children[0] = halves.left_page;
    parent->children[1] = halves.right_page;
    parent->seal();
  } else {
    parent = with_child(lane, path.steps[level], halves);
  }
  const Step* const step = splits_root ? nullptr : &path.steps[level];
  const typename Cas::Change changes[] = {
      {splits_root ? root_ : step->page, splits_root ? value_of(old) : value_of(step->node),
       value_of(parent)},
      {halves.left_page, value_of(old), value_of(halves.left)}};
  if (lane->swap({changes, splits_root ? 1u : 2u})) {
    lane->retire(old);
    if (!splits_root) lane->retire(step->node);
    return true;
  }
  for (Node* const node : {halves.left, halves.right, static_cast<Node*>(parent)}) {
    lane->give_back(node);
  }
  lane->give_back(halves.right_page);
  if (splits_root) lane->give_back(halves.left_page);
  return false;
}

template <size_t kWords, size_t kNodeBytes, template <class> class Atomic>
auto BwPages<kWords, kNodeBytes, Atomic>::with_child(typename Memory::Guard& lane,
                                                     const Step& parent, const Halves& halves) const
    -> Inner* {
  const Inner& old = *parent.node;
  const uint32_t left = parent.child;
  Inner* const copy = lane->template take_node<Inner>();
  copy->level = old.level;
  copy->count = old.count + 1;
  std::copy(old.separators, old.separators + left, copy->separators);
  copy->separators[left] = halves.separator;
  std::copy(old.separators + left, old.separators + old.count, copy->separators + left + 1);
  std::copy(old.children, old.children + left + 1, copy->children);
  copy->children[left + 1] = halves.right_page;
  std::copy(old.children + left + 1, old.children + old.count, copy->children + left + 2);
  copy->seal();
  return copy;
}

// A copy without the child behind `left`, whose range becomes that of `left`.
template <size_t kWords, size_t kNodeBytes, template <class> class Atomic>
auto BwPages<kWords, kNodeBytes, Atomic>::without_child(typename Memory::Guard& lane,
                                                        const Inner& parent, uint32_t left) const
    -> Inner* {
  Inner* const copy = lane->template take_node<Inner>();
  copy->level = parent.level;
  copy->count = parent.count - 1;
  std::copy(parent.separators, parent.separators + left, copy->separators);
  std::copy(parent.separators + left + 1, parent.separators + parent.count,
            copy->separators + left);
  std::copy(parent.children, parent.children + left + 1, copy->children);
  std::copy(parent.children + left + 2, parent.children + parent.count, copy->children + left + 1);
  copy->seal();
  return copy;
}

template <size_t kWords, size_t kNodeBytes, template <class> class Atomic>
void BwPages<kWords, kNodeBytes, Atomic>::shrink(const Entry& entry, uint32_t level) {
  Path path;
  bool was_alone = false;
  for (descend(entry, &path); level < path.height; descend(entry, &path)) {
    uint32_t children = path.steps[level].node->count;
    // A single child cannot merge, but its parent can, and then it has a neighbour.
    if (children > 1) {
      const Merge merge = try_merge(path, level);
      if (merge == Merge::kOvertaken) continue;  // that change may not have merged this page
      if (merge == Merge::kDone && std::exchange(was_alone, false)) {
        --level;
        continue;
      }
      if (merge == Merge::kDone) --children;
    }
    if (children > std::max(1u, Nodes::kChildrenMax / 4)) return;
    was_alone = children == 1;
    ++level;
  }
}

// An empty leaf also merges with a full one, and a node of a single child with a nearly full one:
// otherwise they would stay for ever.
template <size_t kWords, size_t kNodeBytes, template <class> class Atomic>
bool BwPages<kWords, kNodeBytes, Atomic>::fit_in_one(const Node* left, const Node* right) const {
  const bool leaves = left->level == 0;
  const uint32_t left_count = leaves ? live_entries(*static_cast<const Leaf*>(left)) : left->count;
  const uint32_t right_count =
      leaves ? live_entries(*static_cast<const Leaf*>(right)) : right->count;
  const uint32_t most = leaves ? Nodes::kEntriesMax : Nodes::kChildrenMax;
  const uint32_t least = std::min(left_count, right_count);
  return left_count + right_count <= (least <= 1 ? most : most * 3 / 4);
}

template <size_t kWords, size_t kNodeBytes, template <class> class Atomic>
auto BwPages<kWords, kNodeBytes, Atomic>::merged(typename Memory::Guard& lane, Node* left,
                                                 Node* right) const -> Node* {
  if (left->level == 0) {
    auto* const copy = lane->template take_node<Leaf>();
    copy->low = static_cast<Leaf*>(left)->low;
    copy->high = static_cast<Leaf*>(right)->high;
    Leaves::append_live(*static_cast<Leaf*>(left), copy);
    Leaves::append_live(*static_cast<Leaf*>(right), copy);
    copy->newest = std::min(copy->newest, std::max(copy->count, 1u) - 1);
    return copy;
  }
  auto* const copy = lane->template take_node<Inner>();
  copy->level = left->level;
  for (const Node* const half : {left, right}) {
    const auto* const inner = static_cast<const Inner*>(half);
    std::copy(inner->separators, inner->separators + inner->count, copy->separators + copy->count);
    std::copy(inner->children, inner->children + inner->count, copy->children + copy->count);
    copy->count += inner->count;
  }
  copy->seal();
  return copy;
}

// With the left neighbour, too: where entries are erased in ascending order, the right one is full
// whenever a page asks.
template <size_t kWords, size_t kNodeBytes, template <class> class Atomic>
auto BwPages<kWords, kNodeBytes, Atomic>::try_merge(const Path& path, uint32_t level) -> Merge {
  const auto [parent_page, parent, child] = path.steps[level];
  if (child + 1 < parent->count) {
    const Merge merge = merge_children(path, level, child);
    if (merge != Merge::kDoesNotFit || child == 0) return merge;
  }
  return merge_children(path, level, child - 1);
}

template <size_t kWords, size_t kNodeBytes, template <class> class Atomic>
auto BwPages<kWords, kNodeBytes, Atomic>::merge_children(const Path& path, uint32_t level,
                                                         uint32_t at) -> Merge {
  const auto [parent_page, parent, child] = path.steps[level];
  Word* const left_page = parent->children[at];
  Word* const right_page = parent->children[at + 1];
  Node* const left = node_of(*left_page);
  Node* const right = node_of(*right_page);
  // The children may belong to another state of the parent; then the swap fails.
  if (left == nullptr || right == nullptr) return Merge::kOvertaken;
  if (!fit_in_one(left, right)) return Merge::kDoesNotFit;
  if (level == 0 && !is_alone()) {
    Leaves::freeze(static_cast<Leaf*>(left));
    Leaves::freeze(static_cast<Leaf*>(right));
    // Entries were added meanwhile. Whoever meets the frozen leaves replaces them.
    if (!fit_in_one(left, right)) return Merge::kDoesNotFit;
  }
  auto lane = memory_.enter();
  Node* const both = merged(lane, left, right);
  // The root's last two children become the root (P3).
  const bool last = level + 1 == path.height && parent->count == 2;
  Node* const upper = last ? both : without_child(lane, *parent, at);
  const typename Cas::Change changes[] = {
      {parent_page, value_of(parent), value_of(upper)},
      {left_page, value_of(left), last ? Memory::kGonePage : value_of(both)},
      {right_page, value_of(right), Memory::kGonePage}};
  if (!lane->swap(changes)) {
    lane->give_back(both);
    if (!last) lane->give_back(upper);
    return Merge::kOvertaken;
  }
  for (Node* const node : {left, right, static_cast<Node*>(parent)}) lane->retire(node);
  lane->retire(right_page);
  if (last) lane->retire(left_page);
  return Merge::kDone;
}

}  // namespace diptych::oltp
