#include "olap/execution/needed_columns.h"

#include <utility>

#include "olap/execution/expression.h"
#include "olap/execution/group_join.h"

namespace diptych::olap {

namespace {

// A column is late where it is gathered for so many times fewer rows than the join has.
constexpr double kLateRowsFactor = 2;

std::vector<bool> are_read(const std::vector<const Operator*>& places) {
  std::vector<bool> needed(places.size());
  for (size_t c = 0; c < places.size(); ++c) needed[c] = places[c] != nullptr;
  return needed;
}

// The needed columns of the operator are read right behind it.
std::vector<const Operator*> read_behind(const Operator& op, const std::vector<bool>& needed) {
  std::vector<const Operator*> places(op.output.size());
  for (size_t c = 0; c < places.size(); ++c) places[c] = needed[c] ? &op : nullptr;
  return places;
}

void mark_read(const WindowFunction& function, std::vector<bool>* needed) {
  for (const uint32_t column : function.arguments) (*needed)[column] = true;
  const Frame& frame = function.frame;
  if (frame.mode != FrameMode::kRange) return;
  const auto has_column = [](FrameBound bound) {
    return bound == FrameBound::kPreceding || bound == FrameBound::kFollowing;
  };
  if (has_column(frame.start)) (*needed)[frame.start_offset] = true;
  if (has_column(frame.end)) (*needed)[frame.end_offset] = true;
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
  Places places(root.output.size());
  for (size_t c = 0; c < root_columns && c < places.size(); ++c) places[c] = &root;
  visit(root, places);
}

void NeededColumns::mark(const Operator& op, const std::vector<ExpressionPtr>& readers,
                         Places* places) {
  for (const ExpressionPtr& reader : readers) {
    for (const uint32_t column : columns_read(*reader)) (*places)[column] = &op;
  }
}

void NeededColumns::visit(const Operator& op, const Places& places) {
  std::vector<bool>& needed = needed_[&op] = are_read(places);
  switch (op.kind) {
    case OperatorKind::kScan:
    case OperatorKind::kValues:
    case OperatorKind::kWorkingRows: break;
    case OperatorKind::kHashJoin: visit_join(op, places); break;
    case OperatorKind::kAppend:
      for (const OperatorPtr& child : op.children) visit(*child, read_behind(*child, needed));
      break;
    case OperatorKind::kRecursion:  // the next round may read what nothing above does
      needed.assign(needed.size(), true);
      for (const OperatorPtr& child : op.children) visit(*child, read_behind(*child, needed));
      break;
    case OperatorKind::kWindow:
      needed.resize(op.children[0]->output.size());
      for (const uint32_t column : op.window_partition) needed[column] = true;
      for (const SortKey& key : op.sort_keys) needed[key.column] = true;
      for (const WindowFunction& function : op.window_functions) mark_read(function, &needed);
      visit(*op.children[0], read_behind(*op.children[0], needed));
      break;  // its store has the input's columns that it needs
    case OperatorKind::kExpand: visit(*op.children[0], read_behind(*op.children[0], needed)); break;
    case OperatorKind::kRepeat: {
      std::vector<bool> input = needed;
      input.push_back(true);  // the count
      visit(*op.children[0], read_behind(*op.children[0], input));
      break;
    }
    case OperatorKind::kFilter:
    case OperatorKind::kLimit: {
      Places input = places;
      mark(*op.children[0], op.predicates, &input);
      visit(*op.children[0], input);
      break;
    }
    case OperatorKind::kSort:  // its store sorts by the keys
      for (const SortKey& key : op.sort_keys) needed[key.column] = true;
      visit(*op.children[0], read_behind(*op.children[0], needed));
      break;
    case OperatorKind::kProject:
    case OperatorKind::kAggregate: {
      const Operator& child = *op.children[0];
      Places input(child.output.size());
      visit_keys(op, places, &input);
      for (const Aggregate& one : op.aggregates) {
        if (one.argument == nullptr) continue;
        for (const uint32_t column : columns_read(*one.argument)) input[column] = &child;
        mark(child, one.further, &input);
      }
      visit(child, input);
      break;
    }
  }
}

// What a GROUP BY takes from a join's table, its rows need not have. A projection's are its own.
void NeededColumns::visit_keys(const Operator& op, const Places& places, Places* input) {
  const bool groups = op.kind == OperatorKind::kAggregate;
  const Operator* const join = groups ? join_of_group_keys(op) : nullptr;
  if (join == nullptr) {
    mark(*op.children[0], op.expressions, input);
    return;
  }
  key_joins_[&op] = join;
  Places keys(join->output.size());
  mark(*join, op.expressions, &keys);
  key_columns_[join] = are_read(keys);
  if (!build_rows_may_be_groups(op, *join)) return;
  const size_t probe_columns = join->children[0]->output.size();
  for (uint32_t c = 0; c < op.expressions.size(); ++c) {
    if (places[c] == nullptr) continue;
    const auto build_column = static_cast<uint32_t>(op.expressions[c]->column - probe_columns);
    late_behind_[places[c]].push_back({join, build_column, c, &op});
  }
}

void NeededColumns::visit_join(const Operator& op, const Places& places) {
  const Operator& probe_side = *op.children[0];
  const Operator& build_side = *op.children[1];
  const size_t probe_columns = probe_side.output.size();
  const bool of_build = keeps_build_rows(op.join);
  Places probe(probe_columns);
  Places build(build_side.output.size());
  for (size_t c = 0; c < places.size() && !of_build; ++c) {
    if (c < probe_columns) {
      probe[c] = places[c];
    } else if (op.join != JoinKind::kMark) {
      build[c - probe_columns] = places[c];
    }
  }
  for (const ExpressionPtr& predicate : op.predicates) {
    for (const uint32_t c : columns_read(*predicate)) {
      (c < probe_columns ? probe[c] : build[c - probe_columns]) =
          c < probe_columns ? &probe_side : &op;
    }
  }
  mark(probe_side, op.probe_keys, &probe);
  const auto keys = key_columns_.find(&op);
  std::vector<bool>& kept = kept_[&op];
  std::vector<bool>& gathered = gathered_[&op];
  std::vector<bool>& late = late_[&op];
  kept.resize(build.size());
  gathered.resize(build.size());
  late.resize(build.size());
  for (uint32_t c = 0; c < build.size(); ++c) {
    const Operator* const place = build[c];
    const auto column = static_cast<uint32_t>(probe_columns + c);
    const bool read = place != nullptr && !probe_twin(op, c).has_value();  // the probe's is a key
    late[c] = read && place != &op && place->estimated_rows * kLateRowsFactor <= op.estimated_rows;
    gathered[c] = read && !late[c];
    kept[c] = read || (of_build && places[c] != nullptr) ||
              (keys != key_columns_.end() && keys->second[column]);
    if (late[c]) late_behind_[place].push_back({&op, c, column, nullptr});
  }
  Places input = read_behind(build_side, kept);
  mark(build_side, op.build_keys, &input);
  visit(probe_side, probe);
  visit(build_side, input);
}

}  // namespace diptych::olap
