// Scope: the tables that a SELECT's expressions can name, and how a name becomes a slot.
//
// A name is looked up in the block's own tables first, then in those of the block around it: what
// is found there is a correlated reference. An aggregate, too, may belong to a block around.

#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "olap/sql/query_block.h"
#include "olap/sql/source_text.h"

namespace diptych::olap {

struct ScopeColumn {
  std::string name;
  uint32_t slot = 0;
  bool merged = false;                      // a column of a JOIN ... USING stands for it
  std::vector<uint32_t> otherwise = {};     // the first of these that is not NULL, where slot is
  std::optional<base::DataType> type = {};  // of the values, where it is not their slots'
};

// The column's value.
ExpressionPtr column_of(const ScopeColumn& column, const SlotTable& slots);

struct ScopeTable {
  std::string alias;
  std::vector<ScopeColumn> columns;
  std::string table = {};  // whose alias it is; empty: no table's
  bool joined = false;     // the alias of a join: its rows are never NULL
};

class ExpressionBinder;

class Scope {
 public:
  // `expressions`: whose names these are.
  Scope(const Scope* outer, ExpressionBinder* expressions)
      : outer_(outer), expressions_(expressions) {}

  const Scope* outer() const { return outer_; }
  // Of a derived table: the FROM that it stands in, whose tables it could name with LATERAL.
  void stand_in(const Scope* from) { from_ = from; }
  ExpressionBinder* expressions() const { return expressions_; }

  // Fails where the alias is taken.
  base::Result<void> add(const SourceText& source, int64_t offset, ScopeTable table);
  base::Result<void> check_name(const SourceText& source, int64_t offset,
                                std::string_view alias) const;

  // Aliases of the tables so far may be taken again, until end_names of what this gave.
  size_t start_names() { return std::exchange(first_named_, tables_.size()); }
  void end_names(size_t around) { first_named_ = around; }

  // `table` is empty for an unqualified name. Fails with the position, and the nearest names.
  base::Result<const ScopeColumn*> resolve(const SourceText& source, int64_t offset,
                                           std::string_view table, std::string_view column) const;

  // The slot of an unqualified name in this block's own tables, if exactly one has it.
  const ScopeColumn* find_own(std::string_view column) const;

  const ScopeTable* find_table(std::string_view alias) const;
  // No table has this alias, here or around; with the alias that it could be.
  base::Error unknown_table(const SourceText& source, int64_t offset, std::string_view alias) const;
  std::vector<ScopeTable>& tables() { return tables_; }
  const std::vector<ScopeTable>& tables() const { return tables_; }

 private:
  std::vector<const ScopeColumn*> matches(std::string_view table, std::string_view column) const;
  std::vector<std::string> column_names(std::string_view table) const;

  const Scope* outer_;
  const Scope* from_ = nullptr;
  ExpressionBinder* expressions_;
  std::vector<ScopeTable> tables_;
  size_t first_named_ = 0;  // of the tables whose aliases are taken
};

}  // namespace diptych::olap
