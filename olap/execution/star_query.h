// StarQuery: a query that counts and sums over one table, whose rows find at most one row of each
// of the others: aggregates without groups over a tree of inner joins along unique keys.
//
//   root ──keys──► child ──keys──► child          orderline ──► orders ──► customer ──► nation
//     └────keys──► child                                  └──► item
//
// Such queries can be answered together, in one pass over each table (star_batch.h), however their
// plans order the joins: star_query() reads the joins of a plan as a graph of tables and
// equalities, and looks for a table from which every other is reached along unique keys.
// Expressions are over the columns of their node's table: `column` is a ColumnId.
//
// Threads    immutable once built.

#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "olap/plan.h"
#include "storage/table.h"

namespace diptych::olap {

struct StarNode;

// outer[i] of the node's table equals column inner[i] of the child's, which are a unique key of it.
// Both are integers: INT, BIGINT and what is stored as one.
struct StarEdge {
  std::vector<ExpressionPtr> outer;
  std::vector<base::ColumnId> inner;
  std::unique_ptr<StarNode> child;
};

struct StarNode {
  base::TableId table;
  std::vector<ExpressionPtr> predicates;
  std::vector<StarEdge> edges;
};

struct StarQuery {
  const Operator* aggregate = nullptr;  // of the plan
  StarNode root;
  // As aggregate->aggregates: count(*), and count and sum of integers and decimals of 64 bits.
  std::vector<Aggregate> aggregates;
};

// Nothing where the plan is no such query. The tables' schemas say which keys are unique.
std::optional<StarQuery> star_query(const Plan& plan, const storage::Replica& replica);

}  // namespace diptych::olap
