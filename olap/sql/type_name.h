// Converts SQL type names to base::DataType, for CREATE TABLE and for casts.

#pragma once

#include <optional>

#include "base/result.h"
#include "base/types.h"
#include "olap/sql/parse_tree.h"

namespace diptych::olap {

// INT, BIGINT, DECIMAL(p,s), DOUBLE PRECISION, BOOLEAN, DATE, TIMESTAMP, CHAR(n), VARCHAR(n), TEXT.
// DECIMAL without digits is an error. Anything else is kUnsupported, naming what to use instead.
base::Result<base::DataType> bind_type(const SourceText& source, const PgQuery__TypeName& name);

// As above, for a cast: NUMERIC may have up to 38 digits (a column 18), or none given, which makes
// a DECIMAL of precision 0.
base::Result<base::DataType> bind_cast_type(const SourceText& source,
                                            const PgQuery__TypeName& name);

// Further effects of a cast to the type: SMALLINT is an INT held to 16 bits, and TIMESTAMP(p) keeps
// p digits of a second's fraction.
struct CastLimit {
  bool small_integer = false;
  std::optional<int64_t> fraction_digits;
};
CastLimit cast_limit_of(const PgQuery__TypeName& name);

// True for INTERVAL with a unit, such as INTERVAL DAY.
bool is_interval_of_unit(const PgQuery__TypeName& name);

}  // namespace diptych::olap
