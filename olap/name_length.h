// Names are of 63 bytes at most, as PostgreSQL's, whose parser would cut a longer one: it would
// stand for another name with the same beginning.

#pragma once

#include <cstddef>
#include <string_view>

#include "base/result.h"

namespace diptych::olap {

inline constexpr size_t kIdentifierBytesMax = 63;

// kInvalidArgument, SQLSTATE 42622, with the place: a name in the statement is longer. prepare()
// checks that itself; parse_ddl() does not, since a database of an older program may have such
// statements, and has tables with cut names then.
base::Result<void> check_name_lengths(std::string_view statement);

}  // namespace diptych::olap
