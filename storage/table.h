// Table: a table of the columnar replica, in partitions by hash(RowID) (BatchDB, section 5).
//
// A partition is a list of leaves (storage/leaf.h) over dense ordinals. It alone holds its rows'
// values, long strings included, in memory of the replica's NUMA node. Those of a snapshot
// (storage/replica_snapshot.h) are read the same way, and not written.
//
// Threads    as in leaf.h: writes only between two batches of queries, one writer a partition.

#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/row_layout.h"
#include "base/schema.h"
#include "base/value.h"
#include "storage/added_schema.h"
#include "storage/change_watch.h"
#include "storage/chunk_address.h"
#include "storage/leaf.h"
#include "storage/leaf_directory.h"
#include "storage/partition_figures.h"
#include "storage/save_pace.h"
#include "storage/storage_options.h"

namespace diptych::storage {

class BlockFile;       // storage/block_file.h: where chunks lie on disk
class BufferManager;   // storage/buffer_manager.h: which chunks are in memory
class PartitionImage;  // storage/partition_image.h: what a snapshot has of a partition
class PartitionStore;  // storage/partition_store.h: leaves, free slots, string heaps
class RowMoves;        // storage/row_moves.h: who is told of rows that have moved

// A row to insert: its bytes in the table's layout. The bytes of a long string lie at strings_base
// + (the Text's pointer as an offset): the format of an update record.
struct NewRow {
  base::RowId row_id;
  const std::byte* row;
  const std::byte* strings_base;
};

class Partition {
 public:
  // `buffers`: nullptr, or outlives it: without one all stays in memory.
  // `schema` outlives it, and `buffers`.
  explicit Partition(const base::TableSchema& schema, const StorageOptions& options = {},
                     BufferManager* buffers = nullptr, base::PartitionId id = base::PartitionId(0));
  // As an image has it: for reads, and save().
  explicit Partition(std::unique_ptr<PartitionImage> image);
  Partition(Partition&&) noexcept;
  ~Partition();

  // Reads.
  size_t leaf_count() const;
  const Leaf& leaf(size_t index) const;
  const Leaf& leaf_of(uint32_t ordinal, uint32_t* position) const;
  uint64_t live_rows() const;
  // How many of the column's values came, were updated or went since this was made: for who keeps
  // statistics of them. 0 in an image.
  uint64_t changes(base::ColumnId column) const;
  // For the same: which rows, and which leaves' summaries. Not of an image.
  ChangeWatch& watch();
  // Ordinals [0, row_slots()) were given out.
  uint32_t row_slots() const;
  // Slow: for comparisons. Throws ChunkFailure.
  base::Value value(uint32_t ordinal, base::ColumnId column) const;

  // Writes, by the applier only. All that touch rows may throw ChunkFailure (buffered_chunk.h), of
  // a damaged or failing disk: the partition is then useless.
  // In their order; sets the ordinal of each.
  void insert(std::span<const NewRow> rows, uint32_t* ordinals);
  // A bulk load's way past the pages. How many rows insert() would put into slots and pages that
  // are there before it began a new range; where 0, append_block makes a block's rows a compressed
  // block behind all others, and gives the first one's ordinal. Nothing, where blocks are not
  // compressed or the rows' texts are too large for one: they are to be inserted.
  uint32_t block_rows() const;
  uint64_t slots_before_block() const;
  std::optional<uint32_t> append_block(std::span<const NewRow> rows);
  // After a load was taken back: ranges at the end in which no row lives any more are not there any
  // more, and their ordinals were never given out.
  void drop_dead_ranges();
  // The next three: of live rows, at least one, all in one range of block_rows() ordinals. What is
  // asked of a block is asked once for them.
  // Hints that these cells will be written soon.
  void prefetch(std::span<const uint32_t> ordinals, std::span<const base::ColumnId> columns);
  // Writes one column of the rows, in their order. The new cell of ordinals[i], the column's bytes
  // of a row, lies at records[i] + cell_offset; a long string's bytes at records[i] + (the Text's
  // pointer). note_writes counts the rows as written, which compact() asks for.
  void update(std::span<const uint32_t> ordinals, base::ColumnId column,
              std::span<const std::byte* const> records, size_t cell_offset);
  void note_writes(std::span<const uint32_t> ordinals);
  void erase(uint32_t ordinal);
  void prefetch_erase(uint32_t ordinal) const;
  // Between batches: turns full, quiet pages into blocks, and freezes columns of compressed blocks
  // that were thawed and are quiet. Returns what it went through, in bytes. One block or column a
  // call, and more until `until_ns` (base::steady_ns), so the pause is bounded. "Quiet" is
  // meant since the call before.
  size_t compact(uint64_t until_ns = 0);
  // Whether further calls will find something to do, though nothing is written any more. Not for
  // settled columns, which are looked at as long as updates come.
  bool wants_compaction() const;
  // After a load, whose rows are not written again soon: turns all full pages into blocks.
  void compact_all();
  // compact() may give rows other ordinals from now on, where few of a range are left, and tells
  // `moves`, which outlives the last call. Without it a row keeps its ordinal for life.
  void tell_moves(RowMoves* moves);

  // Between batches: what it is now. It goes before the partition.
  std::unique_ptr<PartitionImage> cut();
  // Between batches: takes the memory of pages back that snapshots had.
  void reclaim();
  // Writes what changed to the block file; where all of it lies. kNoSpace, kIo, and the pace's:
  // nothing is lost. Between batches, but for an image's.
  base::Result<SavedPartition> save(const SavePace& pace = {});
  // Of a new partition. kCorrupt, kIo. The leaves, and live_rows(), can be read from then on; all
  // else waits for finish_restore(), which makes pages of the rows that are in no block: work that
  // whoever wants to read the rows need not wait for. Without a restore it does nothing.
  base::Result<void> restore(SavedPartition saved);
  void finish_restore();

  PartitionFigures figures() const;
  size_t memory_bytes() const { return figures().memory_bytes(); }

 private:
  std::unique_ptr<PartitionStore> store_;  // one of them
  std::unique_ptr<PartitionImage> image_;
};

class Table {
 public:
  Table(const base::TableSchema& schema, const StorageOptions& options,
        BufferManager* buffers = nullptr);
  // What a table is now: between batches.
  explicit Table(Table* cut);

  const base::TableSchema& schema() const { return *schema_; }
  const base::RowLayout& layout() const { return layout_; }
  uint32_t partition_count() const { return static_cast<uint32_t>(partitions_.size()); }
  Partition& partition(base::PartitionId id) { return partitions_[id.value]; }
  const Partition& partition(base::PartitionId id) const { return partitions_[id.value]; }
  // By hash of the run of base::kRowIdRun RowIDs that the row's is in.
  base::PartitionId partition_of(base::RowId row_id) const;
  uint64_t live_rows() const;
  uint64_t changes(base::ColumnId column) const;  // of all partitions
  // As the partitions', which are restored each on its own.
  base::Result<SavedTable> save(const SavePace& pace = {});
  PartitionFigures figures() const;  // of all partitions
  size_t memory_bytes() const { return figures().memory_bytes(); }

 private:
  std::unique_ptr<const base::TableSchema> cut_schema_;  // what is cut outlives further DDL
  const base::TableSchema* schema_;
  uint32_t block_rows_;
  base::RowLayout layout_;
  std::vector<Partition> partitions_;
};

// Replica: all tables, by TableId. Owned by the dispatcher; written by the applier.
class Replica {
 public:
  explicit Replica(const StorageOptions& options);
  // What a replica is now, for reads: part of a ReplicaSnapshot, which goes before it.
  explicit Replica(Replica* cut);
  ~Replica();

  // Before the first table: chunks lie in this file from now on, and leave memory where the budget
  // of `memory_bytes_max` says so (0: none). Without a file the replica is in memory alone.
  void keep_in(std::unique_ptr<BlockFile> file, size_t memory_bytes_max);
  BufferManager* buffers() const { return buffers_; }  // nullptr: no file
  bool leaves_memory() const;                          // there is a budget

  void add_table(const base::TableSchema& schema);  // in the order of TableIds
  // The table's rows go, with all that they have in memory and in the file; it is as if it were
  // new. Between batches. Snapshots keep what they show, and its memory until reclaim() finds that
  // none lives.
  void clear_table(base::TableId id);
  // The same, and it has the schema of a dropped table from now on.
  void drop_table(base::Catalog::DroppedTable schema);
  // As if a table had been added, and dropped.
  void add_dropped_table();
  Table& table(base::TableId id) { return *tables_[id.value]; }
  const Table& table(base::TableId id) const { return *tables_[id.value]; }
  size_t table_count() const { return tables_.size(); }
  // Those that were not dropped, in their order: what goes over all tables goes over these, or each
  // table that ever was would cost time.
  std::span<const base::TableId> live_tables() const { return live_tables_; }
  const StorageOptions& options() const { return options_; }
  uint32_t partition_count() const { return options_.partitions; }

  AddedSchema& added_schema() { return added_schema_; }

  // Where the leaf directories of the last save lie (not set: it has none); those of the places
  // before that are not among them are given up.
  void replace_directories(std::vector<ChunkAddress> directories);

  bool wants_compaction() const;  // of any partition

  // Between batches: takes memory back that snapshots had, if one has gone; and whether one has,
  // for any thread.
  void reclaim();
  bool wants_reclaim() const {
    return reclaims_.load(std::memory_order_relaxed);  // relaxed: reclaim looks again
  }
  // That live, and the memory that they alone have.
  uint32_t snapshots() const;
  size_t snapshot_bytes() const;

  // The VID that the replica's rows show. Set by the applier.
  base::Vid snapshot() const { return snapshot_; }
  void set_snapshot(base::Vid vid) { snapshot_ = vid; }

 private:
  friend class ReplicaSnapshot;
  void put_aside(base::TableId id, const base::TableSchema& schema);  // which it has from now on
  void forget_cleared();

  StorageOptions options_;
  std::unique_ptr<BufferManager> own_buffers_;  // before the tables, which it outlives
  BufferManager* buffers_ = nullptr;            // these, or the cut replica's
  std::vector<std::unique_ptr<Table>> tables_;
  std::vector<base::TableId> live_tables_;
  // What snapshots may have of tables_, and what it needs of dropped tables.
  std::vector<base::Catalog::DroppedTable> cleared_schemas_;
  std::vector<std::unique_ptr<Table>> cleared_;
  std::vector<ChunkAddress> directories_;
  AddedSchema added_schema_;
  base::Vid snapshot_;
  std::atomic<uint32_t> snapshots_{0};  // that live; writers: they
  std::atomic<bool> reclaims_{false};   // one has gone; writers: they set, reclaim clears
};

}  // namespace diptych::storage
