// DistinctTexts: the texts of a column that differ, in their order, and each row's place among
// them: what the dictionaries of texts are made of.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "storage/encoding/column_profile.h"

namespace diptych::storage::encoding {

struct DistinctTexts {
  std::vector<std::string_view> texts;  // ascending; the column's memory
  std::vector<uint32_t> codes;          // by row: the place of its text
};

// Nothing where there are none, or more than kDictionaryEntriesMax.
std::optional<DistinctTexts> distinct_texts(const ColumnProfile& column);

}  // namespace diptych::storage::encoding
