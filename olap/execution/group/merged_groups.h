// MergedGroups: the groups that several workers' tables have, each once, and their rows.
//
// Few groups, or those of two workers that keep few values beside them, are merged into the first
// worker's table by the caller. Others are partitioned by their keys' hashes, a partition for each
// worker: it is first listed which of a table's groups go where, then each partition is merged into
// a table of its own.
//
// Threads    made by one caller; immutable then, so that any number may read.

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

  // Of the tables of the workers, one at least; and the aggregate's standing groups. Benchmark:
  // BM_MergeGroups.
  MergedGroups(const Operator& aggregate, Tables parts, MemoryBudget* memory,
               const Workers& workers);

  // Then read() gives build rows' numbers in place of keys.
  bool are_keyed_by_build_row() const { return tables_[0]->is_keyed_by_build_row(); }
  // In vectors, of which each is of one table.
  uint64_t morsels() const { return first_morsels_.back(); }
  // The rows of a morsel: keys, then aggregates. Returns how many they are.
  uint32_t read(uint64_t morsel, std::vector<VectorBuffer>* buffers,
                std::vector<Vector>* columns) const;

  // The texts that the workers' tables had: rows refer to them, they outlive this.
  QueryHeap take_part_texts() { return std::exchange(part_texts_, QueryHeap()); }
  // The texts of the keys that are left, when read() is called no more.
  QueryHeap take_texts();

 private:
  static uint32_t partitions_for(const Tables& parts, const Workers& workers);
  void merge_partitions(const Operator& aggregate, uint32_t partitions, const Tables& parts,
                        MemoryBudget* memory, const Workers& workers);

  Tables tables_;
  std::vector<uint64_t> first_morsels_;  // by table, and one more
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
