// Schema: tables, columns, keys, indexes and views, as declared in SQL DDL.
//
// A TableSchema is a value: built once (by the DDL parser or by a test), validated by
// Catalog::add_table, immutable afterwards but for its indexes. TableIds and IndexIds count up over
// the catalog, ColumnIds are positions in the table. An id is never given twice; of a dropped table
// it is all that is left.
//
// Threads    Catalog is written only while no batch runs on either replica (the dispatcher sees to
//            that); between two writes any thread reads it.

#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/types.h"

namespace diptych::base {

enum class Nullability : uint8_t { kNotNull, kNullable };

enum class Visibility : uint8_t {
  kVisible,
  kInvisible,  // to queries by its name alone: `*` and NATURAL JOIN leave it out
};

struct ColumnSchema {
  std::string name;  // lower case unless quoted in the DDL
  DataType type;
  Nullability nullability = Nullability::kNullable;
  Visibility visibility = Visibility::kVisible;
};

enum class IndexKind : uint8_t {
  kHash,     // equality only
  kOrdered,  // equality, prefixes and ranges in key order
};
enum class Uniqueness : uint8_t { kUnique, kNonUnique };

struct IndexSchema {
  std::string name;  // the primary key's is "<table>_pkey"
  IndexId id;        // given by Catalog::add_table or add_index
  IndexKind kind = IndexKind::kHash;
  Uniqueness uniqueness = Uniqueness::kNonUnique;
  std::vector<ColumnId> columns;  // in key order
  bool is_constraint = false;     // declared with the table: goes only with it
};

// Declared for joins: no replica enforces it.
struct ForeignKey {
  std::vector<ColumnId> columns;
  std::string parent_table;
  std::vector<std::string> parent_columns;
};

enum class Analytics : uint8_t {
  kScanned,     // the OLAP replica answers queries on the table
  kStoredOnly,  // replicated for recovery only; queries on it are refused
};

enum class Settled : uint8_t {
  kOff,
  kOn,  // columns that are quiet for long are compressed further (storage/settling.h)
};

struct TableSchema {
  std::string name;
  TableId id;  // given by Catalog::add_table
  std::vector<ColumnSchema> columns;
  std::vector<IndexSchema> indexes;  // indexes[0] is the primary key's, unique
  std::vector<ForeignKey> foreign_keys;
  Analytics analytics = Analytics::kScanned;
  Settled settled = Settled::kOff;
  // Column groups 1, 2, ...: writers of different groups of a row do not conflict. Group 0 is what
  // no list names, and the row's existence.
  std::vector<std::vector<ColumnId>> column_groups;

  std::optional<ColumnId> find_column(std::string_view column_name) const;
  const ColumnSchema& column(ColumnId id_of_column) const { return columns[id_of_column.value]; }
  const IndexSchema& primary_key() const { return indexes.front(); }
};

// A query with a name. Tables and views share one name space. What a view uses stays as it is for
// as long as the view is there, so `columns` remain true.
struct ViewSchema {
  std::string name;
  std::string query;                  // the text of its SELECT
  std::vector<ColumnSchema> columns;  // of its rows
  std::vector<std::string> uses;      // tables and views that the query names, each once
};

// Of a table that was dropped, for who has a place for each id: no name, no columns.
const TableSchema& dropped_table();
inline bool is_dropped(const TableSchema& schema) {
  return schema.columns.empty();
}

// kInvalidArgument where the key does not fit the parent: an absent column, columns that pair
// different types, columns that are no primary or unique key of it.
Result<void> check_foreign_key(const TableSchema& child, const ForeignKey& key,
                               const TableSchema& parent);

// kInvalidArgument where the column groups are wrong: a column in two of them or in an index (keys
// belong to group 0, whose word alone decides on uniqueness), an empty one, too many, or columns of
// different groups within one 8-byte word of the row, which is what workers write at a time.
Result<void> check_column_groups(const TableSchema& schema);

class Catalog {
 public:
  Catalog() = default;
  Catalog(const Catalog& other) : Catalog(other, Catalog()) {}
  // A copy that shares with `earlier`, a copy of before, the tables that are as they were. Nobody
  // writes either of the two.
  Catalog(const Catalog& other, const Catalog& earlier);
  Catalog(Catalog&&) = default;
  Catalog& operator=(Catalog&&) = default;

  // Gives the table and its indexes their ids. Fails with kAlreadyExists on the name of a table,
  // view or index that is there, and with kInvalidArgument where the schema is wrong: no visible
  // column or primary key, a column named twice, a nullable column in a unique key, more columns or
  // wider rows than the limits below, a foreign key that names an absent table or does not fit it,
  // wrong column groups.
  Result<TableId> add_table(TableSchema schema);

  // Adds an index to a table. Fails like add_table.
  Result<IndexId> add_index(TableId table, IndexSchema index);
  // Undoes the newest add_index, which was to this table: the index could not be built.
  void remove_last_index(TableId table);

  using DroppedTable = std::shared_ptr<const TableSchema>;  // shared_ptr: as TablePtr
  // Drops these tables, all or none, and gives their schemas to whoever still has rows of them.
  // kNotFound (42P01): one is not there. kInvalidArgument (2BP01): a table that stays has a foreign
  // key to one, or a view uses one.
  Result<std::vector<DroppedTable>> drop_tables(std::span<const std::string> names);
  // As if a table had been added, and dropped.
  void pass_table_id() { ++table_count_; }
  struct DroppedIndex {
    TableId table;
    IndexId index;
    Uniqueness uniqueness;
  };
  // Drops these indexes, all or none. kNotFound (42704): one is not there. kInvalidArgument
  // (2BP01): one is a constraint's, or a foreign key needs it.
  Result<std::vector<DroppedIndex>> drop_indexes(std::span<const std::string> names);

  // Adds a view behind those that it uses. kAlreadyExists (42P07): a table or view has its name.
  Result<void> add_view(ViewSchema view);
  // Puts a view in the place of the one with its name, which is there; it and the views that use
  // it, also by way of others, become the last ones. kInvalidArgument: it would use itself (42P17),
  // loses, renames or retypes a column of before (42P16), or gains one while a view uses it
  // (2BP01), whose `*` would change.
  Result<void> replace_view(ViewSchema view);
  // Drops these views, all or none. kNotFound (42P01): one is not there. kInvalidArgument (2BP01):
  // a view that stays uses one.
  Result<void> drop_views(std::span<const std::string> names);
  const ViewSchema* find_view(std::string_view name) const;  // nullptr: no such view
  using ViewPtr = std::shared_ptr<const ViewSchema>;         // shared_ptr: as TablePtr
  std::span<const ViewPtr> views() const { return views_; }  // each behind those that it uses

  const TableSchema* find_table(std::string_view name) const;  // nullptr: no such table
  const TableSchema* find_table(TableId id) const;             // the same
  bool has_index(std::string_view name) const;
  const TableSchema& table(TableId id) const;  // which is there
  // Ids that were given, in their order from 0; not all of them have a table any more.
  size_t table_count() const { return table_count_; }
  class Tables;
  Tables tables() const;  // by their ids: for (const TableSchema& t : catalog.tables())

 private:
  Result<void> check_index(const TableSchema& schema, const IndexSchema& index) const;
  Result<DroppedIndex> find_dropped(std::string_view index) const;
  Result<void> check_name(std::string_view name) const;
  // kInvalidArgument (2BP01): a view that is not among the names uses one; `kind`: of what they
  // are.
  Result<void> check_unused(std::string_view kind, std::span<const std::string> names) const;

  using TablePtr = std::shared_ptr<TableSchema>;  // shared_ptr: copies of the catalog have it too

  static TablePtr make_table(TableSchema schema);
  const TablePtr* place_of(TableId id) const;  // nullptr: no such table
  TableSchema& changed(TableId id);

  std::vector<TablePtr> tables_;  // by their ids
  std::vector<ViewPtr> views_;
  uint32_t table_count_ = 0;
  uint32_t index_count_ = 0;
};

// A catalog's tables by their ids; valid until one is added or dropped.
class Catalog::Tables {
 public:
  class Iterator {
   public:
    explicit Iterator(const TablePtr* at) : at_(at) {}
    const TableSchema& operator*() const { return **at_; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    bool operator==(const Iterator&) const = default;

   private:
    const TablePtr* at_;
  };

  explicit Tables(std::span<const TablePtr> tables)
      : begin_(tables.data()), end_(begin_ + tables.size()) {}
  Iterator begin() const { return Iterator(begin_); }
  Iterator end() const { return Iterator(end_); }

 private:
  const TablePtr* begin_;
  const TablePtr* end_;
};

inline Catalog::Tables Catalog::tables() const {
  return Tables(tables_);
}

inline constexpr size_t kTableColumnsMax = 1024;
inline constexpr size_t kColumnGroupsMax = 7;      // beyond group 0
inline constexpr size_t kRowBytesMax = 32 * 1024;  // the fixed part; long strings come on top
inline constexpr size_t kKeyBytesMax = 256;        // of a normalised key (base/key.h)

}  // namespace diptych::base
