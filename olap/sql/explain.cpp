#include "olap/sql/explain.h"

#include <map>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "olap/execution/join/key_choices.h"
#include "olap/execution/join/range_rows.h"
#include "olap/plan_report.h"
#include "olap/sql/type_rules.h"

namespace diptych::olap {
namespace {

using Names = std::vector<std::string>;

constexpr size_t kNameBytesMax = 60;  // a longer column name becomes its position

std::string_view infix(ExpressionKind kind) {
  switch (kind) {
    case ExpressionKind::kAdd: return "+";
    case ExpressionKind::kSubtract: return "-";
    case ExpressionKind::kMultiply: return "*";
    case ExpressionKind::kDivide: return "/";
    case ExpressionKind::kModulo: return "%";
    case ExpressionKind::kEqual: return "=";
    case ExpressionKind::kNotEqual: return "<>";
    case ExpressionKind::kLess: return "<";
    case ExpressionKind::kLessEqual: return "<=";
    case ExpressionKind::kGreater: return ">";
    case ExpressionKind::kGreaterEqual: return ">=";
    case ExpressionKind::kAnd: return "and";
    case ExpressionKind::kOr: return "or";
    case ExpressionKind::kLike: return "like";
    case ExpressionKind::kConcat: return "||";
    default: return {};
  }
}

std::string literal_text(const Expression& e) {
  const std::string text = base::to_string(e.literal);
  const bool quoted = e.type.is_string() || is_datetime(e.type) || e.type == kIntervalType;
  return quoted && !base::is_null(e.literal) ? fmt::format("'{}'", text) : text;
}

std::string text_of(const Expression& e, const Names& names);

std::string list_of(const std::vector<ExpressionPtr>& list, const Names& names, size_t first = 0) {
  std::string text;
  for (size_t i = first; i < list.size(); ++i) {
    if (i != first) text += ", ";
    text += text_of(*list[i], names);
  }
  return text;
}

std::string case_text(const Expression& e, const Names& names) {
  std::string text = "case";
  for (size_t i = 0; i + 1 < e.children.size(); i += 2) {
    text += fmt::format(" when {} then {}", text_of(*e.children[i], names),
                        text_of(*e.children[i + 1], names));
  }
  return fmt::format("{} else {} end", text, text_of(*e.children.back(), names));
}

std::string text_of(const Expression& e, const Names& names) {
  const auto child = [&](size_t i) { return text_of(*e.children[i], names); };
  switch (e.kind) {
    case ExpressionKind::kColumn: return names[e.column];
    case ExpressionKind::kLiteral: return literal_text(e);
    case ExpressionKind::kCast: return fmt::format("{}::{}", child(0), e.type.to_string());
    case ExpressionKind::kNegate: return fmt::format("-{}", child(0));
    case ExpressionKind::kNot: return fmt::format("not {}", child(0));
    case ExpressionKind::kIsNull: return fmt::format("({} is null)", child(0));
    case ExpressionKind::kIsNotNull: return fmt::format("({} is not null)", child(0));
    case ExpressionKind::kInList:
      return fmt::format("({} in ({}))", child(0), list_of(e.children, names, 1));
    case ExpressionKind::kCase: return case_text(e, names);
    case ExpressionKind::kCoalesce: return fmt::format("coalesce({})", list_of(e.children, names));
    case ExpressionKind::kNullIf: return fmt::format("nullif({})", list_of(e.children, names));
    case ExpressionKind::kFunction:
      return fmt::format("{}({})", function_name(e.function), list_of(e.children, names));
    default: break;
  }
  std::string text = "(";
  for (size_t i = 0; i < e.children.size(); ++i) {
    if (i != 0) text += fmt::format(" {} ", infix(e.kind));
    text += child(i);
  }
  return text + ")";
}

std::string_view aggregate_name(AggregateKind kind) {
  static constexpr std::array<std::string_view, 19> kNames = {"count(*)",
                                                              "count",
                                                              "count distinct",
                                                              "sum",
                                                              "avg",
                                                              "min",
                                                              "max",
                                                              "bit_and",
                                                              "bit_or",
                                                              "bit_xor",
                                                              "var_samp",
                                                              "var_pop",
                                                              "stddev_samp",
                                                              "stddev_pop",
                                                              "covar_pop",
                                                              "string_agg",
                                                              "percentile_cont",
                                                              "percentile_disc",
                                                              "mode"};
  static_assert(kNames.size() == static_cast<size_t>(AggregateKind::kMode) + 1);
  return kNames[static_cast<size_t>(kind)];
}

std::string aggregate_text(const Aggregate& aggregate, const Names& names) {
  const std::string_view name = aggregate_name(aggregate.kind);
  if (aggregate.argument == nullptr) return std::string(name);
  std::string text = text_of(*aggregate.argument, names);
  if (!aggregate.further.empty()) text += ", " + list_of(aggregate.further, names);
  return fmt::format("{}({}{})", name, aggregate.distinct ? "distinct " : "", text);
}

std::string set_text(const Operator& op, const Names& names) {
  Names sets;
  for (const std::vector<bool>& set : op.grouping_sets) {
    Names keys;
    for (size_t i = 0; i < set.size(); ++i) {
      if (set[i]) keys.push_back(names[i]);
    }
    sets.push_back(fmt::format("({})", fmt::join(keys, ", ")));
  }
  return fmt::format("{}", fmt::join(sets, ", "));
}

std::string conjuncts(const std::vector<ExpressionPtr>& predicates, const Names& names) {
  std::string text;
  for (const ExpressionPtr& predicate : predicates) {
    if (!text.empty()) text += " and ";
    text += text_of(*predicate, names);
  }
  return text;
}

std::string limit_text(const Operator& op) {
  std::string text;
  if (op.limit != kNoLimit) text += fmt::format(" limit {}", op.limit);
  if (op.offset != 0) text += fmt::format(" offset {}", op.offset);
  return text;
}

std::string sort_text(const Operator& op, const Names& input) {
  Names keys;
  for (const SortKey& key : op.sort_keys) {
    keys.push_back(fmt::format("{}{}{}", input[key.column], key.descending ? " desc" : "",
                               key.nulls_first == key.descending
                                   ? ""
                                   : (key.nulls_first ? " nulls first" : " nulls last")));
  }
  return fmt::format("{}", fmt::join(keys, ", "));
}

std::string frame_text(const Frame& frame, const Names& names) {
  static constexpr std::array<std::string_view, 3> kModes = {"rows", "range", "groups"};
  static constexpr std::array<std::string_view, 4> kExclusions = {
      "", " exclude current row", " exclude group", " exclude ties"};
  const auto bound = [&](FrameBound kind, uint64_t offset) -> std::string {
    const bool key = frame.mode == FrameMode::kRange;
    const std::string amount =
        key && offset < names.size() ? names[offset] : fmt::to_string(offset);
    switch (kind) {
      case FrameBound::kUnboundedPreceding: return "unbounded preceding";
      case FrameBound::kPreceding: return amount + (key ? "" : " preceding");
      case FrameBound::kCurrentRow: return "current row";
      case FrameBound::kFollowing: return amount + (key ? "" : " following");
      case FrameBound::kUnboundedFollowing: break;
    }
    return "unbounded following";
  };
  return fmt::format(" {} {} to {}{}", kModes[static_cast<size_t>(frame.mode)],
                     bound(frame.start, frame.start_offset), bound(frame.end, frame.end_offset),
                     kExclusions[static_cast<size_t>(frame.exclusion)]);
}

// Appends the functions' names to the input's, and describes the operator.
std::string window_line(const Operator& op, Names* names) {
  static constexpr std::array<std::string_view, 12> kNames = {
      "row_number", "rank", "dense_rank",  "percent_rank", "cume_dist", "ntile",
      "lag",        "lead", "first_value", "last_value",   "nth_value", ""};
  Names functions;
  Names short_names;
  for (const WindowFunction& function : op.window_functions) {
    const bool aggregate = function.kind == WindowKind::kAggregate;
    Names arguments;
    for (const uint32_t column : function.arguments) arguments.push_back((*names)[column]);
    std::string text(aggregate ? aggregate_name(function.aggregate)
                               : kNames[static_cast<size_t>(function.kind)]);
    if (!text.ends_with(")")) text += fmt::format("({})", fmt::join(arguments, ", "));
    short_names.push_back(text);
    if (aggregate || function.kind >= WindowKind::kFirstValue) {
      text += frame_text(function.frame, *names);
    }
    functions.push_back(std::move(text));
  }
  Names partition;
  for (const uint32_t column : op.window_partition) partition.push_back((*names)[column]);
  std::string line = fmt::format("window [{}]", fmt::join(functions, ", "));
  if (!partition.empty()) line += fmt::format(" partition by [{}]", fmt::join(partition, ", "));
  if (!op.sort_keys.empty()) line += fmt::format(" order by [{}]", sort_text(op, *names));
  for (size_t i = 0; i < functions.size(); ++i) {  // without its frame, where that is long
    names->push_back(functions[i].size() > kNameBytesMax ? short_names[i] : functions[i]);
  }
  return line;
}

// What the scans of a plan are called, so that those of one table are told apart.
class ScanNames {
 public:
  ScanNames(const base::Catalog& catalog, const Operator& root) : catalog_(catalog) { add(root); }

  // The table, with its alias where it is scanned by several names.
  std::string table(const Operator& scan) const {
    const std::string& name = catalog_.table(scan.table).name;
    const bool alone = tables_.at(name).size() == 1;
    return alone || alias(scan) == name ? name : fmt::format("{} as {}", name, alias(scan));
  }

  // The column as the operators above name it: with the alias where several scans have it.
  std::string column(const Operator& scan, const std::string& name) const {
    return columns_.at(name).size() == 1 ? name : fmt::format("{}.{}", alias(scan), name);
  }

 private:
  const std::string& alias(const Operator& scan) const {
    return scan.alias.empty() ? catalog_.table(scan.table).name : scan.alias;
  }

  void add(const Operator& op) {
    for (const OperatorPtr& child : op.children) add(*child);
    if (op.kind != OperatorKind::kScan) return;
    const base::TableSchema& table = catalog_.table(op.table);
    tables_[table.name].insert(alias(op));
    for (const base::ColumnId column : op.columns) {
      columns_[table.column(column).name].insert(alias(op));
    }
  }

  const base::Catalog& catalog_;
  std::map<std::string, std::set<std::string>> tables_;   // the aliases by table,
  std::map<std::string, std::set<std::string>> columns_;  // and by column that is read
};

class Printer {
 public:
  Printer(const base::Catalog& catalog, const Operator& root)
      : catalog_(catalog), scans_(catalog, root) {}

  // Appends the operator's lines and returns the names of its output columns.
  Names print(const Operator& op, size_t depth, std::vector<PlanLine>* lines);

 private:
  std::string scan_line(const Operator& op, Names* output) const;
  static std::string join_line(const Operator& op, const Names& probe, const Names& build,
                               Names* output);
  static std::string values_line(const Operator& op, Names* output);
  static std::string unary_line(const Operator& op, const Names& input, Names* output);

  const base::Catalog& catalog_;
  const ScanNames scans_;
  std::map<uint32_t, Names> recursions_;  // the columns of those around
};

std::string Printer::scan_line(const Operator& op, Names* output) const {
  const base::TableSchema& table = catalog_.table(op.table);
  Names names;
  for (const base::ColumnId column : op.columns) {
    names.push_back(table.column(column).name);
    output->push_back(scans_.column(op, names.back()));
  }
  std::string line = fmt::format("scan {} [{}]", scans_.table(op), fmt::join(names, ", "));
  if (!op.predicates.empty()) line += " where " + conjuncts(op.predicates, names);
  return line;
}

// How a join without keys finds its pairs, for as many build rows as are estimated.
std::string way_without_keys(const Operator& join) {
  const double rows = join.children[1]->estimated_rows;
  const size_t choices = rows >= KeyChoices::kRowsMin ? count_choices(join) : 0;
  if (choices != 0) return fmt::format(" by any of {} keys", choices);
  return rows >= RangeRows::kRowsMin && has_ranges(join) ? " by range" : " of every pair";
}

std::string Printer::join_line(const Operator& op, const Names& probe, const Names& build,
                               Names* output) {
  static constexpr std::array<std::string_view, 7> kNames = {
      "inner", "left", "semi", "anti", "mark", "build semi", "build anti"};
  std::string line = fmt::format("{} join", kNames[static_cast<size_t>(op.join)]);
  for (size_t i = 0; i < op.probe_keys.size(); ++i) {
    line += fmt::format("{} {} = {}", i == 0 ? " on" : " and", text_of(*op.probe_keys[i], probe),
                        text_of(*op.build_keys[i], build));
  }
  Names both = probe;
  both.insert(both.end(), build.begin(), build.end());
  if (op.probe_keys.empty()) {
    line += way_without_keys(op);
  }
  if (!op.predicates.empty()) line += " where " + conjuncts(op.predicates, both);
  const bool both_sides = op.join == JoinKind::kInner || op.join == JoinKind::kLeft;
  *output = both_sides ? std::move(both) : keeps_build_rows(op.join) ? build : probe;
  if (op.join == JoinKind::kMark) output->push_back("mark");
  return line;
}

// One row as it is, of several how many there are.
std::string Printer::values_line(const Operator& op, Names* output) {
  output->clear();
  const size_t columns = op.output.size();
  if (op.expressions.size() == columns && columns != 0) {
    for (const ExpressionPtr& e : op.expressions) output->push_back(text_of(*e, {}));
    return fmt::format("values [{}]", fmt::join(*output, ", "));
  }
  for (size_t i = 0; i < columns; ++i) output->push_back(fmt::format("column{}", i + 1));
  if (op.expressions.empty()) return fmt::format("no rows of [{}]", fmt::join(*output, ", "));
  return fmt::format("values [{}] of {} rows", fmt::join(*output, ", "),
                     op.expressions.size() / columns);
}

std::string Printer::unary_line(const Operator& op, const Names& input, Names* output) {
  *output = input;
  switch (op.kind) {
    case OperatorKind::kFilter: return "filter " + conjuncts(op.predicates, input);
    case OperatorKind::kProject: {
      output->clear();
      for (const ExpressionPtr& e : op.expressions) output->push_back(text_of(*e, input));
      return fmt::format("project [{}]", fmt::join(*output, ", "));
    }
    case OperatorKind::kValues: return values_line(op, output);
    case OperatorKind::kWindow: return window_line(op, output);
    case OperatorKind::kExpand: output->push_back("set"); return "expand to " + set_text(op, input);
    case OperatorKind::kRepeat: {
      output->back() = "number";
      return fmt::format("repeat {} times", input.back());
    }
    case OperatorKind::kAggregate: {
      output->clear();
      for (const ExpressionPtr& key : op.expressions) output->push_back(text_of(*key, input));
      const std::string keys = fmt::format("{}", fmt::join(*output, ", "));
      Names aggregates;
      for (const Aggregate& a : op.aggregates) aggregates.push_back(aggregate_text(a, input));
      output->insert(output->end(), aggregates.begin(), aggregates.end());
      return fmt::format("aggregate [{}] by [{}]", fmt::join(aggregates, ", "), keys);
    }
    case OperatorKind::kSort:
      return fmt::format("sort by [{}]{}", sort_text(op, input), limit_text(op));
    default: return op.limit == kNoLimit ? "skip" + limit_text(op) : limit_text(op).substr(1);
  }
}

Names Printer::print(const Operator& op, size_t depth, std::vector<PlanLine>* lines) {
  Names output;
  std::string line;
  const size_t place = lines->size();
  lines->push_back({&op, depth, {}});  // said when those below it have been
  if (op.kind == OperatorKind::kScan) {
    line = scan_line(op, &output);
  } else if (op.kind == OperatorKind::kHashJoin) {
    const Names probe = print(*op.children[0], depth + 1, lines);
    const Names build = print(*op.children[1], depth + 1, lines);
    line = join_line(op, probe, build, &output);
  } else if (op.kind == OperatorKind::kAppend) {
    output = print(*op.children[0], depth + 1, lines);
    for (size_t i = 1; i < op.children.size(); ++i) print(*op.children[i], depth + 1, lines);
    line = "append";
  } else if (op.kind == OperatorKind::kRecursion) {
    for (size_t i = 0; i < op.output.size(); ++i) output.push_back(fmt::format("column{}", i + 1));
    recursions_[op.recursion] = output;
    for (const OperatorPtr& term : op.children) print(*term, depth + 1, lines);
    line = op.expressions.empty() ? "recursion" : "recursion over different rows";
  } else if (op.kind == OperatorKind::kWorkingRows) {
    output = recursions_.at(op.recursion);
    line = fmt::format("rows of the round before [{}]", fmt::join(output, ", "));
  } else {
    const Names input = op.children.empty() ? Names() : print(*op.children[0], depth + 1, lines);
    line = unary_line(op, input, &output);
  }
  (*lines)[place] = {&op, depth, std::move(line)};
  for (size_t i = 0; i < output.size(); ++i) {
    if (output[i].size() > kNameBytesMax) output[i] = fmt::format("#{}", i);
  }
  return output;
}

}  // namespace

std::vector<PlanLine> explain_lines(const Plan& plan, const base::Catalog& catalog) {
  std::vector<PlanLine> lines;
  Printer(catalog, *plan.root).print(*plan.root, 0, &lines);
  return lines;
}

std::string explain(const Plan& plan, const base::Catalog& catalog) {
  return fmt::format(
      "{}\n",
      fmt::join(plan_report(explain_lines(plan, catalog), ExplainFormat::kText, nullptr), "\n"));
}

}  // namespace diptych::olap
