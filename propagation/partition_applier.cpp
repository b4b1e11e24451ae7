#include "propagation/partition_applier.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/alignment.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/hash.h"
#include "storage/buffered_chunk.h"

namespace diptych::propagation {
namespace {

// Updates are looked through for ones to collapse where they are so many for each row.
constexpr size_t kCollapsedPerRow = 4;
constexpr size_t kSeenPlaces = 512;
constexpr size_t kRecordsAhead = 32;  // whose lines, and so many whose index pages, are fetched
constexpr size_t kPagesAhead = 16;
constexpr size_t kLoadedTogether = 1024;

}  // namespace

PartitionApplier::PartitionApplier(storage::Partition* partition, const base::RowLayout* layout,
                                   base::NumaNode node)
    : partition_(partition),
      block_shift_(static_cast<uint32_t>(std::countr_zero(partition->block_rows()))),
      layout_(layout),
      index_(node),
      whole_row_(UpdateReader::of_rows(*layout)) {}

void PartitionApplier::index_rows() {
  partition_->finish_restore();
  for (size_t i = 0; i < partition_->leaf_count(); ++i) {
    const storage::Leaf& leaf = partition_->leaf(i);
    const storage::PinnedColumn row_ids = storage::value_or_throw(leaf.pin_row_ids());
    storage::DecodeBuffer buffer;
    const auto* const ids = row_ids.view(0, leaf.row_slots(), &buffer).as<base::RowId>();
    for (uint32_t word = 0; word * 64 < leaf.row_slots(); ++word) {
      for (uint64_t bits = leaf.live_bits()[word]; bits != 0; bits &= bits - 1) {
        const uint32_t position = word * 64 + static_cast<uint32_t>(std::countr_zero(bits));
        index_.insert(ids[position], leaf.first_ordinal() + position);
      }
    }
  }
  partition_->tell_moves(this);
}

void PartitionApplier::row_moved(base::RowId row_id, uint32_t ordinal) noexcept {
  index_.move(row_id, ordinal);
}

const UpdateReader* PartitionApplier::find_reader(const UpdateRecord& update) {
  const uint64_t key = UpdateReader::first_columns_of(update) + update.column_count;
  const UpdateReader*& place = reader_places_[base::spread(key, std::countr_zero(kReaderPlaces))];
  if (place != nullptr && place->is_of(update)) return place;
  const size_t hash = UpdateReader::hash_of(update);
  const auto [first, last] = readers_.equal_range(hash);
  const auto found =
      std::find_if(first, last, [&](const auto& reader) { return reader.second.is_of(update); });
  place = found == last ? &readers_.emplace(hash, UpdateReader(*layout_, update))->second
                        : &found->second;
  return place;
}

void PartitionApplier::drop_readers() {
  last_reader_ = nullptr;
  reader_places_.fill(nullptr);
  readers_.clear();
}

// From the last record to the first: an update whose row and columns were met before is dropped,
// since that later one writes the same cells (or the row is gone by then). What was met is kept in
// a few places that may be taken over, which only means that less is dropped.
PartitionApplier::Records PartitionApplier::collapse(Records records, ApplyWorkspace* work) {
  struct Seen {
    base::RowId row_id;
    const UpdateReader* reader = nullptr;
  };
  std::array<Seen, kSeenPlaces> seen{};
  work->kept.resize(records.size());
  size_t first = records.size();
  for (size_t i = records.size(); i-- != 0;) {
    const UpdateRecord& record = *records[i];
    if (record.type == UpdateType::kUpdate && record.more == 0) {
      const UpdateReader* const reader = reader_of(record);
      const uint64_t key = record.row_id.value + reinterpret_cast<uintptr_t>(reader);
      Seen& place = seen[base::spread(key, std::countr_zero(kSeenPlaces))];
      if (place.reader == reader && place.row_id == record.row_id) {
        ++counts_.collapsed;
        ++counts_.updates;
        continue;
      }
      place = {record.row_id, reader};
    }
    work->kept[--first] = records[i];
  }
  return Records(work->kept).subspan(first);
}

void PartitionApplier::find(Records records, const RowIndex::Entry** entries) {
  const size_t last = records.size() - 1;
  for (size_t i = 0; i < records.size(); ++i) {
    const auto* const ahead =
        reinterpret_cast<const std::byte*>(records[std::min(i + kRecordsAhead, last)]);
    __builtin_prefetch(ahead);
    __builtin_prefetch(ahead + base::kLineBytes);
    index_.prefetch(records[std::min(i + kPagesAhead, last)]->row_id);
    entries[i] = index_.entry(records[i]->row_id);
    __builtin_prefetch(entries[i], 1);
    if (records[i]->more != 0) __builtin_prefetch(entries[i] + records[i]->more, 1);
  }
}

void PartitionApplier::add_rows(const UpdateRecord* record, const UpdateReader* reader,
                                const RowIndex::Entry* entries, BlockChains* updates) const {
  for (uint32_t first = 0; first <= record->more;) {
    const uint32_t ordinal = entries[first] - 1;
    const uint32_t block = ordinal >> block_shift_;
    uint32_t rows = 1;
    while (first + rows <= record->more && entries[first + rows] == entries[first] + rows &&
           (ordinal + rows) >> block_shift_ == block) {
      ++rows;
    }
    updates->add(record, reader, ordinal, rows, block);
    first += rows;
  }
}

size_t PartitionApplier::gather(Records records, const RowIndex::Entry* const* entries,
                                ApplyWorkspace* work) {
  // Rows that a record has mostly lie side by side; the first record's have room wherever they are.
  work->updates.start(records.size() + base::kRowIdRun,
                      (partition_->row_slots() >> block_shift_) + 1);
  work->moves.clear();
  uint64_t updates = 0;
  size_t i = 0;
  for (; i < records.size(); ++i) {
    const UpdateRecord& record = *records[i];
    const RowIndex::Entry entry = *entries[i];
    if (record.type == UpdateType::kDelete || record.type == UpdateType::kInsert) {
      if (record.type == UpdateType::kInsert && entry != 0 && i != 0) break;
      work->moves.push_back(&record);
      continue;
    }
    bool all_live = entry != 0;
    for (uint32_t row = 1; row <= record.more; ++row) all_live &= entries[i][row] != 0;
    if (!all_live) {
      DIPTYCH_CHECK(i != 0, "A2: only a row that lives is updated");
      break;
    }
    if (record.rows() > work->updates.room()) break;
    const UpdateReader* const reader = reader_of(record);
    updates += record.rows();
    if (record.more == 0) {  // most: without a look for where a run of rows ends
      work->updates.add(&record, reader, entry - 1, 1, (entry - 1) >> block_shift_);
    } else {
      add_rows(&record, reader, entries[i], &work->updates);
    }
  }
  counts_.updates += updates;
  return i;
}

void PartitionApplier::approach(BlockChains* updates, Group* group) {
  uint32_t count = 0;
  group->run_count = 0;
  while (count < kGroup) {
    const BlockChains::Update update = updates->take(kGroup - count);
    if (update.record == nullptr) break;
    const uint32_t block = update.ordinal >> block_shift_;
    if (!group->is_of_newest_run(update.reader, block)) {
      group->runs[group->run_count++] = {update.reader, block, count, count};
    }
    for (uint32_t row = 0; row < update.rows; ++row, ++count) {
      group->ordinals[count] = update.ordinal + row;
      group->records[count] = reinterpret_cast<const std::byte*>(update.record);
    }
    group->runs[group->run_count - 1].end = count;
  }
  group->count = count;
  for (const Group::Run& run : group->all_runs()) {
    partition_->prefetch(group->ordinals_of(run), run.reader->columns);
  }
}

void PartitionApplier::write(const Group& group) {
  for (const Group::Run& run : group.all_runs()) {
    const std::span<const uint32_t> ordinals = group.ordinals_of(run);
    const std::span<const std::byte* const> records = group.records_of(run);
    partition_->note_writes(ordinals);
    for (size_t c = 0; c < run.reader->columns.size(); ++c) {
      partition_->update(ordinals, run.reader->columns[c], records, run.reader->cell_offsets[c]);
    }
  }
}

void PartitionApplier::write_updates(BlockChains* updates) {
  std::array<Group, 2> groups;
  Group* present = &groups[0];
  Group* ahead = &groups[1];
  for (approach(updates, present); present->count != 0; std::swap(present, ahead)) {
    approach(updates, ahead);
    write(*present);
  }
}

void PartitionApplier::insert(Records records, ApplyWorkspace* work) {
  std::vector<storage::NewRow>& rows = work->rows;
  if (rows.size() < kGroup) rows.resize(kGroup);
  std::array<uint32_t, kGroup> ordinals;
  for (size_t i = 0; i < records.size(); ++i) {
    const UpdateRecord& record = *records[i];
    rows[i] = {record.row_id, record.body(), reinterpret_cast<const std::byte*>(&record)};
  }
  partition_->insert(std::span(rows).first(records.size()), ordinals.data());
  for (size_t i = 0; i < records.size(); ++i) index_.insert(records[i]->row_id, ordinals[i]);
  counts_.inserts += records.size();
}

void PartitionApplier::erase(Records records) {
  std::array<uint32_t, kGroup> ordinals;
  size_t count = 0;
  const auto erase_rows = [&] {
    for (size_t i = 0; i < count; ++i) partition_->erase(ordinals[i]);
    counts_.deletes += std::exchange(count, 0);
  };
  for (const UpdateRecord* const record : records) {
    for (uint32_t row = 0; row < record->rows(); ++row) {
      const auto ordinal = index_.erase(base::RowId(record->row_id.value + row));
      DIPTYCH_CHECK(ordinal.has_value(), "A2: only a row that lives is deleted");
      partition_->prefetch_erase(ordinals[count++] = *ordinal);
      if (count == kGroup) erase_rows();
    }
  }
  erase_rows();
}

void PartitionApplier::move(Records records, ApplyWorkspace* work) {
  while (!records.empty()) {
    const UpdateType type = records.front()->type;
    size_t count = 1;
    const size_t most = std::min<size_t>(kGroup, records.size());
    while (count < most && records[count]->type == type) ++count;
    if (type == UpdateType::kInsert) insert(records.first(count), work);
    if (type == UpdateType::kDelete) erase(records.first(count));
    records = records.subspan(count);
  }
}

void PartitionApplier::apply(Records records, ApplyWorkspace* work) {
  if (records.empty()) return;
  const uint64_t begin_ns = base::steady_ns();
  if (readers_.size() > kReadersMax) drop_readers();
  if (records.size() >= kCollapsedPerRow * partition_->live_rows()) {
    records = collapse(records, work);
  }
  if (work->entries.size() < records.size()) work->entries.resize(records.size());
  find(records, work->entries.data());
  uint64_t written_ns = begin_ns;
  for (size_t done = 0; done < records.size();) {
    done += gather(records.subspan(done), work->entries.data() + done, work);
    const uint64_t found_ns = base::steady_ns();
    counts_.lookup_ns += found_ns - written_ns;
    write_updates(&work->updates);
    move(work->moves, work);
    written_ns = base::steady_ns();
  }
  index_.trim();
  counts_.apply_ns += base::steady_ns() - begin_ns;
}

size_t PartitionApplier::load(std::span<const storage::NewRow> rows) {
  const uint64_t room = partition_->slots_before_block();
  if (room == 0 && rows.size() == partition_->block_rows()) {
    if (const std::optional<uint32_t> first = partition_->append_block(rows)) {
      for (size_t i = 0; i < rows.size(); ++i) {
        index_.insert(rows[i].row_id, *first + static_cast<uint32_t>(i));
      }
      return rows.size();
    }
  }
  if (room != 0) rows = rows.first(std::min<uint64_t>(rows.size(), room));
  std::array<uint32_t, kLoadedTogether> ordinals;
  for (size_t at = 0; at < rows.size(); at += kLoadedTogether) {
    const auto some = rows.subspan(at, std::min(kLoadedTogether, rows.size() - at));
    partition_->insert(some, ordinals.data());
    for (size_t i = 0; i < some.size(); ++i) index_.insert(some[i].row_id, ordinals[i]);
  }
  // So that a load that takes this way leaves no more than a range of pages behind it.
  if (partition_->slots_before_block() == 0) partition_->compact_all();
  return rows.size();
}

void PartitionApplier::unload(const RowIdRuns& loaded) {
  loaded.for_each([&](base::RowId row_id) {
    if (const std::optional<uint32_t> ordinal = index_.erase(row_id)) partition_->erase(*ordinal);
  });
  index_.trim();
  partition_->drop_dead_ranges();
}

}  // namespace diptych::propagation
