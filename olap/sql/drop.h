// DROP TABLE, DROP INDEX, DROP VIEW and TRUNCATE: for parse_ddl().

#pragma once

#include "base/result.h"
#include "base/schema.h"
#include "olap/query.h"
#include "olap/sql/parse_tree.h"

namespace diptych::olap {

// Every table, index or view that they name is in the catalog. 42P01 and 42704: one is not, and IF
// EXISTS does not stand there. 42809: a table is a view, or a view a table. kUnsupported: CASCADE,
// other objects, other schemas.
base::Result<DdlChange> parse_drop(const SourceText& source, const base::Catalog& catalog,
                                   const PgQuery__DropStmt& statement);
base::Result<DdlChange> parse_truncate(const SourceText& source, const base::Catalog& catalog,
                                       const PgQuery__TruncateStmt& statement);

}  // namespace diptych::olap
