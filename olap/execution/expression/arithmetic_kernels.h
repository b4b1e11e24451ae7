// Arithmetic kernels: operations on two values, and the loop that runs one over a batch.
//
// An operation computes a result for any operands, without a trap, and returns a fault word whose
// top bit is set if the result is invalid. The loop collects the faults of all slots that it
// touches, unselected ones included, without a branch. Only if a fault was set, the caller looks
// for a live row that caused it (has_live_fault). So checked arithmetic vectorises.

#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>

#include "base/int128.h"
#include "olap/execution/limits/query_failure.h"
#include "olap/execution/vector/exact_sum.h"
#include "olap/execution/vector/vector.h"

namespace diptych::olap {

using base::power_of_ten;
inline constexpr int128_t kWideDecimalEnd = power_of_ten(kWideDecimalDigitsMax);

// Rounds half away from zero, as PostgreSQL rounds numerics. The divisor is not 0.
inline int128_t divide_rounded(int128_t value, int128_t divisor) {
  const int128_t whole = value / divisor;
  int128_t rest = value % divisor;
  if (rest == 0) return whole;
  if (rest < 0) rest = -rest;
  const int128_t size = divisor < 0 ? -divisor : divisor;
  if (rest < size - rest) return whole;
  return (value < 0) == (divisor < 0) ? whole + 1 : whole - 1;
}

// Sets *result to sum * factor / count, rounded half away from zero. Returns false if it does not
// fit. The product may be beyond 128 bits.
inline bool average_scaled(const ExactSum& sum, int128_t factor, int64_t count, int128_t* result) {
  int128_t whole;
  int128_t rest;
  if (!sum.divide(count, &whole, &rest) || __builtin_mul_overflow(whole, factor, result) ||
      __builtin_mul_overflow(rest, factor, &rest)) {
    return false;
  }
  return !__builtin_add_overflow(*result, divide_rounded(rest, count), result);
}

inline constexpr uint64_t kFault = uint64_t{1} << 63;

inline uint64_t fault_if(bool condition) {
  return static_cast<uint64_t>(condition) << 63;
}
// A fault if narrowing changed the value.
inline uint64_t narrow_fault(int64_t wide, int32_t narrow) {
  return fault_if(wide != narrow);
}
inline uint64_t wide_fault(bool overflow, int128_t value) {
  return fault_if(overflow || value >= kWideDecimalEnd || value <= -kWideDecimalEnd);
}

// The error message for an integer or decimal of this type that overflows.
inline const char* out_of_range(PhysicalType type) {
  if (type == PhysicalType::kInt128) return kDecimalOutOfRange;
  return type == PhysicalType::kInt64 ? kBigIntOutOfRange : kIntegerOutOfRange;
}

inline constexpr const char* kDoubleOverflow = "value out of range: overflow";
inline constexpr const char* kDoubleUnderflow = "value out of range: underflow";

// The sum or average of exact numbers as a DECIMAL. An average is multiplied by `factor`, for
// further digits. nullopt if it does not fit.
inline std::optional<int128_t> sum_as_decimal(const ExactSum& sum, int64_t count, bool average,
                                              int128_t factor) {
  int128_t value = sum.low();
  const bool fits = average ? average_scaled(sum, factor, count, &value) : sum.fits();
  if (!fits || wide_fault(false, value) != 0) return std::nullopt;
  return value;
}

// A fault if finite operands give an infinite result.
inline uint64_t overflow_fault(double a, double b, double result) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return fault_if((std::fabs(result) == kInfinity) & (std::fabs(a) < kInfinity) &
                  (std::fabs(b) < kInfinity));
}

struct AddOperation {
  static constexpr bool kCheap = true;
  static const char* message(PhysicalType type) { return out_of_range(type); }
  static uint64_t apply(int32_t a, int32_t b, int32_t* result) {
    const int64_t sum = int64_t{a} + b;
    *result = static_cast<int32_t>(sum);
    return narrow_fault(sum, *result);
  }
  static uint64_t apply(int64_t a, int64_t b, int64_t* result) {
    const auto sum = static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    *result = sum;
    return static_cast<uint64_t>((a ^ sum) & (b ^ sum));
  }
  static uint64_t apply(int128_t a, int128_t b, int128_t* result) {
    const bool overflow = __builtin_add_overflow(a, b, result);
    return wide_fault(overflow, *result);
  }
  static uint64_t apply(double a, double b, double* result) {
    *result = a + b;
    return overflow_fault(a, b, *result);
  }
};

struct SubtractOperation {
  static constexpr bool kCheap = true;
  static const char* message(PhysicalType type) { return out_of_range(type); }
  static uint64_t apply(int32_t a, int32_t b, int32_t* result) {
    const int64_t difference = int64_t{a} - b;
    *result = static_cast<int32_t>(difference);
    return narrow_fault(difference, *result);
  }
  static uint64_t apply(int64_t a, int64_t b, int64_t* result) {
    const auto difference =
        static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
    *result = difference;
    return static_cast<uint64_t>((a ^ b) & (a ^ difference));
  }
  static uint64_t apply(int128_t a, int128_t b, int128_t* result) {
    const bool overflow = __builtin_sub_overflow(a, b, result);
    return wide_fault(overflow, *result);
  }
  static uint64_t apply(double a, double b, double* result) {
    *result = a - b;
    return overflow_fault(a, b, *result);
  }
};

// If all operands of a vector are at least 0 and have at most 31 bits, and no divisor is 0,
// products of BIGINT and remainders are computed 32 bits wide, in SIMD (`narrow`). misfit() is not
// 0 for other operands.
struct MultiplyOperation {
  static constexpr bool kCheap = true;
  static uint64_t misfit(int64_t a, int64_t b) { return static_cast<uint64_t>(a | b) >> 31; }
  static int64_t narrow(int32_t a, int32_t b) { return int64_t{a} * b; }
  static const char* message(PhysicalType type) { return out_of_range(type); }
  static uint64_t apply(int32_t a, int32_t b, int32_t* result) {
    const int64_t product = int64_t{a} * b;
    *result = static_cast<int32_t>(product);
    return narrow_fault(product, *result);
  }
  static uint64_t apply(int64_t a, int64_t b, int64_t* result) {
    return fault_if(__builtin_mul_overflow(a, b, result));
  }
  static uint64_t apply(int64_t a, int64_t b, int128_t* result) {
    *result = static_cast<int128_t>(a) * b;
    return 0;  // 2^126 has 38 digits
  }
  static uint64_t apply(int128_t a, int128_t b, int128_t* result) {
    const auto near_a = static_cast<int64_t>(a);
    const auto near_b = static_cast<int64_t>(b);
    if (near_a == a && near_b == b) [[likely]]
      return apply(near_a, near_b, result);
    const bool overflow = __builtin_mul_overflow(a, b, result);
    return wide_fault(overflow, *result);
  }
  static uint64_t apply(double a, double b, double* result) {
    *result = a * b;
    return overflow_fault(a, b, *result) | fault_if((*result == 0) & (a != 0) & (b != 0));
  }
};

struct DivideOperation {
  static constexpr bool kCheap = false;
  static const char* message(PhysicalType) { return kDivisionByZero; }
  template <class Integer>
  static uint64_t apply(Integer a, Integer b, Integer* result) {
    if (b == 0) return kFault;
    if (b == -1) return SubtractOperation::apply(Integer{0}, a, result);
    *result = a / b;
    return 0;
  }
  static uint64_t apply(double a, double b, double* result) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    *result = a / b;
    const bool zero = (b == 0) & (a == a);  // NaN / 0 is NaN
    const bool underflow = (*result == 0) & (a != 0) & (std::fabs(b) < kInfinity);
    return overflow_fault(a, b, *result) | fault_if(zero | underflow);
  }
};

// The remainder has the sign of the dividend, as in PostgreSQL.
struct ModuloOperation {
  static constexpr bool kCheap = false;
  static const char* message(PhysicalType) { return kDivisionByZero; }
  static uint64_t misfit(int64_t a, int64_t b) {
    return (static_cast<uint64_t>(a) | (static_cast<uint64_t>(b) - 1)) >> 31;
  }
  // The quotient as a double is precise enough: it is a whole number, or at least 1 / b off one.
  static int32_t narrow(int32_t a, int32_t b) {
    return a - static_cast<int32_t>(static_cast<double>(a) / static_cast<double>(b)) * b;
  }
  template <class Integer>
  static uint64_t apply(Integer a, Integer b, Integer* result) {
    if (b == 0) return kFault;
    if constexpr (sizeof(Integer) > sizeof(int64_t)) {
      const auto near_a = static_cast<int64_t>(a);
      const auto near_b = static_cast<int64_t>(b);
      if (near_a == a && near_b == b) [[likely]] {
        *result = near_b == -1 ? 0 : near_a % near_b;
        return 0;
      }
    }
    *result = b == -1 ? 0 : a % b;
    return 0;
  }
};

// Operations on the bits of BIGINTs; of an INT's bits, the lower half is kept.
template <class Function>
struct BitOperation {
  static constexpr bool kCheap = true;
  static const char* message(PhysicalType type) { return out_of_range(type); }
  template <class Integer>
  static uint64_t apply(int64_t a, int64_t b, Integer* result) {
    *result = static_cast<Integer>(Function()(a, b));
    return 0;
  }
};

// Functions of one number, as operations of one operand.
struct AbsoluteOperation {
  static uint64_t apply(double a, double* result) {
    *result = std::fabs(a);  // of -0, too
    return 0;
  }
  template <class Integer>
  static uint64_t apply(Integer a, Integer* result) {
    const uint64_t fault = SubtractOperation::apply(Integer{0}, a, result);
    const bool negative = a < 0;
    *result = negative ? *result : a;
    return negative ? fault : 0;
  }
};

struct SignOperation {
  static uint64_t apply(double a, double* result) {
    *result = static_cast<double>(a > 0) - static_cast<double>(a < 0);
    return 0;
  }
};

template <class Operation, class Operand, class Outcome>
concept HasNarrow = std::is_integral_v<Operand> && std::is_same_v<Operand, Outcome> && requires {
  Operation::narrow(int32_t{}, int32_t{});
} && sizeof(Operation::narrow(int32_t{}, int32_t{})) <= sizeof(Outcome);

// Sets results[i] = a[i] op b[i] for at least the selected slots (if the operation is cheap) or for
// exactly those. Returns the faults of all touched slots. Benchmark: BM_AddInt32, BM_AddInt64,
// BM_MultiplyInt32, BM_MultiplyInt64, BM_MultiplyDecimal, BM_ModuloInt32, BM_ModuloInt64.
template <class Operation, class Operand, class Outcome>
uint64_t apply_operation(const Operand* __restrict a, const Operand* __restrict b,
                         Outcome* __restrict results, const Selection& selection) {
  if constexpr (HasNarrow<Operation, Operand, Outcome>) {
    uint64_t misfit = 0;
    for_slots(selection, [&](uint32_t i) { misfit |= Operation::misfit(a[i], b[i]); });
    if (misfit == 0) {
      for_slots(selection, [&](uint32_t i) {
        results[i] = Operation::narrow(static_cast<int32_t>(a[i]), static_cast<int32_t>(b[i]));
      });
      return 0;
    }
  }
  uint64_t faults = 0;
  if constexpr (Operation::kCheap) {
    for_slots(selection, [&](uint32_t i) { faults |= Operation::apply(a[i], b[i], &results[i]); });
  } else {
    for_selected(selection,
                 [&](uint32_t i) { faults |= Operation::apply(a[i], b[i], &results[i]); });
  }
  return faults & kFault;
}

// True if a selected row that is not null has a fault.
template <class Operation, class Operand, class Outcome>
bool has_live_fault(const Operand* a, const Operand* b, const uint64_t* nulls,
                    const Selection& selection) {
  bool found = false;
  for_selected(selection, [&](uint32_t i) {
    if (nulls != nullptr && bit_at(nulls, i)) return;
    Outcome ignored{};
    found |= (Operation::apply(a[i], b[i], &ignored) & kFault) != 0;
  });
  return found;
}

}  // namespace diptych::olap
