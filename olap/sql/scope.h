// Scope: the tables that a SELECT's expressions can name, and the resolution of names to slots.
//
// A name is looked up in the block's own tables first, then in those of the blocks around it, which
// makes it a correlated reference. An aggregate may belong to a block around it, too.

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
  bool merged = false;                      // a column of a JOIN ... USING replaces it
  std::vector<uint32_t> otherwise = {};     // if `slot` is NULL, the first of these that is not
  std::optional<base::DataType> type = {};  // the values' type, if it is not their slots'
  base::Visibility visibility = base::Visibility::kVisible;
};

// The column's value.
ExpressionPtr column_of(const ScopeColumn& column, const SlotTable& slots);

inline bool is_visible(const ScopeColumn& column) {
  return column.visibility == base::Visibility::kVisible;
}

struct ScopeTable {
  std::string alias;
  std::vector<ScopeColumn> columns;
  std::string table = {};  // the table that has this alias; empty: none
  bool joined = false;     // the alias of a join, whose rows are never NULL
};

class ExpressionBinder;

class Scope {
 public:
  // `expressions` binds the expressions that use this scope.
  Scope(const Scope* outer, ExpressionBinder* expressions)
      : outer_(outer), expressions_(expressions) {}

  const Scope* outer() const { return outer_; }
  // For a derived table: sets the FROM in which it stands, whose tables LATERAL would let it name.
  void stand_in(const Scope* from) { from_ = from; }
  ExpressionBinder* expressions() const { return expressions_; }

  // Adds a table. Fails if the alias is taken.
  base::Result<void> add(const SourceText& source, int64_t offset, ScopeTable table);
  base::Result<void> check_name(const SourceText& source, int64_t offset,
                                std::string_view alias) const;

  // From now on the aliases of earlier tables may be taken again, until end_names() is called with
  // the result.
  size_t start_names() { return std::exchange(first_named_, tables_.size()); }
  void end_names(size_t around) { first_named_ = around; }

  // Resolves a name; `table` is empty for an unqualified one. Errors have the position and suggest
  // similar names.
  base::Result<const ScopeColumn*> resolve(const SourceText& source, int64_t offset,
                                           std::string_view table, std::string_view column) const;

  // The error for an unqualified name that no table has, here or around. It suggests a similar one,
  // also of the others that could stand there.
  base::Error unknown_column(const SourceText& source, int64_t offset, std::string_view column,
                             std::vector<std::string> others = {}) const;

  // The slot of an unqualified name in this block's own tables, if exactly one has it.
  const ScopeColumn* find_own(std::string_view column) const;

  const ScopeTable* find_table(std::string_view alias) const;
  // The error for an alias that no table has, here or around; it suggests a similar alias.
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
  size_t first_named_ = 0;  // the first of the tables whose aliases are taken
};

}  // namespace diptych::olap
