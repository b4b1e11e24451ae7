// HotPage: an uncompressed leaf of kHotPageBytes that takes new rows (Colibri's hot side).
//
// It holds the largest power of two of rows, at least 64, that fits kHotPageBytes, so that pages
// tile a block's range of ordinals. A table whose rows take over 1 KiB has pages of 64 rows that
// are larger.

#pragma once

#include <cstddef>

#include "base/alignment.h"
#include "storage/plain_leaf.h"

namespace diptych::storage {

class HotPage final : public PlainLeaf {
 public:
  static size_t bytes(const LeafFormat& format) {
    return base::round_up<size_t>(format.leaf_bytes(format.page_rows), 64);
  }

  // `memory`: zeroed, of bytes(format); it stays its pool's.
  HotPage(const LeafFormat& format, uint32_t first_ordinal, std::byte* memory,
          const SharedRef<StringHeap>& heap)
      : PlainLeaf(format, first_ordinal, format.page_rows, memory, heap) {}
  // A copy. `memory`: its bytes may be anything.
  HotPage(const HotPage& from, std::byte* memory) : PlainLeaf(from, memory) {}

  std::byte* memory() const { return data(); }
};

}  // namespace diptych::storage
