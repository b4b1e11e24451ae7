// Schema: tables, columns, keys and indexes, as declared in SQL DDL.
//
// A TableSchema is a value: built once (by the DDL parser or by a test), validated by
// Catalog::add_table, immutable afterwards but for its indexes. Ids are positions: TableId in the
// catalog, ColumnId in the table; IndexIds are unique over the catalog. An id is never given twice:
// a table that was dropped keeps its place, and is not found any more.
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

struct ColumnSchema {
  std::string name;  // lower case unless quoted in the DDL
  DataType type;
  Nullability nullability = Nullability::kNullable;
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
  bool is_dropped = false;  // set by Catalog::drop_tables

  std::optional<ColumnId> find_column(std::string_view column_name) const;
  const ColumnSchema& column(ColumnId id_of_column) const { return columns[id_of_column.value]; }
  const IndexSchema& primary_key() const { return indexes.front(); }
};

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

  // Gives the table and its indexes their ids. Fails with kAlreadyExists on a taken table or index
  // name, and with kInvalidArgument where the schema is wrong: no column or primary key, a column
  // named twice, a nullable column in a unique key, more columns or wider rows than the limits
  // below, a foreign key that names an absent table or does not fit it, wrong column groups.
  Result<TableId> add_table(TableSchema schema);

  // Adds an index to a table. Fails like add_table.
  Result<IndexId> add_index(TableId table, IndexSchema index);
  // Undoes the newest add_index, which was to this table: the index could not be built.
  void remove_last_index(TableId table);

  // Drops these tables, all or none. kNotFound (42P01): one is not there. kInvalidArgument (2BP01):
  // a table that stays has a foreign key to one.
  Result<std::vector<TableId>> drop_tables(std::span<const std::string> names);
  struct TableIndexId {
    TableId table;
    IndexId index;
  };
  // Drops these indexes, all or none. kNotFound (42704): one is not there. kInvalidArgument
  // (2BP01): one is a constraint's, or a foreign key needs it.
  Result<std::vector<TableIndexId>> drop_indexes(std::span<const std::string> names);

  const TableSchema* find_table(std::string_view name) const;  // nullptr: no such table
  bool has_index(std::string_view name) const;
  // Of any id that was given; may be dropped.
  const TableSchema& table(TableId id) const { return *tables_[id.value]; }
  size_t table_count() const { return tables_.size(); }  // ids that were given
  class Tables;
  Tables tables() const;  // those that are there: for (const TableSchema& t : catalog.tables())

 private:
  Result<void> check_index(const TableSchema& schema, const IndexSchema& index) const;
  Result<TableIndexId> find_dropped(std::string_view index) const;

  using TablePtr = std::shared_ptr<TableSchema>;  // shared_ptr: copies of the catalog have it too

  static TablePtr make_table(TableSchema schema);
  std::vector<TablePtr> tables_;
  uint32_t index_count_ = 0;
};

// A catalog's tables by their ids, without dropped ones; valid until one is added.
class Catalog::Tables {
 public:
  class Iterator {
   public:
    Iterator(const TablePtr* at, const TablePtr* end) : at_(at), end_(end) { pass_dropped(); }
    const TableSchema& operator*() const { return **at_; }
    Iterator& operator++() {
      ++at_;
      pass_dropped();
      return *this;
    }
    bool operator==(const Iterator&) const = default;

   private:
    void pass_dropped() {
      while (at_ != end_ && (*at_)->is_dropped) ++at_;
    }

    const TablePtr* at_;
    const TablePtr* end_;
  };

  explicit Tables(std::span<const TablePtr> tables)
      : begin_(tables.data()), end_(begin_ + tables.size()) {}
  Iterator begin() const { return {begin_, end_}; }
  Iterator end() const { return {end_, end_}; }

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
