// A call of an SQL function while it is bound; shared by functions.cpp, date_functions.cpp,
// number_functions.cpp and regex_calls.cpp.

#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "olap/sql/operators.h"

namespace diptych::olap {

// One call, with the data that every function's rule needs.
struct FunctionCall {
  const SourceText& source;
  std::string_view name;
  int64_t offset;
  std::vector<Bound> arguments;

  base::Error wrong_type(const Bound& argument) const {
    return source.wrong(offset,
                        fmt::format("function {}() does not take {}", name, type_name_of(argument)),
                        "42883");
  }
  base::Error wrong_count(std::string_view expected) const {
    return source.wrong(
        offset, fmt::format("function {}() takes {}, not {}", name, expected, arguments.size()),
        "42883");
  }
};

// Makes the call's value and folds its constants.
BoundResult called(ExpressionPtr expression, int64_t offset);

// Whether the value is not NULL.
ExpressionPtr is_known(const Expression& value);

// These convert an argument to a text (untyped ones are texts already), a BIGINT, a number of any
// type, a DATE or TIMESTAMP, or an INTERVAL. They fail with 42883 if it has another type.
base::Result<ExpressionPtr> text_argument(const FunctionCall& call, Bound* argument);
base::Result<ExpressionPtr> integer_argument(const FunctionCall& call, Bound* argument);
base::Result<ExpressionPtr> number_argument(const FunctionCall& call, Bound* argument);
base::Result<ExpressionPtr> moment_argument(const FunctionCall& call, Bound* argument);
base::Result<ExpressionPtr> interval_argument(const FunctionCall& call, Bound* argument);

// A function whose arguments have one type each.
struct Signature {
  std::string_view name;
  Function function;
  base::DataType type;
  std::string_view arguments;    // a letter each: text, integer, double, moment, interVal
  const char* absent = nullptr;  // default of the last text argument; nullptr: it is required
  bool may_be_null = false;      // the result may be NULL although no argument is
};

BoundResult bind_signature(FunctionCall call, const Signature& signature);

using FunctionBinder = BoundResult (*)(FunctionCall);

// The binder of a function of dates, timestamps and intervals; nullptr for other names.
FunctionBinder find_date_function_binder(std::string_view name);
std::vector<std::string> date_function_names();

// The same of numbers.
FunctionBinder find_number_function_binder(std::string_view name);
std::vector<std::string> number_function_names();

// Functions of regular expressions with optional arguments; nullptr for other names.
inline constexpr std::array<std::string_view, 4> kRegexFunctionNames = {
    "regexp_count", "regexp_substr", "regexp_instr", "regexp_replace"};
FunctionBinder find_regex_function_binder(std::string_view name);

// True for functions that PostgreSQL has and this engine has not, which are refused as unsupported
// and not as unknown: by name, and all of a family of types.
bool is_known_elsewhere(std::string_view name);

}  // namespace diptych::olap
