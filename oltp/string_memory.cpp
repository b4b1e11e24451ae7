#include "oltp/string_memory.h"

#include <algorithm>

namespace diptych::oltp {
namespace {

constexpr size_t kKeptBlocks = 512;             // a worker keeps these of each class,
constexpr size_t kKeptBytes = size_t{1} << 20;  // or as many as lie in this

}  // namespace

size_t StringMemory::reclaim() {
  size_t bytes = 0;
  for (size_t i = 0; i < kSizeClasses; ++i) {
    StringDepot::Blocks& retired = retired_[i];
    if (retired.empty()) continue;
    bytes += retired.size() * size_class_bytes(i);
    free_[i].insert(free_[i].end(), retired.begin(), retired.end());
    retired.clear();
  }
  return bytes;
}

void StringMemory::balance() {
  for (size_t i = 0; i < kSizeClasses; ++i) {
    const size_t kept = std::clamp<size_t>(kKeptBytes / size_class_bytes(i), 1, kKeptBlocks);
    depot_->put_back(i, &free_[i], kept);
  }
}

size_t StringMemory::free_bytes() const {
  size_t bytes = 0;
  for (size_t i = 0; i < kSizeClasses; ++i) bytes += free_[i].size() * size_class_bytes(i);
  return bytes;
}

void StringMemory::give_back() {
  for (size_t i = 0; i < kSizeClasses; ++i) {
    depot_->put_back(i, &free_[i], 0);
    free_[i].shrink_to_fit();
  }
}

}  // namespace diptych::oltp
