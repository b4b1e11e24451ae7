// Table: a table's rows and indexes on the OLTP side.
//
// Threads    the leader sets it up and changes it between batches. During a batch workers read it,
//            and change only rows and indexes, by their own contracts (row_table.h, index.h).

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/key.h"
#include "base/result.h"
#include "base/row_layout.h"
#include "base/schema.h"
#include "base/value.h"
#include "oltp/hash_index.h"
#include "oltp/index.h"
#include "oltp/row_table.h"

namespace diptych::oltp {

struct Table;

struct TableIndex {
  TableIndex(Table* of_table, const base::IndexSchema& of_schema, bool is_primary,
             Concurrency concurrency, base::MemoryPlace place);

  // "key (1, 7) of index "..." is taken": kAlreadyExists.
  base::Error key_taken(const std::byte* row) const;
  base::Error key_too_long() const;  // kInvalidArgument
  // "several rows ... have the key (1, 7)", which this one has: kAlreadyExists.
  base::Error several_rows_have_key(base::RowId row_id) const;
  // True if two rows of the table have the same key. No transaction may be changing them.
  bool share_key(base::RowId a, base::RowId b) const;
  // The leader, at a boundary: stops the program unless the index is whole and has one entry for
  // each of the table's rows. For an ordered index, a descent a row, however many share a key.
  void check() const;

  Table* table;
  base::IndexSchema schema;  // a copy: the catalog's moves when an index is added
  bool primary;
  bool unique;
  base::KeyEncoder encoder;
  std::unique_ptr<Index> index;
  // The index if it is a hash index, whose candidates may have other keys; otherwise nullptr.
  const HashIndex* by_hash;
  uint64_t columns_hash;  // the table's, here because a look-up reads it together with by_hash
  // Set if a row changed its key in this batch, so that an entry may belong to a version of the row
  // other than the visible one. Writers: any worker sets it, the leader clears it at the boundary.
  std::atomic<bool> rekeyed{false};

 private:
  bool has_entry(std::string_view key, base::RowId row_id) const;
};

enum ColumnFlag : uint8_t {
  kPrimaryColumn = 1,
  kIndexedColumn = 2,  // in an index other than the primary key's
  kLongStringColumn = 4,
  kBoundedStringColumn = 8,
};

struct Table {
  Table(const base::TableSchema& of_schema, base::MemoryPlace place);

  // Recomputes the column flags after the indexes' columns changed.
  void update_column_flags();

  // Fails with kInvalidArgument, and names the column, if a string is longer than its column.
  base::Result<void> check_strings(const std::byte* row,
                                   std::span<const base::ColumnId> columns) const {
    for (const base::ColumnId id : columns) {
      const base::ColumnLayout& column = layout.column(id);
      if (!column.type.is_string() || base::string_fits(column, row)) continue;
      return string_too_long(id);
    }
    return {};
  }
  base::Error string_too_long(base::ColumnId id) const;

  // Fails with kInvalidArgument if the long strings of a column group exceed its share of a
  // record's limit (propagation/export/update_set.h). `row` has the cells of the `changed` columns,
  // and `rest` those of their groups' other columns; in the first overload, `row` has all.
  base::Result<void> check_long_strings(const std::byte* row) const {
    if (layout.long_strings.empty()) return {};
    return check_long_strings(row, layout.long_strings, row);
  }
  base::Result<void> check_long_strings(const std::byte* row,
                                        std::span<const base::ColumnId> changed,
                                        const std::byte* rest) const;

  // Fails with kInvalidArgument, and names the column, if a decimal has more digits than its
  // column.
  base::Result<void> check_decimals(const std::byte* row) const;
  base::Error decimal_too_wide(base::ColumnId id) const;

  // The values of the index's columns in the row, such as "(1, 7, "BAR")".
  std::string key_text(const TableIndex& index, const std::byte* row) const;

  const base::TableSchema* schema;
  base::RowLayout layout;
  RowTable rows;
  std::vector<std::unique_ptr<TableIndex>> indexes;  // [0] is the primary key's
  std::vector<uint8_t> column_flags;                 // of ColumnFlag
  std::vector<base::ColumnId> bounded_strings;       // all but TEXT
  uint64_t columns_hash;                             // base/row_binding.h
  uint64_t row_count = 0;                            // writer: leader, at boundaries
};

}  // namespace diptych::oltp
