// Functions of DOUBLEs. What has no finite value fails, as in PostgreSQL.

#include <cmath>

#include "olap/execution/query_failure.h"
#include "olap/execution/row_functions.h"

namespace diptych::olap {

namespace {

// An infinite result of finite arguments is an overflow.
double checked(double result, bool finite_arguments) {
  if (finite_arguments && !std::isfinite(result)) fail_value("value out of range: overflow");
  return result;
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
  return checked(std::pow(base, exponent), std::isfinite(base) && std::isfinite(exponent));
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

}  // namespace

NumberRowFunction find_number_function(Function function) {
  switch (function) {
    case Function::kPower: return power;
    case Function::kSqrt: return square_root;
    case Function::kExp:
      return [](const RowArguments& a) {
        return checked(std::exp(a.number(0)), std::isfinite(a.number(0)));
      };
    case Function::kLn: return logarithm<natural>;
    case Function::kLog10: return logarithm<decadic>;
    case Function::kSign:
      return [](const RowArguments& a) {
        const double x = a.number(0);
        return x > 0 ? 1.0 : x < 0 ? -1.0 : x;
      };
    default: return nullptr;
  }
}

}  // namespace diptych::olap
