#include "storage/partition_store.h"

#include <algorithm>
#include <array>
#include <bit>
#include <iterator>
#include <limits>
#include <new>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "storage/plain_block.h"
#include "storage/settling.h"

namespace diptych::storage {
namespace {

constexpr size_t kTogether = 64;  // rows of pages that are written column by column

PlainLeaf& plain(Leaf& leaf) {
  DIPTYCH_DCHECK(leaf.form() == LeafForm::kPlain, "pages and plain blocks are");
  return static_cast<PlainLeaf&>(leaf);
}
// One piece of work is always done, so that a short time means slow progress and not none.
bool goes_on(size_t done, uint64_t until_ns) {
  return done == 0 || base::steady_ns() < until_ns;
}
CompressedBlock& compressed(Leaf& leaf) {
  DIPTYCH_DCHECK(leaf.form() == LeafForm::kCompressed, "compressed blocks are");
  return static_cast<CompressedBlock&>(leaf);
}

}  // namespace

PartitionStore::PartitionStore(const base::TableSchema& schema, base::PartitionId partition,
                               const StorageOptions& options, BufferManager* buffers)
    : format_(schema, partition, options.block_rows),
      node_(options.node),
      block_form_(options.blocks),
      buffers_(buffers),
      settled_(options.settled),
      page_shift_(static_cast<uint32_t>(std::countr_zero(format_.page_rows))),
      block_shift_(static_cast<uint32_t>(std::countr_zero(format_.block_rows))),
      pages_(HotPage::bytes(format_), options.node),
      string_pages_(options.node),
      cells_updated_(schema.columns.size()) {}

SharedRef<StringHeap> PartitionStore::new_heap() {
  return SharedRef<StringHeap>(std::make_unique<StringHeap>(&string_pages_));
}

void PartitionStore::append_page() {
  DIPTYCH_CHECK(next_ordinal_ <= std::numeric_limits<uint32_t>::max() - format_.block_rows,
                "a partition has at most 2^32 rows less a block; use more partitions");
  const bool begins_range = next_ordinal_ % format_.block_rows == 0;
  const SharedRef<StringHeap> heap = begins_range ? new_heap() : ranges_.back().heap;
  make_room(&ranges_);
  make_room(&directory_);
  make_room(&leaves_);
  std::byte* const memory = pages_.take_zeroed();
  try {
    leaves_.emplace_back(std::make_unique<HotPage>(format_, next_ordinal_, memory, heap));
  } catch (...) {
    pages_.give_back(memory);
    throw;
  }
  directory_.push_back(leaves_.back().get());
  if (begins_range) ranges_.emplace_back().heap = heap;
}

uint64_t PartitionStore::live_rows() const {
  if (restored_.empty()) return next_ordinal_ - free_slots_.size() - frozen_slots_;
  uint64_t rows = 0;
  for (const SharedRef<Leaf>& leaf : leaves_) rows += leaf->live_rows();
  return rows;
}

uint32_t PartitionStore::take_ordinals(size_t count_max, uint32_t* count) {
  const bool pages_are_full = next_ordinal_ % format_.page_rows == 0;
  if (free_slots_.empty() && pages_are_full && !worn_.empty()) {
    melt(worn_.front());
    ++counts_.blocks_melted;
  }
  *count = 1;
  if (!free_slots_.empty()) {
    const uint32_t first = free_slots_.take_lowest();
    while (*count < count_max &&
           first / format_.page_rows == (first + *count) / format_.page_rows &&
           free_slots_.take(first + *count)) {
      ++*count;
    }
    ranges_[first / format_.block_rows].freed -= *count;
    return first;
  }
  if (pages_are_full) append_page();
  const uint32_t first = next_ordinal_;
  const uint32_t room = format_.page_rows - first % format_.page_rows;
  *count = static_cast<uint32_t>(std::min<size_t>(room, count_max));
  next_ordinal_ += *count;
  return first;
}

void PartitionStore::insert(std::span<const NewRow> rows, uint32_t* ordinals) {
  DIPTYCH_CHECK(restored_.empty(), "finish_restore() goes before writes");
  rows_changed_ += rows.size();
  takes_inserts_ = true;
  while (!rows.empty()) {
    uint32_t count = 0;
    const uint32_t first = take_ordinals(rows.size(), &count);
    uint32_t position;
    plain(leaf_to_write(first, &position)).write_rows(position, rows.first(count));
    note_writes(first, count, ChangeWatch::Change::kAny);
    for (uint32_t i = 0; i < count; ++i) *ordinals++ = first + i;
    rows = rows.subspan(count);
  }
}

CompressedBlock* PartitionStore::block_to_write(uint32_t range) {
  DIPTYCH_CHECK(restored_.empty(), "finish_restore() goes before writes");
  if (!is_compressed(ranges_[range])) return nullptr;
  uint32_t position;
  return &compressed(leaf_to_write(range << block_shift_, &position));
}

void PartitionStore::prefetch(std::span<const uint32_t> ordinals,
                              std::span<const base::ColumnId> columns) {
  if (const CompressedBlock* const block = block_to_write(range_of(ordinals)); block != nullptr) {
    for (const base::ColumnId column : columns) block->prefetch(ordinals, column);
    return;
  }
  for (const uint32_t ordinal : ordinals) {
    uint32_t position;
    const PlainLeaf& page = plain(leaf_to_write(ordinal, &position));
    for (const base::ColumnId column : columns) {
      page.prefetch_cell(position, format_.columns[column.value]);
    }
  }
}

void PartitionStore::update(std::span<const uint32_t> ordinals, base::ColumnId column,
                            std::span<const std::byte* const> records, size_t cell_offset) {
  const uint32_t number = range_of(ordinals);
  cells_updated_[column.value] += ordinals.size();
  CompressedBlock* const block = block_to_write(number);
  if (block == nullptr) return update_pages(ordinals, column, records, cell_offset);
  const size_t thawed_before = block->thawed_columns();
  const size_t written = block->write_cells(column, ordinals, records, cell_offset);
  thawed_columns_ += block->thawed_columns() - thawed_before;
  counts_.columns_thawed += block->thawed_columns() - thawed_before;
  if (written == ordinals.size()) return;
  melt(number);
  ++counts_.blocks_melted;
  ranges_[number].stays_pages = true;
  ++compacted_ranges_;
  update_pages(ordinals.subspan(written), column, records.subspan(written), cell_offset);
}

void PartitionStore::update_pages(std::span<const uint32_t> ordinals, base::ColumnId column,
                                  std::span<const std::byte* const> records, size_t cell_offset) {
  std::array<PlainLeaf::Place, kTogether> places;
  while (!ordinals.empty()) {
    const size_t count = std::min(ordinals.size(), kTogether);
    for (size_t i = 0; i < count; ++i) {
      places[i].leaf = &plain(leaf_to_write(ordinals[i], &places[i].position));
    }
    PlainLeaf::write_cells(format_.columns[column.value], column, std::span(places).first(count),
                           records.first(count), cell_offset);
    ordinals = ordinals.subspan(count);
    records = records.subspan(count);
  }
}

void PartitionStore::prefetch_erase(uint32_t ordinal) const {
  uint32_t position;
  Leaf& leaf = leaf_of(ordinal, &position);
  leaf.prefetch_live(position);
  if (leaf.form() == LeafForm::kPlain) plain(leaf).prefetch_row(position);
}

void PartitionStore::erase(uint32_t ordinal) {
  DIPTYCH_CHECK(ordinal < next_ordinal_, "S1: only a row that was inserted is erased");
  uint32_t position;
  Leaf& leaf = leaf_to_write(ordinal, &position);
  Range& range = ranges_[ordinal / format_.block_rows];
  ++range.freed;
  ++rows_changed_;
  note_writes(ordinal, 1, ChangeWatch::Change::kAny);
  if (leaf.form() == LeafForm::kPlain) {
    plain(leaf).erase_row(position);
    free_slots_.add(ordinal);
    return;
  }
  compressed(leaf).erase_row(position);
  ++frozen_slots_;
  const uint32_t number = ordinal / format_.block_rows;
  if (range.freed == worn_rows()) worn_.push_back(number);
  if (leaf.live_rows() == 0) empty_.push_back(number);
}

size_t PartitionStore::drop_empty_block() try {
  if (empty_.empty()) return 0;
  const uint32_t number = empty_.back();
  DIPTYCH_CHECK(ranges_[number].is_block, "S7: a range that melts has left empty_");
  uint32_t position;
  auto& block = compressed(leaf_to_write(number * format_.block_rows, &position));
  const size_t bytes = block.memory_bytes();
  thawed_columns_ -= block.forget_thaws();
  block.drop_values();
  empty_.pop_back();
  return bytes;
} catch (const std::bad_alloc&) {  // the next call goes on
  return 0;
}

bool PartitionStore::awaits_inserts(const Range& range) const {
  return block_form_ == BlockForm::kCompressed && range.freed > worn_rows() / 2;
}

bool PartitionStore::wants_compaction() const {
  if (thawed_columns_ != 0 || !empty_.empty() || string_pages_.wants_look()) return true;
  const auto is_worth = [&](uint32_t number) {
    return is_worth_rewriting(ranges_[number]) || is_sparse(number);
  };
  if (std::any_of(worn_.begin(), worn_.end(), is_worth)) return true;
  const uint32_t full_ranges = next_ordinal_ / format_.block_rows;
  if (compacted_ranges_ == full_ranges) return false;
  for (uint32_t number = 0; number < full_ranges; ++number) {
    const Range& range = ranges_[number];
    if (range.is_block || range.stays_pages) continue;
    if (!awaits_inserts(range) || is_sparse(number)) return true;
  }
  return false;
}

size_t PartitionStore::compact_pages(size_t done, uint64_t until_ns) {
  const size_t full_ranges = next_ordinal_ / format_.block_rows;
  if (compacted_ranges_ == full_ranges) return done;
  for (size_t i = 0; i < full_ranges; ++i) {
    Range& range = ranges_[i];
    if (range.is_block || range.stays_pages) continue;
    const bool is_quiet = range.writes <= format_.block_rows / kQuietShare;
    if (is_quiet && !awaits_inserts(range) && goes_on(done, until_ns)) done += make_block(i);
    range.writes = 0;
  }
  return done;
}

// Where rows are inserted, a worn block becomes pages for them, sooner or later.
size_t PartitionStore::rewrite_worn(size_t done, uint64_t until_ns) {
  const bool takes_inserts = std::exchange(takes_inserts_, false);
  // A range that is rewritten leaves its place, and may come back behind all others.
  size_t at = 0;
  for (size_t left = worn_.size(); left != 0; --left) {
    const uint32_t number = worn_[at++];
    Range& range = ranges_[number];
    const bool is_quiet = range.writes <= format_.block_rows / kQuietShare;
    range.writes = 0;
    if (takes_inserts || !is_quiet || !is_worth_rewriting(range) || is_sparse(number)) continue;
    if (!goes_on(done, until_ns)) break;
    melt(number);
    --at;
    done += make_block(number);
    ++(range.is_block ? counts_.blocks_rewritten : counts_.blocks_melted);
  }
  return done;
}

size_t PartitionStore::freeze_columns(size_t done, uint64_t until_ns) {
  if (thawed_columns_ == 0) return done;
  for (size_t i = 0; i < ranges_.size(); ++i) {
    if (!ranges_[i].is_block) continue;
    if (compressed_block(i).thawed_columns() == 0) continue;
    uint32_t position;
    auto& block =
        compressed(leaf_to_write(static_cast<uint32_t>(i * format_.block_rows), &position));
    using Freeze = CompressedBlock::Freeze;
    const size_t before = block.thawed_columns();
    done += block.look(goes_on(done, until_ns) ? Freeze::kOne : Freeze::kNone);
    if (before != block.thawed_columns()) note_remade(i);
    thawed_columns_ -= before - block.thawed_columns();
    counts_.columns_frozen += before - block.thawed_columns();
  }
  return done;
}

size_t PartitionStore::settle_columns(size_t done, uint64_t until_ns) {
  if (settled_ == base::Settled::kOff || block_form_ == BlockForm::kPlain) return done;
  for (size_t i = std::min(kBlocksALook, ranges_.size()); i != 0; --i) {
    settle_next_ = settle_next_ + 1 < ranges_.size() ? settle_next_ + 1 : 0;
    if (!ranges_[settle_next_].is_block) continue;
    if (!compressed_block(settle_next_).look_for_long() || !goes_on(done, until_ns)) continue;
    uint32_t position;
    auto& block = compressed(
        leaf_to_write(static_cast<uint32_t>(settle_next_ * format_.block_rows), &position));
    const CompressedBlock::Settled settled = block.settle_one();
    note_remade(settle_next_);
    done += settled.bytes;
    counts_.columns_settled += settled.is_smaller ? 1 : 0;
  }
  return done;
}

// Pages first: what waits there takes memory that the next rows could have.
size_t PartitionStore::compact(uint64_t until_ns) {
  string_pages_.look();
  size_t done = drop_empty_block();
  done = compact_pages(done, until_ns);
  done = move_sparse(done, until_ns);
  done = rewrite_worn(done, until_ns);
  done = freeze_columns(done, until_ns);
  return settle_columns(done, until_ns);
}

void PartitionStore::compact_all() {
  const size_t full_ranges = next_ordinal_ / format_.block_rows;
  if (compacted_ranges_ == full_ranges) return;
  for (size_t i = 0; i < full_ranges; ++i) {
    if (!ranges_[i].is_block && !ranges_[i].stays_pages) make_block(i);
  }
  pages_.release();
  string_pages_.pool().release();
}

size_t PartitionStore::first_leaf_of(size_t range) const {
  const auto first = std::lower_bound(
      leaves_.begin(), leaves_.end(), range * format_.block_rows,
      [](const auto& leaf, size_t ordinal) { return leaf->first_ordinal() < ordinal; });
  DIPTYCH_CHECK(first != leaves_.end() && (*first)->first_ordinal() == range * format_.block_rows,
                "S2: some leaf begins where the range does");
  return static_cast<size_t>(first - leaves_.begin());
}

size_t PartitionStore::make_block(size_t range) {
  const size_t page_count = format_.block_rows / format_.page_rows;
  const size_t first = first_leaf_of(range);
  DIPTYCH_CHECK(leaves_.size() - first >= page_count,
                "S3: a range without a block has all its pages");
  if (block_form_ == BlockForm::kPlain) {
    // Their strings move to the block: no image may have them.
    std::vector<const HotPage*> pages;
    for (size_t i = 0; i < page_count; ++i) {
      pages.push_back(static_cast<const HotPage*>(&make_own(leaves_[first + i].get())));
    }
    replace_pages(range, std::make_unique<PlainBlock>(format_, pages, ranges_[range].heap, node_));
    return format_.leaf_bytes(format_.block_rows);
  }
  std::vector<const PlainLeaf*> pages;
  for (size_t i = 0; i < page_count; ++i) pages.push_back(&plain(*leaves_[first + i]));
  auto block = CompressedBlock::make(format_, pages, buffers_);
  if (block == nullptr) {
    ranges_[range].stays_pages = true;
    ++compacted_ranges_;
    return 0;
  }
  const size_t bytes = format_.leaf_bytes(format_.block_rows) + ranges_[range].heap->memory_bytes();
  replace_pages(range, std::move(block));
  withhold_slots(range);
  ranges_[range].heap = {};
  ranges_[range].saved = {};
  return bytes;
}

void PartitionStore::replace_pages(size_t range, std::unique_ptr<Leaf> block) {
  const size_t page_count = format_.block_rows / format_.page_rows;
  const auto first = leaves_.begin() + static_cast<std::ptrdiff_t>(first_leaf_of(range));
  const auto end = first + static_cast<std::ptrdiff_t>(page_count);
  for (auto page = first; page != end; ++page) drop(std::move(*page));
  std::fill_n(directory_.begin() + static_cast<std::ptrdiff_t>(range * page_count), page_count,
              block.get());
  *first = SharedRef<Leaf>(std::move(block));
  leaves_.erase(first + 1, end);
  ranges_[range].is_block = true;
  ++compacted_ranges_;
  note_remade(range);
  ++counts_.blocks_made;
}

void PartitionStore::withhold_slots(size_t range) {
  const uint32_t freed = ranges_[range].dead = ranges_[range].freed;
  frozen_slots_ += freed;
  if (freed >= worn_rows()) worn_.push_back(static_cast<uint32_t>(range));
  if (freed == format_.block_rows) empty_.push_back(static_cast<uint32_t>(range));
  const auto first = static_cast<uint32_t>(range * format_.block_rows);
  uint32_t found = 0;
  for (uint32_t i = 0; i < format_.block_rows && found < freed; ++i) {
    found += free_slots_.take(first + i) ? 1 : 0;
  }
  DIPTYCH_CHECK(found == freed, "S1: what was freed on pages is in free_slots_");
}

void PartitionStore::melt(size_t number) {
  Range& range = ranges_[number];
  const size_t page_count = format_.block_rows / format_.page_rows;
  const size_t first = first_leaf_of(number);
  const auto heap = new_heap();
  std::vector<SharedRef<Leaf>> pages;
  // A column that cannot be read ends it here, and the store stays whole.
  for (size_t i = 0; i < page_count; ++i) {
    const auto from = static_cast<uint32_t>(i * format_.page_rows);
    auto page = std::make_unique<HotPage>(format_, leaves_[first]->first_ordinal() + from,
                                          pages_.take_zeroed(), heap);
    page->copy_rows(*leaves_[first], from);
    pages.emplace_back(std::move(page));
  }
  SharedRef<Leaf> block = std::move(leaves_[first]);
  thawed_columns_ -= compressed(*block).thawed_columns();
  range.heap = heap;
  for (size_t i = 0; i < page_count; ++i) directory_[number * page_count + i] = pages[i].get();
  leaves_[first] = std::move(pages.front());
  leaves_.insert(leaves_.begin() + static_cast<std::ptrdiff_t>(first) + 1,
                 std::make_move_iterator(pages.begin() + 1), std::make_move_iterator(pages.end()));
  for (uint32_t i = 0; i < format_.block_rows; ++i) {
    if (!block->lives(i)) free_slots_.add(block->first_ordinal() + i);
  }
  frozen_slots_ -= range.freed;
  std::erase(worn_, static_cast<uint32_t>(number));
  std::erase(empty_, static_cast<uint32_t>(number));
  range.is_block = false;
  range.writes = 0;
  range.changed = true;
  note_remade(number);
  --compacted_ranges_;
  drop(std::move(block));
}

PartitionFigures PartitionStore::figures() const {
  PartitionFigures figures = counts_;
  figures.page_bytes = pages_.memory_bytes() + leaves_.size() * sizeof(HotPage);
  figures.directory_bytes = free_slots_.memory_bytes() + directory_.capacity() * sizeof(Leaf*) +
                            ranges_.capacity() * sizeof(Range);
  figures.string_bytes = string_pages_.pool().memory_bytes();
  figures.snapshot_bytes = snapshot_bytes();
  for (size_t i = 0; i < ranges_.size(); ++i) {
    if (ranges_[i].heap) figures.string_bytes += ranges_[i].heap->bytes_beside_pages();
    if (!ranges_[i].is_block) continue;
    figures.block_bytes += block_form_ == BlockForm::kPlain ? format_.leaf_bytes(format_.block_rows)
                                                            : compressed_block(i).memory_bytes();
  }
  return figures;
}

}  // namespace diptych::storage
