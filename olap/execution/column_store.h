// ColumnStore: rows that an operator keeps (a join's build side, a sort's input), column by column.
//
// Values lie in one array per column, so that a row is found by its number and gathered by column.
// Long strings whose bytes go with the batch are copied; those of the replica's leaves are not.
//
// Threads    one writer; once filled, any number of readers.
// Memory     throws std::bad_alloc when it ends.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "olap/execution/query_heap.h"
#include "olap/execution/query_memory.h"
#include "olap/execution/vector.h"

namespace diptych::olap {

// GrowingArray: an array of trivially copyable values that grows by doubling and leaves new values
// uninitialised. Large ones live in blocks that outlast the query (query_memory.h).
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
    T* const memory = allocate(&bytes);
    if (size_ != 0) std::memcpy(static_cast<void*>(memory), memory_.get(), size_ * sizeof(T));
    memory_ = {memory, Release{bytes}};
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

  // Of *bytes, which becomes what there is.
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

class ColumnStore {
 public:
  explicit ColumnStore(std::span<const base::DataType> types);
  // As above, but columns that are not `needed` are not kept: they read as vectors without values.
  ColumnStore(std::span<const base::DataType> types, const std::vector<bool>& needed);

  size_t column_count() const { return columns_.size(); }
  uint64_t row_count() const { return rows_; }
  PhysicalType type(size_t column) const { return columns_[column].type; }
  size_t memory_bytes() const;

  // Appends the selected rows of the first column_count() vectors.
  void append(std::span<const Vector> vectors, const Selection& selection);
  // Appends all rows of another store of the same types, which is left empty.
  void absorb(ColumnStore&& other);
  // Appends rows of another store; long texts are copied.
  void append_rows(const ColumnStore& other, std::span<const uint32_t> rows);

  template <class T>
  const T* values(size_t column) const {
    return reinterpret_cast<const T*>(columns_[column].bytes.data());
  }
  bool has_nulls(size_t column) const { return columns_[column].has_nulls; }
  bool is_null(size_t column, uint64_t row) const {
    return columns_[column].has_nulls && columns_[column].nulls[row] != 0;
  }

  // results[slot] = value of row rows[k], where slot is the k-th selected one; kNoRow gives a null.
  // Returns the view; texts that were copied count as the batch's, since the store may go before
  // the query ends. Benchmark: BM_GatherInt64.
  static constexpr uint32_t kNoRow = UINT32_MAX;
  Vector gather(size_t column, const uint32_t* rows, const Selection& selection,
                VectorBuffer* results) const;

 private:
  struct Column {
    PhysicalType type;
    size_t width;
    bool needed = true;
    bool copied = false;  // long texts lie in heap_, and go with the store
    GrowingArray<std::byte> bytes;
    bool has_nulls = false;
    GrowingArray<uint8_t> nulls;  // a byte a row, once has_nulls
  };

  void append_nulls(Column* column, const Vector& vector, const Selection& selection);

  std::vector<Column> columns_;
  uint64_t rows_ = 0;
  QueryHeap heap_;
};

}  // namespace diptych::olap
