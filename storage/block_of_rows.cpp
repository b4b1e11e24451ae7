// How rows become a compressed block without having been in pages, and how such blocks go again:
// the parts of CompressedBlock and PartitionStore that only a bulk load calls.
//
// A column is gathered from all rows into one run, its texts copied side by side, and encoded while
// it lies in the cache: the rows are read in strides, once a column.

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/string_ref.h"
#include "storage/cell.h"
#include "storage/compressed_block.h"
#include "storage/encoding/encode.h"
#include "storage/partition_store.h"

namespace diptych::storage {
namespace {

constexpr size_t kRowsAhead = 16;
static_assert(size_t{kBlockRows} * base::kInlineStringBytesMax <= CompressedBlock::kTextBytesMax,
              "texts in the row itself always fit");

// One column of kBlockRows rows; reused for the next.
class GatheredColumn {
 public:
  explicit GatheredColumn(std::span<const NewRow> rows)
      : rows_(rows), values_(kBlockRows * sizeof(base::StringRef) / sizeof(uint64_t)) {}

  void row_ids() {
    for (size_t i = 0; i < rows_.size(); ++i) values_[i] = rows_[i].row_id.value;
    nullable_ = false;
  }
  // False: more than `text_bytes_max` bytes of text.
  bool gather(const ColumnFormat& column, size_t text_bytes_max) {
    nullable_ = column.nullable;
    nulls_.assign(nullable_ ? kBlockRows / 64 : 0, 0);
    switch (column.kind) {
      case CellKind::kInt32: numbers<int32_t>(column); return true;
      case CellKind::kInt64: numbers<int64_t>(column); return true;
      case CellKind::kDouble: numbers<double>(column); return true;
      case CellKind::kBoolean: booleans(column); return true;
      case CellKind::kInlineString:
      case CellKind::kLongString: break;
    }
    return texts(column, text_bytes_max);
  }
  encoding::ColumnRun run(encoding::ValueKind kind) const {
    return {kind, kBlockRows, values_.data(), nullable_ ? nulls_.data() : nullptr};
  }

 private:
  // Calls take(i, cell) for each row whose cell is not null.
  template <class Take>
  void for_each_cell(const ColumnFormat& column, const Take& take) {
    for (size_t i = 0; i < rows_.size(); ++i) {
      const size_t ahead = std::min(i + kRowsAhead, rows_.size() - 1);
      __builtin_prefetch(rows_[ahead].row + column.cell_offset);
      const std::byte* const cell = rows_[i].row + column.cell_offset;
      if (column.nullable && cell[column.null_in_cell] != std::byte{0}) {
        nulls_[i / 64] |= uint64_t{1} << (i % 64);
      } else {
        take(i, cell);
      }
    }
  }
  // A null's value is meaningless, but the same in every run.
  template <class Value>
  Value* cleared_values() {
    auto* const values = reinterpret_cast<Value*>(values_.data());
    if (nullable_) std::fill_n(values, kBlockRows, Value{});
    return values;
  }
  template <class Value>
  void numbers(const ColumnFormat& column) {
    auto* const values = cleared_values<Value>();
    for_each_cell(column, [&](size_t i, const std::byte* cell) { values[i] = load<Value>(cell); });
  }
  void booleans(const ColumnFormat& column) {
    auto* const values = cleared_values<uint8_t>();
    for_each_cell(column, [&](size_t i, const std::byte* cell) {
      values[i] = *cell != std::byte{0} ? 1 : 0;
    });
  }
  size_t text_bytes_at_most(const ColumnFormat& column) {
    if (column.kind == CellKind::kInlineString) return size_t{kBlockRows} * column.type.length;
    size_t bytes = 0;
    for_each_cell(column, [&](size_t i, const std::byte* cell) {
      bytes += cell_string(column.kind, cell, rows_[i].strings_base).size();
    });
    return bytes;
  }
  bool texts(const ColumnFormat& column, size_t text_bytes_max) {
    const size_t bytes = text_bytes_at_most(column);
    if (bytes > text_bytes_max) return false;
    if (texts_.size() < bytes) texts_.resize(bytes);
    char* to = texts_.data();
    auto* const values = cleared_values<base::StringRef>();
    for_each_cell(column, [&](size_t i, const std::byte* cell) {
      const std::string_view text = cell_string(column.kind, cell, rows_[i].strings_base);
      if (!text.empty()) std::memcpy(to, text.data(), text.size());
      values[i] = base::StringRef(std::string_view(to, text.size()));
      to += text.size();
    });
    return true;
  }

  std::span<const NewRow> rows_;
  std::vector<uint64_t> values_;  // as words: any value type is aligned
  std::vector<uint64_t> nulls_;
  std::vector<char> texts_;
  bool nullable_ = false;
};

}  // namespace

CompressedBlock::CompressedBlock(const LeafFormat& format, uint32_t first_ordinal)
    : Leaf(LeafForm::kCompressed) {
  DIPTYCH_CHECK(first_ordinal % kBlockRows == 0, "blocks tile the ordinals");
  first_ordinal_ = first_ordinal;
  row_slots_ = kBlockRows;
  live_rows_ = kBlockRows;
  live_bits_.assign(kBlockRows / 64, ~uint64_t{0});
  columns_.reserve(format.columns.size() + 1);
  bytes_ = sizeof *this + live_bits_.capacity() * sizeof(uint64_t) +
           columns_.capacity() * sizeof(Column);
}

std::unique_ptr<CompressedBlock> CompressedBlock::make(const LeafFormat& format,
                                                       uint32_t first_ordinal,
                                                       std::span<const NewRow> rows) {
  DIPTYCH_CHECK(rows.size() == kBlockRows, "a block's rows come together");
  std::unique_ptr<CompressedBlock> block(new CompressedBlock(format, first_ordinal));
  GatheredColumn gathered(rows);
  const auto add = [&](encoding::ValueKind kind, bool nullable) {
    base::Result<encoding::ChunkBytes> chunk = encoding::encode(gathered.run(kind));
    DIPTYCH_CHECK(chunk.ok(), "C2: a block's columns are far below what a chunk takes");
    Column& added = block->columns_.emplace_back();
    added.nullable = nullable;
    block->set_chunk(&added, std::move(*chunk));
  };
  for (const ColumnFormat& column : format.columns) {
    if (!gathered.gather(column, kTextBytesMax)) return nullptr;
    add(encoding::value_kind(column.type), column.nullable);
  }
  gathered.row_ids();
  add(encoding::ValueKind::kInt64, false);
  return block;
}

uint64_t PartitionStore::slots_before_block() const {
  uint64_t slots = free_slots_.size() + (kBlockRows - next_ordinal_ % kBlockRows) % kBlockRows;
  for (const uint32_t range : worn_) slots += ranges_[range].freed;
  return slots;
}

std::optional<uint32_t> PartitionStore::append_block(std::span<const NewRow> rows) {
  DIPTYCH_CHECK(slots_before_block() == 0, "S1: inserts take the slots that are there first");
  DIPTYCH_CHECK(next_ordinal_ <= std::numeric_limits<uint32_t>::max() - kBlockRows,
                "a partition has at most 2^32 - 2^16 rows; use more partitions");
  if (block_form_ != BlockForm::kCompressed) return std::nullopt;
  std::unique_ptr<CompressedBlock> block = CompressedBlock::make(format_, next_ordinal_, rows);
  if (block == nullptr) return std::nullopt;
  directory_.insert(directory_.end(), kBlockRows / format_.page_rows, block.get());
  leaves_.push_back(std::move(block));
  ranges_.emplace_back().is_block = true;
  ++settled_ranges_;
  return std::exchange(next_ordinal_, next_ordinal_ + kBlockRows);
}

void PartitionStore::drop_dead_ranges() {
  while (!ranges_.empty()) {
    const Range& range = ranges_.back();
    const auto number = static_cast<uint32_t>(ranges_.size() - 1);
    const uint32_t first = number * kBlockRows;
    if (range.freed != next_ordinal_ - first) return;
    size_t leaf = first_leaf_of(number);
    if (leaves_[leaf]->form() == LeafForm::kCompressed) {
      thawed_columns_ -= compressed_block(number).thawed_columns();
      frozen_slots_ -= range.freed;
      std::erase(worn_, number);
    } else {
      for (uint32_t slot = first; slot < next_ordinal_; ++slot) {
        const bool was_free = free_slots_.take(slot);
        DIPTYCH_CHECK(was_free, "S1: what was freed on pages is in free_slots_");
      }
    }
    if (range.is_block || range.stays_pages) --settled_ranges_;
    for (; !range.is_block && leaf < leaves_.size(); ++leaf) {
      pages_.give_back(static_cast<const HotPage&>(*leaves_[leaf]).memory());
    }
    leaves_.resize(first_leaf_of(number));
    directory_.resize(size_t{number} * (kBlockRows / format_.page_rows));
    ranges_.pop_back();
    next_ordinal_ = first;
  }
  pages_.release();
}

uint64_t Partition::slots_before_block() const {
  return store_->slots_before_block();
}

std::optional<uint32_t> Partition::append_block(std::span<const NewRow> rows) {
  return store_->append_block(rows);
}

void Partition::drop_dead_ranges() {
  store_->drop_dead_ranges();
}

}  // namespace diptych::storage
