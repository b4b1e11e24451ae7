#include "olap/execution/expression/expression_key.h"

#include <iterator>

#include <fmt/format.h>

namespace diptych::olap {

namespace {

// No `columns`: as the expression counts them.
void append_key(const Expression& expression, std::span<const base::ColumnId> columns,
                std::string* text) {
  const base::DataType& type = expression.type;
  fmt::format_to(std::back_inserter(*text), "({}:{}.{}.{}.{}", static_cast<int>(expression.kind),
                 static_cast<int>(type.kind), type.length, type.precision, type.scale);
  switch (expression.kind) {
    case ExpressionKind::kColumn:
      fmt::format_to(std::back_inserter(*text), " {}",
                     columns.empty() ? expression.column : columns[expression.column].value);
      break;
    case ExpressionKind::kLiteral: {
      const std::string value = base::to_string(expression.literal);
      fmt::format_to(std::back_inserter(*text), " {}.{}:{}", expression.literal.index(),
                     value.size(), value);
      break;
    }
    case ExpressionKind::kFunction:
      fmt::format_to(std::back_inserter(*text), " {}", static_cast<int>(expression.function));
      break;
    default: break;
  }
  for (const ExpressionPtr& child : expression.children) append_key(*child, columns, text);
  text->push_back(')');
}

}  // namespace

std::string expression_key(const Expression& expression) {
  return expression_key(expression, {});
}

std::string expression_key(const Expression& expression, std::span<const base::ColumnId> columns) {
  std::string key;
  append_key(expression, columns, &key);
  return key;
}

}  // namespace diptych::olap
