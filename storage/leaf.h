// Leaf: a run of rows of one table partition, column by column: a hot page or a block.
//
// A partition's ordinals are dense. Leaf k of a partition covers a fixed range of them; a row keeps
// its ordinal while it lives. A hot page (64 KiB, PAX) takes new rows; once full and quiet, the
// pages of one block range become a block of kBlockRows rows, compressed column by column. All
// answer the same reads.
//
// Threads    readers and writers never run together: the applier writes between two batches of
//            queries, scans read within one. Any number of readers; one writer a partition.
//
// Invariants
//   L1  A bit of live_bits() is set if and only if the row at that position lives.
//   L2  Values of dead rows are readable and meaningless.
//   L3  A column's summary covers every value that a live row has (it may cover more).

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/ids.h"
#include "base/string_ref.h"
#include "base/types.h"
#include "storage/encoding/column.h"

namespace diptych::storage {

inline constexpr uint32_t kBlockRows = 1U << 16;
inline constexpr uint32_t kVectorRows = 1024;  // rows that a scan handles at a time
inline constexpr size_t kHotPageBytes = 64 * 1024;

// How a column's values lie in memory.
//   INT, DATE: int32_t    BIGINT, DECIMAL, TIMESTAMP: int64_t    DOUBLE: double
//   BOOLEAN: uint8_t (0 or 1)    CHAR, VARCHAR, TEXT: base::StringRef
size_t value_bytes(const base::DataType& type);

inline bool bit_at(const uint64_t* words, uint64_t index) {
  return ((words[index / 64] >> (index % 64)) & 1) != 0;
}

// A run of values of one column. `values` has `count` of value_bytes(type) each; bit i of `nulls`
// is set where value i is null; nulls == nullptr: none is. Valid until the next write to the
// partition or the next use of the DecodeBuffer that it was made with.
struct ColumnView {
  const void* values = nullptr;
  const uint64_t* nulls = nullptr;
  uint32_t count = 0;

  template <class Value>
  const Value* as() const {
    return static_cast<const Value*>(values);
  }
  bool is_null(uint32_t i) const { return nulls != nullptr && bit_at(nulls, i); }
};

// Where a leaf decodes compressed values to; plain values are views of the leaf's own memory.
using DecodeBuffer = encoding::RunBuffer;

// Min and max of a column in a leaf, of the physical integer (int32_t and int64_t kinds) or double.
// Known and min > max: no live row has a value.
struct ColumnSummary {
  bool known = false;  // false: nothing is known (strings, booleans, a NaN, or not kept yet)
  bool has_null = true;
  int64_t min = 0;
  int64_t max = 0;
  double min_double = 0;
  double max_double = 0;
};

// How a column is kept, for a person.
struct ColumnStorage {
  std::string_view encoding;
  size_t bytes = 0;     // of the leaf's own; strings of plain leaves lie elsewhere
  bool thawed = false;  // kept larger than need be, as it is being written
};

enum class LeafForm : uint8_t { kPlain, kCompressed };  // PlainLeaf, CompressedBlock

class Leaf {
 public:
  virtual ~Leaf() = default;

  LeafForm form() const { return form_; }

  uint32_t first_ordinal() const { return first_ordinal_; }
  // Positions 0..row_slots()-1 were ever used; some of them may be dead.
  uint32_t row_slots() const { return row_slots_; }
  uint32_t live_rows() const { return live_rows_; }
  const uint64_t* live_bits() const { return live_bits_.data(); }
  bool lives(uint32_t position) const { return bit_at(live_bits_.data(), position); }

  void prefetch_live(uint32_t position) const { __builtin_prefetch(&live_bits_[position / 64], 1); }

  // Values [first, first + count) of a column; `first` is a multiple of kVectorRows or of 64.
  virtual ColumnView column(base::ColumnId column, uint32_t first, uint32_t count,
                            DecodeBuffer* buffer) const = 0;
  virtual ColumnSummary summary(base::ColumnId column) const = 0;
  virtual ColumnStorage storage(base::ColumnId column) const = 0;
  virtual base::RowId row_id(uint32_t position) const = 0;

 protected:
  explicit Leaf(LeafForm form) : form_(form) {}
  void clear_live(uint32_t position) {
    DIPTYCH_CHECK(position < row_slots_ && lives(position), "only a live row is erased");
    live_bits_[position / 64] &= ~(uint64_t{1} << (position % 64));
    --live_rows_;
  }

  LeafForm form_;
  uint32_t first_ordinal_ = 0;
  uint32_t row_slots_ = 0;
  uint32_t live_rows_ = 0;
  std::vector<uint64_t> live_bits_;
};

}  // namespace diptych::storage
