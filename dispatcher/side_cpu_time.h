// CPU time of one side's threads: of all threads of this process whose name begins with the prefix.
//
// The sides' threads belong to several parts (dispatchers, OLTP workers, the executor's arena),
// some of them to a library; what they share is how they are named: "oltp..." and "olap...". Two
// databases in one process are counted together. Read from /proc/self/task: a few microseconds a
// thread; a figure for reports, not for the data path. 0 where /proc is not there.

#pragma once

#include <cstdint>
#include <string_view>

namespace diptych::dispatcher {

inline constexpr std::string_view kOltpThreadPrefix = "oltp";
inline constexpr std::string_view kOlapThreadPrefix = "olap";

uint64_t side_cpu_ns(std::string_view thread_name_prefix);

}  // namespace diptych::dispatcher
