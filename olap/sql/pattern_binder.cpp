// LIKE, ILIKE, SIMILAR TO and regular expressions of ExpressionBinder.
//
//   LIKE '...'               kLike, with the escape character turned into a backslash
//   LIKE of an expression    kLikePattern: compiled when it runs
//   ILIKE                    LIKE of both sides in lower case (of ASCII letters)
//   SIMILAR TO '...'         a regular expression, anchored at both ends
//   ~, ~*, !~, !~*           RE2's regular expressions: PostgreSQL's without back references and
//                            look-around

#include <algorithm>

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
    const bool escapes = !escape.empty() && pattern.substr(i).starts_with(escape);
    if (escapes && i + escape.size() < pattern.size()) {
      i += escape.size();
      regex += '\\';
      regex += pattern[i];
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

bool ends_with_escape(std::string_view pattern) {
  size_t backslashes = 0;
  while (backslashes < pattern.size() && pattern[pattern.size() - 1 - backslashes] == '\\') {
    ++backslashes;
  }
  return backslashes % 2 != 0;
}

base::Result<void> check_text(const SourceText& source, const Bound& operand, int64_t offset,
                              std::string_view name) {
  if (operand.expression->type.is_string()) return {};
  return source.wrong(offset, fmt::format("{} does not take {}", name, type_name_of(operand)),
                      "42883");
}

}  // namespace

BoundResult bind_pattern_operator(const SourceText& source, std::string_view name, int64_t offset,
                                  Bound text, Bound pattern) {
  const bool is_like = name.find("~~") != std::string_view::npos;
  const bool any_case = name.ends_with('*');
  const std::string_view written = !is_like ? name : any_case ? "ILIKE" : "LIKE";
  for (const Bound* operand : {&text, &pattern}) {
    if (auto checked = check_text(source, *operand, offset, written); !checked) {
      return checked.error();
    }
  }
  if (is_like && any_case) {
    text.expression = lower(std::move(text.expression));
    pattern.expression = lower(std::move(pattern.expression));
  }
  const std::string* literal = text_of(*pattern.expression);
  if (is_like && literal != nullptr && ends_with_escape(*literal)) {
    return source.wrong(pattern.offset,
                        "a LIKE pattern cannot end with a backslash that escapes nothing", "22025");
  }
  ExpressionPtr result;
  if (is_like && is_literal(*pattern.expression)) {
    result = make_expression(ExpressionKind::kLike, kBooleanType, std::move(text.expression),
                             std::move(pattern.expression));
  } else {
    const Function function = is_like    ? Function::kLikePattern
                              : any_case ? Function::kRegexMatchAnyCase
                                         : Function::kRegexMatch;
    Expressions arguments;
    arguments.push_back(std::move(text.expression));
    arguments.push_back(std::move(pattern.expression));
    result = make_function(function, kBooleanType, std::move(arguments));
  }
  result = fold(std::move(result));
  if (name.starts_with('!')) result = negated(std::move(result));
  return typed(std::move(result), text.offset);
}

base::Result<ExpressionPtr> ExpressionBinder::bind_text_operand(const Node& node,
                                                                const PgQuery__AExpr& operation,
                                                                std::string_view name) {
  auto operand = dispatch(node);
  if (!operand) return operand.error();
  if (auto checked = check_text(source_, *operand, operation.location, name); !checked) {
    return checked.error();
  }
  return std::move(operand->expression);
}

// What stands behind ESCAPE: one character, or none.
base::Result<std::string> ExpressionBinder::bind_escape(const Node& node,
                                                        const PgQuery__AExpr& operation,
                                                        std::string_view name) {
  auto character = bind_text_operand(node, operation, name);
  if (!character) return character.error();
  const std::string* escape = text_of(**character);
  if (escape == nullptr)
    return source_.unsupported(operation.location, "ESCAPE that is no literal");
  const auto characters =
      std::count_if(escape->begin(), escape->end(), [](char c) { return (c & 0xC0) != 0x80; });
  if (characters > 1) {
    return source_.wrong(start_of(&node), "an ESCAPE has one character, or none", "22025");
  }
  return *escape;
}

// LIKE, ILIKE and regular expressions, with their operators' names: ~~, ~~*, ~, ~*, and these
// behind an exclamation mark.
BoundResult ExpressionBinder::bind_pattern(const PgQuery__AExpr& operation) {
  const std::string name = joined(strings_of(NodeList(operation.name, operation.n_name)));
  auto text = dispatch(*operation.lexpr);
  if (!text) return text;
  const PgQuery__FuncCall* call = escape_call(*operation.rexpr, "like_escape");
  auto pattern = dispatch(call == nullptr ? *operation.rexpr : *call->args[0]);
  if (!pattern) return pattern;
  pattern->offset = start_of(operation.rexpr);
  text->offset = start_of(operation.lexpr);
  if (call != nullptr) {
    const auto escape = bind_escape(*call->args[1], operation, "LIKE");
    if (!escape) return escape.error();
    const std::string* literal = text_of(*pattern->expression);
    if (literal == nullptr) {
      return source_.unsupported(operation.location, "ESCAPE with a pattern that is no literal");
    }
    pattern->expression = make_literal(kTextType, base::Value(with_backslash(*literal, *escape)));
  }
  return bind_pattern_operator(source_, name, operation.location, *std::move(text),
                               *std::move(pattern));
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
    auto character = bind_escape(*call->args[1], operation, "SIMILAR TO");
    if (!character) return character.error();
    escape = *std::move(character);
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

}  // namespace diptych::olap
