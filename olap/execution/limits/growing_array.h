// GrowingArray: an array of trivially copyable values that grows by doubling and leaves new values
// uninitialised. Large arrays live in blocks that outlast the query (query_memory.h).
//
// Threads    one writer; any number of readers while nobody writes.
// Memory     throws std::bad_alloc when memory runs out.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "olap/execution/limits/query_memory.h"

namespace diptych::olap {

template <class T>
class GrowingArray {
 public:
  GrowingArray() = default;
  GrowingArray(GrowingArray&& other) noexcept
      : memory_(std::move(other.memory_)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  GrowingArray& operator=(GrowingArray&& other) noexcept {
    memory_ = std::move(other.memory_);
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, 0);
    return *this;
  }

  size_t size() const { return size_; }
  size_t bytes() const { return size_ * sizeof(T); }
  T* data() { return memory_.get(); }
  const T* data() const { return memory_.get(); }
  T& operator[](size_t index) { return memory_.get()[index]; }
  const T& operator[](size_t index) const { return memory_.get()[index]; }

  void reserve(size_t capacity) {
    if (capacity <= capacity_) return;
    if (capacity > SIZE_MAX / 4 / sizeof(T)) throw std::bad_alloc();
    size_t bytes = std::max(capacity, capacity_ * 2) * sizeof(T);
    const size_t old_bytes = memory_.get_deleter().bytes;
    if (size_ != 0 && old_bytes >= kQueryBlockBytesMin) {
      void* const grown = grow_query_block(memory_.get(), old_bytes, &bytes);
      static_cast<void>(memory_.release());
      memory_ = {static_cast<T*>(grown), Release{bytes}};
    } else {
      T* const memory = allocate(&bytes);
      if (size_ != 0) std::memcpy(static_cast<void*>(memory), memory_.get(), size_ * sizeof(T));
      memory_ = {memory, Release{bytes}};
    }
    capacity_ = bytes / sizeof(T);
  }
  void resize(size_t size) {
    reserve(size);
    size_ = size;
  }
  void resize(size_t size, const T& value) {
    const size_t old = size_;
    resize(size);
    for (size_t i = old; i < size; ++i) memory_.get()[i] = value;
  }
  void push_back(const T& value) {
    resize(size_ + 1);
    memory_.get()[size_ - 1] = value;
  }

 private:
  struct Release {
    size_t bytes = 0;
    void operator()(T* memory) const {
      if (bytes < kQueryBlockBytesMin) {
        std::free(static_cast<void*>(memory));
      } else {
        return_query_block(memory, bytes);
      }
    }
  };

  // Allocates at least *bytes and sets *bytes to the size of the allocation.
  static T* allocate(size_t* bytes) {
    if (*bytes >= kQueryBlockBytesMin) return static_cast<T*>(take_query_block(bytes));
    void* const memory = std::malloc(*bytes);
    if (memory == nullptr) throw std::bad_alloc();
    return static_cast<T*>(memory);
  }

  std::unique_ptr<T[], Release> memory_;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace diptych::olap
