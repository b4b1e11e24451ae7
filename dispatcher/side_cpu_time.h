// CPU time of one side's threads: of all threads of this process whose name begins with the prefix.
//
// The sides' threads belong to several parts (dispatchers, OLTP workers, the executor's arena),
// some of them to a library; what they share is how they are named: "oltp..." and "olap...". Two
// databases in one process are counted together. Read from /proc/self/task: a few microseconds a
// thread; a figure for reports, not for the data path. 0 where /proc is not there.

#pragma once

#include <cstdint>
#include <mutex>
#include <string_view>

namespace diptych::dispatcher {

inline constexpr std::string_view kOltpThreadPrefix = "oltp";
inline constexpr std::string_view kOlapThreadPrefix = "olap";

uint64_t side_cpu_ns(std::string_view thread_name_prefix);

// The same as a counter: a thread that ends, such as a load's or those of a database that is
// closed, takes nothing away but what it used since the last read.
//
// Threads    any.
class SideCpuTime {
 public:
  // `thread_name_prefix` outlives it.
  explicit SideCpuTime(std::string_view thread_name_prefix) : prefix_(thread_name_prefix) {}
  uint64_t read_ns();

 private:
  const std::string_view prefix_;
  std::mutex mutex_;      // guards both
  uint64_t last_ns_ = 0;  // of the threads that there were
  uint64_t ended_ns_ = 0;
};

}  // namespace diptych::dispatcher
