// Trigonometry in degrees: find_degree_function of row_functions.h.
//
// As in PostgreSQL, exact where the result is 0, 1/2 or 1: functions of radians are divided by
// their own value at such an angle, and other quadrants follow from the first by symmetry.

#include <cmath>
#include <numbers>

#include "olap/execution/expression/row_functions.h"
#include "olap/execution/limits/query_failure.h"

namespace diptych::olap {
namespace {

constexpr double kRadian = std::numbers::pi / 180;

// The same number, which the compiler does not know. Divisors have to come from the functions that
// compute the rest, at run time: the compiler's own arithmetic may round otherwise.
double at_run_time(double x) {
  const volatile double read = x;
  return read;
}

struct KnownValues {
  double sine_30 = std::sin(at_run_time(30) * kRadian);
  double one_minus_cosine_60 = 1 - std::cos(at_run_time(60) * kRadian);
  double arcsine_half = std::asin(at_run_time(0.5));
  double arccosine_half = std::acos(at_run_time(0.5));
  double arctangent_1 = std::atan(at_run_time(1));
};

const KnownValues& known() {
  static const KnownValues kKnown;
  return kKnown;
}

double sine_to_30(double x) {
  return std::sin(x * kRadian) / known().sine_30 / 2;
}

double cosine_to_60(double x) {
  return 1 - (1 - std::cos(x * kRadian)) / known().one_minus_cosine_60 / 2;
}

// From 0 to 90.
double first_sine(double x) {
  return x <= 30 ? sine_to_30(x) : cosine_to_60(90 - x);
}

double first_cosine(double x) {
  return x <= 60 ? cosine_to_60(x) : sine_to_30(90 - x);
}

double first_tangent(double x) {
  return first_sine(x) / first_cosine(x);
}

double first_cotangent(double x) {
  return first_cosine(x) / first_sine(x);
}

double first_arcsine(double x) {
  if (x <= 0.5) return std::asin(x) / known().arcsine_half * 30;
  return 90 - std::acos(x) / known().arccosine_half * 60;
}

double first_arccosine(double x) {
  if (x <= 0.5) return 90 - std::asin(x) / known().arcsine_half * 30;
  return std::acos(x) / known().arccosine_half * 60;
}

double arcsine(double x) {
  return x >= 0 ? first_arcsine(x) : -first_arcsine(-x);
}

double arccosine(double x) {
  return x >= 0 ? first_arccosine(x) : 90 + first_arcsine(-x);
}

// An angle as one of the first quadrant: where it lies there, and the signs that it changes.
struct Quadrant {
  explicit Quadrant(double angle) {
    if (std::isinf(angle)) fail_value("input is out of range", "22003");
    at = std::fmod(angle, 360.0);
    if (at < 0) {
      at = -at;
      sine_sign = -sine_sign;
    }
    if (at > 180) {
      at = 360 - at;
      sine_sign = -sine_sign;
    }
    if (at > 90) {
      at = 180 - at;
      cosine_sign = -cosine_sign;
    }
  }

  double at = 0;
  double sine_sign = 1;
  double cosine_sign = 1;
};

double sine(double x) {
  const Quadrant q(x);
  return q.sine_sign * first_sine(q.at);
}

double cosine(double x) {
  const Quadrant q(x);
  return q.cosine_sign * first_cosine(q.at);
}

double with_plain_zero(double x) {
  return x == 0 ? 0.0 : x;
}

double tangent(double x) {
  const Quadrant q(x);
  return with_plain_zero(q.sine_sign * q.cosine_sign *
                         (first_tangent(q.at) / first_tangent(at_run_time(45))));
}

double cotangent_of_degrees(double x) {
  const Quadrant q(x);
  return with_plain_zero(q.sine_sign * q.cosine_sign *
                         (first_cotangent(q.at) / first_cotangent(at_run_time(45))));
}

template <double (*kFunction)(double)>
double of_degrees(const RowArguments& a) {
  return std::isnan(a.number(0)) ? a.number(0) : kFunction(a.number(0));
}

template <double (*kFunction)(double)>
double degrees_of_ratio(const RowArguments& a) {
  if (std::abs(a.number(0)) > 1) fail_value("input is out of range", "22003");
  return of_degrees<kFunction>(a);
}

}  // namespace

NumberRowFunction find_degree_function(Function function) {
  switch (function) {
    case Function::kSind: return of_degrees<sine>;
    case Function::kCosd: return of_degrees<cosine>;
    case Function::kTand: return of_degrees<tangent>;
    case Function::kCotd: return of_degrees<cotangent_of_degrees>;
    case Function::kAsind: return degrees_of_ratio<arcsine>;
    case Function::kAcosd: return degrees_of_ratio<arccosine>;
    case Function::kAtand:
      return
          [](const RowArguments& a) { return std::atan(a.number(0)) / known().arctangent_1 * 45; };
    case Function::kAtan2d:
      return [](const RowArguments& a) {
        return std::atan2(a.number(0), a.number(1)) / known().arctangent_1 * 45;
      };
    default: return nullptr;
  }
}

}  // namespace diptych::olap
