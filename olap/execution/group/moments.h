// Moments, PairMoments: the states of variance, standard deviation and covar_pop, which take values
// one by one and can be merged.
//
// A state holds the count, the means, and the sum of products of differences from the means. It is
// computed by Welford's update and Chan's merge, or in two passes over a vector (moments.cpp),
// which is faster. No digits are lost if values are far from zero and near each other: what a mean
// is rounded by is little beside the square of the differences. Beside a covariance it is not, so
// PairMoments takes the differences from the first pair; ShiftedMoments takes those of exact
// numbers exactly.

#pragma once

#include <cmath>
#include <optional>

#include "base/int128.h"
#include "olap/plan.h"

namespace diptych::olap {

// 22003 where the sum of products is infinite although the mean is not. Of an infinite mean it is
// not known whether a value was infinite, too.
void check_in_range(double products, double mean);

struct Moments {
  double count = 0;
  double mean = 0;
  double squares = 0;  // sum of squared differences from the mean

  void add(double value) {
    count += 1;
    const double difference = value - mean;
    mean += difference / count;
    squares += difference * (value - mean);
  }

  void add(const Moments& other) {
    if (other.count == 0) return;
    if (count == 0) {  // of large values the difference squared is infinite, and 0 times it NaN
      *this = other;
      return;
    }
    const double total = count + other.count;
    const double difference = other.mean - mean;
    squares += other.squares + difference * difference * count * other.count / total;
    mean += difference * other.count / total;
    count = total;
  }

  std::optional<double> value(AggregateKind kind) const {
    const bool sample = kind == AggregateKind::kVarSamp || kind == AggregateKind::kStddevSamp;
    const bool root = kind == AggregateKind::kStddevSamp || kind == AggregateKind::kStddevPop;
    const double divisor = sample ? count - 1 : count;
    if (divisor <= 0) return std::nullopt;
    check_in_range(squares, mean);
    return root ? std::sqrt(squares / divisor) : squares / divisor;
  }
};

// The moments of exact numbers, by their differences from the first one. For large numbers near
// each other, the differences are exact as doubles although the numbers are not.
template <class T>
struct ShiftedMoments {
  T first = 0;
  Moments moments;  // of the differences

  static double difference(T a, T b) {
    base::int128_t exact;
    const bool overflow = __builtin_sub_overflow(base::int128_t{a}, base::int128_t{b}, &exact);
    return overflow ? static_cast<double>(a) - static_cast<double>(b) : static_cast<double>(exact);
  }

  void add(T value) {
    if (moments.count == 0) first = value;
    moments.add(difference(value, first));
  }

  // The result for numbers in units of 10^-scale.
  std::optional<double> value(AggregateKind kind, uint8_t scale) const {
    std::optional<double> result = moments.value(kind);
    const auto unit = static_cast<double>(base::power_of_ten(scale));
    const bool root = kind == AggregateKind::kStddevSamp || kind == AggregateKind::kStddevPop;
    if (result) *result /= root ? unit : unit * unit;
    return result;
  }

  void add(const ShiftedMoments& other) {
    if (other.moments.count == 0) return;
    if (moments.count == 0) first = other.first;
    Moments moved = other.moments;
    moved.mean += difference(other.first, first);
    moments.add(moved);
  }
};

struct PairMoments {
  double first_y = 0;
  double first_x = 0;
  double count = 0;
  double mean_y = 0;  // of the differences from the first pair
  double mean_x = 0;
  double products = 0;  // sum of products of differences from the means

  void add(double y, double x) {
    if (count == 0) {
      first_y = y;
      first_x = x;
    }
    count += 1;
    const double difference = y - first_y - mean_y;
    mean_y += difference / count;
    mean_x += (x - first_x - mean_x) / count;
    products += difference * (x - first_x - mean_x);
  }

  void add(const PairMoments& other) {
    if (other.count == 0) return;
    if (count == 0) {
      *this = other;
      return;
    }
    const double total = count + other.count;
    const double y = other.first_y - first_y + (other.mean_y - mean_y);
    const double x = other.first_x - first_x + (other.mean_x - mean_x);
    products += other.products + y * x * count * other.count / total;
    mean_y += y * other.count / total;
    mean_x += x * other.count / total;
    count = total;
  }

  // The covariance of the population.
  std::optional<double> covariance() const {
    if (count == 0) return std::nullopt;
    check_in_range(products, std::isfinite(mean_x) ? mean_y : mean_x);
    return products / count;
  }
};

}  // namespace diptych::olap
