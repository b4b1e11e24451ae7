// Catalog: the benchmark queries, and the random parameters of BatchDB's templates (appendix A).
//
//   [NNAME], [NNAME_1]   one of the 62 nation names  [DATE]      first day of a month, 1993 to 1997
//   [RNAME]              one of the 5 region names   [PRICE]     integer, 0 to 100
//   [CHAR], [CHAR1], [CHAR2]  a lower-case letter    [QUANTITY]  integer, 0 to 10
//
// A placeholder that stands twice in a query gets one value.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "workloads/session_options.h"
#include "workloads/tpcc/random.h"

namespace diptych::workloads {

struct NamedQuery {
  std::string name;  // "Q01"
  std::string_view text;
};

// As the folder of its queries is called, and in reports: "ch".
std::string_view query_set_name(QuerySet set);
// In the order of their names.
std::vector<NamedQuery> catalog(QuerySet set);

// The text with every placeholder replaced. Text without any comes back as it is.
std::string instantiate(std::string_view text, tpcc::Random* random);

}  // namespace diptych::workloads
