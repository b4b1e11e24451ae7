// Random transactions of several workers, whose RowIDs are reused soon after their deletes, applied
// to a replica and compared with a map of rows. Commits get VIDs in the order in which they are
// made here.

#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "propagation/applier.h"
#include "propagation/export/export_mode.h"
#include "storage/block_file.h"
#include "storage/buffered_chunk.h"
#include "storage/table.h"
#include "tests/storage/every_type_table.h"
#include "tests/storage/partition_model.h"

namespace diptych::propagation::test {

inline void side_by_side(uint32_t count, const std::function<void(uint32_t)>& body) {
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < count; ++i) threads.emplace_back(body, i);
  for (std::thread& thread : threads) thread.join();
}

struct HistoryOptions {
  uint32_t partitions = 1;
  uint32_t workers = 1;
  size_t rows_max = 100;
  uint64_t id_step = 1;  // between RowIDs
  size_t slice_records = 2048;
  ExportMode mode = ExportMode::kColumns;
  base::TableSchema schema = storage::test::every_type_schema();  // of all tables
  base::Settled settled = base::Settled::kOff;                    // of the last one
};

class History {
 public:
  static constexpr uint32_t kTables = 2;

  // With a block file the replica is kept in it, in blocks as small as can be.
  History(uint64_t seed, const HistoryOptions& options,
          std::unique_ptr<storage::BlockFile> file = nullptr, size_t memory_bytes_max = 0)
      : options_(options),
        memory_bytes_max_(memory_bytes_max),
        layout_(options.schema),
        rows_(layout_, seed),
        workers_(options.workers) {
    rows_.allow_nan();
    for (uint32_t t = 0; t < kTables; ++t) {
      schemas_[t] = options.schema;
      schemas_[t].id = base::TableId(t);
      schemas_[t].name += std::to_string(t);
    }
    schemas_.back().settled = options.settled;
    make_replica(std::move(file));
    start_applier();
  }

  const storage::Replica& replica() const { return *replica_; }

  // All rows that there can be, in the order of their RowIDs.
  void insert_all() {
    open_sets();
    for (uint32_t t = 0; t < kTables; ++t) {
      const base::Vid vid(++vid_);
      for (uint64_t id = 0; id < options_.rows_max; ++id) insert(vid, t, id, &set_of(0, t));
    }
    push_sets();
  }
  void run_batch(uint64_t transactions) {
    open_sets();
    for (uint64_t i = 0; i < transactions; ++i) {
      const base::Vid vid(++vid_);
      const auto worker = static_cast<uint32_t>(rows_.below(workers_));
      for (uint64_t n = 1 + rows_.below(6); n != 0; --n) change(vid, worker);
    }
    push_sets();
  }

  void apply_and_compare(const base::ForEach& for_each) {
    CollectedSets collected = queue_.collect();
    apply(collected, for_each);
    queue_.recycle(std::move(collected.sets));
    compare();
    compact();
  }

 protected:
  using Rows = std::map<uint64_t, storage::test::TestRow>;  // by RowID / id_step
  using Tids = std::map<uint64_t, base::Tid>;

  void make_replica(std::unique_ptr<storage::BlockFile> file) {
    storage::StorageOptions storage{.partitions = options_.partitions};
    if (file != nullptr) storage.block_rows = storage::kBlockRowsMin;
    replica_ = std::make_unique<storage::Replica>(storage);
    if (file != nullptr) replica_->keep_in(std::move(file), memory_bytes_max_);
    for (const base::TableSchema& schema : schemas_) replica_->add_table(schema);
  }
  void start_applier() {
    applier_ = std::make_unique<Applier>(replica_.get(), base::NumaNode(0), options_.slice_records);
  }

  base::RowId row_id(uint64_t id) const { return base::RowId(id * options_.id_step); }

  void apply(const CollectedSets& collected, const base::ForEach& for_each) {
    uint64_t changes = 0;
    for (const SealedSet& set : collected.sets) changes += set.updates->change_count();
    const ApplyReport report = applier_->apply(collected, for_each);
    ASSERT_EQ(report.changes, changes);
    ASSERT_EQ(report.snapshot, collected.snapshot);
    ASSERT_EQ(replica_->snapshot(), collected.snapshot);
  }
  void for_each_partition(const std::function<void(uint32_t, storage::Partition&)>& body) {
    for (uint32_t t = 0; t < kTables; ++t) {
      for (uint32_t p = 0; p < replica_->partition_count(); ++p) {
        body(t, replica_->table(base::TableId(t)).partition(base::PartitionId(p)));
      }
    }
  }
  void compact() {
    for_each_partition([&](uint32_t t, storage::Partition& partition) {
      const uint64_t before = partition.figures().rows_moved;
      partition.compact();
      if (partition.figures().rows_moved != before) tids_[t].clear();
    });
  }

  // Every row is there with its values, where the index says and where it was before; and no other.
  void compare() {
    compare(*replica_, model_, [&](uint32_t t, uint64_t id, const base::Tid& tid) {
      ASSERT_EQ(applier_->find(base::TableId(t), row_id(id)), tid) << "row " << id;
      // TIDs do not change while the row lives and none is moved.
      ASSERT_EQ(tids_[t].try_emplace(id, tid).first->second, tid) << "row " << id;
    });
  }
  // Exactly these rows are there, with their values; `visit` is told of each.
  using Visit = std::function<void(uint32_t table, uint64_t id, const base::Tid& tid)>;
  void compare(const storage::Replica& replica, const std::array<Rows, kTables>& model,
               const Visit& visit) const {
    for (uint32_t t = 0; t < kTables; ++t) {
      const storage::Table& table = replica.table(base::TableId(t));
      ASSERT_EQ(table.live_rows(), model[t].size());
      uint64_t found = 0;
      for (uint32_t p = 0; p < table.partition_count(); ++p) {
        const base::PartitionId id(p);
        const storage::Partition& partition = table.partition(id);
        for (size_t l = 0; l < partition.leaf_count(); ++l) {
          ASSERT_NO_FATAL_FAILURE(compare(t, id, partition.leaf(l), model[t], visit));
          found += partition.leaf(l).live_rows();
        }
      }
      ASSERT_EQ(found, model[t].size());
    }
  }

  void open_sets() {
    open_.clear();
    for (uint32_t w = 0; w < workers_; ++w) {
      for (uint32_t t = 0; t < kTables; ++t) {
        open_.push_back({base::WorkerId(w), base::TableId(t), queue_.take_empty()});
      }
    }
  }
  void push_sets() {
    std::vector<SealedSet> sealed;
    for (SealedSet& set : open_) {
      if (!set.updates->empty()) sealed.push_back(std::move(set));
    }
    std::shuffle(sealed.begin(), sealed.end(), rows_.random());
    queue_.push(std::move(sealed), base::Vid(vid_));
  }
  UpdateSet& set_of(uint32_t worker, uint32_t table) {
    return *open_[worker * kTables + table].updates;
  }

  void insert(base::Vid vid, uint32_t table, uint64_t id, UpdateSet* set) {
    const auto [row, _] = model_[table].emplace(id, rows_.row());
    set->append_insert(vid, row_id(id), layout_, row->second.bytes());
  }
  void erase(base::Vid vid, uint32_t table, uint64_t id, UpdateSet* set) {
    set->append_delete(vid, row_id(id));
    deleted_at_[table][id] = vid;
    tids_[table].erase(id);
    model_[table].erase(id);
  }

  HistoryOptions options_;
  size_t memory_bytes_max_;
  base::RowLayout layout_;
  storage::test::RandomRows rows_;
  uint32_t workers_;
  std::array<base::TableSchema, kTables> schemas_;
  std::unique_ptr<storage::Replica> replica_;
  std::unique_ptr<Applier> applier_;
  UpdateQueue queue_;
  uint64_t vid_ = 0;
  std::vector<SealedSet> open_;
  std::array<Rows, kTables> model_;
  std::array<Tids, kTables> tids_;

 private:
  void change(base::Vid vid, uint32_t worker) {
    const size_t rows_max = options_.rows_max;
    const auto t = static_cast<uint32_t>(rows_.below(kTables));
    Rows& model = model_[t];
    UpdateSet& set = set_of(worker, t);
    const uint64_t dice = rows_.below(10);
    const auto known = model.lower_bound(rows_.below(rows_max));
    if (model.size() < rows_max && (known == model.end() || dice < 4)) {
      const uint64_t id = rows_.below(rows_max);
      // A RowID is reused under a later VID only.
      if (!model.contains(id) && deleted_at_[t][id] != vid) insert(vid, t, id, &set);
    } else if (known == model.end()) {
      return;
    } else if (dice < 7) {
      std::vector<base::ColumnId> columns;
      std::vector<base::Value> values;
      for (uint64_t n = 1 + rows_.below(4); n != 0; --n) {
        columns.push_back(rows_.column());
        values.push_back(rows_.value(columns.back()));
      }
      // And some rows behind it alike: what follows becomes one record.
      uint64_t rows = 1 + (rows_.below(3) == 0 ? rows_.below(100) : 0);
      for (auto row = known; rows != 0 && row != model.end(); --rows, ++row) {
        update(vid, row->first, columns, values, &row->second, &set);
      }
    } else {
      erase(vid, t, known->first, &set);
    }
  }

  void update(base::Vid vid, uint64_t id, const std::vector<base::ColumnId>& columns,
              const std::vector<base::Value>& values, storage::test::TestRow* row, UpdateSet* set) {
    for (size_t i = 0; i < columns.size(); ++i) row->set(columns[i], values[i]);
    if (options_.mode == ExportMode::kRows) {
      set->append_replace(vid, row_id(id), layout_, row->bytes());
    } else {
      set->append_update(vid, row_id(id), layout_, row->bytes(), {layout_, columns});
    }
  }

  void compare(uint32_t t, base::PartitionId partition, const storage::Leaf& leaf,
               const Rows& model, const Visit& visit) const {
    storage::DecodeBuffer buffer;
    std::vector<std::pair<uint32_t, const storage::test::TestRow*>> live;  // by position
    {
      const storage::PinnedColumn row_ids = storage::value_or_throw(leaf.pin_row_ids());
      const auto* const ids = row_ids.view(0, leaf.row_slots(), &buffer).as<base::RowId>();
      for (uint32_t i = 0; i < leaf.row_slots(); ++i) {
        if (!leaf.lives(i)) continue;
        const uint64_t id = ids[i].value / options_.id_step;
        const auto row = model.find(id);
        ASSERT_TRUE(row != model.end() && row_id(id) == ids[i]) << "row " << ids[i].value;
        ASSERT_NO_FATAL_FAILURE(visit(t, id, {partition, leaf.first_ordinal() + i}));
        live.emplace_back(i, &row->second);
      }
    }
    for (uint16_t c = 0; c < layout_.columns.size(); ++c) {
      const storage::PinnedColumn column = storage::value_or_throw(leaf.pin(base::ColumnId(c)));
      const storage::ColumnView view = column.view(0, leaf.row_slots(), &buffer);
      for (const auto& [i, row] : live) {
        ASSERT_TRUE(storage::test::holds_cell(view, i, layout_.columns[c], row->bytes()))
            << "ordinal " << leaf.first_ordinal() + i << " column " << schemas_[t].columns[c].name;
      }
    }
  }

  std::array<std::map<uint64_t, base::Vid>, kTables> deleted_at_;
};

}  // namespace diptych::propagation::test
