// SharedNode: one table on one join path from the root, for all queries of a batch with this path.
//
// Its pass over the table finds, for every row, the queries that want it (query_rows.h): queries
// that have the node, whose predicates hold, and for which each child has a wanted row with the key
// to which the row refers. A child's sets lie in an array by dense key (dense_keys.h), so a join is
// one load for each row and word, for all queries: CJoin's filters (Candea, Polyzotis and Viglas,
// VLDB'09) without hash tables.
//
//   columns --value classes, predicates--> QueryRows --children's sets by key--> QueryRows
//      root: into the sums (star_sums.h)       others: into found(), by this node's key
//            and groups (star_groups.h)
//
// Parts are the node's contributions to the group keys of queries: the value of an expression, or a
// part of the child's row that a row joins. Below the root a part is a number (star_values.h),
// which is stored by key beside the sets.
//
// A node stores only those words of the batch's query sets in which it has queries. A child's sets
// always include the queries that do not have the child.
//
// Threads    one thread builds it (add, finish); then every worker has its own StarSource. Two
//            workers write different rows of found(), because the key is unique.

#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "olap/execution/expression/expression.h"
#include "olap/execution/key/dense_keys.h"
#include "olap/execution/scan/scan.h"
#include "olap/execution/star/star_query.h"
#include "olap/execution/star/star_values.h"
#include "olap/execution/star/value_classes.h"
#include "olap/execution/vector/column_store.h"
#include "olap/plan_report.h"

namespace diptych::olap {

class PlanMeter;  // plan_meter.h

// A text that identifies an edge of a table: edges with the same text are one edge, whatever
// queries have below it.
std::string edge_text(const StarEdge& edge);

// An expression over a node's batch columns, and the queries of the batch that use it.
struct SharedExpression {
  ExpressionPtr expression;
  QuerySet queries;
};

// One worker's figures of a node's pass, on their own cache lines.
struct alignas(128) StarPassPart {
  QuerySet out;       // queries of the batch whose expressions failed
  uint64_t rows = 0;  // rows that pass the predicates of some query
  uint64_t decoded_bytes = 0;
  uint64_t ns = 0;
};

class SharedNode {
 public:
  struct Edge {
    std::vector<ExpressionPtr> outer;  // over this node's batch columns
    std::vector<base::ColumnId> inner;
    DenseKeys keys;  // of `inner`
    std::unique_ptr<SharedNode> child;
  };
  struct Ranges {
    uint32_t column;  // of the batch
    RangeClasses classes;
  };
  struct Prefixes {
    uint32_t column;
    PrefixClasses classes;
  };

  struct Part {
    ExpressionPtr expression;  // over this node's batch columns; nullptr: the child's part
    QuerySet queries;          // queries that use it
    size_t edge = 0;
    uint32_t child_part = 0;
    std::unique_ptr<StarValues> values;  // below the root, for an expression, after the pass
    GrowingArray<uint32_t> numbers;      // below the root: by the key's number
  };
  using KeyParts = std::map<uint32_t, uint32_t>;  // place of a GROUP BY's key -> part

  SharedNode(const storage::Replica& replica, base::TableId table, size_t batch_words);

  // Adds the query's predicates and joins, and its path below. Returns the parts that this node and
  // the nodes below give to the query's group keys.
  KeyParts add(uint32_t query, const StarNode& node);
  // A copy of the expression over the batch's columns; adds the columns that it needs.
  ExpressionPtr bound(const Expression& over_table);
  // Called once, after every add(). `edge` leads to this node; nullptr for the root.
  void finish(const Edge* edge);

  const storage::Table& table() const { return table_; }
  // A scan of the table's batch columns, and the columns that it needs; for reading ahead.
  const Operator& scan() const { return scan_; }
  const std::vector<bool>& needed() const { return needed_; }
  size_t first_word() const { return first_word_; }
  size_t words() const { return words_; }
  const uint64_t* queries() const { return queries_.data() + first_word_; }
  const QuerySet& all_queries() const { return queries_; }  // with all words of the batch
  const std::vector<Ranges>& ranges() const { return ranges_; }
  const std::vector<Prefixes>& prefixes() const { return prefixes_; }
  // Predicates that no class covers; each distinct one is evaluated once.
  const std::vector<SharedExpression>& general() const { return general_; }
  std::vector<Edge>& edges() { return edges_; }
  const std::vector<Edge>& edges() const { return edges_; }
  std::vector<Part>& parts() { return parts_; }
  const std::vector<Part>& parts() const { return parts_; }
  // By part: the object in which a worker of the pass numbers values; nullptr for children's parts.
  using PartValues = std::vector<std::unique_ptr<StarValues>>;
  PartValues make_values(const QueryLimits& limits) const;
  // Merges the values of all workers after the pass, and makes the stored numbers common. A stored
  // number is the worker's own number times the number of workers, plus the worker's index.
  void take_values(std::vector<PartValues> of_workers, const QueryLimits& limits);
  // The values that a part's numbers represent; nullptr if the part is a value of the root itself.
  const StarValues* values_of(uint32_t part) const;
  // The morsels in which some query may want a row, with these queries; those in `out`, a set of
  // the batch, are left out.
  struct Morsels {
    std::vector<ScanMorsel> morsels;
    std::vector<uint64_t> queries;  // words() for each morsel
    ScanLeaves leaves;
  };
  Morsels morsels(const QuerySet& out) const;

  // Adds up the figures of the pass over the table, for EXPLAIN ANALYZE.
  void count(const std::vector<StarPassPart>& parts, const ScanLeaves& leaves);
  // Reports the query's scans to the meter: of this node, and of nodes below on the query's path.
  void tell(const StarNode& node, PlanMeter* meter) const;

  // For a node with a parent: its own key, and the sets by the key's number, words() each; then one
  // set for keys that no row has.
  const std::vector<uint32_t>& key_columns() const { return key_columns_; }
  const DenseKeys& keys() const { return edge_->keys; }
  uint64_t* found() { return found_.data(); }
  const uint64_t* found() const { return found_.data(); }
  // The size of the sets and numbers by key.
  size_t found_bytes() const;
  // Marks every key as one that no row has. Called once, before the pass.
  void clear_found();
  void drop_found();

 private:
  uint32_t batch_column(base::ColumnId column);
  Ranges& ranges_of(uint32_t column);
  Prefixes& prefixes_of(uint32_t column);
  void add_predicate(uint32_t query, const Expression& predicate);
  uint32_t add_part(uint32_t query, const std::string& text, Part part);

  const storage::Replica& replica_;
  const storage::Table& table_;
  QuerySet queries_;         // with all words of the batch
  uint64_t statements_ = 0;  // statements with the node; those of one text are one query
  size_t first_word_ = 0;
  size_t words_ = 0;
  Operator scan_;
  std::vector<bool> needed_;
  std::vector<Ranges> ranges_;
  std::vector<Prefixes> prefixes_;
  std::vector<SharedExpression> general_;
  std::map<std::string, size_t> general_by_text_;
  std::vector<Edge> edges_;
  std::map<std::string, size_t> edges_by_text_;
  std::vector<Part> parts_;
  std::map<std::string, uint32_t> parts_by_text_;
  std::vector<uint32_t> key_columns_;
  const Edge* edge_ = nullptr;  // to this node
  GrowingArray<uint64_t> found_;
  OperatorFigures figures_;
};

}  // namespace diptych::olap
