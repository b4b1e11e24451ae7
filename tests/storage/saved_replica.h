// A replica with random rows: for the tests of files and manifest.

#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "storage/manifest.h"
#include "storage/table.h"
#include "tests/storage/every_type_table.h"
#include "tests/storage/record_rows.h"
#include "tests/storage/temporary_directory.h"

namespace diptych::storage::test {

// Two tables of every type, with rows that are partly erased again.
class SavedReplica {
 public:
  explicit SavedReplica(uint32_t partitions) : replica_(partitions, base::NumaNode(0)) {
    for (uint32_t t = 0; t < 2; ++t) {
      schemas_[t] = every_type_schema();
      schemas_[t].id = base::TableId(t);
      schemas_[t].name = t == 0 ? "plain" : "Odd/Name";
      replica_.add_table(schemas_[t]);
    }
  }

  void fill(uint64_t seed, uint32_t rows, base::Vid vid) {
    const base::RowLayout layout(schemas_[0]);
    RandomRows random(layout, seed);
    RecordRow record(layout);
    for (uint32_t t = 0; t < 2; ++t) {
      for (uint32_t i = 0; i < rows; ++i) {
        const base::RowId row_id(random.random()());
        const base::PartitionId p = replica_.table(base::TableId(t)).partition_of(row_id);
        Partition& partition = replica_.table(base::TableId(t)).partition(p);
        record.encode(random.row());
        const uint32_t ordinal = partition.insert(row_id, record.row(), record.strings_base());
        if (random.below(4) == 0) partition.erase(ordinal);
      }
    }
    replica_.set_snapshot(vid);
  }

  Replica& replica() { return replica_; }
  const std::vector<std::string>& ddl() const { return ddl_; }

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
  void add_rows(const Partition& partition, size_t leaf_index, Rows* rows) const {
    const Leaf& leaf = partition.leaf(leaf_index);
    for (uint32_t i = 0; i < leaf.row_slots(); ++i) {
      if ((leaf.live_bits()[i / 64] >> (i % 64) & 1) == 0) continue;
      std::vector<base::Value>& values = (*rows)[leaf.row_id(i).value];
      for (size_t c = 0; c < schemas_[0].columns.size(); ++c) {
        values.push_back(
            partition.value(leaf.first_ordinal() + i, base::ColumnId(static_cast<uint16_t>(c))));
      }
    }
  }

  std::array<base::TableSchema, 2> schemas_;
  Replica replica_;
  std::vector<std::string> ddl_ = {"CREATE TABLE plain (...)", "CREATE TABLE \"Odd/Name\" (ä)"};
};

}  // namespace diptych::storage::test
