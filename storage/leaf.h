// Leaf: a run of rows of one table partition, column by column: a hot page or a block.
//
// A partition's ordinals are dense. Leaf k of a partition covers a fixed range of them; a row keeps
// its ordinal while it lives. A hot page (64 KiB, PAX) takes new rows; once full and quiet, the
// pages of one block range become a block of 2^16 rows (or a few times that), compressed column by
// column, whose chunks may lie in the block file only. All answer the same reads.
//
// Threads    readers and writers never run together: the applier writes between two batches of
//            queries, scans read within one. Any number of readers; one writer a partition. A leaf
//            that a snapshot has is not written any more: the writer has a copy (cut()), and the
//            snapshot's readers go on beside it.
//
// Invariants
//   L1  A bit of live_bits() is set if and only if the row at that position lives.
//   L2  Values of dead rows are readable and meaningless.
//   L3  A column's summary covers every value that a live row has (it may cover more).

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/string_ref.h"
#include "base/types.h"
#include "storage/encoding/chunk.h"
#include "storage/encoding/column.h"
#include "storage/kept_bytes.h"
#include "storage/shared_ref.h"
#include "storage/vector_rows.h"

namespace diptych::storage {

inline constexpr size_t kHotPageBytes = 64 * 1024;

// How a column's values lie in memory.
//   INT, DATE: int32_t    BIGINT, DECIMAL, TIMESTAMP: int64_t    DOUBLE: double
//   BOOLEAN: uint8_t (0 or 1)    CHAR, VARCHAR, TEXT: base::StringRef
size_t value_bytes(const base::DataType& type);

inline bool bit_at(const uint64_t* words, uint64_t index) {
  return ((words[index / 64] >> (index % 64)) & 1) != 0;
}

// A run of values of one column. `values` has `count` of value_bytes(type) each; bit i of `nulls`
// is set where value i is null; nulls == nullptr: none is. Valid while the column is pinned, until
// the next use of the DecodeBuffer that it was made with or the next write to the partition.
struct ColumnView {
  const void* values = nullptr;
  const uint64_t* nulls = nullptr;
  uint32_t count = 0;
  encoding::TextCodes coded = {};  // of texts that come again, where the leaf knows

  template <class Value>
  const Value* as() const {
    return static_cast<const Value*>(values);
  }
  bool is_null(uint32_t i) const { return nulls != nullptr && bit_at(nulls, i); }
};

// Where a leaf decodes compressed values to; plain values are views of the leaf's own memory.
using DecodeBuffer = encoding::RunBuffer;

class BufferedChunk;

// A column of a leaf, held in memory while this lives: its values are read through it.
class PinnedColumn {
 public:
  PinnedColumn() = default;  // of nothing
  // Of a plain leaf: the column's arrays.
  PinnedColumn(const std::byte* values, encoding::ValueKind kind, const uint64_t* nulls)
      : values_(values), nulls_(nulls), kind_(kind) {}
  // Of a chunk that the caller has pinned; this unpins it.
  PinnedColumn(const BufferedChunk* pinned, const encoding::Chunk& chunk);
  PinnedColumn(PinnedColumn&& other) noexcept;
  PinnedColumn& operator=(PinnedColumn&& other) noexcept;
  ~PinnedColumn() { unpin(); }

  // Values [first, first + count); `first` is a multiple of 64. In the leaf's memory or the buffer.
  ColumnView view(uint32_t first, uint32_t count, DecodeBuffer* buffer) const {
    DIPTYCH_DCHECK(first % 64 == 0, "a view's null map starts at a word");
    if (chunk_ == nullptr) {
      return {values_ + first * encoding::value_bytes(kind_),
              nulls_ == nullptr ? nullptr : nulls_ + first / 64, count};
    }
    buffer->dictionary = dictionary_;
    const encoding::ColumnRun run = pinned_->decode(first, count, buffer);
    buffer->dictionary = 0;
    return {run.values, run.nulls, run.rows, run.coded};
  }
  // The same, if it takes less time to decode only the values at these slots, which ascend; the
  // others are anything, of texts not even texts. Nothing: view() takes no longer.
  std::optional<ColumnView> view_some(uint32_t first, uint32_t count,
                                      std::span<const uint16_t> slots, DecodeBuffer* buffer) const {
    const auto wanted = static_cast<uint32_t>(slots.size());
    if (chunk_ == nullptr || !pinned_->decodes_some(wanted, count)) return std::nullopt;
    const encoding::ColumnRun run = pinned_->decode_some(first, count, slots, buffer);
    return ColumnView{run.values, run.nulls, run.rows};
  }
  // Which rows pass, by their codes. Nothing: they are to be viewed and compared. It is used while
  // the column is pinned.
  std::optional<encoding::ChunkFilter> filter(const encoding::Predicate& predicate) const;
  // What a view has in the leaf's memory stays until the next write to the partition, pinned or
  // not.
  bool stays() const;

 private:
  void unpin();

  const BufferedChunk* chunk_ = nullptr;  // of a compressed block
  std::optional<encoding::Chunk> pinned_;
  uint64_t dictionary_ = 0;  // of no other pin: its chunk stays as it is meanwhile
  const std::byte* values_ = nullptr;
  const uint64_t* nulls_ = nullptr;
  encoding::ValueKind kind_ = encoding::ValueKind::kInt32;  // of those
};

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

class Leaf : public Shared {
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

  // For the partition's writer. How many snapshots were cut when it last made sure that the leaf is
  // its own: one that was cut since may have it too.
  uint32_t cut() const { return cut_; }
  void set_cut(uint32_t cut) { cut_ = cut; }
  // Only snapshots have it from now on, or soon: its own memory counts as theirs.
  void keep(std::atomic<size_t>* total, size_t bytes) { kept_.count(total, bytes); }

  // Errors: kIo, kCorrupt, of reading a chunk that is not in memory; they say where it lies.
  virtual base::Result<PinnedColumn> pin(base::ColumnId column) const = 0;
  virtual base::Result<PinnedColumn> pin_row_ids() const = 0;  // uint64_t each
  // A hint that the column will be pinned. False: there is no room to read it ahead.
  virtual bool read_ahead(base::ColumnId column) const = 0;
  // Whether pin() reads nothing from disk now.
  virtual bool in_memory(base::ColumnId column) const = 0;
  virtual ColumnSummary summary(base::ColumnId column) const = 0;
  virtual ColumnStorage storage(base::ColumnId column) const = 0;

 protected:
  explicit Leaf(LeafForm form) : form_(form) {}
  Leaf(const Leaf& from)
      : Shared(from),
        form_(from.form_),
        first_ordinal_(from.first_ordinal_),
        row_slots_(from.row_slots_),
        live_rows_(from.live_rows_),
        live_bits_(from.live_bits_) {}
  void clear_live(uint32_t position) {
    DIPTYCH_CHECK(position < row_slots_ && lives(position), "only a live row is erased");
    live_bits_[position / 64] &= ~(uint64_t{1} << (position % 64));
    --live_rows_;
  }

  LeafForm form_;
  uint32_t cut_ = 0;
  uint32_t first_ordinal_ = 0;
  uint32_t row_slots_ = 0;
  uint32_t live_rows_ = 0;
  std::vector<uint64_t> live_bits_;
  KeptBytes kept_;
};

}  // namespace diptych::storage
