#include "workloads/free_memory.h"

#include <algorithm>
#include <cstddef>

#include <sys/mman.h>
#include <unistd.h>

namespace diptych::workloads {
namespace {

constexpr size_t kPageBytes = 4096;

}  // namespace

void touch_free_memory(uint64_t bytes) {
  const auto free_bytes = static_cast<uint64_t>(::sysconf(_SC_AVPHYS_PAGES)) *
                          static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  const size_t touched = std::min(bytes, free_bytes / 2);
  void* const memory =
      ::mmap(nullptr, touched, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  static_cast<void>(::madvise(memory, touched, MADV_HUGEPAGE));
  for (size_t at = 0; at < touched; at += kPageBytes) {
    static_cast<volatile std::byte*>(memory)[at] = std::byte{1};
  }
  ::munmap(memory, touched);
}

}  // namespace diptych::workloads
