// Type names of SQL as base::DataType, for CREATE TABLE and for casts.

#pragma once

#include <optional>

#include "base/result.h"
#include "base/types.h"
#include "olap/sql/parse_tree.h"

namespace diptych::olap {

// INT, BIGINT, DECIMAL(p,s), DOUBLE PRECISION, BOOLEAN, DATE, TIMESTAMP, CHAR(n), VARCHAR(n), TEXT.
// DECIMAL without digits is an error. Anything else is kUnsupported, naming what to use instead.
base::Result<base::DataType> bind_type(const SourceText& source, const PgQuery__TypeName& name);

// The same for a cast, where NUMERIC has up to 38 digits, a column 18, or needs none: a DECIMAL of
// precision 0 then.
base::Result<base::DataType> bind_cast_type(const SourceText& source,
                                            const PgQuery__TypeName& name);

// What a cast to the type does beside it: SMALLINT is an INT of 16 bits, and TIMESTAMP(p) keeps p
// digits of a second's fraction.
struct CastLimit {
  bool small_integer = false;
  std::optional<int64_t> fraction_digits;
};
CastLimit cast_limit_of(const PgQuery__TypeName& name);

// True for INTERVAL DAY, or of another unit.
bool is_interval_of_unit(const PgQuery__TypeName& name);

}  // namespace diptych::olap
