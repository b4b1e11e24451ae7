// StarGroups: the groups of those star queries of a batch that have the same GROUP BY.
//
// The queries share the numbers of groups: a row's key is computed and looked up once, whatever the
// number of queries that want the row. Each query has its own accumulators (aggregate_column.h) by
// group number, and marks the groups in which it had a row.
//
//   row's queries (query_rows.h) ──by query, a vector of rows at a time──► rows of each query
//   row's keys ──KeyTable──► group number ──┐                                   │
//                                           └──► the query's AggregateColumns ◄─┘
//
// A key is an expression over the root's columns, or the number of a dimension's value
// (star_values.h). Without keys there is one group, also over no rows.
//
// Threads    each worker of the pass has its own; one thread merges and reads.
// Errors     QueryFailure. If there are more groups than kGroupsGivenUp, against the planner's
//            estimate, it gives up: it adds nothing more and has no results.

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "olap/execution/group/aggregate_column.h"
#include "olap/execution/key/key_table.h"
#include "olap/execution/limits/memory_budget.h"
#include "olap/execution/pipeline/row_stages.h"
#include "olap/execution/star/query_rows.h"
#include "olap/execution/star/star_query.h"
#include "olap/execution/star/star_values.h"

namespace diptych::olap {

// One GROUP BY of a pass.
struct StarGrouping {
  static constexpr uint32_t kNoArgument = UINT32_MAX;  // count(*)

  struct Query {
    uint32_t number;  // its bit in the batch's sets
    const StarQuery* query;
    std::vector<uint32_t> arguments;  // by aggregate: the pass's argument
  };

  std::vector<uint32_t> parts;      // by key: the root's part (star_node.h)
  std::vector<PhysicalType> types;  // of the keys as they are looked up
  std::vector<Query> queries;       // ascending
};

class StarGroups {
 public:
  static constexpr uint32_t kGroupsGivenUp = uint32_t{1} << 16;

  // The grouping outlives it.
  StarGroups(const StarGrouping& grouping, const QueryLimits& limits);
  StarGroups(const StarGroups&) = delete;
  StarGroups& operator=(const StarGroups&) = delete;

  // Selects the rows that some query of the grouping wants.
  void select(const QueryRows& rows, uint32_t slots, Selection* selection) const;
  // Adds these rows to the queries that want them. `arguments` are those of the pass. Benchmark:
  // BM_StarGroups.
  void add(const QueryRows& rows, const Selection& selection, std::span<const Vector> keys,
           std::span<const Vector> arguments);
  // Adds the groups of `other`, which outlives this object, because their texts are shared.
  void merge(const StarGroups& other, const StopSignal& stop);

  bool given_up() const { return given_up_; }
  uint32_t groups() const { return grouping_.parts.empty() ? 1 : table_.size(); }
  // Reads groups [first, first + count) for queries[query]: keys as they were looked up, then
  // aggregates. Selects in *rows the groups in which the query has a row.
  void read(size_t query, uint32_t first, uint32_t count, std::vector<VectorBuffer>* buffers,
            std::vector<Vector>* columns, Selection* rows) const;

 private:
  // The state of one query.
  struct State {
    std::vector<std::unique_ptr<AggregateColumn>> aggregates;
    GrowingArray<uint8_t> seen;  // by group
  };
  // The queries of a word of the sets.
  struct Word {
    size_t word;
    uint64_t queries;
    size_t first;  // place in grouping_.queries
    size_t end;
  };

  void number(const Selection& selection, std::span<const Vector> keys);
  void add_word(const Word& word, const QueryRows& rows, const Selection& selection,
                std::span<const Vector> arguments);
  void add_query(size_t query, const Selection& rows, std::span<const Vector> arguments);
  void grow(State* state);
  void charge();
  void give_up();

  const StarGrouping& grouping_;
  std::vector<Word> words_;
  KeyPacker packer_;
  KeyTable table_;
  std::vector<State> states_;  // by query of the grouping
  bool given_up_ = false;
  bool grown_ = false;  // since charge()

  std::vector<uint64_t> packed_;
  std::vector<uint64_t> hashes_;
  std::vector<uint32_t> numbers_;         // by place in the selection
  std::vector<uint32_t> group_of_slot_;   // by slot, for the vector's selected rows
  std::vector<uint32_t> groups_of_rows_;  // by place in a query's rows
  std::vector<uint64_t> bits_;            // by query of a word: its rows, kVectorWords words
  Selection query_rows_;
  MemoryCharge charge_;
};

// StarGroupRows: the output rows of one query's aggregate, with which its plan continues.
class StarGroupRows : public GivenRows {
 public:
  // `values` is by key, for keys that are numbers of values. All arguments outlive this object.
  StarGroupRows(const Operator& op, const StarGroups& groups, size_t query,
                std::vector<const StarValues*> values)
      : GivenRows(op), groups_(groups), query_(query), values_(std::move(values)) {}

  uint64_t morsels() const override;
  std::unique_ptr<MorselSource> source(StagePtr next) const override;

 private:
  const StarGroups& groups_;
  const size_t query_;
  const std::vector<const StarValues*> values_;
};

}  // namespace diptych::olap
