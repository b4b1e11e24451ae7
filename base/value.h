// Value: one SQL value whose type is known at run time. For procedure arguments by name, CSV cells,
// query parameters and results; never on the data path.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>

#include "base/int128.h"
#include "base/interval.h"
#include "base/result.h"
#include "base/row_layout.h"
#include "base/types.h"

namespace diptych::base {

// units / 10^scale. Sums and products need the width; a column has at most 18 digits.
struct DecimalValue {
  int128_t units = 0;
  uint8_t scale = 0;
  bool operator==(const DecimalValue&) const = default;
};

// monostate is NULL; int64_t serves INT and BIGINT; std::string serves CHAR, VARCHAR and TEXT.
using Value = std::variant<std::monostate, bool, int64_t, double, DecimalValue, Date, Timestamp,
                           Interval, std::string>;

// NULL by name: a Value of nullptr would be a string that is made of no characters at all.
inline constexpr std::monostate kNull{};

inline bool is_null(const Value& value) {
  return std::holds_alternative<std::monostate>(value);
}

// "42", "3.50", "2026-11-21", "2026-11-21 10:00:00[.123456]", "true"; NULL is "NULL"; doubles in
// the shortest form that reads back equal. Inverse of parse_value for every type.
std::string to_string(const Value& value);
std::string to_string(Date date);
std::string to_string(Timestamp timestamp);
std::string decimal_to_string(int128_t units, uint8_t scale);

// Reads text as a value of the type. Fails with kInvalidArgument and says why: not a number, out of
// range, more digits than the decimal keeps (a value is never rounded silently), no such day, a
// string longer than the column. Blanks around numbers and dates are allowed.
Result<Value> parse_value(const DataType& type, std::string_view text);

// In the forms of docs/sql.md (moment_text.cpp). A date ignores a time of day, and a timestamp its
// zone; a timestamp is rounded to the microsecond.
Result<Date> parse_date(std::string_view text);
Result<Timestamp> parse_timestamp(std::string_view text);

// Year, month (1-12) and day of a date, and back. Proleptic Gregorian calendar.
struct CivilDate {
  int32_t year;
  uint32_t month;
  uint32_t day;
};
CivilDate civil_from_date(Date date);
Date date_from_civil(CivilDate civil);

// A value of another type as one of the column's type, where nothing is lost: 3 as DECIMAL, a date
// as a timestamp, a text as anything that parse_value takes. Otherwise kInvalidArgument.
Result<Value> convert_value(const DataType& type, const Value& value);

// Writes a value into the cell of a row. A long string's cell will point at the value's own bytes:
// the value must outlive the row's use. Fails with kNotNull, or as convert_value does.
Result<void> store_value(const ColumnLayout& column, const Value& value, std::byte* row);

// Reads a cell of a row.
Value load_value(const ColumnLayout& column, const std::byte* row);

// The view of a string cell that is not null.
std::string_view load_string(const ColumnLayout& column, const std::byte* row);
// Whether a string cell is null or no longer than its column allows (base/types.h).
bool string_fits(const ColumnLayout& column, const std::byte* row);

inline bool is_null_cell(const ColumnLayout& column, const std::byte* row) {
  return column.nullable && row[column.null_offset] != std::byte{0};
}

}  // namespace diptych::base
