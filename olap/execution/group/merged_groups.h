// MergedGroups: the merged groups of several workers' tables, and their rows.
//
// Few groups, or the groups of two workers that keep few values beside them, are merged into the
// first worker's table, whose keys the workers search together (distinct numbers do not count as
// values: they are merged together, too). Other groups are partitioned by the hashes of their keys,
// one partition for each worker: first each table's groups are listed by partition, then each
// partition is merged into a table of its own.
//
// Threads    one caller makes it; then it is immutable, and any number may read.

#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "olap/execution/group/aggregate.h"
#include "olap/execution/threads/workers.h"

namespace diptych::olap {

class MergedGroups {
 public:
  using Tables = std::vector<std::unique_ptr<GroupTable>>;

  // Merges the tables of the workers, at least one, and adds the aggregate's standing groups.
  // Benchmark: BM_MergeGroups.
  MergedGroups(const Operator& aggregate, Tables parts, MemoryBudget* memory,
               const Workers& workers);

  // True if read() gives the numbers of build rows in place of keys.
  bool are_keyed_by_build_row() const { return tables_[0]->is_keyed_by_build_row(); }
  // The number of morsels; each is one vector of one table.
  uint64_t morsels() const { return first_morsels_.back(); }
  // Reads the rows of a morsel: keys, then aggregates. Returns the number of rows.
  uint32_t read(uint64_t morsel, std::vector<VectorBuffer>* buffers,
                std::vector<Vector>* columns) const;

  // Gives away the texts of the workers' tables. Rows refer to them, so they outlive this object.
  QueryHeap take_part_texts() { return std::exchange(part_texts_, QueryHeap()); }
  // Gives away the texts of the remaining keys. Called after the last read().
  QueryHeap take_texts();

 private:
  static uint32_t partitions_for(const Tables& parts, const Workers& workers);
  void merge_partitions(const Operator& aggregate, uint32_t partitions, const Tables& parts,
                        MemoryBudget* memory, const Workers& workers);

  Tables tables_;
  std::vector<uint64_t> first_morsels_;  // by table, then the number of morsels
  QueryHeap part_texts_;
};

class GroupSource : public MorselSource {
 public:
  GroupSource(const Operator& aggregate, const MergedGroups& groups, StagePtr next);
  bool run(uint64_t morsel) override;

 private:
  const MergedGroups& groups_;
  StagePtr next_;
  std::vector<VectorBuffer> buffers_;
  Batch batch_;
  Selection selection_;
};

}  // namespace diptych::olap
