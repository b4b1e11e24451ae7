#include "olap/execution/needed_columns.h"

#include <utility>

#include "olap/execution/expression.h"
#include "olap/execution/group_join.h"

namespace diptych::olap {

namespace {

void mark(const std::vector<ExpressionPtr>& expressions, std::vector<bool>* needed) {
  for (const ExpressionPtr& expression : expressions) {
    for (const uint32_t column : columns_read(*expression)) (*needed)[column] = true;
  }
}

void mark(const WindowFunction& function, std::vector<bool>* needed) {
  for (const uint32_t column : function.arguments) (*needed)[column] = true;
  const Frame& frame = function.frame;
  if (frame.mode != FrameMode::kRange) return;
  const auto has_column = [](FrameBound bound) {
    return bound == FrameBound::kPreceding || bound == FrameBound::kFollowing;
  };
  if (has_column(frame.start)) (*needed)[frame.start_offset] = true;
  if (has_column(frame.end)) (*needed)[frame.end_offset] = true;
}

std::vector<bool> none_of(const Operator& op) {
  return std::vector<bool>(op.output.size(), false);
}

// Equal values of it are the same bits.
bool equality_is_identity(const base::DataType& type) {
  const PhysicalType physical = physical_type(type);
  return physical == PhysicalType::kInt32 || physical == PhysicalType::kInt64 ||
         physical == PhysicalType::kInt128;
}

}  // namespace

std::optional<uint32_t> probe_twin(const Operator& join, uint32_t build_column) {
  if (join.join != JoinKind::kInner) return std::nullopt;
  for (size_t i = 0; i < join.build_keys.size(); ++i) {
    const Expression& build = *join.build_keys[i];
    const Expression& probe = *join.probe_keys[i];
    const bool columns =
        build.kind == ExpressionKind::kColumn && probe.kind == ExpressionKind::kColumn;
    if (columns && build.column == build_column && build.type == probe.type &&
        equality_is_identity(build.type)) {
      return probe.column;
    }
  }
  return std::nullopt;
}

NeededColumns::NeededColumns(const Operator& root, size_t root_columns) {
  std::vector<bool> needed = none_of(root);
  for (size_t c = 0; c < root_columns && c < needed.size(); ++c) needed[c] = true;
  visit(root, std::move(needed));
}

void NeededColumns::visit(const Operator& op, std::vector<bool> needed) {
  switch (op.kind) {
    case OperatorKind::kScan:
    case OperatorKind::kValues:
    case OperatorKind::kWorkingRows: break;
    case OperatorKind::kHashJoin: visit_join(op, needed); break;
    case OperatorKind::kAppend:
      for (const OperatorPtr& child : op.children) visit(*child, needed);
      break;
    case OperatorKind::kRecursion:  // the next round may read what nothing above does
      needed.assign(needed.size(), true);
      for (const OperatorPtr& child : op.children) visit(*child, needed);
      break;
    case OperatorKind::kWindow: {
      needed.resize(op.children[0]->output.size());
      for (const uint32_t column : op.window_partition) needed[column] = true;
      for (const SortKey& key : op.sort_keys) needed[key.column] = true;
      for (const WindowFunction& function : op.window_functions) mark(function, &needed);
      visit(*op.children[0], needed);
      break;  // its store has the input's columns that it needs
    }
    case OperatorKind::kExpand: visit(*op.children[0], {needed.begin(), needed.end() - 1}); break;
    case OperatorKind::kRepeat: {
      std::vector<bool> input = needed;
      input.push_back(true);  // the count
      visit(*op.children[0], std::move(input));
      break;
    }
    case OperatorKind::kFilter:
    case OperatorKind::kLimit:
    case OperatorKind::kSort: {
      std::vector<bool> input = needed;
      mark(op.predicates, &input);
      for (const SortKey& key : op.sort_keys) input[key.column] = true;
      visit(*op.children[0], input);
      if (op.kind == OperatorKind::kSort) needed = std::move(input);  // its store sorts by them
      break;
    }
    case OperatorKind::kProject:
    case OperatorKind::kAggregate: {
      std::vector<bool> input = none_of(*op.children[0]);
      visit_keys(op, &input);
      for (const Aggregate& one : op.aggregates) {
        if (one.argument == nullptr) continue;
        for (const uint32_t column : columns_read(*one.argument)) input[column] = true;
        mark(one.further, &input);
      }
      visit(*op.children[0], std::move(input));
      break;
    }
  }
  needed_[&op] = std::move(needed);
}

// What a GROUP BY takes from a join's table, its rows need not have. A projection's are its own.
void NeededColumns::visit_keys(const Operator& op, std::vector<bool>* input) {
  const bool groups = op.kind == OperatorKind::kAggregate;
  const Operator* const join = groups ? join_of_group_keys(op) : nullptr;
  if (join == nullptr) {
    mark(op.expressions, input);
    return;
  }
  key_joins_[&op] = join;
  std::vector<bool>& keys = key_columns_[join];
  keys = none_of(*join);
  mark(op.expressions, &keys);
}

void NeededColumns::visit_join(const Operator& op, const std::vector<bool>& needed) {
  const size_t probe_columns = op.children[0]->output.size();
  std::vector<bool> both(probe_columns + op.children[1]->output.size(), false);
  const size_t marks = op.join == JoinKind::kMark ? 1 : 0;
  const bool of_build = keeps_build_rows(op.join);
  for (size_t c = 0; c + marks < needed.size() && !of_build; ++c) both[c] = needed[c];
  mark(op.predicates, &both);
  const auto split = both.begin() + static_cast<int64_t>(probe_columns);
  std::vector<bool> probe(both.begin(), split);
  std::vector<bool> build(split, both.end());
  for (uint32_t c = 0; c < build.size(); ++c) {
    build[c] = build[c] && !probe_twin(op, c).has_value();  // the probe's is a key, too
  }
  gathered_[&op] = build;
  for (size_t c = 0; c < build.size() && of_build; ++c) build[c] = build[c] || needed[c];
  if (const auto keys = key_columns_.find(&op); keys != key_columns_.end()) {
    for (size_t c = 0; c < build.size(); ++c) {
      build[c] = build[c] || keys->second[probe_columns + c];
    }
  }
  kept_[&op] = build;
  mark(op.probe_keys, &probe);
  mark(op.build_keys, &build);
  visit(*op.children[0], std::move(probe));
  visit(*op.children[1], std::move(build));
}

}  // namespace diptych::olap
