// A replica with random rows, and a directory to save it to: for the tests of files and manifest.

#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <stdlib.h>

#include "storage/block_file.h"
#include "storage/buffered_chunk.h"
#include "storage/manifest.h"
#include "storage/replica_files.h"
#include "storage/table.h"
#include "tests/storage/every_type_table.h"
#include "tests/storage/one_row.h"
#include "tests/storage/record_rows.h"
#include "tests/temporary_directory.h"

namespace diptych::storage::test {

// Two tables of every type, with rows that are partly erased again. Blocks are as small as can be,
// so that some hundred rows make one.
class SavedReplica {
 public:
  // In a directory that has no block file yet, or, with kOpen, in one that has.
  enum class File : uint8_t { kCreate, kOpen };
  SavedReplica(const std::string& directory, uint32_t partitions, File file = File::kCreate,
               BeforeFileStep before_step = {}, size_t memory_bytes_max = 0)
      : directory_(directory),
        replica_(StorageOptions{.partitions = partitions, .block_rows = kBlockRowsMin}) {
    auto blocks = file == File::kCreate ? BlockFile::create(directory, std::move(before_step))
                                        : BlockFile::open(directory, std::move(before_step));
    DIPTYCH_CHECK(blocks.ok(), "the block file can be made or opened");
    replica_.keep_in(std::move(*blocks), memory_bytes_max);
    for (uint32_t t = 0; t < 2; ++t) {
      schemas_[t] = every_type_schema();
      schemas_[t].id = base::TableId(t);
      schemas_[t].name = t == 0 ? "plain" : "Odd/Name";
      replica_.add_table(schemas_[t]);
    }
  }

  void fill(uint64_t seed, uint32_t rows, base::Vid vid) {
    const base::RowLayout layout(schemas_[0]);
    RandomRows random = RandomRows::all_different(layout, seed);
    RecordRow record(layout);
    for (uint32_t t = 0; t < 2; ++t) {
      for (uint32_t i = 0; i < rows; ++i) {
        const base::RowId row_id(random.random()());
        const base::PartitionId p = replica_.table(base::TableId(t)).partition_of(row_id);
        Partition& partition = replica_.table(base::TableId(t)).partition(p);
        record.encode(random.row());
        const uint32_t ordinal =
            test::insert_row(partition, row_id, record.row(), record.strings_base());
        if (random.below(4) == 0) partition.erase(ordinal);
      }
      for (uint32_t p = 0; p < replica_.partition_count(); ++p) {
        replica_.table(base::TableId(t)).partition(base::PartitionId(p)).compact_all();
      }
    }
    replica_.set_snapshot(vid);
  }

  // New values for every row.
  void update_all(uint64_t seed, base::Vid vid) {
    const base::RowLayout layout(schemas_[0]);
    RandomRows random = RandomRows::all_different(layout, seed);
    RecordRow record(layout);
    for (uint32_t t = 0; t < 2; ++t) {
      for (uint32_t p = 0; p < replica_.partition_count(); ++p) {
        Partition& partition = replica_.table(base::TableId(t)).partition(base::PartitionId(p));
        for (const uint32_t ordinal : live_ordinals(partition)) {
          record.encode(random.row());
          for (size_t c = 0; c < layout.columns.size(); ++c) {
            const base::ColumnId column(static_cast<uint16_t>(c));
            test::update_cell(partition, ordinal, column, record.cell(column),
                              record.strings_base());
          }
        }
      }
    }
    replica_.set_snapshot(vid);
  }

  // After load_replica().
  void finish_restore() {
    for (uint32_t t = 0; t < 2; ++t) {
      for (uint32_t p = 0; p < replica_.partition_count(); ++p) {
        replica_.table(base::TableId(t)).partition(base::PartitionId(p)).finish_restore();
      }
    }
  }

  base::Result<Manifest> save(const BeforeFileStep& before_step = {}) {
    return save_replica(directory_, &replica_, ddl_, before_step);
  }

  Replica& replica() { return replica_; }
  const Replica& replica() const { return replica_; }
  const std::vector<std::string>& ddl() const { return ddl_; }

  // Of the table's live rows, ascending.
  std::vector<uint64_t> row_ids(uint32_t t) const {
    std::vector<uint64_t> all;
    const Table& table = replica_.table(base::TableId(t));
    for (uint32_t p = 0; p < table.partition_count(); ++p) {
      const Partition& partition = table.partition(base::PartitionId(p));
      for (size_t l = 0; l < partition.leaf_count(); ++l) {
        const Leaf& leaf = partition.leaf(l);
        DecodeBuffer buffer;
        const PinnedColumn column = value_or_throw(leaf.pin_row_ids());
        const auto* const ids = column.view(0, leaf.row_slots(), &buffer).as<uint64_t>();
        for (uint32_t i = 0; i < leaf.row_slots(); ++i) {
          if (leaf.lives(i)) all.push_back(ids[i]);
        }
      }
    }
    std::ranges::sort(all);
    return all;
  }

  using Rows = std::map<uint64_t, std::vector<base::Value>>;

  // All rows by RowID, table by table.
  std::vector<Rows> rows() const {
    std::vector<Rows> all(2);
    for (uint32_t t = 0; t < 2; ++t) {
      const Table& table = replica_.table(base::TableId(t));
      for (uint32_t p = 0; p < table.partition_count(); ++p) {
        const Partition& partition = table.partition(base::PartitionId(p));
        for (size_t l = 0; l < partition.leaf_count(); ++l) add_rows(partition, l, &all[t]);
      }
    }
    return all;
  }

 private:
  static std::vector<uint32_t> live_ordinals(const Partition& partition) {
    std::vector<uint32_t> ordinals;
    for (size_t l = 0; l < partition.leaf_count(); ++l) {
      const Leaf& leaf = partition.leaf(l);
      for (uint32_t i = 0; i < leaf.row_slots(); ++i) {
        if (leaf.lives(i)) ordinals.push_back(leaf.first_ordinal() + i);
      }
    }
    return ordinals;
  }

  void add_rows(const Partition& partition, size_t leaf_index, Rows* rows) const {
    const Leaf& leaf = partition.leaf(leaf_index);
    DecodeBuffer buffer;
    const PinnedColumn row_ids = value_or_throw(leaf.pin_row_ids());
    const auto* const ids = row_ids.view(0, leaf.row_slots(), &buffer).as<uint64_t>();
    for (uint32_t i = 0; i < leaf.row_slots(); ++i) {
      if ((leaf.live_bits()[i / 64] >> (i % 64) & 1) == 0) continue;
      std::vector<base::Value>& values = (*rows)[ids[i]];
      for (size_t c = 0; c < schemas_[0].columns.size(); ++c) {
        values.push_back(
            partition.value(leaf.first_ordinal() + i, base::ColumnId(static_cast<uint16_t>(c))));
      }
    }
  }

  std::string directory_;
  std::array<base::TableSchema, 2> schemas_;
  Replica replica_;
  std::vector<std::string> ddl_ = {"CREATE TABLE plain (...)", "CREATE TABLE \"Odd/Name\" (ä)"};
};

}  // namespace diptych::storage::test
