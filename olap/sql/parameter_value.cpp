#include "olap/sql/parameter_value.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "base/check.h"

namespace diptych::olap {
namespace {

constexpr size_t kNumberDigitsMax = 9;  // nobody gives so many parameters

// 0 is none of them, and stands for what has more digits.
size_t parameter_number(std::string_view digits) {
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  if (digits.size() > kNumberDigitsMax) return 0;
  size_t number = 0;
  for (const char digit : digits) number = number * 10 + static_cast<size_t>(digit - '0');
  return number;
}

}  // namespace

// The grammar's number has 32 bits, and is wrong where the text has more.
base::Result<const base::Value*> parameter_value(const SourceText& source,
                                                 const PgQuery__ParamRef& parameter,
                                                 std::span<const base::Value> parameters) {
  std::string_view written =
      std::string_view(source.sql()).substr(static_cast<size_t>(parameter.location));
  DIPTYCH_CHECK(written.starts_with('$'), "the grammar knows where a parameter begins");
  written = written.substr(0, written.find_first_not_of("0123456789", 1));
  const size_t number = parameter_number(written.substr(1));
  if (number != 0 && number <= parameters.size()) return &parameters[number - 1];
  return source.wrong(parameter.location,
                      fmt::format("there is no parameter {}: {} {} given", written,
                                  parameters.size(), parameters.size() == 1 ? "is" : "are"),
                      "42P02");
}

}  // namespace diptych::olap
