// Text cells: where a struct of cells has its long strings, which lie outside of it.

#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/row_binding.h"

namespace diptych::oltp {

struct TextCell {
  size_t offset = 0;
  std::optional<size_t> null_offset;
};

std::vector<TextCell> text_cells(const std::vector<base::BoundColumn>& columns);

}  // namespace diptych::oltp
