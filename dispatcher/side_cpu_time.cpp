#include "dispatcher/side_cpu_time.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace diptych::dispatcher {

uint64_t side_cpu_ns(std::string_view thread_name_prefix) {
  uint64_t sum_ns = 0;
  std::error_code failed;
  // A thread may end while its folder is read: what cannot be read counts as nothing.
  for (std::filesystem::directory_iterator task("/proc/self/task", failed), end;
       !failed && task != end; task.increment(failed)) {
    std::string name;
    std::ifstream(task->path() / "comm") >> name;
    if (!name.starts_with(thread_name_prefix)) continue;
    uint64_t ran_ns = 0;  // the first number of schedstat
    std::ifstream(task->path() / "schedstat") >> ran_ns;
    sum_ns += ran_ns;
  }
  return sum_ns;
}

uint64_t SideCpuTime::read_ns() {
  const std::lock_guard lock(mutex_);
  const uint64_t now_ns = side_cpu_ns(prefix_);
  if (now_ns < last_ns_) ended_ns_ += last_ns_ - now_ns;
  last_ns_ = now_ns;
  return ended_ns_ + now_ns;
}

}  // namespace diptych::dispatcher
