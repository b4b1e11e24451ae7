// What the tables of models went through: rows that became blocks, of which some were erased and
// others updated where they lay, and rows in pages behind them. So scans meet frozen, patched and
// thawed columns, dead rows, and blocks that melted.

#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "tests/olap/test_replica.h"
#include "tests/storage/leaf_forms.h"

namespace diptych::olap::test {

// Tables of some thousand rows have several blocks.
inline storage::StorageOptions small_blocks(uint64_t partitions) {
  return {.partitions = static_cast<uint32_t>(partitions), .block_rows = storage::kBlockRowsMin};
}

struct ModelRows {
  uint64_t count;
  std::function<Row(uint64_t i)> row;
  // Which columns are updated, and to what.
  std::vector<uint16_t> updated;
  std::function<Value(uint16_t column)> value;
};

// Fills a table; live() are its rows then.
class ModelTable {
 public:
  ModelTable(TestReplica* replica, base::TableId id, const ModelRows& rows, std::mt19937_64* random)
      : replica_(replica), id_(id), made_(rows), random_(random) {
    const bool in_pages = below(6) == 0;
    const uint64_t last = below(3) == 0 ? 0 : below(rows.count / 6 + 1);
    insert(rows.count - last);
    if (!in_pages) replica->compact(id);
    if (rows_.empty()) return;
    const uint64_t erased = below(4);
    if (erased == 0) erase_most(below(rows_.size()));
    if (erased >= 2) {
      for (uint64_t i = below(rows_.size() / 6 + 1); i != 0; --i) erase(below(rows_.size()));
    }
    for (const uint16_t column : rows.updated) {
      if (below(2) == 0) continue;
      for (uint64_t i = below(rows_.size() / 50 + 2); i != 0; --i) {
        update(below(rows_.size()), column);
      }
    }
    insert(last);
  }

  std::vector<Row> live() const {
    std::vector<Row> live;
    for (size_t n = 0; n < rows_.size(); ++n) {
      if (lives_[n]) live.push_back(rows_[n]);
    }
    return live;
  }

 private:
  uint64_t below(uint64_t bound) { return (*random_)() % bound; }

  void insert(uint64_t count) {
    for (; count != 0; --count) {
      rows_.push_back(made_.row(rows_.size()));
      lives_.push_back(true);
      places_.push_back(replica_->inserted());
      replica_->insert(id_, rows_.back());
    }
  }
  void erase(uint64_t n) {
    if (!lives_[n]) return;
    replica_->erase(places_[n]);
    lives_[n] = false;
  }
  void erase_most(uint64_t count) {
    for (uint64_t n = 0; n < count; ++n) {
      if (below(20) != 0) erase(n);
    }
  }
  // In place, where the chunk takes the value; a column that does not is thawed.
  void update(uint64_t n, uint16_t column) {
    if (!lives_[n]) return;
    rows_[n][column] = made_.value(column);
    replica_->update(places_[n], column, rows_[n][column]);
  }

  TestReplica* replica_;
  base::TableId id_;
  const ModelRows& made_;
  std::mt19937_64* random_;
  std::vector<Row> rows_;
  std::vector<bool> lives_;
  std::vector<size_t> places_;  // which of the replica's inserts
};

// Of all leaves.
inline void count_forms(const storage::Replica& replica, storage::test::LeafForms* forms) {
  for (uint32_t t = 0; t < replica.table_count(); ++t) {
    const storage::Table& table = replica.table(base::TableId(t));
    for (uint32_t p = 0; p < table.partition_count(); ++p) {
      const storage::Partition& partition = table.partition(base::PartitionId(p));
      for (size_t l = 0; l < partition.leaf_count(); ++l) {
        storage::test::count_forms(partition.leaf(l), table.layout().columns.size(), forms);
      }
    }
  }
}

}  // namespace diptych::olap::test
