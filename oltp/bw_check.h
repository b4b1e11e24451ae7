// The check of BwPages' invariants; included by bw_tree.h.

#pragma once

#include <cstdint>

#include "base/check.h"
#include "oltp/bw_pages.h"

namespace diptych::oltp {

template <size_t kWords, size_t kNodeBytes, template <class> class Atomic>
uint64_t BwPages<kWords, kNodeBytes, Atomic>::check() const {
  Census census;
  check_page(*root_, Entry{}, Entry::infinity(), &census);
  DIPTYCH_CHECK(root()->level == 0 || root()->count >= 2, "P3");
  DIPTYCH_CHECK(census.pages == memory_.pages_in_use(), "P4: pages");
  DIPTYCH_CHECK(census.pages == memory_.nodes_in_use(), "P4: nodes");
  return census.entries;
}

template <size_t kWords, size_t kNodeBytes, template <class> class Atomic>
void BwPages<kWords, kNodeBytes, Atomic>::check_page(const Word& page, const Entry& low,
                                                     const Entry& high, Census* census) const {
  // relaxed: no operation is under way.
  DIPTYCH_CHECK((page.load(std::memory_order_relaxed) & 1) == 0, "M4: no descriptor is left");
  const Node* const node = node_of(page);
  DIPTYCH_CHECK(node != nullptr, "P4: a reachable page is not gone");
  ++census->pages;
  if (node->level == 0) return check_leaf(*static_cast<const Leaf*>(node), low, high, census);
  const auto& inner = *static_cast<const Inner*>(node);
  DIPTYCH_CHECK(inner.count >= 1 && inner.separators[inner.count - 1] == high, "P1: upper bound");
  for (uint32_t i = 0; i < inner.count; ++i) {
    const Entry& from = i == 0 ? low : inner.separators[i - 1];
    DIPTYCH_CHECK(from < inner.separators[i], "P1: separators ascend");
    DIPTYCH_CHECK(node_of(*inner.children[i])->level + 1 == inner.level, "P1: one level");
    check_page(*inner.children[i], from, inner.separators[i], census);
  }
}

template <size_t kWords, size_t kNodeBytes, template <class> class Atomic>
void BwPages<kWords, kNodeBytes, Atomic>::check_leaf(const Leaf& leaf, const Entry& low,
                                                     const Entry& high, Census* census) const {
  DIPTYCH_CHECK(leaf.low == low && leaf.high == high, "P1: a leaf knows its bounds");
  DIPTYCH_CHECK(leaf.count <= Nodes::kEntriesMax, "a leaf has so many places");
  const typename Nodes::LeafView view(leaf);
  const Entry* before = nullptr;
  uint64_t entries = 0;
  for (auto place = view.begin(); const Entry* const entry = view.next(&place); ++entries) {
    DIPTYCH_CHECK(before == nullptr || *before < *entry, "entries ascend, and none comes twice");
    DIPTYCH_CHECK(!(*entry < low) && *entry < high, "P1: entries lie within the bounds");
    before = entry;
  }
  DIPTYCH_CHECK(entries == view.size(), "the view counts its entries");
  census->entries += entries;
}

}  // namespace diptych::oltp
