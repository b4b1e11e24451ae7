#include "propagation/export/update_set.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>

#include "base/alignment.h"
#include "base/check.h"
#include "base/types.h"
#include "base/value.h"

namespace diptych::propagation {
namespace {

constexpr size_t kPageBytes = 4096;  // what a first touch takes from the system

// A cell without its null byte; a long string's cell is a Text that points at the worker's memory.
std::string_view source_string(const base::ColumnLayout& column, const std::byte* row) {
  if (base::is_null_cell(column, row)) return {};
  base::Text text;
  std::memcpy(&text, row + column.offset, sizeof text);
  return text.view();
}

// Copies the string's bytes to record + offset and makes the Text at `cell` say so.
void export_string(std::string_view text, std::byte* record, size_t offset, std::byte* cell) {
  base::Text moved;
  moved.data = reinterpret_cast<const char*>(text.empty() ? 0 : offset);
  moved.size = static_cast<uint32_t>(text.size());
  std::memcpy(cell, &moved, sizeof moved);
  if (!text.empty()) std::memcpy(record + offset, text.data(), text.size());
}

}  // namespace

std::string_view long_string(const UpdateRecord& record, const std::byte* cell) {
  base::Text text;
  std::memcpy(&text, cell, sizeof text);
  const auto offset = reinterpret_cast<uintptr_t>(text.data);
  DIPTYCH_DCHECK(offset + text.size <= record.bytes, "a record holds its strings");
  return {reinterpret_cast<const char*>(&record) + offset, text.size};
}

void UpdateSet::give_back(size_t kept_chunks) {
  // Some at a time, and without memory for it: a destructor cannot fail.
  std::array<std::byte*, 64> shared;
  size_t count = 0;
  for (size_t i = kept_chunks; i < chunks_.size(); ++i) {
    if (chunks_[i].region.size() == 0) shared[count++] = chunks_[i].data;
    if (count == shared.size()) memory_->put(std::span(shared).first(std::exchange(count, 0)));
  }
  if (count != 0) memory_->put(std::span(shared).first(count));
  chunks_.resize(std::min(chunks_.size(), kept_chunks));
}

void UpdateSet::clear() {
  const bool keeps_one = !chunks_.empty() && chunks_.front().region.size() == 0;
  give_back(keeps_one ? 1 : 0);
  if (keeps_one) chunks_.front().used = 0;
  use_chunks(0);
  change_count_ = 0;
  last_vid_ = base::Vid();
}

size_t UpdateSet::used_bytes() const {
  size_t bytes = 0;
  for (const Chunk& chunk : chunks()) bytes += chunk.used;
  return bytes;
}

size_t UpdateSet::pending_bytes() const {
  size_t bytes = 0;
  for (const Chunk& chunk : chunks()) bytes += base::round_up(chunk.used, kPageBytes);
  return bytes;
}

void UpdateSet::add_chunk(size_t bytes) {
  DIPTYCH_CHECK(bytes <= UINT32_MAX, "a record's length field has 32 bits");
  if (bytes > kChunkBytes) {
    // In front of the empty chunk that clear() has kept, if that is not in use yet.
    base::Region region(bytes, memory_->node());
    std::byte* const data = region.data();
    const size_t size = region.size();
    chunks_.insert(chunks_.begin() + static_cast<std::ptrdiff_t>(chunks_in_use_),
                   Chunk{data, size, 0, std::move(region)});
  } else if (chunks_in_use_ == chunks_.size()) {
    chunks_.push_back(Chunk{memory_->take(), kChunkBytes, 0, {}});
  }
  use_chunks(chunks_in_use_ + 1);
}

UpdateRecord* UpdateSet::append_replace(base::Vid vid, base::RowId row_id,
                                        const base::RowLayout& layout, const std::byte* row) {
  return append_row(vid, row_id, layout, row, UpdateType::kReplace);
}

UpdateRecord* UpdateSet::append_row(base::Vid vid, base::RowId row_id,
                                    const base::RowLayout& layout, const std::byte* row,
                                    UpdateType type) {
  size_t end = sizeof(UpdateRecord) + layout.bytes;
  for (const base::ColumnId id : layout.long_strings) {
    end += source_string(layout.column(id), row).size();
  }
  UpdateRecord* const record = append_record(vid, row_id, head_of(end, type, 0));
  next_row_ = kNoRow;
  auto* const at = reinterpret_cast<std::byte*>(record);
  std::byte* const body = at + sizeof(UpdateRecord);
  std::memcpy(body, row, layout.bytes);
  size_t offset = sizeof(UpdateRecord) + layout.bytes;
  for (const base::ColumnId id : layout.long_strings) {
    const base::ColumnLayout& column = layout.column(id);
    const std::string_view text = source_string(column, row);
    export_string(text, at, offset, body + column.offset);
    offset += text.size();
  }
  return record;
}

UpdateWriter::UpdateWriter(const base::RowLayout& layout, std::span<const base::ColumnId> ids)
    : column_bytes(ids.size_bytes()), columns(ids.begin(), ids.end()) {
  DIPTYCH_CHECK(!ids.empty(), "an update that changes nothing is not exported");
  std::memcpy(&first_columns, ids.data(), std::min(column_bytes, sizeof first_columns));
  record_bytes += column_bytes;
  for (const base::ColumnId id : ids) {
    const base::ColumnLayout& column = layout.column(id);
    const bool is_long = !column.type.is_inline();
    cells.push_back({id, is_long, column.offset, column.bytes});
    if (!spans.empty() && spans.back().row_offset + spans.back().bytes == column.offset) {
      spans.back().bytes += column.bytes;
    } else {
      spans.push_back({column.offset, column.bytes});
    }
    record_bytes += column.bytes;
    has_long_strings = has_long_strings || is_long;
  }
  head = head_of(record_bytes, UpdateType::kUpdate, ids.size());
}

UpdateRecord* UpdateSet::append_with_strings(base::Vid vid, base::RowId row_id,
                                             const base::RowLayout& layout, const std::byte* row,
                                             const UpdateWriter& writer) {
  size_t end = writer.record_bytes;
  for (const UpdateWriter::Cell& cell : writer.cells) {
    if (cell.is_long_string) end += source_string(layout.column(cell.column), row).size();
  }
  UpdateRecord* const record =
      append_record(vid, row_id, head_of(end, UpdateType::kUpdate, writer.cells.size()));
  next_row_ = kNoRow;
  auto* const at = reinterpret_cast<std::byte*>(record);
  std::byte* to = write_columns(record, writer);
  copy_cells(to, row, writer);
  size_t strings = writer.record_bytes;
  for (const UpdateWriter::Cell& cell : writer.cells) {
    if (cell.is_long_string) {
      const std::string_view text = source_string(layout.column(cell.column), row);
      export_string(text, at, strings, to);
      strings += text.size();
    }
    to += cell.cell_bytes;
  }
  DIPTYCH_DCHECK(strings == end, "the cells and strings fill the record");
  return record;
}

void UpdateSet::append_copy(const UpdateRecord& record) {
  DIPTYCH_CHECK(record.vid >= last_vid_, "a worker commits in VID order");
  last_vid_ = record.vid;
  next_row_ = kNoRow;
  std::memcpy(reserve(record.bytes), &record, record.bytes);
  change_count_ += record.more;
}

void UpdateSet::take_back(UpdateRecord* newest) {
  DIPTYCH_CHECK(change_count_ != 0, "the record is in the set");
  Chunk& chunk = chunks_[chunks_in_use_ - 1];
  DIPTYCH_CHECK(
      reinterpret_cast<const std::byte*>(newest) + newest->bytes == chunk.data + chunk.used,
      "the record is the newest");
  --change_count_;
  if (newest->more != 0) {
    --newest->more;
    if (next_row_ != kNoRow) --next_row_;
    return;
  }
  next_row_ = kNoRow;
  chunk.used -= newest->bytes;
  if (chunk.used != 0) return;
  use_chunks(chunks_in_use_ - 1);
  // What lies behind those in use is a chunk of kChunkBytes: see add_chunk().
  if (chunk.region.size() != 0) {
    chunks_.erase(chunks_.begin() + static_cast<std::ptrdiff_t>(chunks_in_use_));
  }
}

void UpdateSet::append_set(const UpdateSet& later) {
  if (later.empty()) return;
  const auto* const first = reinterpret_cast<const UpdateRecord*>(later.chunks().front().data);
  DIPTYCH_CHECK(first->vid >= last_vid_, "a worker commits in VID order");
  last_vid_ = later.last_vid_;
  next_row_ = kNoRow;
  // A chunk holds whole records, so it is copied like one.
  for (const Chunk& chunk : later.chunks()) {
    std::memcpy(reserve(chunk.used), chunk.data, chunk.used);
  }
  change_count_ += later.change_count_ - later.chunks_in_use_;
}

}  // namespace diptych::propagation
