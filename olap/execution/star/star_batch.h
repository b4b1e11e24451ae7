// StarBatch: the star queries of a batch that go through one root table, answered together
// (BatchDB, section 5: shared execution; CJoin for the joins).
//
// One pass over each table on a way, the children's before the parents', whatever the number of
// queries: a column's chunk is decoded once, a literal's predicate costs no row anything of its own
// (value_classes.h), joins cost a load a row for 64 queries at a time, and a block that no query
// can want is not read. Queries of one text are one query; those of one GROUP BY number their
// groups once (star_groups.h), and each has its own accumulators.
//
// Use        add() each query; run() once; result() of each.
// Threads    one caller; the passes use the context's arena.
// Errors     queries whose expressions fail have no result, also where the rows are others'. What
//            run() throws (QueryFailure: memory, a stop, the disk) is all queries': a caller who
//            gets it runs them one by one.

#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "olap/execution/limits/memory_budget.h"
#include "olap/execution/pipeline/pipeline.h"
#include "olap/execution/pipeline/row_stages.h"
#include "olap/execution/star/star_groups.h"
#include "olap/execution/star/star_node.h"
#include "olap/execution/star/star_sums.h"

namespace diptych::olap {

class StarBatch {
 public:
  // `queries` are of one root table, and stay.
  StarBatch(const RunContext& context, std::vector<const StarQuery*> queries);

  void run();

  // The rows that the aggregate of queries[index] gives; they refer to the batch. nullptr: it had
  // too many groups to be answered here, or an expression of it failed.
  std::unique_ptr<GivenRows> result(size_t index) const;
  // What was done for queries[index], below its aggregate.
  void tell(size_t index, PlanMeter* meter) const;

 private:
  // Where a grouped query is among the groupings.
  struct Place {
    size_t grouping;
    size_t query;
  };
  using GroupsOfWorkers = std::vector<std::vector<std::unique_ptr<StarGroups>>>;

  void number_queries();
  void add_arguments();
  void add_to_grouping(size_t index, const SharedNode::KeyParts& parts);
  StarGrouping::Query grouped_query(size_t index);
  // The place of the argument among those of the batch, which the query has then, too.
  uint32_t add_argument(size_t index, const Expression& argument,
                        std::map<std::string, uint32_t>* numbers,
                        std::vector<SharedExpression>* arguments);
  void run_children(SharedNode* node);
  void run_node(SharedNode* node);
  void run_root();
  void end_pass(const std::vector<StarPassPart>& parts, const ScanLeaves& leaves, SharedNode* node);
  void merge_groups(GroupsOfWorkers of_workers);
  std::unique_ptr<GivenRows> sums_of(size_t index) const;

  const RunContext& context_;
  const std::vector<const StarQuery*> queries_;
  std::vector<uint32_t> numbers_;  // of queries_: bits in the batch's sets
  size_t words_ = 0;
  size_t sum_words_ = 0;  // those of queries without groups come first
  std::unique_ptr<SharedNode> root_;
  std::vector<SharedNode::KeyParts> key_parts_;       // of queries_
  QuerySet out_;                                      // of which an expression failed
  std::vector<SharedExpression> arguments_;           // of sums, over the root's columns
  std::map<std::string, uint32_t> argument_numbers_;  // by text
  std::unique_ptr<StarSums> sums_;
  std::vector<StarGrouping> groupings_;
  std::map<std::string, size_t> groupings_by_text_;
  std::map<size_t, Place> places_;                          // of grouped queries_
  std::vector<SharedExpression> group_arguments_;           // as arguments_, of groups
  std::map<std::string, uint32_t> group_argument_numbers_;  // by text
  // By grouping, then worker: the first has all groups, whose texts the others may have.
  GroupsOfWorkers groups_;
  MemoryCharge charge_;
};

}  // namespace diptych::olap
