// StarSource: one worker's pass over a table of a batch's star queries (star_node.h).
//
// Threads    one worker.

#pragma once

#include <vector>

#include "olap/execution/leaf_columns.h"
#include "olap/execution/pipeline.h"
#include "olap/execution/read_ahead.h"
#include "olap/execution/star_node.h"
#include "olap/execution/star_sums.h"

namespace diptych::olap {

class StarSource : public MorselSource {
 public:
  // A child's pass: wanted rows go into found[], the node's. All outlive this.
  StarSource(const SharedNode& node, const SharedNode::Morsels& morsels, ReadAhead* ahead,
             uint64_t* found);
  // The root's: they go into the sums of the arguments, which are over the node's columns.
  StarSource(const SharedNode& node, const SharedNode::Morsels& morsels, ReadAhead* ahead,
             StarSums* sums, const std::vector<ExpressionPtr>& arguments);

  // Benchmark: BM_StarBatch.
  bool run(uint64_t morsel) override;

 private:
  StarSource(const SharedNode& node, const SharedNode::Morsels& morsels, ReadAhead* ahead,
             StarSums* sums, const std::vector<ExpressionPtr>& arguments, uint64_t* found);
  void run_vector(const storage::Leaf& leaf, uint32_t first, uint32_t count,
                  const uint64_t* queries);
  void apply_predicates();
  void join(const SharedNode::Edge& edge, const std::vector<NodePtr>& outer);
  void store();
  void sum();
  void load(const std::vector<uint32_t>& columns, const Selection& rows);

  const SharedNode& node_;
  const SharedNode::Morsels& morsels_;
  ReadAhead* const ahead_;
  StarSums* const sums_;   // or nullptr
  uint64_t* const found_;  // or nullptr

  std::vector<NodePtr> general_;
  std::vector<std::vector<uint32_t>> general_columns_;
  std::vector<std::vector<NodePtr>> outer_;  // by edge
  std::vector<std::vector<uint32_t>> outer_columns_;
  std::vector<NodePtr> arguments_;
  std::vector<std::vector<uint32_t>> argument_columns_;
  LeafColumns columns_;
  QueryRows rows_;
  Selection live_;
  Selection wanted_;
  TruthMask truth_;
  std::vector<Vector> keys_;
  std::vector<uint32_t> numbers_;
};

}  // namespace diptych::olap
