// StarNode of a batch: one table on one way from the root, for all queries whose joins go that way.
//
// Its pass over the table finds for every row the queries that want it (query_rows.h): those that
// have the node, whose predicates hold, and for which each child has a wanted row under the key
// that the row refers to. Of a child, these sets lie in an array by dense key (dense_keys.h), so a
// join is one load a row and word, for all queries: CJoin's filters (Candea, Polyzotis and Viglas,
// VLDB'09) without hash tables.
//
//   columns --value classes, predicates--> QueryRows --children's sets by key--> QueryRows
//      root: into the sums (star_sums.h)       others: into found(), by this node's key
//            and groups (star_groups.h)
//
// Parts are what rows of the node give to the group keys of queries: a value of an expression, or
// what the child's row gives that a row joins. Below the root a part is a number (star_values.h),
// which lies by key beside the sets.
//
// A node has only the words of the batch's query sets in which it has queries; in the sets of a
// child, queries that do not have it are always there.
//
// Threads    built by one (add, finish); then every worker has a StarSource of its own. Two
//            workers write different rows of found(): the key is unique.

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

// Tells a table's edges apart: of one text there is one, whatever queries have below it.
std::string edge_text(const StarEdge& edge);

// An expression over a node's batch columns, which these queries of the batch have.
struct SharedExpression {
  ExpressionPtr expression;
  QuerySet queries;
};

// What a worker did in a node's pass, on cache lines of its own.
struct alignas(128) StarPassPart {
  QuerySet out;       // of the batch: queries of which an expression failed
  uint64_t rows = 0;  // that some query's predicates let through
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
    ExpressionPtr expression;  // over this node's batch columns; nullptr: it is the child's
    QuerySet queries;          // that have it
    size_t edge = 0;
    uint32_t child_part = 0;
    std::unique_ptr<StarValues> values;  // of an expression, below the root, after the pass
    GrowingArray<uint32_t> numbers;      // below the root: by key's number
  };
  using KeyParts = std::map<uint32_t, uint32_t>;  // part by the place of a GROUP BY's key

  SharedNode(const storage::Replica& replica, base::TableId table, size_t batch_words);

  // Adds the query's predicates and joins, and its way on. Returns what the node and those below
  // it give to the query's group keys.
  KeyParts add(uint32_t query, const StarNode& node);
  // A copy over the batch's columns, which get those that it needs.
  ExpressionPtr bound(const Expression& over_table);
  // Once every query was added. `edge`: the one to this node; nullptr: it is the root.
  void finish(const Edge* edge);

  const storage::Table& table() const { return table_; }
  // Scans of it read these columns; what a scan is to read ahead.
  const Operator& scan() const { return scan_; }
  const std::vector<bool>& needed() const { return needed_; }
  size_t first_word() const { return first_word_; }
  size_t words() const { return words_; }
  const uint64_t* queries() const { return queries_.data() + first_word_; }
  const QuerySet& all_queries() const { return queries_; }  // of the batch's sets
  const std::vector<Ranges>& ranges() const { return ranges_; }
  const std::vector<Prefixes>& prefixes() const { return prefixes_; }
  // What no class serves: each different predicate is evaluated once.
  const std::vector<SharedExpression>& general() const { return general_; }
  std::vector<Edge>& edges() { return edges_; }
  const std::vector<Edge>& edges() const { return edges_; }
  std::vector<Part>& parts() { return parts_; }
  const std::vector<Part>& parts() const { return parts_; }
  // What a worker of the node's pass numbers values in, by part; none for those of children.
  using PartValues = std::vector<std::unique_ptr<StarValues>>;
  PartValues make_values(const QueryLimits& limits) const;
  // Those of all workers, after the pass: makes common numbers of what they stored, which are a
  // worker's own, times the number of workers, plus its index.
  void take_values(std::vector<PartValues> of_workers, const QueryLimits& limits);
  // Of a part that is a number: what it stands for; nullptr: it is a value of the root's own.
  const StarValues* values_of(uint32_t part) const;
  // The leaves in which some query may want a row, by morsel, with these queries: none of those
  // in `out`, a set of the batch.
  struct Morsels {
    std::vector<ScanMorsel> morsels;
    std::vector<uint64_t> queries;  // words() a morsel
    ScanLeaves leaves;
  };
  Morsels morsels(const QuerySet& out) const;

  // What the pass over the table did, for EXPLAIN ANALYZE.
  void count(const std::vector<StarPassPart>& parts, const ScanLeaves& leaves);
  // Tells of the query's scans: this node's, and those of the nodes on the query's way on.
  void tell(const StarNode& node, PlanMeter* meter) const;

  // Of a node with a parent: its own key, and the sets by the key's number, words() each; one more
  // for keys that no row has.
  const std::vector<uint32_t>& key_columns() const { return key_columns_; }
  const DenseKeys& keys() const { return edge_->keys; }
  uint64_t* found() { return found_.data(); }
  const uint64_t* found() const { return found_.data(); }
  // Of what lies by key.
  size_t found_bytes() const;
  // Every key as one that no row has. Called once, before the pass.
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
  QuerySet queries_;         // of the whole batch
  uint64_t statements_ = 0;  // that have the node; those of one text have one query
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
