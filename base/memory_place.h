// MemoryPlace: where a component takes its memory, and who makes its pages.

#pragma once

#include <cstddef>

#include "base/ids.h"

namespace diptych::base {

class PagePreparer;  // base/page_preparer.h

inline constexpr size_t kHugePageBytes = size_t{2} << 20;

struct MemoryPlace {
  MemoryPlace(NumaNode of_node, PagePreparer* by_preparer = nullptr)  // NOLINT: a node will do
      : node(of_node), preparer(by_preparer) {}

  NumaNode node;
  PagePreparer* preparer;  // nullptr: nobody but who touches them
};

}  // namespace diptych::base
