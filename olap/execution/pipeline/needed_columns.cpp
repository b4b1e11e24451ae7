#include "olap/execution/pipeline/needed_columns.h"

#include <utility>

#include "olap/execution/expression/expression.h"
#include "olap/execution/pipeline/group_keys.h"

namespace diptych::olap {

namespace {

// A column is late where it is gathered for so many times fewer rows than the join has.
constexpr double kLateRowsFactor = 2;
// A table refers to a row of another for more bytes than this; the other one, which stays for it,
// has at most so many times the rows that come from its join.
constexpr size_t kReferredBytesMin = 8;
constexpr double kReferredRowsFactorMax = 2;

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

std::vector<bool> NeededColumns::are_read(const Places& places) {
  std::vector<bool> needed(places.size());
  for (size_t c = 0; c < places.size(); ++c) needed[c] = places[c].op != nullptr;
  return needed;
}

// The needed columns of the operator are read right behind it.
NeededColumns::Places NeededColumns::read_behind(const Operator& op,
                                                 const std::vector<bool>& needed) {
  Places places(op.output.size());
  for (size_t c = 0; c < places.size(); ++c) places[c].op = needed[c] ? &op : nullptr;
  return places;
}

NeededColumns::NeededColumns(const Operator& root, size_t root_columns,
                             const RepeatedOperators* repeated)
    : repeated_(repeated) {
  visit_all(root, root_columns);
  // Again, until nothing is new of what equal ones need.
  for (auto before = decltype(wanted_)(); before != wanted_;) {
    before = wanted_;
    visit_all(root, root_columns);
  }
}

void NeededColumns::visit_all(const Operator& root, size_t root_columns) {
  needed_.clear();
  above_.clear();
  kept_.clear();
  gathered_.clear();
  late_.clear();
  late_behind_.clear();
  referred_.clear();
  referred_to_.clear();
  key_joins_.clear();
  key_columns_.clear();
  Places places(root.output.size());
  for (size_t c = 0; c < root_columns && c < places.size(); ++c) places[c].op = &root;
  visit(root, places);
}

void NeededColumns::mark(const Operator& op, const std::vector<ExpressionPtr>& readers,
                         Places* places) {
  for (const ExpressionPtr& reader : readers) {
    for (const uint32_t column : columns_read(*reader)) (*places)[column] = {&op, false};
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
      above_[&op] = needed;
      for (const uint32_t column : op.window_partition) needed[column] = true;
      for (const SortKey& key : op.sort_keys) needed[key.column] = true;
      for (const WindowFunction& function : op.window_functions) mark_read(function, &needed);
      want_as_equal_ones(op, &needed);
      visit(*op.children[0], read_behind(*op.children[0], needed));
      break;  // its store has the input's columns that it needs
    case OperatorKind::kExpand: visit(*op.children[0], read_behind(*op.children[0], needed)); break;
    case OperatorKind::kRepeat: {
      std::vector<bool> input = needed;
      input.back() = true;  // the count
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
        for (const uint32_t column : columns_read(*one.argument)) input[column].op = &child;
        mark(child, one.further, &input);
      }
      visit(child, input);
      break;
    }
  }
}

void NeededColumns::want_as_equal_ones(const Operator& window, std::vector<bool>* needed) {
  const auto number = repeated_ == nullptr ? std::nullopt : repeated_->number_of(window);
  if (!number.has_value()) return;
  std::vector<bool>& wanted = wanted_.try_emplace(*number, needed->size()).first->second;
  for (size_t c = 0; c < needed->size(); ++c) wanted[c] = wanted[c] || (*needed)[c];
  *needed = wanted;
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
    if (places[c].op == nullptr) continue;
    const auto build_column = static_cast<uint32_t>(op.expressions[c]->column - probe_columns);
    const auto [place, is_table] = places[c];
    const bool is_late = !is_table && place->estimated_rows <= op.estimated_rows;
    late_behind_[is_late ? place : &op].push_back({join, build_column, c, &op});
  }
}

void NeededColumns::visit_join(const Operator& op, const Places& places) {
  const Operator& probe_side = *op.children[0];
  const size_t probe_columns = probe_side.output.size();
  Places probe(probe_columns);
  Places build(op.children[1]->output.size());
  for (size_t c = 0; c < places.size() && !keeps_build_rows(op.join); ++c) {
    if (c < probe_columns) {
      probe[c] = places[c];
    } else if (op.join != JoinKind::kMark) {
      build[c - probe_columns] = places[c];
    }
  }
  for (const ExpressionPtr& predicate : op.predicates) {
    for (const uint32_t c : columns_read(*predicate)) {
      if (c < probe_columns) {
        probe[c] = {&probe_side, false};
      } else {
        build[c - probe_columns] = {&op, false};
      }
    }
  }
  mark(probe_side, op.probe_keys, &probe);
  visit_build_columns(op, build);
  visit(probe_side, probe);
  visit_build_side(op, build);
}

// Which columns its table has, and when they are gathered.
void NeededColumns::visit_build_columns(const Operator& op, const Places& build) {
  const auto keys = key_columns_.find(&op);
  const size_t probe_columns = op.children[0]->output.size();
  size_t bytes = 0;  // that are copied to a table, unless it refers to this one's
  for (uint32_t c = 0; c < build.size(); ++c) {
    if (build[c].is_table && !probe_twin(op, c).has_value()) {
      bytes += physical_bytes(physical_type(op.children[1]->output[c]));
    }
  }
  const bool is_referred_to =
      op.join == JoinKind::kInner && bytes > kReferredBytesMin &&
      op.children[1]->estimated_rows <= kReferredRowsFactorMax * op.estimated_rows;
  std::vector<bool>& kept = kept_[&op];
  std::vector<bool>& gathered = gathered_[&op];
  std::vector<bool>& late = late_[&op];
  kept.resize(build.size());
  gathered.resize(build.size());
  late.resize(build.size());
  for (uint32_t c = 0; c < build.size(); ++c) {
    const auto [place, is_table] = build[c];
    const auto column = static_cast<uint32_t>(probe_columns + c);
    const bool refers = is_table && is_referred_to;
    // The probe's twin is a key.
    const bool read = place != nullptr && (refers || !probe_twin(op, c).has_value());
    late[c] = refers || (read && !is_table && place != &op &&
                         place->estimated_rows * kLateRowsFactor <= op.estimated_rows);
    gathered[c] = read && !late[c];
    kept[c] = read || (keeps_build_rows(op.join) && needed_.at(&op)[c]) ||
              (keys != key_columns_.end() && keys->second[column]);
    if (!late[c]) continue;
    if (is_table) {
      referred_[place][column] = {&op, c, column};
      referred_to_.insert(&op);
    } else {
      late_behind_[place].push_back({&op, c, column, nullptr});
    }
  }
}

// Columns that the join itself does not read, and that are read for fewer rows than it has, may be
// referred to.
void NeededColumns::visit_build_side(const Operator& op, const Places& build) {
  const Operator& side = *op.children[1];
  std::vector<bool>& kept = kept_.at(&op);
  Places input = read_behind(side, kept);
  const bool may_refer = op.join == JoinKind::kInner || op.join == JoinKind::kLeft;
  for (uint32_t c = 0; c < build.size() && may_refer; ++c) {
    const auto [place, is_table] = build[c];
    if (!kept[c] || gathered_.at(&op)[c]) continue;
    const bool by_groups = place == nullptr;
    if (by_groups || is_table || place->estimated_rows <= side.estimated_rows) {
      input[c] = {&op, true};
    }
  }
  mark(side, op.build_keys, &input);
  visit(side, input);
  std::map<const Operator*, uint32_t> numbers;
  for (auto& [c, column] : referred_[&op]) {
    const auto [found, is_first] = numbers.try_emplace(column.join, c);
    column.numbers = found->second;
    kept[c] = is_first;
  }
}

std::vector<base::DataType> NeededColumns::kept_types(const Operator& join) const {
  std::vector<base::DataType> types = join.children[1]->output;
  for (const auto& [c, column] : referred_.at(&join)) types[c] = {base::TypeKind::kInt};
  return types;
}

const ReferredColumn* NeededColumns::referred(const Operator& join, uint32_t build_column) const {
  const auto& columns = referred_.at(&join);
  const auto found = columns.find(build_column);
  return found == columns.end() ? nullptr : &found->second;
}

std::set<const Operator*> NeededColumns::referred_joins(const Operator& join) const {
  std::set<const Operator*> joins;
  for (const auto& [c, column] : referred_.at(&join)) joins.insert(column.join);
  return joins;
}

}  // namespace diptych::olap
