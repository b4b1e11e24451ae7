// PartitionApplier: step 3 of applying, for one partition of one table: finds the rows of a slice's
// records and writes them.
//
//   find     where each RowID's entry of the index is                        prefetch the entry
//   gather   a phase: updates by the blocks of their rows, inserts and deletes as they come
//   write    its updates in groups: group k + 1's columns                    prefetch the cells
//                                   group k, column by column
//            then its inserts and deletes, runs of them
//
// The misses of many records overlap and are over when the lines are needed (Chen, Ailamaki,
// Gibbons and Mowry's group prefetching). Updates by block meet a column's chunk many at a time,
// which asks what depends on the chunk once (storage/encoding/number_patch.h).
//
// A phase goes on as long as its updates may be written before its inserts and deletes, and there
// is room for them: to an update of a row that it inserts, or an insert of a RowID that it deletes.
//
// Threads    one at a time; different partitions side by side.
// Memory     readers, one for each choice of columns that updates had, which are dropped when there
//            are many; the workspace's.
// Errors     ChunkFailure, of a failing disk or a damaged chunk. A record that does not fit (an
//            update of an absent row) is our bug, and checked.
//
// Invariants (A1 and A2 of applier.h)
//   P1  What meets one row is written in the order of its records, and so what meets one cell.

#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <unordered_map>

#include "base/alignment.h"
#include "base/ids.h"
#include "base/row_layout.h"
#include "propagation/apply_workspace.h"
#include "propagation/export/row_id_runs.h"
#include "propagation/export/update_set.h"
#include "propagation/row_index.h"
#include "propagation/update_reader.h"
#include "storage/row_moves.h"
#include "storage/table.h"

namespace diptych::propagation {

struct ApplyCounts {
  uint64_t inserts = 0;
  uint64_t updates = 0;
  uint64_t deletes = 0;
  uint64_t collapsed = 0;  // of `updates`: not written, as a later one wrote the same cells
  uint64_t apply_ns = 0;
  uint64_t lookup_ns = 0;  // of apply_ns: finding rows

  uint64_t changes() const { return inserts + updates + deletes; }
};

class alignas(base::kLineBytes) PartitionApplier final : private storage::RowMoves {
 public:
  static constexpr uint32_t kGroup = 64;
  static constexpr size_t kReadersMax = 1024;  // besides those of a slice

  PartitionApplier(storage::Partition* partition, const base::RowLayout* layout,
                   base::NumaNode node);
  // Before anything else: indexes the rows that the partition has, and finishes its restore. From
  // then on, compaction of the partition may move rows, and the index follows.
  void index_rows();

  // The partition's records, in VID order (A1).
  void apply(std::span<const UpdateRecord* const> records, ApplyWorkspace* work);

  // Of a bulk load: takes the first of a block's rows, or of the last ones that there are, and
  // returns how many. A block's where the partition can take one; else at least one, into pages.
  size_t load(std::span<const storage::NewRow> rows);
  // The load is taken back: erases those of its rows that came here, and drops ranges of them
  // alone.
  void unload(const RowIdRuns& loaded);

  const RowIndex& index() const { return index_; }
  const ApplyCounts& counts() const { return counts_; }  // so far
  // For tests: at most about kReadersMax.
  size_t reader_count() const { return readers_.size(); }
  size_t memory_bytes() const { return index_.memory_bytes(); }

 private:
  void row_moved(base::RowId row_id, uint32_t ordinal) noexcept override;

  using Records = std::span<const UpdateRecord* const>;
  // Rows that are written while those of the next group are fetched.
  struct Group {
    uint32_t count = 0;
    std::array<uint32_t, kGroup> ordinals;
    std::array<const std::byte*, kGroup> records;
    struct Run {  // of rows of one block, of which the same columns change
      const UpdateReader* reader;
      uint32_t block;
      uint32_t first;
      uint32_t end;
    };
    std::array<Run, kGroup> runs;
    uint32_t run_count = 0;

    bool is_of_newest_run(const UpdateReader* reader, uint32_t block) const {
      return run_count != 0 && runs[run_count - 1].reader == reader &&
             runs[run_count - 1].block == block;
    }
    std::span<const Run> all_runs() const { return std::span(runs).first(run_count); }
    std::span<const uint32_t> ordinals_of(const Run& run) const {
      return std::span(ordinals).subspan(run.first, run.end - run.first);
    }
    std::span<const std::byte* const> records_of(const Run& run) const {
      return std::span(records).subspan(run.first, run.end - run.first);
    }
  };

  const UpdateReader* reader_of(const UpdateRecord& update) {
    if (update.type == UpdateType::kReplace) return &whole_row_;
    if (last_reader_ == nullptr || !last_reader_->is_of(update)) last_reader_ = find_reader(update);
    return last_reader_;
  }
  const UpdateReader* find_reader(const UpdateRecord& update);
  void drop_readers();
  Records collapse(Records records, ApplyWorkspace* work);
  void find(Records records, const RowIndex::Entry** entries);
  // How many records the phase has that begins with the first.
  size_t gather(Records records, const RowIndex::Entry* const* entries, ApplyWorkspace* work);
  void add_rows(const UpdateRecord* record, const UpdateReader* reader,
                const RowIndex::Entry* entries, BlockChains* updates) const;
  void write_updates(BlockChains* updates);
  void approach(BlockChains* updates, Group* group);
  void write(const Group& group);
  void move(Records records, ApplyWorkspace* work);
  void insert(Records records, ApplyWorkspace* work);
  void erase(Records records);

  storage::Partition* partition_;
  uint32_t block_shift_;  // of an ordinal, to its block's number
  const base::RowLayout* layout_;
  RowIndex index_;
  const UpdateReader whole_row_;
  std::unordered_multimap<size_t, UpdateReader> readers_;  // by hash of the columns
  static constexpr size_t kReaderPlaces = 64;
  std::array<const UpdateReader*, kReaderPlaces> reader_places_{};  // used last, by first columns
  const UpdateReader* last_reader_ = nullptr;
  ApplyCounts counts_;
};

}  // namespace diptych::propagation
