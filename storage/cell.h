// Cells of rows as update records have them: values at any alignment, strings behind the record.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/types.h"
#include "storage/leaf_format.h"

namespace diptych::storage {

template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// The text of a cell that is not null. A long one's bytes lie at strings_base + (the Text's
// pointer, an offset).
inline std::string_view cell_string(CellKind kind, const std::byte* cell,
                                    const std::byte* strings_base) {
  if (kind == CellKind::kInlineString) {
    return {reinterpret_cast<const char*>(cell + 1), std::to_integer<size_t>(*cell)};
  }
  const auto text = load<base::Text>(cell);
  // As an integer sum: the base may be null where the cell holds an address.
  const auto address =
      reinterpret_cast<uintptr_t>(strings_base) + reinterpret_cast<uintptr_t>(text.data);
  return {reinterpret_cast<const char*>(address), text.size};
}

}  // namespace diptych::storage
