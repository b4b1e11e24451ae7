#include "tests/failing_allocation.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

#include <pthread.h>

namespace diptych::test {
namespace {

constexpr size_t kNameBytes = 16;  // that the system keeps of a thread's name
char failing_name[kNameBytes];
std::atomic<bool> named_fail{false};        // writer: the test; orders failing_name
std::atomic<uint64_t> named_left{0};        // until one fails; 0: none does any more
std::atomic<bool> named_has_failed{false};  // writer: the thread whose allocation fails

thread_local uint64_t allocations_left = 0;  // until one fails; 0: none does
thread_local bool lasts_on = false;
thread_local bool one_has_failed = false;

}  // namespace

FailingAllocation::FailingAllocation(uint64_t number, Lasts lasts) {
  allocations_left = number;
  lasts_on = lasts == Lasts::kOn;
  one_has_failed = false;
}

FailingAllocation::~FailingAllocation() {
  allocations_left = 0;
}

bool FailingAllocation::has_failed() const {
  return one_has_failed;
}

FailingAllocationOfThreads::FailingAllocationOfThreads(const char* name, uint64_t number) {
  std::strncpy(failing_name, name, kNameBytes - 1);
  // relaxed: published by named_fail, as the next.
  named_left.store(number, std::memory_order_relaxed);
  // relaxed: as above.
  named_has_failed.store(false, std::memory_order_relaxed);
  // release: pairs with the acquire in allocate.
  named_fail.store(true, std::memory_order_release);
}

FailingAllocationOfThreads::~FailingAllocationOfThreads() {
  // relaxed: nothing is published with it.
  named_fail.store(false, std::memory_order_relaxed);
}

bool FailingAllocationOfThreads::has_failed() const {
  // relaxed: whoever asks has waited for what the thread did.
  return named_has_failed.load(std::memory_order_relaxed);
}

#if !defined(DIPTYCH_TSAN) && !defined(DIPTYCH_ASAN)
namespace {

bool has_failing_name() {
  char name[kNameBytes] = {};
  return pthread_getname_np(pthread_self(), name, sizeof name) == 0 &&
         std::strcmp(name, failing_name) == 0;
}

// Of the named threads: the one whose turn it is.
bool is_the_one() {
  // relaxed: a number that is counted down; no thread takes what another one does.
  uint64_t left = named_left.load(std::memory_order_relaxed);
  // relaxed: as above.
  while (left != 0 &&
         !named_left.compare_exchange_weak(left, left - 1, std::memory_order_relaxed)) {
  }
  return left == 1;
}

void* allocate(size_t bytes, size_t alignment) {
  // acquire: pairs with the release of the test.
  if (named_fail.load(std::memory_order_acquire) && has_failing_name() && is_the_one()) {
    // relaxed: looked at when the thread has done what it was asked.
    named_has_failed.store(true, std::memory_order_relaxed);
    throw std::bad_alloc();
  }
  if (allocations_left != 0 && --allocations_left == 0) {
    one_has_failed = true;
    if (lasts_on) allocations_left = 1;
    throw std::bad_alloc();
  }
  // aligned_alloc wants a size that is a multiple.
  bytes = (bytes + alignment - 1) / alignment * alignment;
  void* const memory = alignment <= alignof(std::max_align_t)
                           ? std::malloc(bytes)
                           : std::aligned_alloc(alignment, bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace
#endif

}  // namespace diptych::test

#if !defined(DIPTYCH_TSAN) && !defined(DIPTYCH_ASAN)
void* operator new(size_t bytes) {
  return diptych::test::allocate(bytes, alignof(std::max_align_t));
}
void* operator new(size_t bytes, std::align_val_t alignment) {
  return diptych::test::allocate(bytes, static_cast<size_t>(alignment));
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, size_t /*bytes*/) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept {
  std::free(memory);
}
void operator delete(void* memory, size_t /*bytes*/, std::align_val_t /*alignment*/) noexcept {
  std::free(memory);
}
#endif
