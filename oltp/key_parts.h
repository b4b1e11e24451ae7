// Key parts: converts a caller's value for a part of a key to a cell of the index's column.
//
// An integer of any type becomes the column's type, if that holds it. Columns that count in units
// take no integers: 5 is no DECIMAL(8,2), DATE or TIMESTAMP. An integer that the column cannot hold
// exactly is the key of no row, and so is a string that is longer than its column; neither may be
// cut or rounded to the key of another row. Only DOUBLE columns take floating-point numbers, and
// only BOOLEAN columns bool. An enumerator is the integer of its underlying type. What C++ would
// convert in another way (a pointer to bool, a 128-bit integer to int64_t) does not compile.
//
// Cost       none if the types are equal, or if the column's type holds all values of the other.

#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "base/types.h"

namespace diptych::oltp::detail {

// The integer type of which a cell consists; void for other cells.
template <class Cell>
struct IntegerOf {
  using type = void;
};
template <>
struct IntegerOf<int32_t> {
  using type = int32_t;
};
template <>
struct IntegerOf<int64_t> {
  using type = int64_t;
};
template <>
struct IntegerOf<base::Date> {
  using type = int32_t;
};
template <>
struct IntegerOf<base::Timestamp> {
  using type = int64_t;
};
template <uint8_t P, uint8_t S>
struct IntegerOf<base::Decimal<P, S>> {
  using type = int64_t;
};

// True if the cell's integer counts units, and so differs from the cell's number.
template <class Cell>
inline constexpr bool kHasUnits = false;
template <>
inline constexpr bool kHasUnits<base::Date> = true;
template <>
inline constexpr bool kHasUnits<base::Timestamp> = true;
template <uint8_t P, uint8_t S>
inline constexpr bool kHasUnits<base::Decimal<P, S>> = S != 0;

template <class Cell>
inline constexpr bool kIsNullable = false;
template <class Cell>
inline constexpr bool kIsNullable<base::Nullable<Cell>> = true;

// True if a value that is no number and no enumerator can be converted to the part: a string to a
// cell of strings, an object to what it stands for, but nothing by a cast or with a loss.
template <class Part, class Value>
inline constexpr bool kStandsFor = [] {
  if constexpr (std::is_null_pointer_v<Value>) {
    return false;
  } else if constexpr (base::CellTraits<Part>::kType.is_string()) {
    return std::is_convertible_v<const Value&, Part> ||
           std::is_convertible_v<const Value&, std::string_view>;
  } else {
    return std::is_class_v<Value> && std::is_convertible_v<const Value&, Part> &&
           requires(const Value& value) { Part{value}; };
  }
}();

// True if a signed integer type holds the value.
template <class Integer, class Value>
constexpr bool holds(Value value) {
  using Limits = std::numeric_limits<Integer>;
  if constexpr (std::numeric_limits<Value>::digits <= Limits::digits) {
    return true;
  } else if constexpr (std::is_signed_v<Value>) {
    return value >= Value{Limits::min()} && value <= Value{Limits::max()};
  } else {
    return value <= static_cast<Value>(Limits::max());
  }
}

// True if a cell of numbers or booleans, or its nullable one, holds all values of a scalar type
// exactly.
template <class Cell, class Value>
consteval bool holds_all() {
  if constexpr (std::is_enum_v<Value>) {
    return holds_all<Cell, std::underlying_type_t<Value>>();
  } else if constexpr (kIsNullable<Cell>) {
    return holds_all<decltype(Cell::value), Value>();
  } else if constexpr (std::is_same_v<Cell, bool> || !std::is_arithmetic_v<Value>) {
    return std::is_same_v<Cell, Value>;
  } else {
    constexpr bool kOfAKind = std::is_integral_v<Value> || std::is_same_v<Cell, double>;
    return kOfAKind && std::numeric_limits<Value>::digits <= std::numeric_limits<Cell>::digits;
  }
}

// True if the double is the number that it was made of, and not another one near it.
template <class Value>
constexpr bool is_exact(double made, Value value) {
  using Limits = std::numeric_limits<Value>;
  if constexpr (Limits::digits <= std::numeric_limits<double>::digits) {
    return true;
  } else if constexpr (std::is_integral_v<Value>) {
    // The greatest integer may round up to one that its type does not have.
    return made < static_cast<double>(Limits::max()) && static_cast<Value>(made) == value;
  } else {
    return static_cast<Value>(made) == value || value != value;
  }
}

// Converts a value to a part. Sets *fit to false if the part cannot hold it; the result is then
// arbitrary.
template <class Part, class Value>
constexpr Part as_part(const Value& value, bool* fit) {
  if constexpr (std::is_same_v<Part, Value>) {
    return value;
  } else if constexpr (kIsNullable<Part> && !kIsNullable<Value>) {
    return Part(as_part<decltype(Part::value)>(value, fit));
  } else if constexpr (std::is_enum_v<Value>) {
    return as_part<Part>(static_cast<std::underlying_type_t<Value>>(value), fit);
  } else if constexpr (std::is_arithmetic_v<Value> && !std::is_same_v<Part, double>) {
    using Integer = typename IntegerOf<Part>::type;
    static_assert(std::is_integral_v<Value> && !std::is_void_v<Integer>,
                  "a number is the key of a column of numbers, a floating-point one of DOUBLE");
    static_assert(!kHasUnits<Part>,
                  "an integer is no DECIMAL with a scale, DATE or TIMESTAMP: give the key as one");
    *fit = *fit && holds<Integer>(value);
    return Part{static_cast<Integer>(value)};
  } else if constexpr (std::is_arithmetic_v<Value>) {
    const auto part = static_cast<double>(value);
    *fit = *fit && is_exact(part, value);
    return part;
  } else {
    static_assert(kStandsFor<Part, Value>,
                  "a key is made of its columns' cells: a number for a number (of 64 bits at most),"
                  " a string for a string, a bool for a BOOLEAN; Nullable<>{} is NULL");
    return Part(value);
  }
}

// Converts values to a tuple of the first cells of Parts.
template <class Parts, class... Values>
constexpr auto as_parts(bool* fit, const Values&... values) {
  return [&]<size_t... kPart>(std::index_sequence<kPart...>) {
    return std::tuple<std::tuple_element_t<kPart, Parts>...>(
        as_part<std::tuple_element_t<kPart, Parts>>(values, fit)...);
  }(std::index_sequence_for<Values...>());
}

}  // namespace diptych::oltp::detail
