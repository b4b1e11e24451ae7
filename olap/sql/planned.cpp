#include "olap/sql/planned.h"

#include <algorithm>

#include "olap/sql/type_rules.h"

namespace diptych::olap {
namespace {

uint32_t position_of(const std::vector<uint32_t>& layout, uint32_t slot) {
  const auto found = std::find(layout.begin(), layout.end(), slot);
  DIPTYCH_CHECK(found != layout.end(), "an operator computes what those above it use");
  return static_cast<uint32_t>(found - layout.begin());
}

// Slots become positions in the layout.
void place(Expressions* expressions, const std::vector<uint32_t>& layout) {
  for (const ExpressionPtr& expression : *expressions) {
    for_each_column(*expression, [&](Expression& column) {
      column.column = position_of(layout, column.column);
    });
  }
}

// An operator over one input, of whose columns it passes on all.
Planned on_top(OperatorKind kind, Planned input) {
  auto top = std::make_unique<Operator>();
  top->kind = kind;
  top->output = input.root->output;
  top->output_nullable = input.root->output_nullable;
  top->estimated_rows = input.root->estimated_rows;
  top->children.push_back(std::move(input.root));
  input.root = std::move(top);
  return input;
}

void set_output(Operator* root, const Expressions& expressions) {
  root->output.clear();
  root->output_nullable.clear();
  for (const ExpressionPtr& expression : expressions) {
    root->output.push_back(expression->type);
    root->output_nullable.push_back(expression->nullable);
  }
}

bool is_identity(const Expressions& expressions, const std::vector<uint32_t>& layout) {
  if (expressions.size() != layout.size()) return false;
  for (size_t i = 0; i < layout.size(); ++i) {
    const Expression& e = *expressions[i];
    if (e.kind != ExpressionKind::kColumn || e.column != layout[i]) return false;
  }
  return true;
}

bool has_columns(const Expressions& expressions) {
  bool found = false;
  for (const ExpressionPtr& e : expressions) {
    for_each_column(static_cast<const Expression&>(*e), [&](const Expression&) { found = true; });
  }
  return found;
}

// Splits an equality into (probe side, build side); false where it is none between the two inputs.
bool take_key(ExpressionPtr* condition, const Planned& probe, const Planned& build,
              ExpressionPtr* probe_key, ExpressionPtr* build_key) {
  Expression& e = **condition;
  if (e.kind != ExpressionKind::kEqual) return false;
  for (size_t side = 0; side < 2; ++side) {
    ExpressionPtr& a = e.children[side];
    ExpressionPtr& b = e.children[1 - side];
    if (!names_a_column(*a) || !names_a_column(*b) || !probe.has_all(*a) || !build.has_all(*b)) {
      continue;
    }
    *probe_key = std::move(a);
    *build_key = std::move(b);
    return true;
  }
  return false;
}

}  // namespace

bool Planned::has(uint32_t slot) const {
  return std::find(layout.begin(), layout.end(), slot) != layout.end();
}

bool Planned::has_all(const Expression& expression) const {
  bool all = true;
  for_each_column(expression, [&](const Expression& column) { all = all && has(column.column); });
  return all;
}

Planned make_scan(const base::TableSchema& table, const std::vector<base::ColumnId>& columns,
                  std::vector<uint32_t> layout, Expressions predicates) {
  DIPTYCH_CHECK(columns.size() == layout.size() && !columns.empty(), "a scan reads some column");
  Planned scan;
  scan.root = std::make_unique<Operator>();
  scan.root->kind = OperatorKind::kScan;
  scan.root->table = table.id;
  scan.root->columns = columns;
  for (const base::ColumnId id : columns) {
    const base::ColumnSchema& column = table.column(id);
    scan.root->output.push_back(column.type);
    scan.root->output_nullable.push_back(column.nullability == base::Nullability::kNullable);
  }
  scan.layout = std::move(layout);
  place(&predicates, scan.layout);
  scan.root->predicates = std::move(predicates);
  return scan;
}

Planned make_values(Expressions expressions, std::vector<uint32_t> layout) {
  Planned values;
  values.root = std::make_unique<Operator>();
  values.root->kind = OperatorKind::kValues;
  set_output(values.root.get(), expressions);
  values.root->output.resize(layout.size());
  std::vector<bool> nullable(layout.size(), false);
  for (size_t i = 0; i < expressions.size(); ++i) {
    if (expressions[i]->nullable) nullable[i % layout.size()] = true;
  }
  values.root->output_nullable = std::move(nullable);
  values.root->estimated_rows = static_cast<double>(expressions.size() / layout.size());
  values.unfiltered = values.rows();
  values.root->expressions = std::move(expressions);
  values.layout = std::move(layout);
  return values;
}

Planned make_append(std::vector<Planned> inputs) {
  auto append = std::make_unique<Operator>();
  append->kind = OperatorKind::kAppend;
  append->output = inputs[0].root->output;
  append->output_nullable = inputs[0].root->output_nullable;
  Planned appended;
  appended.layout = inputs[0].layout;
  for (Planned& input : inputs) {
    DIPTYCH_CHECK(input.layout == appended.layout, "what is appended has the same columns");
    for (size_t i = 0; i < append->output.size(); ++i) {
      // They are represented alike, but one may have more digits.
      const auto common = common_type(append->output[i], input.root->output[i]);
      DIPTYCH_CHECK(common.has_value(), "what is appended has the same types");
      append->output[i] = *common;
      if (input.root->output_nullable[i]) append->output_nullable[i] = true;
    }
    append->estimated_rows += input.rows();
    append->children.push_back(std::move(input.root));
  }
  appended.root = std::move(append);
  appended.unfiltered = appended.rows();
  return appended;
}

Planned make_expand(Planned input, std::vector<std::vector<bool>> sets, uint32_t number_slot) {
  Planned expanded = on_top(OperatorKind::kExpand, std::move(input));
  Operator& root = *expanded.root;
  for (size_t i = 0; i < sets[0].size(); ++i) root.output_nullable[i] = true;
  root.output.push_back({base::TypeKind::kBigInt});
  root.output_nullable.push_back(false);
  root.estimated_rows *= static_cast<double>(sets.size());
  root.grouping_sets = std::move(sets);
  expanded.layout.push_back(number_slot);
  expanded.unique_keys.clear();
  return expanded;
}

Planned make_repeat(Planned input) {
  Planned repeated = on_top(OperatorKind::kRepeat, std::move(input));
  repeated.root->output_nullable.back() = false;
  return repeated;
}

namespace {

std::vector<Aggregate> copy_of(const std::vector<Aggregate>& aggregates) {
  std::vector<Aggregate> copies;
  for (const Aggregate& a : aggregates) {
    copies.push_back({a.kind, a.argument == nullptr ? nullptr : clone(*a.argument), a.type,
                      a.distinct, clone(a.further), a.order});
  }
  return copies;
}

}  // namespace

OperatorPtr copy_of(const Operator& op) {
  auto copy = std::make_unique<Operator>();
  copy->kind = op.kind;
  for (const OperatorPtr& child : op.children) copy->children.push_back(copy_of(*child));
  copy->output = op.output;
  copy->output_nullable = op.output_nullable;
  copy->table = op.table;
  copy->alias = op.alias;
  copy->columns = op.columns;
  copy->predicates = clone(op.predicates);
  copy->expressions = clone(op.expressions);
  copy->join = op.join;
  copy->probe_keys = clone(op.probe_keys);
  copy->build_keys = clone(op.build_keys);
  copy->aggregates = copy_of(op.aggregates);
  for (const Expressions& keys : op.standing_groups) copy->standing_groups.push_back(clone(keys));
  copy->grouping_sets = op.grouping_sets;
  copy->sort_keys = op.sort_keys;
  copy->window_partition = op.window_partition;
  copy->window_functions = op.window_functions;
  copy->limit = op.limit;
  copy->offset = op.offset;
  copy->recursion = op.recursion;
  copy->estimated_rows = op.estimated_rows;
  return copy;
}

Planned copy_of(const Planned& planned) {
  Planned copy;
  copy.root = copy_of(*planned.root);
  copy.layout = planned.layout;
  copy.unfiltered = planned.unfiltered;
  copy.unique_keys = planned.unique_keys;
  copy.single_row = planned.single_row;
  copy.base = planned.base;
  return copy;
}

size_t size_of(const Operator& op) {
  size_t size = 1;
  for (const OperatorPtr& child : op.children) size += size_of(*child);
  return size;
}

std::shared_ptr<const Planned> share(const Planned& planned) {  // shared_ptr: Planned::base
  return std::make_shared<const Planned>(copy_of(planned));     // shared_ptr: Planned::base
}

// Equal aggregates and windows of a plan run once, and sorts that keep all rows do not choose any.
bool is_repeatable(const Operator& op) {
  switch (op.kind) {
    case OperatorKind::kAggregate:
    case OperatorKind::kWindow: return true;
    case OperatorKind::kLimit: return false;
    case OperatorKind::kSort:
      if (op.limit != kNoLimit || op.offset != 0) return false;
      break;
    default: break;
  }
  return std::all_of(op.children.begin(), op.children.end(),
                     [](const OperatorPtr& child) { return is_repeatable(*child); });
}

bool has_equality(const Expressions& conditions) {
  return std::any_of(conditions.begin(), conditions.end(), [](const ExpressionPtr& condition) {
    return condition->kind == ExpressionKind::kEqual;
  });
}

Planned make_filter(Planned input, Expressions predicates) {
  if (predicates.empty()) return input;
  place(&predicates, input.layout);
  Planned filter = on_top(OperatorKind::kFilter, std::move(input));
  filter.root->predicates = std::move(predicates);
  return filter;
}

Planned make_join(JoinKind kind, Planned probe, Planned build, Expressions conditions,
                  Expressions beside) {
  auto join = std::make_unique<Operator>();
  join->kind = OperatorKind::kHashJoin;
  join->join = kind;
  join->predicates = std::move(beside);  // first: the others may fail for what these drop
  std::vector<uint32_t> both = probe.layout;
  both.insert(both.end(), build.layout.begin(), build.layout.end());
  for (ExpressionPtr& condition : conditions) {
    ExpressionPtr probe_key;
    ExpressionPtr build_key;
    if (take_key(&condition, probe, build, &probe_key, &build_key)) {
      join->probe_keys.push_back(std::move(probe_key));
      join->build_keys.push_back(std::move(build_key));
    } else {
      join->predicates.push_back(std::move(condition));
    }
  }
  place(&join->probe_keys, probe.layout);
  place(&join->build_keys, build.layout);
  place(&join->predicates, both);
  join->output = probe.root->output;
  join->output_nullable = probe.root->output_nullable;
  Planned joined;
  joined.layout = std::move(probe.layout);
  if (keeps_build_rows(kind)) {
    join->output = build.root->output;
    join->output_nullable = build.root->output_nullable;
    joined.layout = std::move(build.layout);
  }
  if (kind == JoinKind::kInner || kind == JoinKind::kLeft) {
    const Operator& inner = *build.root;
    joined.layout = std::move(both);
    join->output.insert(join->output.end(), inner.output.begin(), inner.output.end());
    for (const bool nullable : inner.output_nullable) {
      join->output_nullable.push_back(nullable || kind == JoinKind::kLeft);
    }
  }
  if (kind == JoinKind::kMark) {
    join->output.push_back({base::TypeKind::kBoolean});
    join->output_nullable.push_back(false);
  }
  join->children.push_back(std::move(probe.root));
  join->children.push_back(std::move(build.root));
  joined.root = std::move(join);
  return joined;
}

Planned make_project(Planned input, Expressions expressions, std::vector<uint32_t> layout) {
  DIPTYCH_CHECK(expressions.size() == layout.size(), "every output has its slot");
  if (is_identity(expressions, input.layout)) {
    input.layout = std::move(layout);
    return input;
  }
  const bool one_row = input.root->kind == OperatorKind::kValues &&
                       input.root->expressions.size() == input.root->output.size();
  if (one_row && !expressions.empty() && !has_columns(expressions)) {
    return make_values(std::move(expressions), std::move(layout));
  }
  place(&expressions, input.layout);
  Planned project = on_top(OperatorKind::kProject, std::move(input));
  set_output(project.root.get(), expressions);
  project.root->expressions = std::move(expressions);
  project.layout = std::move(layout);
  return project;
}

Planned make_aggregate(Planned input, Expressions keys, std::vector<Aggregate> aggregates,
                       std::vector<uint32_t> layout) {
  DIPTYCH_CHECK(layout.size() == keys.size() + aggregates.size(), "keys, then aggregates");
  place(&keys, input.layout);
  for (Aggregate& aggregate : aggregates) {
    place(&aggregate.further, input.layout);
    if (aggregate.argument == nullptr) continue;
    for_each_column(*aggregate.argument, [&](Expression& column) {
      column.column = position_of(input.layout, column.column);
    });
  }
  Planned grouped = on_top(OperatorKind::kAggregate, std::move(input));
  set_output(grouped.root.get(), keys);
  for (const Aggregate& aggregate : aggregates) {
    const bool counts = aggregate.kind == AggregateKind::kCountAll ||
                        aggregate.kind == AggregateKind::kCount ||
                        aggregate.kind == AggregateKind::kCountDistinct;
    grouped.root->output.push_back(aggregate.type);
    grouped.root->output_nullable.push_back(!counts);
  }
  grouped.root->expressions = std::move(keys);
  grouped.root->aggregates = std::move(aggregates);
  grouped.layout = std::move(layout);
  return grouped;
}

Planned make_window(Planned input, std::vector<uint32_t> partition, std::vector<SortKey> keys,
                    std::vector<WindowFunction> functions, const std::vector<uint32_t>& slots) {
  DIPTYCH_CHECK(functions.size() == slots.size(), "every function has its slot");
  auto unique_keys = input.unique_keys;
  Planned windowed = on_top(OperatorKind::kWindow, std::move(input));
  for (const WindowFunction& function : functions) {
    windowed.root->output.push_back(function.type);
    const bool number = function.kind <= WindowKind::kCumeDist;
    windowed.root->output_nullable.push_back(!number);
  }
  windowed.root->window_partition = std::move(partition);
  windowed.root->sort_keys = std::move(keys);
  windowed.root->window_functions = std::move(functions);
  windowed.layout.insert(windowed.layout.end(), slots.begin(), slots.end());
  windowed.unique_keys = std::move(unique_keys);
  return windowed;
}

Planned make_sort(Planned input, std::vector<SortKey> keys, uint64_t limit, uint64_t offset) {
  Planned sorted = on_top(OperatorKind::kSort, std::move(input));
  sorted.root->sort_keys = std::move(keys);
  sorted.root->limit = limit;
  sorted.root->offset = offset;
  return sorted;
}

Planned make_limit(Planned input, uint64_t limit, uint64_t offset) {
  Planned limited = on_top(OperatorKind::kLimit, std::move(input));
  limited.root->limit = limit;
  limited.root->offset = offset;
  return limited;
}

}  // namespace diptych::olap
