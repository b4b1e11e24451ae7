#include "olap/function.h"

#include <iterator>

namespace diptych::olap {
namespace {

constexpr std::string_view kFunctionNames[] = {
    // clang-format off
    "substring", "ascii", "length", "char_length", "upper", "lower", "trim", "abs", "round",
    "floor", "ceil", "trunc", "extract_year", "extract_quarter", "extract_month", "extract_week",
    "extract_day",
    "extract_isoyear", "extract_decade", "extract_century", "extract_millennium", "extract_doy",
    "extract_dow", "extract_isodow", "extract_hour", "extract_minute", "extract_microseconds",
    "add_months", "add_days", "add_micros", "add_interval", "truncate_millennium",
    "truncate_century", "truncate_decade", "truncate_year", "truncate_quarter", "truncate_month",
    "truncate_week", "truncate_day", "truncate_hour", "truncate_minute", "truncate_second",
    "truncate_millisecond", "count_steps", "after_steps", "single_row",
    "position", "replace", "lpad", "rpad", "left", "right", "reverse", "repeat",
    "split_part", "btrim", "ltrim", "rtrim", "starts_with", "chr", "translate", "initcap",
    "concat_ws", "format", "quote_ident", "quote_literal", "md5", "like", "regex_match",
    "regex_match_any_case", "regexp_replace", "regexp_count", "regexp_substr", "regexp_instr",
    "substring", "regexp_like", "like_escape", "similar_to_escape", "substring", "overlay",
    "to_hex", "to_number", "to_char", "to_char", "power", "sqrt", "exp", "ln", "log",
    "sign", "cbrt", "sin", "cos", "tan", "cot", "asin", "acos", "atan", "atan2", "sinh", "cosh",
    "tanh", "asinh", "acosh", "atanh", "sind", "cosd", "tand", "cotd", "asind", "acosd", "atand",
    "atan2d", "degrees", "radians", "width_bucket", "gcd", "lcm", "factorial", "gcd", "lcm",
    "min_scale", "bit_and", "bit_or",
    "bit_xor", "shift_left", "shift_right", "greatest", "least", "days_between",
    "micros_between", "extract", "make_date", "make_timestamp", "to_timestamp", "to_char",
    "to_timestamp",
    "interval_between", "age", "justify_hours", "justify_days", "justify_interval", "date_bin",
    "date_trunc", "to_char",
    // clang-format on
};
static_assert(std::size(kFunctionNames) == static_cast<size_t>(Function::kToCharInterval) + 1);

}  // namespace

std::string_view function_name(Function function) {
  return kFunctionNames[static_cast<size_t>(function)];
}

}  // namespace diptych::olap
