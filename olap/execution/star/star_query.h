// StarQuery: a query with aggregates over one root table, each row of which joins at most one row
// of each other table: a tree of inner joins along unique keys. It may group by columns of any of
// the tables.
//
//   root ──keys──► child ──keys──► child          orderline ──► orders ──► customer ──► nation
//     └────keys──► child                                  └──► item
//
// Such queries can be answered together, in one pass over each table (star_batch.h), whatever the
// join order of their plans. star_query() reads the joins of a plan as a graph of tables and
// equalities, and searches for a table from which every other is reached along dense unique keys.
// Expressions are over the columns of their node's table: `column` is a ColumnId.
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

// StarKeys: the keys of a replica's tables, examined once for all queries of a batch.
class StarKeys {
 public:
  explicit StarKeys(const storage::Replica& replica) : replica_(replica) {}

  const storage::Replica& replica() const { return replica_; }
  // nullptr if the summaries of the table's leaves do not show that the columns' values are dense.
  const DenseKeys* of(base::TableId table, const std::vector<base::ColumnId>& columns);

 private:
  // The largest number of key numbers for each row, and a number that is always small enough.
  static constexpr uint64_t kDenseFactor = 4;
  static constexpr uint64_t kDenseKeysMin = 4096;

  std::optional<DenseKeys> make(base::TableId table,
                                const std::vector<base::ColumnId>& columns) const;

  const storage::Replica& replica_;
  std::map<std::pair<uint32_t, std::vector<base::ColumnId>>, std::optional<DenseKeys>> known_;
};

struct StarNode;

// A join: outer[i] of the node's table equals column inner[i] of the child's table. The inner
// columns are a unique key of the child. Both sides are INT, BIGINT or types stored as these.
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
  const Operator* scan = nullptr;  // in the plan
  std::vector<ExpressionPtr> predicates;
  std::vector<StarEdge> edges;
  std::vector<StarKey> keys;
};

struct StarQuery {
  const Operator* aggregate = nullptr;  // in the plan
  StarNode root;
  // As aggregate->aggregates: count, sum, avg, min and max, without DISTINCT.
  std::vector<Aggregate> aggregates;
  // False: there are no keys, and all aggregates are counts or sums of integers and decimals of 64
  // bits, which star_sums.h computes. True: star_groups.h computes them.
  bool is_grouped = false;
};

// A query that is expected to have more groups runs by its own plan, because the accumulators of
// many such queries would not stay in the caches.
inline constexpr double kStarGroupsMax = 4096;

// nullopt if the plan is not a star query. The tables' schemas say which keys are unique.
std::optional<StarQuery> star_query(const Plan& plan, StarKeys* keys);

}  // namespace diptych::olap
