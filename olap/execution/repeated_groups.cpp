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

bool append(const std::vector<Aggregate>& aggregates, std::string* text) {
  for (const Aggregate& aggregate : aggregates) {
    if (aggregate.distinct || !aggregate.further.empty()) return false;
    *text += fmt::format("{} ", static_cast<int>(aggregate.kind));
    if (aggregate.argument != nullptr) *text += expression_key(*aggregate.argument);
  }
  return true;
}

// The subtree as a text that equal ones have, and no others; nothing where it has operators that
// are not told apart here. Adds the aggregates in it to *found.
std::optional<std::string> text_of(const Operator& op, ByText* found) {
  std::string text = fmt::format("{}(", static_cast<int>(op.kind));
  bool known = true;
  for (const auto& child : op.children) {
    const std::optional<std::string> below = text_of(*child, found);
    known = known && below.has_value();
    if (known) text += *below;
  }
  switch (op.kind) {
    case OperatorKind::kScan:
      text += fmt::format("{}:", op.table.value);
      for (const base::ColumnId column : op.columns) text += fmt::format("{},", column.value);
      break;
    case OperatorKind::kFilter:
    case OperatorKind::kProject: break;
    case OperatorKind::kHashJoin:
      text += fmt::format("{}:", static_cast<int>(op.join));
      append(op.probe_keys, &text);
      append(op.build_keys, &text);
      break;
    case OperatorKind::kAggregate:
      known = known && op.standing_groups.empty() && append(op.aggregates, &text);
      break;
    default: return std::nullopt;
  }
  if (!known) return std::nullopt;
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
