// Functions of numbers, most of them of DOUBLEs. What has no finite value fails, as in PostgreSQL.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <numeric>
#include <utility>

#include "olap/execution/expression/arithmetic_kernels.h"
#include "olap/execution/expression/row_functions.h"
#include "olap/execution/limits/query_failure.h"

namespace diptych::olap {

namespace {

// An infinite result of finite arguments is an overflow.
double checked(double result, bool finite_arguments) {
  if (finite_arguments && !std::isfinite(result)) fail_value(kDoubleOverflow);
  return result;
}

// The same, and a zero that no finite arguments have exactly an underflow.
double checked_scale(double result, bool finite_arguments) {
  if (finite_arguments && result == 0) fail_value(kDoubleUnderflow);
  return checked(result, finite_arguments);
}

double power(const RowArguments& a) {
  const double base = a.number(0);
  const double exponent = a.number(1);
  if (base == 0 && exponent < 0) {
    fail_value("zero raised to a negative power is undefined", "2201F");
  }
  if (base < 0 && std::isfinite(exponent) && std::floor(exponent) != exponent) {
    fail_value("a negative number raised to a non-integer power yields a complex result", "2201F");
  }
  if (base == 0) return std::pow(base, exponent);
  return checked_scale(std::pow(base, exponent), std::isfinite(base) && std::isfinite(exponent));
}

double square_root(const RowArguments& a) {
  if (a.number(0) < 0) fail_value("cannot take square root of a negative number", "2201F");
  return std::sqrt(a.number(0));
}

template <double (*kLogarithm)(double)>
double logarithm(const RowArguments& a) {
  if (a.number(0) == 0) fail_value("cannot take logarithm of zero", "2201E");
  if (a.number(0) < 0) fail_value("cannot take logarithm of a negative number", "2201E");
  return kLogarithm(a.number(0));
}

double natural(double x) {
  return std::log(x);
}
double decadic(double x) {
  return std::log10(x);
}

constexpr double kPi = std::numbers::pi;

// Of an angle, which is not infinite.
template <double (*kFunction)(double)>
double of_angle(const RowArguments& a) {
  if (std::isinf(a.number(0))) fail_value("input is out of range", "22003");
  return kFunction(a.number(0));
}

// Of a sine or cosine.
template <double (*kFunction)(double)>
double of_ratio(const RowArguments& a) {
  if (std::abs(a.number(0)) > 1) fail_value("input is out of range", "22003");
  return kFunction(a.number(0));
}

template <double (*kFunction)(double)>
double of_any(const RowArguments& a) {
  return kFunction(a.number(0));
}

double cotangent(double x) {
  return 1 / std::tan(x);
}

NumberRowFunction find_trigonometric(Function function) {
  switch (function) {
    case Function::kSin: return of_angle<std::sin>;
    case Function::kCos: return of_angle<std::cos>;
    case Function::kTan: return of_angle<std::tan>;
    case Function::kCot: return of_angle<cotangent>;
    case Function::kAsin: return of_ratio<std::asin>;
    case Function::kAcos: return of_ratio<std::acos>;
    case Function::kAtan: return of_any<std::atan>;
    case Function::kAtan2:
      return [](const RowArguments& a) { return std::atan2(a.number(0), a.number(1)); };
    case Function::kSinh: return of_any<std::sinh>;
    case Function::kCosh: return of_any<std::cosh>;
    case Function::kTanh: return of_any<std::tanh>;
    case Function::kAsinh: return of_any<std::asinh>;
    case Function::kAcosh:
      return [](const RowArguments& a) {
        if (a.number(0) < 1) fail_value("input is out of range", "22003");
        return std::acosh(a.number(0));
      };
    case Function::kAtanh: return of_ratio<std::atanh>;
    case Function::kDegrees:
      return [](const RowArguments& a) {
        return checked(a.number(0) / (kPi / 180), std::isfinite(a.number(0)));
      };
    case Function::kRadians:
      return [](const RowArguments& a) {
        const double result = a.number(0) * (kPi / 180);
        if (result == 0 && a.number(0) != 0) fail_value(kDoubleUnderflow);
        return result;
      };
    default: return nullptr;
  }
}

// Without its sign, which INT64_MIN does not bear.
uint64_t magnitude(int64_t number) {
  return number < 0 ? uint64_t{0} - static_cast<uint64_t>(number) : static_cast<uint64_t>(number);
}

int64_t as_result(uint64_t number) {
  if (number > static_cast<uint64_t>(INT64_MAX)) fail_value("bigint out of range", "22003");
  return static_cast<int64_t>(number);
}

int64_t greatest_divisor(const RowArguments& a) {
  return as_result(std::gcd(magnitude(a.integer(0)), magnitude(a.integer(1))));
}

int64_t least_multiple(const RowArguments& a) {
  const uint64_t x = magnitude(a.integer(0));
  const uint64_t y = magnitude(a.integer(1));
  if (x == 0 || y == 0) return 0;
  uint64_t result = 0;
  if (__builtin_mul_overflow(x / std::gcd(x, y), y, &result)) result = UINT64_MAX;
  return as_result(result);
}

using Units = base::uint128_t;

Units units_of(int128_t number) {
  return number < 0 ? -static_cast<Units>(number) : static_cast<Units>(number);
}

int128_t as_decimal_units(Units number) {
  if (number >= static_cast<Units>(kWideDecimalEnd)) fail_value(kDecimalOutOfRange);
  return static_cast<int128_t>(number);
}

Units common_divisor(Units x, Units y) {
  while (y != 0) x = std::exchange(y, x % y);
  return x;
}

int128_t decimal_divisor(const RowArguments& a) {
  return as_decimal_units(common_divisor(units_of(a.wide(0)), units_of(a.wide(1))));
}

int128_t decimal_multiple(const RowArguments& a) {
  const Units x = units_of(a.wide(0));
  const Units y = units_of(a.wide(1));
  if (x == 0 || y == 0) return 0;
  Units result = 0;
  if (__builtin_mul_overflow(x / common_divisor(x, y), y, &result)) fail_value(kDecimalOutOfRange);
  return as_decimal_units(result);
}

int64_t min_scale(const RowArguments& a) {
  int64_t scale = a.integer(1);
  for (int128_t units = a.wide(0); scale > 0 && units % 10 == 0; units /= 10) --scale;
  return scale;
}

// Which of `count` equal parts of [low, high) the number is in, from 1; high may be the lower one.
int64_t width_bucket(const RowArguments& a) {
  const double number = a.number(0);
  const double low = a.number(1);
  const double high = a.number(2);
  const int64_t count = a.integer(3);
  if (count <= 0) fail_value("count must be greater than zero", "2201G");
  if (count >= INT32_MAX) fail_value("integer out of range", "22003");
  if (std::isnan(number) || std::isnan(low) || std::isnan(high)) {
    fail_value("operand, lower bound, and upper bound cannot be NaN", "2201G");
  }
  if (std::isinf(low) || std::isinf(high)) {
    fail_value("lower and upper bounds must be finite", "2201G");
  }
  if (low == high) fail_value("lower bound cannot equal upper bound", "2201G");
  const bool below = low < high ? number < low : number > low;
  if (below) return 0;
  const bool beyond = low < high ? number >= high : number <= high;
  if (beyond) return count + 1;
  const double unit = std::isinf(high - low) ? 0.5 : 1;  // then no difference is infinite
  const double share = (number * unit - low * unit) / (high * unit - low * unit);
  const auto part = static_cast<int64_t>(share * static_cast<double>(count));
  return std::min(part, count - 1) + 1;
}

int128_t factorial(const RowArguments& a) {
  const int64_t number = a.integer(0);
  constexpr int64_t kNumberMax = 33;  // whose factorial has 37 digits
  if (number < 0) fail_value("factorial of a negative number is undefined", "22003");
  if (number > kNumberMax) fail_value(kDecimalOutOfRange);
  int128_t product = 1;
  for (int64_t i = 2; i <= number; ++i) product *= i;
  return product;
}

}  // namespace

WideRowFunction find_wide_number_function(Function function) {
  switch (function) {
    case Function::kFactorial: return factorial;
    case Function::kToNumber: return number_of_text;
    case Function::kDecimalGcd: return decimal_divisor;
    case Function::kDecimalLcm: return decimal_multiple;
    default: return nullptr;
  }
}

IntegerRowFunction find_whole_number_function(Function function) {
  switch (function) {
    case Function::kWidthBucket: return width_bucket;
    case Function::kGcd: return greatest_divisor;
    case Function::kLcm: return least_multiple;
    case Function::kMinScale: return min_scale;
    default: return nullptr;
  }
}

NumberRowFunction find_number_function(Function function) {
  if (const auto found = find_trigonometric(function)) return found;
  if (const auto found = find_degree_function(function)) return found;
  switch (function) {
    case Function::kCbrt: return of_any<std::cbrt>;
    case Function::kPower: return power;
    case Function::kSqrt: return square_root;
    case Function::kExp:
      return [](const RowArguments& a) {
        return checked_scale(std::exp(a.number(0)), std::isfinite(a.number(0)));
      };
    case Function::kLn: return logarithm<natural>;
    case Function::kLog10: return logarithm<decadic>;
    default: return nullptr;
  }
}

}  // namespace diptych::olap
