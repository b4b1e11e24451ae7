// QueryMemoryFigures: memory in the large blocks of queries (olap/execution/limits/query_memory.h).

#pragma once

#include <cstddef>

namespace diptych::olap {

struct QueryMemoryFigures {
  size_t used_bytes = 0;  // in use by running queries
  size_t kept_bytes = 0;  // kept for later queries
};

// The figures of the whole process, because queries of all its databases share the blocks. Any
// thread may call.
QueryMemoryFigures query_memory_figures();

}  // namespace diptych::olap
