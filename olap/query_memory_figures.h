// QueryMemoryFigures: what the large blocks of queries take (olap/execution/limits/query_memory.h).

#pragma once

#include <cstddef>

namespace diptych::olap {

struct QueryMemoryFigures {
  size_t used_bytes = 0;  // by queries that run now
  size_t kept_bytes = 0;  // for the next ones
};

// Of the whole process, since queries of all its databases share the blocks. Any thread.
QueryMemoryFigures query_memory_figures();

}  // namespace diptych::olap
