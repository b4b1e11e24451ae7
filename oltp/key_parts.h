// Key parts: what a caller gives for a part of a key, as a cell of the index's column.
//
// An int literal becomes the column's own type, and an integer of any type that the column can
// hold; but not of a column that counts in units: 5 is no DECIMAL(8,2), DATE or TIMESTAMP. One that
// it cannot hold is the key of no row, as a string is that is longer than its column: it must not
// be cut to the key of another row. A floating-point number is taken by DOUBLE only.
//
// Cost       none where the types are the same, or the column's holds all of the value's.

#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

#include "base/types.h"

namespace diptych::oltp::detail {

// The integer that a cell consists of; void: it is something else.
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

// Whether the cell's integer is another number than the cell.
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

// Whether a signed integer type has the value.
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

// *fit becomes false where the part cannot hold the value; what is given is then any cell.
template <class Part, class Value>
constexpr Part as_part(const Value& value, bool* fit) {
  if constexpr (std::is_same_v<Part, Value>) {
    return value;
  } else if constexpr (kIsNullable<Part> && !kIsNullable<Value>) {
    return Part(as_part<decltype(Part::value)>(value, fit));
  } else if constexpr (std::is_arithmetic_v<Value> && !std::is_same_v<Part, double>) {
    using Integer = typename IntegerOf<Part>::type;
    static_assert(std::is_integral_v<Value> && !std::is_void_v<Integer>,
                  "a number is the key of a column of numbers, a floating-point one of DOUBLE");
    static_assert(!kHasUnits<Part>,
                  "an integer is no DECIMAL with a scale, DATE or TIMESTAMP: give the key as one");
    *fit = *fit && holds<Integer>(value);
    return Part{static_cast<Integer>(value)};
  } else {
    return Part(value);
  }
}

// As a tuple of the first of Parts' cells.
template <class Parts, class... Values>
constexpr auto as_parts(bool* fit, const Values&... values) {
  return [&]<size_t... kPart>(std::index_sequence<kPart...>) {
    return std::tuple<std::tuple_element_t<kPart, Parts>...>(
        as_part<std::tuple_element_t<kPart, Parts>>(values, fit)...);
  }(std::index_sequence_for<Values...>());
}

}  // namespace diptych::oltp::detail
