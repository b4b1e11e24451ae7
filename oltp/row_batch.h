// RowBatch: rows in a table's RowLayout, one after the other, for loading.

#pragma once

#include <cstddef>

namespace diptych::oltp {

struct RowBatch {
  const std::byte* rows = nullptr;  // `count` rows; their long strings may lie anywhere
  size_t count = 0;                 // 0 means the end
};

}  // namespace diptych::oltp
