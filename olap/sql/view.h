// Views: CREATE VIEW for parse_ddl(), and the parse trees of the views that a statement names.
//
// A view is kept as its text, and bound at each use like a derived table (SelectBinder::bind_view):
// no predicate stops at it. Its creation binds it once, for its errors and columns.

#pragma once

#include <memory>
#include <span>
#include <unordered_map>

#include "base/result.h"
#include "base/schema.h"
#include "olap/query.h"
#include "olap/sql/parse_tree.h"
#include "olap/sql/source_text.h"

namespace diptych::olap {

struct ParsedView {
  SourceText source;
  ParseTree tree;

  const PgQuery__SelectStmt& select() const { return *tree.statement().select_stmt; }
};

// The views that a statement names, each parsed once, so that a view that is named twice is one
// SELECT that is bound twice.
class ParsedViews {
 public:
  // The view's text, given at the moment of the statement.
  base::Result<const ParsedView*> find(const base::ViewSchema& view, base::Timestamp moment);

 private:
  std::unordered_map<const base::ViewSchema*, std::unique_ptr<ParsedView>> views_;
};

// 42P02: a parameter. 42809: OR REPLACE of a table. 42701: two columns have one name. kUnsupported:
// system tables, other kinds of views, other schemas. With OR REPLACE also those of
// Catalog::replace_view, and of the views that use this one, which may be too much with it.
base::Result<DdlChange> parse_view(const SourceText& source, const base::Catalog& catalog,
                                   std::span<const SystemTable> system_tables,
                                   const PgQuery__ViewStmt& statement);

}  // namespace diptych::olap
