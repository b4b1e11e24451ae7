// Table: a table's rows and indexes on the OLTP side, as the engine's leader sets them up.
//
// Threads    set up and changed by the leader between batches; during a batch workers read it, and
//            change only rows and indexes through their own contracts (row_table.h, index.h).

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
  // Whether two rows of the table have the same key; nobody changes them.
  bool share_key(base::RowId a, base::RowId b) const;

  Table* table;
  base::IndexSchema schema;  // a copy: the catalog's moves when an index is added
  bool primary;
  bool unique;
  base::KeyEncoder encoder;
  std::unique_ptr<Index> index;
  // The index, where it is one that gives rows whose keys only may be the one that is looked for.
  const HashIndex* by_hash;
  // Whether a row changed its key in this batch, so that an entry may belong to another of the
  // row's versions than the visible one. Writers: any worker sets it, the leader clears it at the
  // boundary.
  std::atomic<bool> rekeyed{false};
};

enum ColumnFlag : uint8_t {
  kPrimaryColumn = 1,
  kIndexedColumn = 2,  // by another than the primary index
  kLongStringColumn = 4,
  kBoundedStringColumn = 8,
};

struct Table {
  Table(const base::TableSchema& of_schema, base::MemoryPlace place);

  // The indexes' columns changed: derives the column flags anew.
  void update_column_flags();

  // kInvalidArgument, naming the column: a string of these columns is longer than its column.
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

  // kInvalidArgument: the long strings of a column group are more than its share of what a record
  // of the row may have (propagation/export/update_set.h). Of a row whose cells of the `changed`
  // columns are in `row`, and those of their groups' other columns in `rest`; or all in `row`.
  base::Result<void> check_long_strings(const std::byte* row) const {
    if (layout.long_strings.empty()) return {};
    return check_long_strings(row, layout.long_strings, row);
  }
  base::Result<void> check_long_strings(const std::byte* row,
                                        std::span<const base::ColumnId> changed,
                                        const std::byte* rest) const;

  // kInvalidArgument, naming the column: a decimal has more digits than its column.
  base::Result<void> check_decimals(const std::byte* row) const;
  base::Error decimal_too_wide(base::ColumnId id) const;

  // "(1, 7, "BAR")": the values of the index's columns in the row.
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
