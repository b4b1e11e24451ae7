// Plan: what the SQL front end hands to execution: a tree of operators over typed expressions.
//
// Everything is resolved: columns are positions in the input's row, types are exact, casts are
// explicit. Execution therefore meets only same-type operands and never a name.
//
// Types      base::DataType, with a decimal's precision up to 38 in expressions: values of up to 18
//            digits are int64_t units, wider ones int128 units (is_wide).
// Operands   of a comparison and of +, -: equal types (the binder casts, rescales decimals).
//            Of *: decimals of any scales; the result's scale is their sum. Of /: both DOUBLE, both
//            INT or BIGINT (truncates), or decimals of any scales of which the result's, a wide
//            one, is at least the dividend's (rounds half away from zero). Of %: INT, BIGINT, wide
//            decimals. Arithmetic of INT is INT. DATE and TIMESTAMP compare as integers.
//            Of * and / may one be an INTERVAL, the first, and the other a DOUBLE.
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
  kLiteral,  // `literal`, of `type` (already converted), or NULL
  kCast,     // children[0] to `type`: int->bigint->decimal->double, decimal rescale, date->
             // timestamp and back, BOOLEAN to and from integers, anything->text, text->anything
  kNegate,   // -children[0]
  kAdd,
  kSubtract,
  kMultiply,  // a DECIMAL may have fewer digits after the point than its factors: it is rounded
  kDivide,
  kModulo,  // sign of the dividend
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
  kLike,    // children: text, pattern (a literal); NOT LIKE is kNot of it
  kInList,  // children[0] in literals children[1..]; all of one type
  kCase,    // children: condition, value, condition, value, ..., else value (always there)
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
  uint32_t column = 0;  // of children[0]'s output
  bool descending = false;
  bool nulls_first = false;
};

// Result types: counts BIGINT; sum of INT and BIGINT is BIGINT or DECIMAL(38,0), of DECIMAL(p,s)
// DECIMAL(38,s), of DOUBLE is DOUBLE; avg is DOUBLE, or, of exact numbers, a wide DECIMAL of any
// scale that is at least the argument's, rounded half away from zero; sum and avg of INTERVAL are
// INTERVAL; variances and deviations are DOUBLE of any number, the covariance of DOUBLEs; min, max,
// those of bits, percentile_disc and mode keep their type. All but counts are NULL of no values.
struct Aggregate {
  AggregateKind kind = AggregateKind::kCountAll;
  ExpressionPtr argument;  // nullptr for kCountAll
  base::DataType type;
  // Each value of the argument once (kSum, kAvg, variances); kStringAgg: with its delimiter.
  bool distinct = false;
  // kStringAgg: the delimiter in front of each text but the first, then what the texts are ordered
  // by; the columns of `order` count the argument as 0. Percentiles: the fraction, a DOUBLE
  // literal; they and kMode have one key in `order`, the argument. kCovarPop: the other value.
  std::vector<ExpressionPtr> further;
  std::vector<SortKey> order;
};

enum class WindowKind : uint8_t {
  kRowNumber,  // ranks and numbers: BIGINT
  kRank,       // kPercentRank, kCumeDist: DOUBLE
  kDenseRank,
  kPercentRank,
  kCumeDist,
  kNtile,  // (BIGINT)
  kLag,    // (value, BIGINT offset, default): the value that many rows before, or the default
  kLead,
  kFirstValue,  // (value): of the frame
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
  // Of kPreceding and kFollowing: rows or groups; for kRange, the column of children[0] with the
  // last key that belongs to the frame, of the one sort key's type.
  uint64_t start_offset = 0;
  uint64_t end_offset = 0;
  FrameExclusion exclusion = FrameExclusion::kNone;

  bool operator==(const Frame&) const = default;
};

struct WindowFunction {
  WindowKind kind = WindowKind::kRowNumber;
  AggregateKind aggregate = AggregateKind::kCountAll;  // kAggregate
  std::vector<uint32_t> arguments;                     // columns of children[0]
  uint8_t argument_scale = 0;                          // of an average's or variance's argument
  Frame frame;
  base::DataType type;

  bool operator==(const WindowFunction&) const = default;
};

enum class OperatorKind : uint8_t {
  kScan,       // table: `columns` of it that satisfy every one of `predicates`
  kFilter,     // rows of children[0] that satisfy every one of `predicates`
  kProject,    // `expressions` over children[0]
  kHashJoin,   // children: probe, build; rows where probe_keys = build_keys and `predicates` hold
  kAggregate,  // `expressions` are the group keys (none: one row); output: keys, then aggregates
  kSort,       // by sort_keys, then at most `limit` rows from `offset`
  kLimit,      // at most `limit` rows of children[0] from `offset`
  kValues,     // rows of `expressions`, as many a row as output columns (VALUES, or no FROM);
               // without expressions it has no rows
  kAppend,     // the rows of all children, whose output types are represented as this one's, which
               // may have more digits (UNION ALL)
  kRepeat,     // each row of children[0] as often as its last column says (BIGINT, at least 0);
               // output: the other columns, the copy's number, from 1 (BIGINT)
  kExpand,     // each row of children[0] once for each of `grouping_sets`, with NULL in those first
               // columns that the set lacks; output: its columns, the set's number (BIGINT)
  kRecursion,  // children: first, step. The rows of first are the first round's; the rows of step
               // over one round's, which kWorkingRows of the same `recursion` are in it, the next
               // one's, until a round has none. Output: all rounds' rows, each round's as soon as
               // it is known. Where there are `expressions` (all columns), only rows are a round's
               // that no round before had, once each (UNION)
  kWorkingRows,  // no children; within the step of the kRecursion with its `recursion`
  kWindow,  // `window_functions` over the rows that agree in `window_partition` (columns), in the
            // order of sort_keys; output: children[0]'s columns, then one a function
};

enum class JoinKind : uint8_t {
  kInner,      // output: probe columns, then build columns
  kLeft,       // every probe row; build columns NULL where nothing matches
  kSemi,       // probe rows with a match; output: probe columns
  kAnti,       // probe rows without a match; output: probe columns
  kMark,       // every probe row; output: probe columns, then whether there is a match (BOOLEAN)
  kBuildSemi,  // as kSemi, of the build side: its rows with a match; output: build columns
  kBuildAnti,  // its rows without a match; output: build columns
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
  std::vector<ExpressionPtr> probe_keys;  // kHashJoin; none: every pair (cross join)
  std::vector<ExpressionPtr> build_keys;  // same types as probe_keys
  std::vector<Aggregate> aggregates;
  // kAggregate: keys (literals) of groups that are there even if no row is in them.
  std::vector<std::vector<ExpressionPtr>> standing_groups;
  std::vector<std::vector<bool>> grouping_sets;  // kExpand: by set, which of the first columns
  std::vector<SortKey> sort_keys;
  std::vector<uint32_t> window_partition;
  std::vector<WindowFunction> window_functions;
  uint64_t limit = kNoLimit;
  uint64_t offset = 0;
  uint32_t recursion = 0;  // kRecursion, kWorkingRows: which; those within each other differ
  double estimated_rows = 0;
};
using OperatorPtr = std::unique_ptr<Operator>;

// True where a join's output is its build side's.
inline bool keeps_build_rows(JoinKind kind) {
  return kind == JoinKind::kBuildSemi || kind == JoinKind::kBuildAnti;
}

struct Plan {
  std::string sql;  // and the parameters' values: plans that have the same run once a batch
  OperatorPtr root;
  std::vector<std::string> column_names;  // one per column of root->output
  // EXPLAIN's answer by lines, a column "QUERY PLAN"; where it has some, root is not run.
  std::vector<std::string> explanation;
  bool is_analyzed = false;  // root is run, and what it did is the answer
  ExplainFormat format = ExplainFormat::kText;
  std::vector<PlanLine> lines;
};

}  // namespace diptych::olap
