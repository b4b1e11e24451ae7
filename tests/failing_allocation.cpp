#include "tests/failing_allocation.h"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace diptych::test {
namespace {

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

#if !defined(DIPTYCH_TSAN) && !defined(DIPTYCH_ASAN)
namespace {

void* allocate(size_t bytes, size_t alignment) {
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
