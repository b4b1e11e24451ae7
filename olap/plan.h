// Plan: a tree of operators over typed expressions, which the SQL front end gives to execution.
//
// A plan is resolved: columns are positions in the input's row, types are exact, casts are
// explicit. So execution meets only operands of the same type, and no names.
//
// Types      base::DataType; a decimal in an expression has a precision of up to 38. Decimals of up
//            to 18 digits are int64_t units, wider ones are int128 units (is_wide).
// Operands   Comparisons, + and - have operands of equal types (the binder casts them and rescales
//            decimals). * takes decimals of any scales; the result's scale is their sum. / takes
//            two DOUBLEs, two INTs or BIGINTs (it truncates), or decimals of any scales (it rounds
//            half away from zero; the result is a wide decimal whose scale is at least the
//            dividend's). % takes INT, BIGINT or wide decimals. Arithmetic of INT gives INT. DATE
//            and TIMESTAMP compare as integers. * and / also take an INTERVAL as the first operand
//            and a DOUBLE as the second.
// Nulls      three-valued logic throughout; a filter keeps rows whose predicate is true.
// Threads    a Plan is immutable once built; any number of threads execute it at once.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/schema.h"
#include "base/types.h"
#include "base/value.h"
#include "olap/aggregate_kind.h"
#include "olap/explanation.h"
#include "olap/function.h"

namespace diptych::olap {

inline constexpr uint8_t kWideDecimalDigitsMax = 38;

inline bool is_wide(const base::DataType& type) {
  return type.kind == base::TypeKind::kDecimal && type.precision > base::kDecimalDigitsMax;
}

enum class ExpressionKind : uint8_t {
  kColumn,   // `column` of the input row
  kLiteral,  // `literal`, already converted to `type`, or NULL
  kCast,     // children[0] to `type`: int->bigint->decimal->double, decimal rescale, date->
             // timestamp and back, BOOLEAN to and from integers, anything->text, text->anything
  kNegate,   // -children[0]
  kAdd,
  kSubtract,
  kMultiply,  // a DECIMAL with fewer digits after the point than its factors is rounded
  kDivide,
  kModulo,  // has the sign of the dividend
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kAnd,  // any number of children
  kOr,   // any number of children
  kNot,
  kIsNull,
  kIsNotNull,
  kLike,    // children: text, pattern (a literal); NOT LIKE is kNot over kLike
  kInList,  // children[0] in the literals children[1..]; all have one type
  kCase,    // children: condition, value, condition, value, ..., else value (always present)
  kCoalesce,
  kNullIf,
  kConcat,    // text || text
  kFunction,  // `function`
};

struct Expression {
  ExpressionKind kind = ExpressionKind::kLiteral;
  base::DataType type;
  bool nullable = true;
  std::vector<std::unique_ptr<Expression>> children;
  uint32_t column = 0;  // kColumn
  base::Value literal;  // kLiteral
  Function function{};  // kFunction
};
using ExpressionPtr = std::unique_ptr<Expression>;

struct SortKey {
  uint32_t column = 0;  // position in the output of children[0]
  bool descending = false;
  bool nulls_first = false;
};

// Result types:
//   counts                   BIGINT
//   sum                      of INT and BIGINT: BIGINT or DECIMAL(38,0); of DECIMAL(p,s):
//                            DECIMAL(38,s); of DOUBLE and INTERVAL: the same type
//   avg                      of INTERVAL: INTERVAL; otherwise DOUBLE or, for exact numbers, a wide
//                            DECIMAL whose scale is at least the argument's (rounded half away
//                            from zero)
//   variances, deviations    DOUBLE, of any number; the covariance takes DOUBLEs
//   min, max, bit_*, percentile_disc, mode    the argument's type
// Over no values, counts are 0 and all others are NULL.
struct Aggregate {
  AggregateKind kind = AggregateKind::kCountAll;
  ExpressionPtr argument;  // nullptr for kCountAll
  base::DataType type;
  // Takes each value of the argument once (kSum, kAvg, variances); for kStringAgg, each pair of
  // text and delimiter once.
  bool distinct = false;
  // Further arguments. kStringAgg: the delimiter, which precedes each text except the first, then
  // the expressions by which texts are ordered; in `order`, column 0 is `argument` and `further`
  // follows. Percentiles: the fraction, a DOUBLE literal. kCovarPop: the second value. Percentiles
  // and kMode have one key in `order`, the argument.
  std::vector<ExpressionPtr> further;
  std::vector<SortKey> order;
};

enum class WindowKind : uint8_t {
  kRowNumber,  // ranks and row numbers are BIGINT
  kRank,       // kPercentRank and kCumeDist are DOUBLE
  kDenseRank,
  kPercentRank,
  kCumeDist,
  kNtile,  // (BIGINT)
  kLag,    // (value, BIGINT offset, default): the value `offset` rows before, or the default
  kLead,
  kFirstValue,  // (value): the first value in the frame
  kLastValue,
  kNthValue,   // (value, BIGINT)
  kAggregate,  // kCountAll, kCount, kSum, kAvg, kMin, kMax and variances, over the frame
};

enum class FrameMode : uint8_t { kRows, kRange, kGroups };
enum class FrameBound : uint8_t {
  kUnboundedPreceding,
  kPreceding,
  kCurrentRow,
  kFollowing,
  kUnboundedFollowing,
};
enum class FrameExclusion : uint8_t { kNone, kCurrentRow, kGroup, kTies };

struct Frame {
  FrameMode mode = FrameMode::kRange;
  FrameBound start = FrameBound::kUnboundedPreceding;
  FrameBound end = FrameBound::kCurrentRow;
  // For kPreceding and kFollowing: a number of rows or groups. For kRange: the column of
  // children[0] that holds the outermost key of the frame, in the type of the only sort key.
  uint64_t start_offset = 0;
  uint64_t end_offset = 0;
  FrameExclusion exclusion = FrameExclusion::kNone;

  bool operator==(const Frame&) const = default;
};

struct WindowFunction {
  WindowKind kind = WindowKind::kRowNumber;
  AggregateKind aggregate = AggregateKind::kCountAll;  // kAggregate
  std::vector<uint32_t> arguments;                     // columns of children[0]
  uint8_t argument_scale = 0;                          // scale of an avg's or variance's argument
  Frame frame;
  base::DataType type;

  bool operator==(const WindowFunction&) const = default;
};

enum class OperatorKind : uint8_t {
  kScan,       // `columns` of those rows of `table` that satisfy all `predicates`
  kFilter,     // rows of children[0] that satisfy all `predicates`
  kProject,    // `expressions` over children[0]
  kHashJoin,   // children: probe, build; rows where probe_keys = build_keys and `predicates` hold
  kAggregate,  // `expressions` are the group keys (without keys: one row); output: the keys, then
               // the aggregates
  kSort,       // by sort_keys, then at most `limit` rows from `offset`
  kLimit,      // at most `limit` rows of children[0] from `offset`
  kValues,     // the rows of VALUES, or the row of a SELECT without FROM: `expressions` has one
               // entry for each row and output column; no expressions give no rows
  kAppend,     // the rows of all children (UNION ALL); their output types are represented as this
               // operator's, which may have more digits
  kRepeat,     // each row of children[0], as often as its last column says (BIGINT, at least 0);
               // output: the other columns, then the copy's number from 1 (BIGINT)
  kExpand,     // each row of children[0], once for each of `grouping_sets`, with NULL in those of
               // the first columns that the set lacks; output: the columns, then the set's number
               // (BIGINT)
  kRecursion,  // children: first, step. `first` gives the rows of the first round. `step` reads a
               // round's rows through kWorkingRows with the same `recursion` and gives the next
               // round's, until a round is empty. Output: the rows of all rounds, each round as
               // soon as it is complete. With `expressions` (all columns; UNION), a round has only
               // rows that no earlier round had, each once
  kWorkingRows,  // no children; stands within the step of the kRecursion with its `recursion`
  kWindow,  // `window_functions` over the rows with equal `window_partition` columns, in the order
            // of sort_keys; output: the columns of children[0], then one for each function
};

enum class JoinKind : uint8_t {
  kInner,      // output: probe columns, then build columns
  kLeft,       // every probe row; build columns NULL where nothing matches
  kSemi,       // probe rows with a match; output: probe columns
  kAnti,       // probe rows without a match; output: probe columns
  kMark,       // every probe row; output: probe columns, then whether it has a match (BOOLEAN)
  kBuildSemi,  // build rows with a match; output: build columns
  kBuildAnti,  // build rows without a match; output: build columns
};

inline constexpr uint64_t kNoLimit = UINT64_MAX;

struct Operator {
  OperatorKind kind = OperatorKind::kScan;
  std::vector<std::unique_ptr<Operator>> children;
  std::vector<base::DataType> output;  // types of the output columns
  std::vector<bool> output_nullable;

  base::TableId table;                     // kScan
  std::string alias;                       // kScan: the table's name in the query, for EXPLAIN
  std::vector<base::ColumnId> columns;     // kScan: output column i is table column columns[i]
  std::vector<ExpressionPtr> predicates;   // kScan, kFilter: over the output / input row.
                                           // kHashJoin: over probe columns, then build columns
  std::vector<ExpressionPtr> expressions;  // kProject, kValues, kAggregate (keys)
  JoinKind join = JoinKind::kInner;
  std::vector<ExpressionPtr> probe_keys;  // kHashJoin; without keys, all pairs (cross join)
  std::vector<ExpressionPtr> build_keys;  // same types as probe_keys
  std::vector<Aggregate> aggregates;
  // kAggregate: the keys (literals) of groups that exist even if they have no rows.
  std::vector<std::vector<ExpressionPtr>> standing_groups;
  std::vector<std::vector<bool>> grouping_sets;  // kExpand: for each set, the columns it has
  std::vector<SortKey> sort_keys;
  std::vector<uint32_t> window_partition;
  std::vector<WindowFunction> window_functions;
  uint64_t limit = kNoLimit;
  uint64_t offset = 0;
  uint32_t recursion = 0;  // kRecursion, kWorkingRows: its number; differs from enclosing ones'
  double estimated_rows = 0;
};
using OperatorPtr = std::unique_ptr<Operator>;

// True if the join's output consists of rows of its build side.
inline bool keeps_build_rows(JoinKind kind) {
  return kind == JoinKind::kBuildSemi || kind == JoinKind::kBuildAnti;
}

struct Plan {
  std::string sql;  // with the parameters' values; equal texts run once in a batch
  OperatorPtr root;
  std::vector<std::string> column_names;  // one per column of root->output
  // The lines of EXPLAIN's answer, in a column "QUERY PLAN". If there are any, root does not run.
  std::vector<std::string> explanation;
  bool is_analyzed = false;  // EXPLAIN ANALYZE: root runs, and a report on the run is the answer
  ExplainFormat format = ExplainFormat::kText;
  std::vector<PlanLine> lines;
};

}  // namespace diptych::olap
