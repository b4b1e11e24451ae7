// What the statements of DDL share: clauses that are refused, and names of tables.

#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "base/result.h"
#include "base/schema.h"
#include "olap/sql/parse_tree.h"

namespace diptych::olap {

// A clause that the grammar takes and that we would have to ignore.
struct IgnoredClause {
  bool written;
  std::string_view name;
};

// kUnsupported, at the place, for the first one that is written.
base::Result<void> refuse(const SourceText& source, int64_t place,
                          std::initializer_list<IgnoredClause> clauses);

// kUnsupported, where a table's name says more than the name, or "public".
base::Result<void> check_table(const SourceText& source, const PgQuery__RangeVar& table);

// 42P01, with a hint at a similar name; 42809: it is a view's.
base::Error no_such_table(const SourceText& source, int64_t place, std::string_view name,
                          const base::Catalog& catalog);

}  // namespace diptych::olap
