// QueryHeap: holds the bytes of strings that a query makes or keeps.
//
// Unlike base::Arena it throws std::bad_alloc when memory runs out, because a query may fail alone.
// Addresses stay valid until clear() or destruction, also when the heap is moved or absorbed.
//
// Threads    one worker.

#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/short_copy.h"
#include "base/string_ref.h"
#include "olap/execution/limits/query_memory.h"

namespace diptych::olap {

class QueryHeap {
 public:
  QueryHeap() = default;
  QueryHeap(QueryHeap&& other) noexcept
      : chunks_(std::exchange(other.chunks_, {})),
        used_(std::exchange(other.used_, 0)),
        bytes_(std::exchange(other.bytes_, 0)) {}
  QueryHeap& operator=(QueryHeap&& other) noexcept {
    chunks_ = std::exchange(other.chunks_, {});
    used_ = std::exchange(other.used_, 0);
    bytes_ = std::exchange(other.bytes_, 0);
    return *this;
  }

  // The increase of memory_bytes() if `bytes` are allocated.
  size_t growth_for(size_t bytes) const {
    const bool fits = !chunks_.empty() && bytes <= chunks_.back().bytes - used_;
    return fits ? 0 : chunk_bytes_for(bytes);
  }
  char* allocate(size_t bytes) {
    if (growth_for(bytes) != 0) grow(bytes);
    char* const result = chunks_.back().memory.get() + used_;
    used_ += bytes;
    return result;
  }

  // Copies the text's bytes into this heap, unless the reference itself holds them.
  base::StringRef keep(const base::StringRef& text) {
    if (text.is_short()) return text;
    char* const bytes = allocate(text.size());
    base::short_copy(bytes, text.data(), text.size());
    return base::StringRef(std::string_view(bytes, text.size()));
  }

  size_t memory_bytes() const { return bytes_; }

  // Forgets all strings; keeps the newest chunk for reuse.
  void clear() {
    if (chunks_.size() > 1) chunks_.erase(chunks_.begin(), chunks_.end() - 1);
    bytes_ = chunks_.empty() ? 0 : chunks_.back().bytes;
    used_ = 0;
  }

  // Takes over the other heap's strings.
  void absorb(QueryHeap&& other) {
    chunks_.insert(chunks_.empty() ? chunks_.begin() : chunks_.end() - 1,
                   std::move_iterator(other.chunks_.begin()),
                   std::move_iterator(other.chunks_.end()));
    if (chunks_.size() == other.chunks_.size()) used_ = other.used_;
    bytes_ += std::exchange(other.bytes_, 0);
    other.chunks_.clear();
    other.used_ = 0;
  }

 private:
  struct Release {
    size_t bytes = 0;
    void operator()(char* memory) const {
      if (bytes < kQueryBlockBytesMin) {
        delete[] memory;
      } else {
        return_query_block(memory, bytes);
      }
    }
  };
  struct Chunk {
    std::unique_ptr<char[], Release> memory;
    size_t bytes = 0;
  };

  size_t chunk_bytes_for(size_t bytes) const {
    const size_t doubled = chunks_.empty() ? 4096 : chunks_.back().bytes * 2;
    const size_t size = std::max(bytes, std::min(doubled, size_t{1} << 20));
    return size >= kQueryBlockBytesMin ? query_block_bytes(size) : size;
  }

  void grow(size_t bytes) {
    size_t size = chunk_bytes_for(bytes);
    const bool is_large = size >= kQueryBlockBytesMin;
    char* const memory = is_large ? static_cast<char*>(take_query_block(&size)) : new char[size];
    std::unique_ptr<char[], Release> owned(memory, Release{size});
    chunks_.push_back({std::move(owned), size});
    bytes_ += size;
    used_ = 0;
  }

  std::vector<Chunk> chunks_;  // the last one is being filled
  size_t used_ = 0;            // bytes used in the last chunk
  size_t bytes_ = 0;           // size of all chunks
};

}  // namespace diptych::olap
