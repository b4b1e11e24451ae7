#include "olap/execution/expression/text_template.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>

#include <fmt/format.h>

#include "olap/execution/expression/row_functions.h"
#include "olap/execution/vector/utf8_text.h"

namespace diptych::olap {
namespace {

// What PostgreSQL's grammar does not take as a name without quotes: all but unreserved keywords.
constexpr std::string_view kQuotedKeywords[] = {
    // clang-format off
    "all", "analyse", "analyze", "and", "any", "array", "as", "asc", "asymmetric",
    "authorization", "between", "bigint", "binary", "bit", "boolean", "both", "case", "cast",
    "char", "character", "check", "coalesce", "collate", "collation", "column",
    "concurrently", "constraint", "create", "cross", "current_catalog", "current_date",
    "current_role", "current_schema", "current_time", "current_timestamp", "current_user",
    "dec", "decimal", "default", "deferrable", "desc", "distinct", "do", "else", "end",
    "except", "exists", "extract", "false", "fetch", "float", "for", "foreign", "freeze",
    "from", "full", "grant", "greatest", "group", "grouping", "having", "ilike", "in",
    "initially", "inner", "inout", "int", "integer", "intersect", "interval", "into", "is",
    "isnull", "join", "lateral", "leading", "least", "left", "like", "limit", "localtime",
    "localtimestamp", "national", "natural", "nchar", "none", "normalize", "not", "notnull",
    "null", "nullif", "numeric", "offset", "on", "only", "or", "order", "out", "outer",
    "overlaps", "overlay", "placing", "position", "precision", "primary", "real",
    "references", "returning", "right", "row", "select", "session_user", "setof", "similar",
    "smallint", "some", "substring", "symmetric", "table", "tablesample", "then", "time",
    "timestamp", "to", "trailing", "treat", "trim", "true", "union", "unique", "user",
    "using", "values", "varchar", "variadic", "verbose", "when", "where", "window", "with",
    "xmlattributes", "xmlconcat", "xmlelement", "xmlexists", "xmlforest", "xmlnamespaces",
    "xmlparse", "xmlpi", "xmlroot", "xmlserialize", "xmltable",
    // clang-format on
};
static_assert(std::is_sorted(std::begin(kQuotedKeywords), std::end(kQuotedKeywords)));

// One %... of a template.
struct Placeholder {
  size_t argument = 0;  // from 1; 0: the next one
  int64_t width = 0;    // negative: the text stands left
  bool width_is_argument = false;
  size_t width_argument = 0;  // as `argument`
  bool left = false;
  char type = 0;
};

class TemplateReader {
 public:
  explicit TemplateReader(std::string_view pattern) : rest_(pattern) {}

  bool done() const { return rest_.empty(); }
  char peek() const {
    if (rest_.empty()) fail_value("unterminated format() type specifier", "22023");
    return rest_.front();
  }
  char take() {
    const char next = peek();
    rest_.remove_prefix(1);
    return next;
  }

  // Behind the %.
  Placeholder placeholder() {
    Placeholder result;
    if (const auto number = take_number()) {
      if (peek() != '$') {
        result.width = *number;
        result.type = take_type();
        return result;
      }
      result.argument = position(*number);
    }
    for (; peek() == '-'; take()) result.left = true;
    if (peek() == '*') {
      take();
      result.width_is_argument = true;
      if (const auto number = take_number()) {
        if (peek() != '$') fail_value("width argument position must be ended by \"$\"", "22023");
        result.width_argument = position(*number);
      }
    } else if (const auto number = take_number()) {
      result.width = *number;
    }
    result.type = take_type();
    return result;
  }

 private:
  std::optional<int32_t> take_number() {
    const size_t digits = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
    if (digits == 0) return std::nullopt;
    int32_t number = 0;
    if (std::from_chars(rest_.data(), rest_.data() + digits, number).ec != std::errc()) {
      fail_value("number is out of range", "22003");
    }
    rest_.remove_prefix(digits);
    peek();
    return number;
  }

  // Takes the $ behind it.
  size_t position(int32_t number) {
    if (number == 0) {
      fail_value("format specifies argument 0, but arguments are numbered from 1", "22023");
    }
    take();
    peek();
    return static_cast<size_t>(number);
  }

  char take_type() {
    peek();
    const std::string_view character = rest_.substr(0, character_bytes(rest_, 0));
    const char type = take();
    if (type != 's' && type != 'I' && type != 'L') {
      fail_value(fmt::format("unrecognized format() type specifier \"{}\"", character), "22023");
    }
    return type;
  }

  std::string_view rest_;
};

int64_t template_width(std::optional<std::string_view> argument) {
  if (!argument) return 0;
  int32_t width = 0;
  const auto [end, error] =
      std::from_chars(argument->data(), argument->data() + argument->size(), width);
  if (error != std::errc() || end != argument->data() + argument->size()) {
    fail_value(fmt::format("\"{}\" is no width of format()", *argument), "22P02");
  }
  return width;
}

void append_placed(char type, std::optional<std::string_view> argument, CountedText* result) {
  if (!argument && type == 'I') {
    fail_value("null values cannot be formatted as an SQL identifier", "22004");
  }
  if (!argument) {
    *result += type == 'L' ? "NULL" : "";
  } else if (type == 'I') {
    append_identifier(*argument, result);
  } else if (type == 'L') {
    append_literal(*argument, result);
  } else {
    *result += *argument;
  }
}

}  // namespace

void append_identifier(std::string_view name, CountedText* result) {
  const auto starts = [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; };
  const auto goes_on = [&](char c) { return starts(c) || (c >= '0' && c <= '9'); };
  const bool safe =
      !name.empty() && starts(name.front()) && std::all_of(name.begin(), name.end(), goes_on) &&
      !std::binary_search(std::begin(kQuotedKeywords), std::end(kQuotedKeywords), name);
  if (safe) {
    *result += name;
    return;
  }
  *result += '"';
  for (const char c : name) result->append(c == '"' ? 2 : 1, c);
  *result += '"';
}

void append_literal(std::string_view text, CountedText* result) {
  *result += text.find('\\') == std::string_view::npos ? "'" : "E'";
  for (const char c : text) result->append(c == '\'' || c == '\\' ? 2 : 1, c);
  *result += '\'';
}

void append_formatted(std::string_view pattern, size_t argument_count,
                      const TemplateArgument& argument, CountedText* result) {
  TemplateReader reader(pattern);
  size_t next = 1;
  const auto take_argument = [&](size_t position) {
    if (position != 0) next = position;
    if (next > argument_count) fail_value("too few arguments for format()", "22023");
    return argument(next++ - 1);
  };
  while (!reader.done()) {
    const char c = reader.take();
    if (c != '%' || reader.peek() == '%') {
      if (c == '%') reader.take();
      result->push_back(c);
      continue;
    }
    const Placeholder place = reader.placeholder();
    int64_t width = place.width;
    if (place.width_is_argument) width = template_width(take_argument(place.width_argument));
    const size_t before = result->size();
    append_placed(place.type, take_argument(place.argument), result);
    const int64_t placed = count_characters(std::string_view(*result).substr(before));
    const auto missing = static_cast<size_t>(std::max<int64_t>(std::abs(width) - placed, 0));
    require_text_size(result->size() + missing);
    const bool left = place.left || width < 0;
    result->insert(left ? result->size() : before, missing, ' ');
  }
}

}  // namespace diptych::olap
