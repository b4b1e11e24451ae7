// The n-th allocation of a thread throws std::bad_alloc, as where the system has no memory left; or
// all do from there on.
// Not in a build with a sanitizer, whose own operator new stays: kAllocationsCanFail.

#pragma once

#include <cstdint>

#include "tests/sanitizers.h"

namespace diptych::test {

inline constexpr bool kAllocationsCanFail = !kSanitized;

// Of this thread, while the object lives. One at a time.
class FailingAllocation {
 public:
  enum class Lasts : uint8_t { kOnce, kOn };

  // `number`: from 1, of those by operator new.
  explicit FailingAllocation(uint64_t number, Lasts lasts = Lasts::kOnce);
  ~FailingAllocation();
  FailingAllocation(const FailingAllocation&) = delete;
  FailingAllocation& operator=(const FailingAllocation&) = delete;

  bool has_failed() const;
};

// Of the threads with this name (base::name_this_thread) together, once, while the object lives.
class FailingAllocationOfThreads {
 public:
  FailingAllocationOfThreads(const char* name, uint64_t number);
  ~FailingAllocationOfThreads();
  FailingAllocationOfThreads(const FailingAllocationOfThreads&) = delete;
  FailingAllocationOfThreads& operator=(const FailingAllocationOfThreads&) = delete;

  bool has_failed() const;
};

}  // namespace diptych::test
