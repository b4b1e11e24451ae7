// SideBySide: runs pieces of work on threads of its own, on all cores that it is given: for what
// opens a database, while neither side runs.
//
// Threads    run() makes two for each core, since pieces wait for the disk, or fewer for less work
//            or where the system gives no more, and waits for them. An exception of the body is
//            rethrown to its caller, when all have ended; std::system_error, std::bad_alloc: there
//            is no thread.

#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/thread.h"

namespace diptych::dispatcher {

class SideBySide {
 public:
  // `cores` empty: all cores of the machine, and the threads are not pinned.
  explicit SideBySide(std::vector<uint32_t> cores)
      : cores_(std::move(cores)),
        lanes_(kThreadsPerCore * (cores_.empty() ? std::max(1U, std::thread::hardware_concurrency())
                                                 : static_cast<uint32_t>(cores_.size()))) {}

  uint32_t lanes() const { return lanes_; }

  // Calls body(lane, i) for every i < count, in about this order; none after one has thrown. No two
  // calls of a lane, which is below lanes(), run at once.
  template <class Body>
  void run(size_t count, const Body& body) const {
    std::atomic<size_t> next{0};
    std::mutex mutex;
    std::exception_ptr thrown;
    const auto work = [&](uint32_t lane) {
      base::name_this_thread("all-cores-" + std::to_string(lane));
      base::pin_this_thread(cores_);
      try {
        // relaxed: it only shares out the work.
        for (size_t i = 0; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) {
          body(lane, i);
        }
      } catch (...) {
        // relaxed: a little more work may be begun.
        next.store(count, std::memory_order_relaxed);
        const std::lock_guard lock(mutex);
        thrown = std::current_exception();
      }
    };
    std::vector<base::Thread> threads;
    const auto useful = static_cast<uint32_t>(std::min<size_t>(lanes_, count));
    threads.reserve(useful);  // what throws behind here leaves no thread that runs on
    try {
      for (uint32_t lane = 0; lane < useful; ++lane)
        threads.emplace_back([&work, lane] { work(lane); });
    } catch (const std::exception&) {  // std::system_error, std::bad_alloc
      if (threads.empty()) throw;      // else those that there are do it all
    }
    for (base::Thread& thread : threads) thread.join();
    if (thrown != nullptr) std::rethrow_exception(thrown);
  }

 private:
  static constexpr uint32_t kThreadsPerCore = 2;

  const std::vector<uint32_t> cores_;
  const uint32_t lanes_;
};

}  // namespace diptych::dispatcher
