// StarBatch: the star queries of a batch that go through one root table, answered together
// (BatchDB, section 5: shared execution; CJoin for the joins).
//
// One pass over each table on a way, the children's before the parents', whatever the number of
// queries: a column's chunk is decoded once, a literal's predicate costs no row anything of its own
// (value_classes.h), joins cost a load a row for 64 queries at a time, and a block that no query
// can want is not read. Queries of one text are one query.
//
// Use        add() each query; run() once; result() of each.
// Threads    one caller; the passes use the context's arena.
// Errors     QueryFailure, also of rows that not every query would have met: a caller who gets one
//            runs the queries one by one.

#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "olap/execution/memory_budget.h"
#include "olap/execution/pipeline.h"
#include "olap/execution/row_stages.h"
#include "olap/execution/star_node.h"
#include "olap/execution/star_sums.h"

namespace diptych::olap {

class StarBatch {
 public:
  // `queries` are of one root table, and stay.
  StarBatch(const RunContext& context, std::vector<const StarQuery*> queries);

  // False: a key on the way is not dense, and nothing was computed.
  bool run();

  // The row that the aggregate of queries[index] gives.
  GivenRow result(size_t index) const;

 private:
  using Arguments = std::vector<std::vector<uint32_t>>;

  void number_queries();
  void add_arguments();
  void run_children(SharedNode* node);
  void run_node(SharedNode* node);
  void run_root();

  const RunContext& context_;
  const std::vector<const StarQuery*> queries_;
  std::vector<uint32_t> numbers_;  // of queries_: bits in the batch's sets
  size_t words_ = 0;
  std::unique_ptr<SharedNode> root_;
  std::vector<ExpressionPtr> arguments_;              // of all queries, over the root's columns
  std::map<std::string, uint32_t> argument_numbers_;  // by text
  Arguments wanted_arguments_;                        // by word
  std::unique_ptr<StarSums> sums_;
  MemoryCharge charge_;
};

}  // namespace diptych::olap
