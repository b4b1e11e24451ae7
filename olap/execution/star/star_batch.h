// StarBatch: answers the star queries of a batch that have one root table together (BatchDB,
// section 5: shared execution; CJoin for the joins).
//
// It makes one pass over each table on a path from the root, children before parents, whatever the
// number of queries. A column's chunk is decoded once; a predicate with a literal adds no cost to a
// row (value_classes.h); a join costs one load a row for 64 queries; and a block that no query can
// want is not read. Queries with the same text are one query. Queries with the same GROUP BY share
// the numbering of groups (star_groups.h), and each has its own accumulators.
//
// Use        construct with the queries; run() once; result() of each.
// Threads    one caller; the passes use the context's arena.
// Errors     a query whose expression fails has no result, even if only other queries want the row.
//            An exception of run() (QueryFailure: memory, a stop, the disk) concerns all queries;
//            the caller then runs them one by one.

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
  // `queries` have one root table and outlive this object.
  StarBatch(const RunContext& context, std::vector<const StarQuery*> queries);

  void run();

  // The output rows of the aggregate of queries[index], which refer to the batch. nullptr if the
  // query has too many groups to be answered here, or if an expression of it failed.
  std::unique_ptr<GivenRows> result(size_t index) const;
  // Reports the work done for queries[index], below its aggregate, to the meter.
  void tell(size_t index, PlanMeter* meter) const;

 private:
  // The place of a grouped query among the groupings.
  struct Place {
    size_t grouping;
    size_t query;
  };
  using GroupsOfWorkers = std::vector<std::vector<std::unique_ptr<StarGroups>>>;

  void number_queries();
  void add_arguments();
  void add_to_grouping(size_t index, const SharedNode::KeyParts& parts);
  StarGrouping::Query grouped_query(size_t index);
  // Adds the query to the argument and returns its place among the batch's arguments.
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
  std::vector<uint32_t> numbers_;  // by query: its bit in the batch's sets
  size_t words_ = 0;
  size_t sum_words_ = 0;  // words of queries without groups, which come first
  std::unique_ptr<SharedNode> root_;
  std::vector<SharedNode::KeyParts> key_parts_;       // by query
  QuerySet out_;                                      // queries whose expressions failed
  std::vector<SharedExpression> arguments_;           // of sums, over the root's columns
  std::map<std::string, uint32_t> argument_numbers_;  // by text
  std::unique_ptr<StarSums> sums_;
  std::vector<StarGrouping> groupings_;
  std::map<std::string, size_t> groupings_by_text_;
  std::map<size_t, Place> places_;                          // by grouped query
  std::vector<SharedExpression> group_arguments_;           // as arguments_, for groups
  std::map<std::string, uint32_t> group_argument_numbers_;  // by text
  // By grouping, then worker. The first worker's has all groups; the others may hold their texts.
  GroupsOfWorkers groups_;
  MemoryCharge charge_;
};

}  // namespace diptych::olap
