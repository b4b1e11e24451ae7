// DriverThread: a named thread pinned to the side whose load it makes, with its CPU time.

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace diptych::workloads {

class DriverThread {
 public:
  DriverThread() = default;
  void start(std::string name, std::vector<uint32_t> cores, std::function<void()> body);
  void join();              // at once where it was not started
  uint64_t cpu_ns() const;  // so far; 0 where it does not run

 private:
  std::jthread thread_;
};

}  // namespace diptych::workloads
