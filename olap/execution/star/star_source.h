// StarSource: one worker's pass over a table of a batch's star queries (star_node.h).
//
// An expression is computed for the rows that one of its queries wants, or for all rows if those
// are most. If it fails, its queries leave the pass, and the pass goes on. The failing row may be
// one that such a query does not want; the query then succeeds when it runs alone.
//
// Threads    one worker.

#pragma once

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

// The output of the root's rows. All objects outlive the source. Arguments are over the node's
// columns.
struct StarRootOutput {
  StarPassPart* pass = nullptr;
  StarSums* sums = nullptr;  // nullptr: no query has sums
  const std::vector<SharedExpression>* sum_arguments = nullptr;
  std::vector<StarGroups*> groups;  // by grouping
  const std::vector<StarGrouping>* groupings = nullptr;
  const std::vector<SharedExpression>* group_arguments = nullptr;
};

// The output of a child's rows: their sets and parts by key, which belong to the node.
struct StarChildOutput {
  StarPassPart* pass = nullptr;
  uint64_t* found = nullptr;
  std::vector<uint32_t*> numbers;   // by part
  std::vector<StarValues*> values;  // this worker's, by part; nullptr for a child's part
  uint32_t worker = 0;
  uint32_t workers = 1;  // number n of this worker's values is stored as n * workers + worker
};

class StarSource : public MorselSource {
 public:
  // All arguments but the output outlive the source.
  StarSource(const SharedNode& node, const SharedNode::Morsels& morsels, const QueryLimits& limits,
             ReadAhead* ahead, StarChildOutput output);
  StarSource(const SharedNode& node, const SharedNode::Morsels& morsels, const QueryLimits& limits,
             ReadAhead* ahead, StarRootOutput output);

  // Benchmark: BM_StarBatch.
  bool run(uint64_t morsel) override;

 private:
  // Expressions over the node's columns, the columns that they read, and the queries that use them.
  struct Computed {
    std::vector<NodePtr> nodes;
    std::vector<uint32_t> columns;
    const QuerySet* queries = nullptr;
    QueryRows::Queries asking = {};  // these queries among the node's words
    bool is_free = false;            // it costs nothing for any rows
    uint64_t seen = 0;               // rows that reached it
    uint64_t asked = 0;              // those of them that one of its queries wanted
    bool failed = false;
  };

  // After this number of rows it is known whether selecting the wanted rows pays.
  static constexpr uint64_t kSeenMin = 16 << 10;

  StarSource(const SharedNode& node, const SharedNode::Morsels& morsels, const QueryLimits& limits,
             ReadAhead* ahead, StarPassPart* pass);
  Computed computed(std::span<const ExpressionPtr> expressions, const QuerySet& queries);
  Computed computed(const SharedExpression& shared) {
    return computed({&shared.expression, 1}, shared.queries);
  }
  // Runs the computation. Returns false if it failed, now or before; its queries are then out of
  // the pass.
  template <class Compute>
  bool attempt(Computed* computed, const Compute& compute);
  // As attempt(), for one expression at some of the wanted rows.
  bool evaluate(Computed* computed, const Selection& rows, Vector* values);
  void run_vector(const storage::Leaf& leaf, uint32_t first, uint32_t count,
                  const uint64_t* queries);
  void apply_predicates();
  void join(size_t edge);
  // The rows that one of the computation's queries wants, or all rows if those are most.
  const Selection& asked_rows(const Selection& rows, Computed* computed);
  void store();
  void store_part(size_t part);
  void sum();
  void group();
  // Returns false if some query is out.
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
  QuerySet in_;  // the node's queries that are not out
  std::vector<Computed> general_;
  std::vector<Computed> outer_;  // by edge
  std::vector<size_t> order_;    // the order of edges: smaller sets first
  std::vector<Computed> parts_;  // without nodes for a child's part
  std::vector<Computed> sum_arguments_;
  std::vector<Computed> group_arguments_;
  size_t node_bytes_ = 0;  // of all these
  MemoryCharge charge_;
  LeafReader reader_;
  LeafColumns columns_;
  QueryRows rows_;
  Selection live_;
  Selection wanted_;
  Selection grouped_;  // rows that some query of a grouping wants
  Selection asked_;    // rows that a computation needs
  TruthMask truth_;
  std::vector<Vector> keys_;
  std::vector<Vector> arguments_;
  std::vector<uint32_t> numbers_;                    // of this node's keys
  std::vector<std::vector<uint32_t>> edge_numbers_;  // by edge: of the child's keys
  std::vector<std::vector<uint32_t>> part_numbers_;  // by part
};

}  // namespace diptych::olap
