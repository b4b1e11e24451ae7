// UpdateReader: which columns an update changes, and where its cells are read in the record: worked
// out once for all records of the same columns (propagation/export/update_set.h).

#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/row_layout.h"
#include "propagation/export/update_set.h"

namespace diptych::propagation {

struct UpdateReader {
  std::vector<base::ColumnId> columns;
  std::vector<uint32_t> cell_offsets;  // of each column's cell, from the record's beginning
  uint64_t first_columns = 0;          // the first four, as a record's first word has them
  uint64_t columns_mask = 0;           // of that word
  uint16_t column_count = 0;

  // Of records of whole rows: all columns.
  static UpdateReader of_rows(const base::RowLayout& layout);
  // Of an update.
  UpdateReader(const base::RowLayout& layout, const UpdateRecord& update);

  // The update's first four columns, as one word; zeroes behind fewer.
  static uint64_t first_columns_of(const UpdateRecord& update) {
    const size_t bits = std::min<size_t>(update.columns().size_bytes(), sizeof(uint64_t)) * 8;
    return first_word_of(update) & (~uint64_t{0} >> (64 - bits));
  }
  static size_t hash_of(const UpdateRecord& update) {
    const std::span<const base::ColumnId> ids = update.columns();
    return std::hash<std::string_view>()(
        {reinterpret_cast<const char*>(ids.data()), ids.size_bytes()});
  }

  bool is_of(const UpdateRecord& update) const {
    const uint64_t first = first_word_of(update);
    if (((first ^ first_columns) & columns_mask) != 0) return false;
    if (update.column_count != column_count) return false;
    return column_count <= sizeof first / sizeof(base::ColumnId) ||
           std::ranges::equal(update.columns(), columns);
  }

 private:
  UpdateReader() = default;
  // With cells behind the columns: a body has eight bytes at least.
  static uint64_t first_word_of(const UpdateRecord& update) {
    uint64_t first;
    std::memcpy(&first, update.body(), sizeof first);
    return first;
  }
};

}  // namespace diptych::propagation
