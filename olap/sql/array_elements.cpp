#include "olap/sql/array_elements.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "olap/sql/parameter_value.h"

namespace diptych::olap {
namespace {

constexpr std::string_view kBlanks = " \t\n\r\v\f";

struct WrittenElement {
  std::string text;
  bool null = false;
};

void skip_blanks(std::string_view text, size_t* at) {
  *at = std::min(text.find_first_not_of(kBlanks, *at), text.size());
}

// The next element of '{a, "b c", NULL}' from `at` on, which then stands at what ends it; nullopt
// where there is none.
std::optional<WrittenElement> next_element(std::string_view text, size_t* at) {
  WrittenElement element;
  skip_blanks(text, at);
  const bool quoted = *at < text.size() && text[*at] == '"';
  if (quoted) ++*at;
  const auto ends = [&](char c) {
    return quoted ? c == '"' : c == ',' || c == '}' || c == '{' || c == '"';
  };
  bool escaped = false;
  for (; *at < text.size() && !ends(text[*at]); ++*at) {
    if (text[*at] == '\\' && ++*at < text.size()) escaped = true;
    if (*at < text.size()) element.text += text[*at];
  }
  if (*at >= text.size()) return std::nullopt;
  if (quoted) {
    ++*at;
    skip_blanks(text, at);
    return element;
  }
  element.text.erase(element.text.find_last_not_of(kBlanks) + 1);
  std::string upper = element.text;
  for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  element.null = !escaped && upper == "NULL";
  if (element.text.empty()) return std::nullopt;
  return element;
}

}  // namespace

base::Result<ArrayElements> ArrayElements::of(const SourceText& source, const Node& array,
                                              std::span<const base::Value> parameters) {
  const Node* node = &array;
  const PgQuery__TypeCast* cast = nullptr;
  if (node->node_case == PG_QUERY__NODE__NODE_TYPE_CAST &&
      node->type_cast->type_name->n_array_bounds != 0) {
    cast = node->type_cast;
    node = cast->arg;
  }
  const int64_t offset = start_of(node);
  ArrayElements result;
  const base::Value* value = nullptr;
  if (node->node_case == PG_QUERY__NODE__NODE_PARAM_REF) {
    const auto given = parameter_value(source, *node->param_ref, parameters);
    if (!given) return given.error();
    value = *given;
  }
  base::Result<void> taken;
  if (node->node_case == PG_QUERY__NODE__NODE_A_ARRAY_EXPR) {
    const PgQuery__AArrayExpr& written = *node->a_array_expr;
    result.nodes_.assign(written.elements, written.elements + written.n_elements);
  } else if (node->node_case == PG_QUERY__NODE__NODE_A_CONST && node->a_const->isnull != 0) {
    result.is_null_ = true;
  } else if (node->node_case == PG_QUERY__NODE__NODE_A_CONST &&
             node->a_const->val_case == PG_QUERY__A__CONST__VAL_SVAL) {
    taken = result.take_text(source, node->a_const->sval->sval, offset);
  } else if (value != nullptr && base::is_null(*value)) {
    result.is_null_ = true;
  } else if (value != nullptr && std::holds_alternative<std::string>(*value)) {
    taken = result.take_text(source, std::get<std::string>(*value), offset);
  } else {
    return source.unsupported(offset, "an array but ARRAY[...] or a text '{...}'");
  }
  if (!taken) return taken.error();
  if (cast != nullptr) result.cast_all(*cast);
  return result;
}

base::Result<void> ArrayElements::take_text(const SourceText& source, std::string_view text,
                                            int64_t offset) {
  const auto malformed = [&] {
    return source.wrong(offset, fmt::format("malformed array literal: \"{}\"", text), "22P02");
  };
  size_t at = 0;
  skip_blanks(text, &at);
  if (at == text.size() || text[at] != '{') return malformed();
  skip_blanks(text, &++at);
  bool more = at < text.size() && text[at] != '}';
  while (more) {
    if (text[at] == '{') return source.unsupported(offset, "an array of arrays");
    auto element = next_element(text, &at);
    if (!element || at == text.size() || (text[at] != ',' && text[at] != '}')) return malformed();
    take_constant(std::move(element->text), element->null, offset);
    more = text[at] == ',';
    if (more) skip_blanks(text, &++at);
    if (at == text.size()) return malformed();
  }
  if (at == text.size()) return malformed();
  skip_blanks(text, &++at);
  return at == text.size() ? base::Result<void>() : malformed();
}

void ArrayElements::take_constant(std::string text, bool null, int64_t offset) {
  PgQuery__AConst& constant =
      storage_->constants.emplace_back(PgQuery__AConst PG_QUERY__A__CONST__INIT);
  constant.location = static_cast<int32_t>(offset);
  constant.isnull = null ? 1 : 0;
  if (!null) {
    PgQuery__String& string =
        storage_->strings.emplace_back(PgQuery__String PG_QUERY__STRING__INIT);
    string.sval = storage_->texts.emplace_back(std::move(text)).data();
    constant.val_case = PG_QUERY__A__CONST__VAL_SVAL;
    constant.sval = &string;
  }
  Node& node = storage_->nodes.emplace_back(Node PG_QUERY__NODE__INIT);
  node.node_case = PG_QUERY__NODE__NODE_A_CONST;
  node.a_const = &constant;
  nodes_.push_back(&node);
}

void ArrayElements::cast_all(const PgQuery__TypeCast& cast) {
  storage_->type = *cast.type_name;
  storage_->type.n_array_bounds = 0;
  for (Node*& element : nodes_) {
    PgQuery__TypeCast& own = storage_->casts.emplace_back(cast);
    own.arg = element;
    own.type_name = &storage_->type;
    Node& node = storage_->nodes.emplace_back(Node PG_QUERY__NODE__INIT);
    node.node_case = PG_QUERY__NODE__NODE_TYPE_CAST;
    node.type_cast = &own;
    element = &node;
  }
}

}  // namespace diptych::olap
