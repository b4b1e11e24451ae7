#include "olap/execution/expression_key.h"

#include <iterator>

#include <fmt/format.h>

namespace diptych::olap {

namespace {

void append_key(const Expression& expression, std::string* text) {
  const base::DataType& type = expression.type;
  fmt::format_to(std::back_inserter(*text), "({}:{}.{}.{}", static_cast<int>(expression.kind),
                 static_cast<int>(type.kind), type.precision, type.scale);
  switch (expression.kind) {
    case ExpressionKind::kColumn:
      fmt::format_to(std::back_inserter(*text), " {}", expression.column);
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
  for (const ExpressionPtr& child : expression.children) append_key(*child, text);
  text->push_back(')');
}

}  // namespace

std::string expression_key(const Expression& expression) {
  std::string key;
  append_key(expression, &key);
  return key;
}

}  // namespace diptych::olap
