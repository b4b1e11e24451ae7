// StarSource: one worker's pass over a table of a batch's star queries (star_node.h).
//
// An expression is computed for rows that some query which has it wants; for all, where those are
// most. One that fails takes these queries out of the pass, and the pass goes on. They may be
// innocent: who runs them alone will see.
//
// Threads    one worker.

#pragma once

#include <memory>
#include <span>
#include <vector>

#include "olap/execution/limits/memory_budget.h"
#include "olap/execution/pipeline/pipeline.h"
#include "olap/execution/scan/leaf_columns.h"
#include "olap/execution/scan/read_ahead.h"
#include "olap/execution/star/star_groups.h"
#include "olap/execution/star/star_node.h"
#include "olap/execution/star/star_sums.h"

namespace diptych::olap {

// What the root's rows go into; all outlive the source. Arguments are over the node's columns.
struct StarRootOutput {
  StarPassPart* pass = nullptr;
  StarSums* sums = nullptr;  // nullptr: no query has any
  const std::vector<SharedExpression>* sum_arguments = nullptr;
  std::vector<StarGroups*> groups;  // by grouping
  const std::vector<StarGrouping>* groupings = nullptr;
  const std::vector<SharedExpression>* group_arguments = nullptr;
};

// What a child's rows go into: their sets and parts by key, which are the node's.
struct StarChildOutput {
  StarPassPart* pass = nullptr;
  uint64_t* found = nullptr;
  std::vector<uint32_t*> numbers;   // by part
  std::vector<StarValues*> values;  // this worker's, by part; nullptr: the part is a child's
  uint32_t worker = 0;
  uint32_t workers = 1;  // a number of this worker's values is stored times it, plus `worker`
};

class StarSource : public MorselSource {
 public:
  // All but the output outlive it.
  StarSource(const SharedNode& node, const SharedNode::Morsels& morsels, const QueryLimits& limits,
             ReadAhead* ahead, StarChildOutput output);
  StarSource(const SharedNode& node, const SharedNode::Morsels& morsels, const QueryLimits& limits,
             ReadAhead* ahead, StarRootOutput output);

  // Benchmark: BM_StarBatch.
  bool run(uint64_t morsel) override;

 private:
  // Expressions over the node's columns, those that they read, and the queries that have them.
  struct Computed {
    std::vector<NodePtr> nodes;
    std::vector<uint32_t> columns;
    const QuerySet* queries = nullptr;
    QueryRows::Queries asking = {};  // these queries among the node's words
    bool is_free = false;            // it costs nothing, at whatever rows
    uint64_t seen = 0;               // rows that came to it
    uint64_t asked = 0;              // of these, those that one of its queries wanted
    bool failed = false;
  };

  // So many rows show whether it is worth while to select what a computation is asked for.
  static constexpr uint64_t kSeenMin = 16 << 10;

  StarSource(const SharedNode& node, const SharedNode::Morsels& morsels, const QueryLimits& limits,
             ReadAhead* ahead, StarPassPart* pass);
  Computed computed(std::span<const ExpressionPtr> expressions, const QuerySet& queries);
  Computed computed(const SharedExpression& shared) {
    return computed({&shared.expression, 1}, shared.queries);
  }
  // Runs the computation. False: it failed, now or before, and its queries are out of the pass.
  template <class Compute>
  bool attempt(Computed* computed, const Compute& compute);
  // The same of one expression, at some of the wanted rows.
  bool evaluate(Computed* computed, const Selection& rows, Vector* values);
  void run_vector(const storage::Leaf& leaf, uint32_t first, uint32_t count,
                  const uint64_t* queries);
  void apply_predicates();
  void join(size_t edge);
  // Of the rows, those that a query which has the computation wants; all, where few are left out.
  const Selection& asked_rows(const Selection& rows, Computed* computed);
  void store();
  void store_part(size_t part);
  void sum();
  void group();
  // False: some query is out.
  bool compute_group_arguments();
  bool compute_keys(const StarGrouping& grouping);
  void gather_part(const SharedNode::Part& part, const Selection& rows, uint32_t* numbers) const;
  void load(const std::vector<uint32_t>& columns, const Selection& rows);

  const SharedNode& node_;
  const SharedNode::Morsels& morsels_;
  const QueryLimits limits_;
  ReadAhead* const ahead_;
  StarChildOutput child_;
  StarRootOutput root_;

  StarPassPart& pass_;
  QuerySet in_;  // of the node's words: queries that are not out
  std::vector<Computed> general_;
  std::vector<Computed> outer_;  // by edge
  std::vector<size_t> order_;    // of the edges: the smaller sets first
  std::vector<Computed> parts_;  // without nodes: a child's
  std::vector<Computed> sum_arguments_;
  std::vector<Computed> group_arguments_;
  size_t node_bytes_ = 0;  // of all these
  MemoryCharge charge_;
  LeafReader reader_;
  LeafColumns columns_;
  QueryRows rows_;
  Selection live_;
  Selection wanted_;
  Selection grouped_;  // by some query of a grouping
  Selection asked_;    // of a computation
  TruthMask truth_;
  std::vector<Vector> keys_;
  std::vector<Vector> arguments_;
  std::vector<uint32_t> numbers_;                    // of this node's key
  std::vector<std::vector<uint32_t>> edge_numbers_;  // of the children's
  std::vector<std::vector<uint32_t>> part_numbers_;  // by part
};

}  // namespace diptych::olap
