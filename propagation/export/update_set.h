// Update sets: the physical updates of one OLTP worker to one table, as exported to the replica
// (BatchDB, section 4 and figure 3).
//
// A worker appends the records of each transaction at commit, in its own memory, so its sets are in
// VID order. At the batch boundary the sets are sealed and handed to the UpdateQueue as they are
// (small ones are joined there), and the buffers come back empty once applied.
//
// Format of a record (little-endian, 8-byte aligned; `bytes` counts all of it):
//
//   0        8         16      20     21      22        24
//   | vid    | row_id  | bytes | type | more  | columns | body ...
//   | u64    | u64     | u32   | u8   | u8    | u16     |
//
//   insert   the row's bytes in the table's RowLayout; in each long string's cell (Text) the
//            pointer is the offset of its bytes from the record's start instead. The bytes follow
//            the row. columns = 0.
//   update   | u16 of each column | cells, one after the other | long strings | zeroes |
//            A cell is the column's bytes of the row (its null byte included), unaligned; for a
//            long string the Text's pointer is the offset from the record's start, as above. So
//            records of the same columns have their cells at the same places. Of stock's three
//            columns that New-Order changes:
//              24      30           34      38           42      48
//              | 2 3 4 | s_quantity | s_ytd | s_order_cnt | zeroes |
//   delete   no body; columns = 0.
//   replace  the whole row of one that lives, as an insert has it; columns = 0 (ExportMode::kRows).
//
// So many rows behind the record's as `more` says are updated alike, as Delivery stamps all lines
// of an order, or deleted too. None where a long string changes. They are in one run of kRowIdRun.
//
// Where we differ from the paper: an update names columns, not byte offsets, since the replica is
// columnar and its strings are of variable length; and one record may update or delete rows in
// sequence.
//
// Threads    a set and its builder belong to one worker until sealed, then to the queue, and are
//            immutable once collected.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <vector>

#include "base/alignment.h"
#include "base/arena.h"
#include "base/check.h"
#include "base/ids.h"
#include "base/row_layout.h"
#include "propagation/export/short_bytes.h"
#include "propagation/export/update_chunks.h"

namespace diptych::propagation {

enum class UpdateType : uint8_t { kInsert, kUpdate, kDelete, kReplace };

struct UpdateRecord {
  base::Vid vid;
  base::RowId row_id;
  uint32_t bytes;
  UpdateType type;
  uint8_t more;
  uint16_t column_count;

  uint32_t rows() const { return 1U + more; }
  const std::byte* body() const { return reinterpret_cast<const std::byte*>(this + 1); }
  // Of an update.
  std::span<const base::ColumnId> columns() const {
    return {reinterpret_cast<const base::ColumnId*>(body()), column_count};
  }
  const std::byte* cells() const { return body() + columns().size_bytes(); }
  const UpdateRecord* next() const {
    return reinterpret_cast<const UpdateRecord*>(reinterpret_cast<const std::byte*>(this) + bytes);
  }
};
static_assert(sizeof(UpdateRecord) == 24);

// How an update of these columns is written: worked out once for all updates of the same columns.
struct UpdateWriter {
  UpdateWriter(const base::RowLayout& layout, std::span<const base::ColumnId> columns);

  struct Cell {
    base::ColumnId column;
    bool is_long_string;
    uint32_t row_offset;
    uint32_t cell_bytes;
  };
  // Cells that lie side by side in the row, as in the record.
  struct Span {
    uint32_t row_offset;
    uint32_t bytes;
  };
  UpdateRecord head;                           // of a record without long strings
  uint64_t first_columns = 0;                  // the first four, as one word
  std::vector<Span> spans;                     // all cells
  size_t column_bytes;                         // of the columns' numbers
  size_t record_bytes = sizeof(UpdateRecord);  // without long strings, and before rounding
  bool has_long_strings = false;
  std::vector<base::ColumnId> columns;  // as the record has them
  std::vector<Cell> cells;
};

// A record's, but for its VID and row; `bytes` before rounding.
constexpr UpdateRecord head_of(size_t bytes, UpdateType type, size_t columns) {
  const auto rounded = static_cast<uint32_t>(base::round_up(bytes, size_t{8}));
  return {{}, {}, rounded, type, 0, static_cast<uint16_t>(columns)};
}

// The bytes of a long string whose Text cell lies in `record`.
std::string_view long_string(const UpdateRecord& record, const std::byte* cell);

// One worker's records of one table, in chunks; a record never spans two chunks.
class UpdateSet {
 public:
  static constexpr size_t kChunkBytes = UpdateChunks::kChunkBytes;
  // Of a row of the table, so that any record of it is as short as its length field can say.
  static uint64_t long_string_bytes_max(const base::RowLayout& layout) {
    const size_t cells = layout.bytes + layout.columns.size() * sizeof(base::ColumnId);
    return UINT32_MAX - base::round_up(sizeof(UpdateRecord) + cells + 8, size_t{8});
  }

  // The chunks come from there, and outlive the set.
  explicit UpdateSet(UpdateChunks* memory) : memory_(memory) {}
  ~UpdateSet() { give_back(0); }
  UpdateSet(const UpdateSet&) = delete;
  UpdateSet& operator=(const UpdateSet&) = delete;

  struct Chunk {
    std::byte* data;
    size_t bytes;
    size_t used;          // of whole records
    base::Region region;  // of a record that is larger than a chunk: its own memory
  };

  std::span<const Chunk> chunks() const { return {chunks_.data(), chunks_in_use_}; }
  bool empty() const { return change_count_ == 0; }
  // A record is as many changes as it has rows.
  size_t change_count() const { return change_count_; }
  size_t used_bytes() const;
  // Memory of the records, in whole pages.
  size_t pending_bytes() const;

  // Calls fn(const UpdateRecord&) for each record, in VID order.
  template <class Function>
  void for_each(Function&& fn) const {
    for (const Chunk& chunk : chunks()) {
      const std::byte* at = chunk.data;
      const std::byte* const end = at + chunk.used;
      while (at < end) {
        const auto* record = reinterpret_cast<const UpdateRecord*>(at);
        fn(*record);
        at += record->bytes;
      }
    }
  }

  // Empties the set, which keeps one chunk.
  void clear();

  // The appends take the VID that the transaction commits at: not less than any before it, and
  // another one for each transaction. It may be raised in what they return, until the next append
  // for another transaction. An update or a delete may return the newest record, to which the row
  // was added.
  UpdateRecord* append_insert(base::Vid vid, base::RowId row_id, const base::RowLayout& layout,
                              const std::byte* row) {
    if (!layout.long_strings.empty()) [[unlikely]] {
      return append_row(vid, row_id, layout, row, UpdateType::kInsert);
    }
    UpdateRecord* const record = append_record(
        vid, row_id, head_of(sizeof(UpdateRecord) + layout.bytes, UpdateType::kInsert, 0));
    copy_bytes(row, layout.bytes, reinterpret_cast<std::byte*>(record + 1));
    return record;
  }
  // `row` holds the new values; only the writer's columns are exported.
  UpdateRecord* append_update(base::Vid vid, base::RowId row_id, const base::RowLayout& layout,
                              const std::byte* row, const UpdateWriter& writer) {
    if (writer.has_long_strings) [[unlikely]] {
      return append_with_strings(vid, row_id, layout, row, writer);
    }
    if (follows_newest(vid, row_id, UpdateType::kUpdate) && is_of_newest(row, writer)) {
      return add_row();
    }
    UpdateRecord* const record = append_record(vid, row_id, writer.head);
    copy_cells(write_columns(record, writer), row, writer);
    return record;
  }
  UpdateRecord* append_replace(base::Vid vid, base::RowId row_id, const base::RowLayout& layout,
                               const std::byte* row);
  UpdateRecord* append_delete(base::Vid vid, base::RowId row_id) {
    if (follows_newest(vid, row_id, UpdateType::kDelete)) return add_row();
    return append_record(vid, row_id, head_of(sizeof(UpdateRecord), UpdateType::kDelete, 0));
  }
  // The newest change was appended for nothing: its transaction does not commit. The record is what
  // its append returned.
  void take_back(UpdateRecord* newest);
  // Copies a record, whose VID is final.
  void append_copy(const UpdateRecord& record);
  // Copies all records of a set whose VIDs follow.
  void append_set(const UpdateSet& later);

 private:
  static constexpr size_t kAheadBytes = 512;  // what is fetched to be written
  static constexpr uint64_t kNoRow = UINT64_MAX;

  UpdateRecord* append_row(base::Vid vid, base::RowId row_id, const base::RowLayout& layout,
                           const std::byte* row, UpdateType type);
  UpdateRecord* append_with_strings(base::Vid vid, base::RowId row_id,
                                    const base::RowLayout& layout, const std::byte* row,
                                    const UpdateWriter& writer);
  // Of this head, but for the VID and the row; the last eight of its bytes are zeroes.
  UpdateRecord* append_record(base::Vid vid, base::RowId row_id, const UpdateRecord& head) {
    DIPTYCH_CHECK(vid >= last_vid_, "a worker commits in VID order");
    last_vid_ = vid;
    std::byte* const at = reserve(head.bytes);
    // The applier has had these lines, or others have driven them out of the cache. Most records
    // have two lines at most.
    __builtin_prefetch(at + kAheadBytes, 1);
    __builtin_prefetch(at + kAheadBytes + base::kLineBytes, 1);
    std::memset(at + head.bytes - 8, 0, 8);
    auto* const record = new (at) UpdateRecord(head);
    record->vid = vid;
    record->row_id = row_id;
    next_row_ = row_id.value + 1;
    return newest_ = record;
  }
  // Whether the newest record is of the row before, by the same transaction.
  bool follows_newest(base::Vid vid, base::RowId row_id, UpdateType type) const {
    return row_id.value == next_row_ && row_id.value % base::kRowIdRun != 0 &&
           newest_->vid == vid && newest_->type == type;
  }
  // Whether the newest record, an update, is the same one.
  bool is_of_newest(const std::byte* row, const UpdateWriter& writer) const {
    return newest_->column_count == writer.head.column_count &&
           has_bytes(newest_->body(), writer.column_bytes,
                     reinterpret_cast<const std::byte*>(writer.columns.data())) &&
           has_cells(newest_->cells(), row, writer);
  }
  UpdateRecord* add_row() {
    ++newest_->more;
    ++change_count_;
    ++next_row_;
    return newest_;
  }
  static bool has_cells(const std::byte* cell, const std::byte* row, const UpdateWriter& writer) {
    for (const UpdateWriter::Span& span : writer.spans) {
      if (!has_bytes(cell, span.bytes, row + span.row_offset)) return false;
      cell += span.bytes;
    }
    return true;
  }
  // Gives where the cells begin.
  static std::byte* write_columns(UpdateRecord* record, const UpdateWriter& writer) {
    auto* const at = reinterpret_cast<std::byte*>(record + 1);
    // A body has at least eight bytes; the cells overwrite what is too many.
    std::memcpy(at, &writer.first_columns, sizeof writer.first_columns);
    if (writer.column_bytes > sizeof writer.first_columns) [[unlikely]] {
      std::memcpy(at, writer.columns.data(), writer.column_bytes);
    }
    return at + writer.column_bytes;
  }
  static void copy_cells(std::byte* cell, const std::byte* row, const UpdateWriter& writer) {
    for (const UpdateWriter::Span& span : writer.spans) {
      copy_bytes(row + span.row_offset, span.bytes, cell);
      cell += span.bytes;
    }
  }
  // Contiguous, 8-byte aligned.
  std::byte* reserve(size_t bytes) {
    if (bytes > newest_chunk_->bytes - newest_chunk_->used) [[unlikely]]
      add_chunk(bytes);
    std::byte* const at = newest_chunk_->data + newest_chunk_->used;
    newest_chunk_->used += bytes;
    ++change_count_;
    return at;
  }
  void use_chunks(size_t count) {
    chunks_in_use_ = count;
    newest_chunk_ = count == 0 ? &no_chunk_ : &chunks_[count - 1];
    next_row_ = kNoRow;
  }
  [[gnu::cold]] void add_chunk(size_t bytes);  // for a record of as many
  void give_back(size_t kept_chunks);

  UpdateChunks* memory_;
  std::vector<Chunk> chunks_;
  size_t chunks_in_use_ = 0;
  Chunk no_chunk_{nullptr, 0, 0, {}};
  Chunk* newest_chunk_ = &no_chunk_;  // of those in use
  size_t change_count_ = 0;
  UpdateRecord* newest_ = nullptr;
  uint64_t next_row_ = kNoRow;  // the one that may be added to the newest record
  base::Vid last_vid_;
};

}  // namespace diptych::propagation
