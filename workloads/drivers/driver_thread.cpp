#include "workloads/drivers/driver_thread.h"

#include <ctime>
#include <utility>

#include <pthread.h>

#include "base/thread.h"

namespace diptych::workloads {

void DriverThread::start(std::string name, std::vector<uint32_t> cores,
                         std::function<void()> body) {
  thread_ =
      std::jthread([name = std::move(name), cores = std::move(cores), body = std::move(body)] {
        base::name_this_thread(name);
        base::pin_this_thread(cores);
        body();
      });
}

void DriverThread::join() {
  if (thread_.joinable()) thread_.join();
}

uint64_t DriverThread::cpu_ns() const {
  if (!thread_.joinable()) return 0;
  clockid_t clock{};
  timespec time{};
  auto& thread = const_cast<std::jthread&>(thread_);  // native_handle() only reads
  if (pthread_getcpuclockid(thread.native_handle(), &clock) != 0) return 0;
  if (clock_gettime(clock, &time) != 0) return 0;
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

}  // namespace diptych::workloads
