// The values that stand for $1, $2 and so on.

#pragma once

#include <span>

#include "base/result.h"
#include "base/types.h"
#include "olap/sql/parse_tree.h"
#include "olap/sql/source_text.h"

namespace diptych::olap {

// Of `parameters`, which were given with the statement. 42P02 where it is none of them.
base::Result<const base::Value*> parameter_value(const SourceText& source,
                                                 const PgQuery__ParamRef& parameter,
                                                 std::span<const base::Value> parameters);

}  // namespace diptych::olap
