// How many columns of blocks had each form, thawed ones apart: models say that they met those that
// matter.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "storage/leaf.h"

namespace diptych::storage::test {

using LeafForms = std::map<std::string, uint64_t, std::less<>>;

inline void count_forms(const Leaf& leaf, size_t columns, LeafForms* forms) {
  if (leaf.form() == LeafForm::kPlain) {
    ++(*forms)["page"];
    return;
  }
  ++(*forms)[leaf.live_rows() == leaf.row_slots() ? "full block" : "block with dead rows"];
  for (size_t c = 0; c < columns; ++c) {
    const ColumnStorage column = leaf.storage(base::ColumnId(static_cast<uint16_t>(c)));
    ++(*forms)[(column.thawed ? "thawed " : "") + std::string(column.encoding)];
  }
}

inline void expect_forms(const LeafForms& forms, const std::vector<std::string_view>& names) {
  std::string all;
  for (const auto& [name, count] : forms) all += name + " " + std::to_string(count) + ", ";
  for (const std::string_view name : names) {
    EXPECT_TRUE(forms.contains(name)) << name << " of: " << all;
  }
}

}  // namespace diptych::storage::test
