#include "olap/execution/repeated_groups.h"

#include <string>

#include <fmt/format.h>

#include "olap/execution/expression_key.h"

namespace diptych::olap {

namespace {

using ByText = std::map<std::string, std::vector<const Operator*>>;

void append(const std::vector<ExpressionPtr>& expressions, std::string* text) {
  for (const ExpressionPtr& expression : expressions) *text += expression_key(*expression);
  *text += ';';
}

void append(const std::vector<SortKey>& keys, std::string* text) {
  for (const SortKey& key : keys) {
    *text += fmt::format("{}{}{},", key.column, key.descending ? 'd' : 'a', key.nulls_first);
  }
  *text += ';';
}

void append(const std::vector<Aggregate>& aggregates, std::string* text) {
  for (const Aggregate& aggregate : aggregates) {
    *text += fmt::format("{}{} ", static_cast<int>(aggregate.kind), aggregate.distinct ? 'd' : 'a');
    if (aggregate.argument != nullptr) *text += expression_key(*aggregate.argument);
    append(aggregate.further, text);
    append(aggregate.order, text);
  }
}

void append(const std::vector<WindowFunction>& functions, std::string* text) {
  for (const WindowFunction& f : functions) {
    *text += fmt::format("{}.{}({}", static_cast<int>(f.kind), static_cast<int>(f.aggregate),
                         f.argument_scale);
    for (const uint32_t argument : f.arguments) *text += fmt::format(" {}", argument);
    *text +=
        fmt::format(") {}.{}.{}.{}.{}.{}:{}.{}.{};", static_cast<int>(f.frame.mode),
                    static_cast<int>(f.frame.start), static_cast<int>(f.frame.end),
                    f.frame.start_offset, f.frame.end_offset, static_cast<int>(f.frame.exclusion),
                    static_cast<int>(f.type.kind), f.type.precision, f.type.scale);
  }
}

// What the operator is beside its inputs, its predicates and its expressions.
void append_kind(const Operator& op, std::string* text) {
  *text += fmt::format("{}:{}:{}:{}:{}:{}:", static_cast<int>(op.kind), op.table.value,
                       static_cast<int>(op.join), op.limit, op.offset, op.recursion);
  for (const base::ColumnId column : op.columns) *text += fmt::format("{},", column.value);
  append(op.probe_keys, text);
  append(op.build_keys, text);
  append(op.aggregates, text);
  for (const auto& keys : op.standing_groups) append(keys, text);
  for (const std::vector<bool>& set : op.grouping_sets) {
    for (const bool has : set) *text += has ? '1' : '0';
    *text += ',';
  }
  append(op.sort_keys, text);
  for (const uint32_t column : op.window_partition) *text += fmt::format("{},", column);
  append(op.window_functions, text);
  *text += fmt::format("{}", op.output.size());
}

// The subtree as a text that equal ones have, and no others. Adds the aggregates in it to *found.
std::string text_of(const Operator& op, ByText* found) {
  std::string text = "(";
  for (const auto& child : op.children) text += text_of(*child, found);
  append_kind(op, &text);
  append(op.predicates, &text);
  append(op.expressions, &text);
  text += ')';
  if (op.kind == OperatorKind::kAggregate) (*found)[text].push_back(&op);
  return text;
}

}  // namespace

RepeatedGroups::RepeatedGroups(const Operator& root) {
  ByText found;
  text_of(root, &found);
  for (const auto& [text, aggregates] : found) {
    if (aggregates.size() < 2) continue;
    for (const Operator* aggregate : aggregates) numbers_[aggregate] = count_;
    ++count_;
  }
}

std::optional<size_t> RepeatedGroups::number_of(const Operator& aggregate) const {
  const auto found = numbers_.find(&aggregate);
  if (found == numbers_.end()) return std::nullopt;
  return found->second;
}

}  // namespace diptych::olap
