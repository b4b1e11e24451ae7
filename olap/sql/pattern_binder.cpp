// LIKE, ILIKE, SIMILAR TO and regular expressions of ExpressionBinder.
//
//   LIKE '...'               kLike, with the escape character turned into a backslash
//   LIKE of an expression    kLikePattern: compiled when it runs
//   ILIKE                    LIKE of both sides in lower case (of ASCII letters)
//   SIMILAR TO '...'         a regular expression, anchored at both ends
//   ~, ~*, !~, !~*           RE2's regular expressions: PostgreSQL's without back references and
//                            look-around

#include <fmt/format.h>

#include "olap/sql/constant_folding.h"
#include "olap/sql/expression_binder.h"
#include "olap/sql/type_rules.h"

namespace diptych::olap {
namespace {

ExpressionPtr lower(ExpressionPtr text) {
  const auto* literal = is_literal(*text) ? std::get_if<std::string>(&text->literal) : nullptr;
  if (literal != nullptr) {
    std::string bytes = *literal;
    for (char& c : bytes) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return make_literal(text->type, base::Value(std::move(bytes)));
  }
  Expressions arguments;
  arguments.push_back(std::move(text));
  return make_function(Function::kLower, kTextType, std::move(arguments));
}

// The pattern with a backslash as its escape character, which `escape` is now; none where empty.
std::string with_backslash(std::string_view pattern, std::string_view escape) {
  std::string result;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const bool escapes = !escape.empty() && pattern.substr(i).starts_with(escape);
    if (escapes && i + escape.size() < pattern.size()) {
      i += escape.size();
      result += '\\';
      result += pattern[i];
    } else if (escapes) {
      result += '\\';  // escapes nothing: refused as any such pattern
    } else if (pattern[i] == '\\') {
      result += "\\\\";
    } else {
      result += pattern[i];
    }
  }
  return result;
}

// LIKE's wildcards and SIMILAR's operators as a regular expression over the whole text.
std::string regex_of(std::string_view pattern, std::string_view escape) {
  std::string regex = "^(?:";
  bool in_class = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (!escape.empty() && pattern.substr(i).starts_with(escape) && i + 1 < pattern.size()) {
      regex += '\\';
      regex += pattern[++i];
    } else if (in_class) {
      if (c == '\\') regex += '\\';
      regex += c;
      in_class = c != ']';
    } else if (c == '%') {
      regex += ".*";
    } else if (c == '_') {
      regex += '.';
    } else if (c == '[') {
      regex += c;
      in_class = true;
    } else if (c == '.' || c == '^' || c == '$' || c == '\\') {
      regex += '\\';
      regex += c;
    } else {
      regex += c;
    }
  }
  return regex + ")$";
}

// The function call that the grammar makes of a pattern with ESCAPE; nullptr where there is none.
const PgQuery__FuncCall* escape_call(const Node& node, std::string_view name) {
  if (node.node_case != PG_QUERY__NODE__NODE_FUNC_CALL) return nullptr;
  const PgQuery__FuncCall& call = *node.func_call;
  return joined(strings_of(NodeList(call.funcname, call.n_funcname))) == name ? &call : nullptr;
}

const std::string* text_of(const Expression& e) {
  return is_literal(e) ? std::get_if<std::string>(&e.literal) : nullptr;
}

}  // namespace

base::Result<ExpressionPtr> ExpressionBinder::bind_text_operand(const Node& node,
                                                                const PgQuery__AExpr& operation,
                                                                std::string_view name) {
  auto operand = dispatch(node);
  if (!operand) return operand.error();
  if (!operand->expression->type.is_string()) {
    return source_.wrong(operation.location,
                         fmt::format("{} does not take {}", name, type_name_of(*operand)), "42883");
  }
  return std::move(operand->expression);
}

BoundResult ExpressionBinder::bind_like(const PgQuery__AExpr& operation) {
  const std::string name = joined(strings_of(NodeList(operation.name, operation.n_name)));
  const bool any_case = operation.kind == PG_QUERY__A__EXPR__KIND__AEXPR_ILIKE;
  const std::string_view written = any_case ? "ILIKE" : "LIKE";
  auto text = bind_text_operand(*operation.lexpr, operation, written);
  if (!text) return text.error();
  const PgQuery__FuncCall* escape = escape_call(*operation.rexpr, "like_escape");
  auto pattern = bind_text_operand(escape == nullptr ? *operation.rexpr : *escape->args[0],
                                   operation, written);
  if (!pattern) return pattern.error();
  if (escape != nullptr) {
    auto character = bind_text_operand(*escape->args[1], operation, written);
    if (!character) return character.error();
    const std::string* by = text_of(**character);
    if (by == nullptr || text_of(**pattern) == nullptr) {
      return source_.unsupported(operation.location, "ESCAPE with a pattern that is no literal");
    }
    *pattern = make_literal(kTextType, base::Value(with_backslash(*text_of(**pattern), *by)));
  }
  if (any_case) {
    *text = lower(*std::move(text));
    *pattern = lower(*std::move(pattern));
  }
  if (const std::string* bytes = text_of(**pattern)) {
    size_t backslashes = 0;
    while (backslashes < bytes->size() && (*bytes)[bytes->size() - 1 - backslashes] == '\\') {
      ++backslashes;
    }
    if (backslashes % 2 != 0) {
      return source_.wrong(start_of(operation.rexpr),
                           "a LIKE pattern cannot end with a backslash that escapes nothing",
                           "22025");
    }
  }
  const int64_t offset = start_of(operation.lexpr);
  ExpressionPtr result;
  if (is_literal(**pattern)) {
    result =
        make_expression(ExpressionKind::kLike, kBooleanType, *std::move(text), *std::move(pattern));
  } else {
    Expressions arguments;
    arguments.push_back(*std::move(text));
    arguments.push_back(*std::move(pattern));
    result = make_function(Function::kLikePattern, kBooleanType, std::move(arguments));
  }
  result = fold(std::move(result));
  if (name.starts_with('!')) result = negated(std::move(result));
  return typed(std::move(result), offset);
}

BoundResult ExpressionBinder::bind_similar(const PgQuery__AExpr& operation) {
  const std::string name = joined(strings_of(NodeList(operation.name, operation.n_name)));
  auto text = bind_text_operand(*operation.lexpr, operation, "SIMILAR TO");
  if (!text) return text.error();
  const PgQuery__FuncCall* call = escape_call(*operation.rexpr, "similar_to_escape");
  DIPTYCH_CHECK(call != nullptr, "the grammar puts a call around SIMILAR TO's pattern");
  auto pattern = bind_text_operand(*call->args[0], operation, "SIMILAR TO");
  if (!pattern) return pattern.error();
  std::string escape = "\\";
  if (call->n_args > 1) {
    auto character = bind_text_operand(*call->args[1], operation, "SIMILAR TO");
    if (!character) return character.error();
    if (text_of(**character) == nullptr) {
      return source_.unsupported(operation.location, "ESCAPE that is no literal");
    }
    escape = *text_of(**character);
  }
  if (text_of(**pattern) == nullptr && !is_null_literal(**pattern)) {
    return source_.unsupported(operation.location, "SIMILAR TO of a pattern that is no literal");
  }
  Expressions arguments;
  arguments.push_back(*std::move(text));
  arguments.push_back(
      is_null_literal(**pattern)
          ? *std::move(pattern)
          : make_literal(kTextType, base::Value(regex_of(*text_of(**pattern), escape))));
  ExpressionPtr result =
      fold(make_function(Function::kRegexMatch, kBooleanType, std::move(arguments)));
  if (name.starts_with('!')) result = negated(std::move(result));
  return typed(std::move(result), start_of(operation.lexpr));
}

BoundResult ExpressionBinder::bind_regex(const PgQuery__AExpr& operation) {
  const std::string name = joined(strings_of(NodeList(operation.name, operation.n_name)));
  Expressions arguments;
  for (const Node* side : {operation.lexpr, operation.rexpr}) {
    auto operand = bind_text_operand(*side, operation, name);
    if (!operand) return operand.error();
    arguments.push_back(*std::move(operand));
  }
  const Function function =
      name.ends_with('*') ? Function::kRegexMatchAnyCase : Function::kRegexMatch;
  ExpressionPtr result = fold(make_function(function, kBooleanType, std::move(arguments)));
  if (name.starts_with('!')) result = negated(std::move(result));
  return typed(std::move(result), start_of(operation.lexpr));
}

}  // namespace diptych::olap
