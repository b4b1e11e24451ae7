// TestValues: a result as sqllogictest compares it: a text for each value, row by row.
//
//   NULL     NULL                         I   whole numbers; what has decimals loses them; 1 and 0
//   text     (empty) where it is; a       R   3 digits after the point
//            character that does not      T   as SQL shows it; decimals keep all digits
//            print is @
//
// That is sqlite's format. In DuckDB's the letters say nothing: a value is as SQL shows it, where
// true is 1, numbers are the same whatever their digits, and doubles within a hundredth.

#pragma once

#include <string>
#include <vector>

#include "base/value.h"
#include "cli/test_script.h"

namespace diptych::cli {

// `type` is one of T, I, R.
std::string test_value(const base::Value& value, char type);

// Whether a value as SQL shows it is the expected one in DuckDB's format: also by <REGEX>: or
// <!REGEX>: and an expression.
enum class Exactness : uint8_t { kExact, kNear };  // of numbers
bool is_expected(const std::string& shown, const std::string& expected, Exactness exactness);

using TestRows = std::vector<std::vector<std::string>>;

// The values in the order in which they are compared.
std::vector<std::string> sorted_values(TestRows rows, TestSort sort);

// "9 values hashing to 3b3a...": MD5 of the values, each with a newline.
std::string hash_line(const std::vector<std::string>& values);

// What a record expects, as values: rows are lines with a tab between values where that makes
// `columns` values of each line; otherwise each line is a value.
std::vector<std::string> expected_values(const std::vector<std::string>& lines, size_t columns,
                                         TestSort sort);

}  // namespace diptych::cli
