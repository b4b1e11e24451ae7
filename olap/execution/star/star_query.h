// StarQuery: a query with aggregates over one table, whose rows find at most one row of each of
// the others: a tree of inner joins along unique keys. Its groups, if it has any, are by columns of
// whichever tables.
//
//   root ──keys──► child ──keys──► child          orderline ──► orders ──► customer ──► nation
//     └────keys──► child                                  └──► item
//
// Such queries can be answered together, in one pass over each table (star_batch.h), however their
// plans order the joins: star_query() reads the joins of a plan as a graph of tables and
// equalities, and looks for a table from which every other is reached along unique keys that are
// dense. Expressions are over the columns of their node's table: `column` is a ColumnId.
//
// Threads    a StarQuery is immutable once built; StarKeys is one thread's.

#pragma once

#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "olap/execution/key/dense_keys.h"
#include "olap/plan.h"
#include "storage/table.h"

namespace diptych::olap {

// The keys of a replica's tables, looked at once for all queries of a batch.
class StarKeys {
 public:
  explicit StarKeys(const storage::Replica& replica) : replica_(replica) {}

  const storage::Replica& replica() const { return replica_; }
  // nullptr: the summaries of the table's leaves do not say that the columns' values are dense.
  const DenseKeys* of(base::TableId table, const std::vector<base::ColumnId>& columns);

 private:
  // Key numbers a row, at most, and a range that is always small enough.
  static constexpr uint64_t kDenseFactor = 4;
  static constexpr uint64_t kDenseKeysMin = 4096;

  std::optional<DenseKeys> make(base::TableId table,
                                const std::vector<base::ColumnId>& columns) const;

  const storage::Replica& replica_;
  std::map<std::pair<uint32_t, std::vector<base::ColumnId>>, std::optional<DenseKeys>> known_;
};

struct StarNode;

// outer[i] of the node's table equals column inner[i] of the child's, which are a unique key of it.
// Both are integers: INT, BIGINT and what is stored as one.
struct StarEdge {
  std::vector<ExpressionPtr> outer;
  std::vector<base::ColumnId> inner;
  DenseKeys keys;  // of `inner`
  std::unique_ptr<StarNode> child;
};

// A key of the GROUP BY over columns of the node's table, and its place among the keys.
struct StarKey {
  uint32_t index;
  ExpressionPtr expression;
};

struct StarNode {
  base::TableId table;
  const Operator* scan = nullptr;  // of the plan
  std::vector<ExpressionPtr> predicates;
  std::vector<StarEdge> edges;
  std::vector<StarKey> keys;
};

struct StarQuery {
  const Operator* aggregate = nullptr;  // of the plan
  StarNode root;
  // As aggregate->aggregates: count, sum, avg, min and max, not of distinct values.
  std::vector<Aggregate> aggregates;
  // False: there are no keys, and the aggregates are counts, and sums of integers and decimals of
  // 64 bits: star_sums.h has them. Else star_groups.h.
  bool is_grouped = false;
};

// A GROUP BY that is expected to have more groups is left to its own plan: accumulators of many
// queries with so many groups each would not stay in the caches.
inline constexpr double kStarGroupsMax = 4096;

// Nothing where the plan is no such query. The tables' schemas say which keys are unique.
std::optional<StarQuery> star_query(const Plan& plan, StarKeys* keys);

}  // namespace diptych::olap
