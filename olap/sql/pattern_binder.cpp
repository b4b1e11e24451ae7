// LIKE, ILIKE, SIMILAR TO and regular expressions of ExpressionBinder.
//
//   LIKE '...'               kLike, with the escape character turned into a backslash
//   LIKE of an expression    kLikePattern: compiled when it runs
//   ILIKE                    LIKE of both sides in lower case
//   SIMILAR TO               a regular expression, anchored at both ends
//   ESCAPE                   the pattern in its other form: at once, or when it runs
//   ~, ~*, !~, !~*           RE2's regular expressions: PostgreSQL's without back references and
//                            look-around

#include <fmt/format.h>

#include "olap/execution/pattern/similar_pattern.h"
#include "olap/execution/vector/letter_case.h"
#include "olap/sql/constant_folding.h"
#include "olap/sql/expression_binder.h"
#include "olap/sql/type_rules.h"

namespace diptych::olap {
namespace {

ExpressionPtr lower(ExpressionPtr text) {
  const auto* literal = is_literal(*text) ? std::get_if<std::string>(&text->literal) : nullptr;
  if (literal != nullptr) {
    return make_literal(text->type, base::Value(text_with_case(LetterCase::kLower, *literal)));
  }
  Expressions arguments;
  arguments.push_back(std::move(text));
  return make_function(Function::kLower, kTextType, std::move(arguments));
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

// The pattern with its ESCAPE as LIKE's with a backslash (kLikeEscape) or as a regular expression
// (kSimilarEscape): at once where both are literals.
base::Result<ExpressionPtr> ExpressionBinder::bind_escaped(Function function, ExpressionPtr pattern,
                                                           ExpressionPtr escape, int64_t offset) {
  const std::string* const text = text_of(*pattern);
  const std::string* const character = text_of(*escape);
  if (text == nullptr || character == nullptr) {
    Expressions arguments;
    arguments.push_back(std::move(pattern));
    arguments.push_back(std::move(escape));
    return fold(make_function(function, kTextType, std::move(arguments)));
  }
  base::Result<std::string> written = std::string();
  if (function == Function::kLikeEscape) {
    written = like_with_backslash(*text, *character);
  } else if (auto parts = similar_parts(*text, *character)) {
    written = parts->whole();
  } else {
    written = parts.error();
  }
  if (!written) return source_.wrong(offset, written.error().message, written.error().state);
  return make_literal(kTextType, base::Value(*std::move(written)));
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
    if (auto checked = check_text(source_, *pattern, operation.location, "LIKE"); !checked) {
      return checked.error();
    }
    auto escape = bind_text_operand(*call->args[1], operation, "LIKE");
    if (!escape) return escape.error();
    auto written = bind_escaped(Function::kLikeEscape, std::move(pattern->expression),
                                *std::move(escape), start_of(call->args[1]));
    if (!written) return written.error();
    pattern->expression = *std::move(written);
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
  base::Result<ExpressionPtr> escape = make_literal(kTextType, base::Value(std::string("\\")));
  if (call->n_args > 1) escape = bind_text_operand(*call->args[1], operation, "SIMILAR TO");
  if (!escape) return escape.error();
  auto regex = bind_escaped(Function::kSimilarEscape, *std::move(pattern), *std::move(escape),
                            start_of(call->args[call->n_args - 1]));
  if (!regex) return regex.error();
  Expressions arguments;
  arguments.push_back(*std::move(text));
  arguments.push_back(*std::move(regex));
  ExpressionPtr result =
      fold(make_function(Function::kRegexMatch, kBooleanType, std::move(arguments)));
  if (name.starts_with('!')) result = negated(std::move(result));
  return typed(std::move(result), start_of(operation.lexpr));
}

}  // namespace diptych::olap
