// Casts. Numbers to a narrower type round half away from zero (doubles to whole numbers half to
// even), as in PostgreSQL, and fail where the value does not fit.

#include <algorithm>
#include <cmath>
#include <string>

#include "base/utf8.h"
#include "olap/decimal_text.h"
#include "olap/execution/expression/arithmetic_kernels.h"
#include "olap/execution/expression/expression_nodes.h"
#include "olap/execution/limits/query_failure.h"

namespace diptych::olap {

namespace {

using base::TypeKind;

// `convert(value, &result)` returns a fault word and must not trap, whatever the value.
template <class From, class To, class F>
class CastNode : public ExpressionNode {
 public:
  CastNode(PhysicalType type, NodePtr child, F convert, const char* message, base::SqlState state)
      : ExpressionNode(type),
        child_(std::move(child)),
        convert_(convert),
        message_(message),
        state_(state),
        results_(type) {}

  Vector evaluate(const Batch& input, const Selection& rows) override {
    const Vector vector = child_->evaluate(input, rows);
    const From* const from = vector.as<From>();
    To* const to = results_.values<To>();
    uint64_t faults = 0;
    for_slots(rows, [&](uint32_t i) { faults |= convert_(from[i], &to[i]); });
    if ((faults & kFault) != 0) check_live(vector, rows);
    Vector result = results_.view();
    result.nulls = vector.nulls;
    return result;
  }

 private:
  void check_live(const Vector& vector, const Selection& rows) const {
    for_selected(rows, [&](uint32_t i) {
      To ignored{};
      if (!vector.is_null(i) && (convert_(vector.as<From>()[i], &ignored) & kFault) != 0) {
        fail_value(message_, state_);
      }
    });
  }

  NodePtr child_;
  F convert_;
  const char* message_;
  base::SqlState state_;
  VectorBuffer results_;
};

template <class From, class To, class F>
NodePtr make_node(const base::DataType& to, NodePtr child, F convert,
                  const char* message = kIntegerOutOfRange, base::SqlState state = "22003") {
  return std::make_unique<CastNode<From, To, F>>(physical_type(to), std::move(child), convert,
                                                 message, state);
}

constexpr const char* kDecimalTooLong = "a value does not fit its DECIMAL's digits";

const char* too_large_for(const base::DataType& to) {
  return to.kind == TypeKind::kDecimal ? kDecimalTooLong : out_of_range(physical_type(to));
}

// Scaled integers to ones of more digits behind the point: INT and BIGINT are of scale 0. `end`
// bounds the result: its magnitude stays below (decimals), or the C++ type bounds it (end == 0).
template <class From, class To>
NodePtr make_scale_up_wide(const base::DataType& to, int128_t factor, int128_t end, NodePtr child) {
  return make_node<From, To>(
      to, std::move(child),
      [factor, end](From value, To* result) -> uint64_t {
        int128_t scaled;
        const bool overflow = __builtin_mul_overflow(static_cast<int128_t>(value), factor, &scaled);
        *result = static_cast<To>(scaled);
        const bool outside = end == 0 ? *result != scaled : scaled >= end || scaled <= -end;
        return fault_if(overflow || outside);
      },
      too_large_for(to));
}

// To fewer digits, and then `factor` times as much.
template <class From, class To>
NodePtr make_rounded(const base::DataType& to, const UnitRounding& rounding, int128_t factor,
                     int128_t end, NodePtr child) {
  using Wide = std::conditional_t<sizeof(From) <= 8, int64_t, int128_t>;
  if constexpr (sizeof(From) <= 8 && sizeof(To) == 8) {
    return make_node<From, To>(
        to, std::move(child),
        [rounding, by = static_cast<int64_t>(factor),
         last = end == 0 ? INT64_MAX : static_cast<int64_t>(end - 1)](From value,
                                                                      To* result) -> uint64_t {
          const bool overflow = __builtin_mul_overflow(rounding.apply(Wide{value}), by, result);
          return fault_if(overflow || *result > last || *result < -last);
        },
        too_large_for(to));
  }
  return make_node<From, To>(
      to, std::move(child),
      [rounding, factor, end](From value, To* result) -> uint64_t {
        int128_t scaled;
        const int128_t rounded = rounding.apply(Wide{value});
        const bool overflow = __builtin_mul_overflow(rounded, factor, &scaled);
        *result = static_cast<To>(scaled);
        const bool outside = end == 0 ? *result != scaled : scaled >= end || scaled <= -end;
        return fault_if(overflow || outside);
      },
      too_large_for(to));
}

// From `digits` digits less behind the point, or more where it is negative.
template <class From, class To>
NodePtr make_rescale(const base::DataType& to, int32_t digits, int128_t end, NodePtr child) {
  const auto power = static_cast<uint32_t>(std::abs(digits));
  if (digits >= 0) {
    return make_scale_up_wide<From, To>(to, power_of_ten(power), end, std::move(child));
  }
  return make_rounded<From, To>(to, UnitRounding(power, Function::kRound), 1, end,
                                std::move(child));
}

// The common case: no factor over 18 digits and no value that can leave 64 bits but by overflow.
template <class From>
NodePtr make_scale_up(const base::DataType& to, int64_t factor, int64_t end, NodePtr child) {
  return make_node<From, int64_t>(
      to, std::move(child),
      [factor, end](From value, int64_t* result) -> uint64_t {
        const bool overflow = __builtin_mul_overflow(static_cast<int64_t>(value), factor, result);
        return fault_if(overflow || *result >= end || *result <= -end);
      },
      kDecimalTooLong);
}

// To over 18 digits, all of which 64 bits fit.
template <class From>
NodePtr make_widening(const base::DataType& to, NodePtr child) {
  return make_node<From, int128_t>(to, std::move(child),
                                   [](From value, int128_t* result) -> uint64_t {
                                     *result = value;
                                     return 0;
                                   });
}

template <class From>
NodePtr make_integer_cast(const base::DataType& from, const base::DataType& to, NodePtr child) {
  const uint8_t from_scale = from.kind == TypeKind::kDecimal ? from.scale : uint8_t{0};
  const uint8_t to_scale = to.kind == TypeKind::kDecimal ? to.scale : uint8_t{0};
  const int128_t end = to.kind == TypeKind::kDecimal ? power_of_ten(to.precision) : int128_t{0};
  const int32_t digits = to_scale - from_scale;
  switch (physical_type(to)) {
    case PhysicalType::kInt32:
      return make_rescale<From, int32_t>(to, digits, end, std::move(child));
    case PhysicalType::kInt128:
      if (sizeof(From) <= 8 && digits == 0) return make_widening<From>(to, std::move(child));
      return make_rescale<From, int128_t>(to, digits, end, std::move(child));
    default: break;
  }
  if constexpr (sizeof(From) <= 8) {
    if (end != 0 && digits >= 0 && digits <= base::kDecimalDigitsMax) {
      return make_scale_up<From>(to, static_cast<int64_t>(power_of_ten(digits)),
                                 static_cast<int64_t>(end), std::move(child));
    }
  }
  return make_rescale<From, int64_t>(to, digits, end, std::move(child));
}

template <class From>
NodePtr make_cast_to_double(const base::DataType& from, const base::DataType& to, NodePtr child) {
  const bool scaled = from.kind == TypeKind::kDecimal && from.scale != 0;
  if (!scaled) {
    return make_node<From, double>(to, std::move(child),
                                   [](From value, double* result) -> uint64_t {
                                     *result = static_cast<double>(value);
                                     return 0;
                                   });
  }
  // A quotient of two whole numbers that DOUBLE has is rounded once.
  constexpr int kScaleMax = 22;
  constexpr int64_t kWholeMax = int64_t{1} << 53;
  const auto divisor = static_cast<double>(power_of_ten(from.scale));
  const From whole_max = from.scale <= kScaleMax ? static_cast<From>(kWholeMax) : From{0};
  return make_node<From, double>(
      to, std::move(child),
      [divisor, whole_max, scale = from.scale](From value, double* result) -> uint64_t {
        const bool once = value <= whole_max && value >= -whole_max;
        *result = once ? static_cast<double>(value) / divisor : decimal_as_double(value, scale);
        return 0;
      });
}

// `scaled`, which is `value` by 10^scale, as double_as_decimal rounds the value: where the digits
// behind the 15th cannot turn the rounding, without looking at them.
int128_t rounded_units(double value, double scaled, uint8_t scale, bool* fits) {
  constexpr double kSure = 1e13;    // below it a unit is far above the 15th digit
  constexpr double kError = 1e-14;  // of the product, and of the value's digits behind the 15th
  const double size = std::abs(scaled);
  if (size < kSure) {
    const double whole = std::trunc(size);
    const double rest = size - whole;
    if (std::abs(rest - 0.5) > size * kError) {
      const auto units = static_cast<int64_t>(whole) + (rest > 0.5 ? 1 : 0);
      return scaled < 0 ? -units : units;
    }
  }
  const auto units = double_as_decimal(value, scale);
  *fits = units.has_value();
  return units.value_or(0);
}

template <class To>
NodePtr make_double_to_decimal(const base::DataType& to, NodePtr child) {
  const auto factor = static_cast<double>(power_of_ten(to.scale));
  const int128_t end = power_of_ten(to.precision);
  return make_node<double, To>(
      to, std::move(child),
      [factor, end, scale = to.scale](double value, To* result) -> uint64_t {
        bool fits = true;
        const int128_t units = rounded_units(value, value * factor, scale, &fits);
        fits = fits && units < end && units > -end;
        *result = fits ? static_cast<To>(units) : To{};
        return fault_if(!fits);
      },
      kDecimalTooLong);
}

template <class To>
NodePtr make_double_to_integer(const base::DataType& to, NodePtr child) {
  const double end = std::ldexp(1.0, static_cast<int>(sizeof(To) * 8 - 1));
  return make_node<double, To>(
      to, std::move(child),
      [end](double value, To* result) -> uint64_t {
        const double rounded = std::nearbyint(value);
        const bool fits = rounded < end && rounded >= -end;
        *result = fits ? static_cast<To>(rounded) : To{};
        return fault_if(!fits);
      },
      out_of_range(physical_type(to)));
}

// Any type to text, row by row: not a path for speed.
class TextCastNode : public ExpressionNode {
 public:
  TextCastNode(const base::DataType& from, NodePtr child, const QueryLimits& limits)
      : ExpressionNode(PhysicalType::kString),
        from_(from),
        child_(std::move(child)),
        results_(PhysicalType::kString),
        texts_(limits) {}

  Vector evaluate(const Batch& input, const Selection& rows) override {
    texts_.start();
    const Vector vector = child_->evaluate(input, rows);
    auto* const texts = results_.values<base::StringRef>();
    for_selected(rows, [&](uint32_t i) {
      if (vector.is_null(i)) return;
      texts[i] = texts_.keep(base::StringRef(text_of(vector, i)));
    });
    Vector result = results_.view();
    result.nulls = vector.nulls;
    result.string_life = StringLife::kBatch;
    return result;
  }

 private:
  std::string_view text_of(const Vector& vector, uint32_t i) {
    switch (from_.kind) {
      case TypeKind::kInt: text_ = std::to_string(vector.as<int32_t>()[i]); break;
      case TypeKind::kBigInt: text_ = std::to_string(vector.as<int64_t>()[i]); break;
      case TypeKind::kDecimal:
        text_ = base::decimal_to_string(
            is_wide(from_) ? vector.as<int128_t>()[i] : vector.as<int64_t>()[i], from_.scale);
        break;
      case TypeKind::kDouble: text_ = base::to_string(base::Value(vector.as<double>()[i])); break;
      case TypeKind::kBoolean: text_ = vector.as<uint8_t>()[i] != 0 ? "true" : "false"; break;
      case TypeKind::kDate: text_ = base::to_string(base::Date{vector.as<int32_t>()[i]}); break;
      case TypeKind::kTimestamp:
        text_ = base::to_string(base::Timestamp{vector.as<int64_t>()[i]});
        break;
      case TypeKind::kInterval: text_ = base::to_string(vector.as<base::Interval>()[i]); break;
      default: text_ = vector.as<base::StringRef>()[i].view(); break;
    }
    return text_;
  }

  base::DataType from_;
  NodePtr child_;
  VectorBuffer results_;
  VectorTexts texts_;
  std::string text_;
};

// A text cut to its new type's length, for a CHAR without the blanks at its end; the bytes stay
// where they are.
NodePtr make_text_cut(const base::DataType& to, NodePtr child) {
  if (to == base::DataType{TypeKind::kVarchar}) return child;
  class CutNode : public ExpressionNode {
   public:
    CutNode(const base::DataType& to, NodePtr text)
        : ExpressionNode(PhysicalType::kString),
          to_(to),
          child_(std::move(text)),
          results_(PhysicalType::kString) {}
    Vector evaluate(const Batch& input, const Selection& rows) override {
      const Vector vector = child_->evaluate(input, rows);
      const auto* const from = vector.as<base::StringRef>();
      auto* const to_texts = results_.values<base::StringRef>();
      for_selected(rows, [&](uint32_t i) {
        if (!vector.is_null(i)) to_texts[i] = base::StringRef(cut(from[i].view()));
      });
      Vector result = results_.view();
      result.nulls = vector.nulls;
      result.string_life = vector.string_life;
      return result;
    }

   private:
    std::string_view cut(std::string_view text) const {
      if (to_.length != 0) text = base::utf8_prefix(text, to_.length);
      return to_.kind == TypeKind::kChar ? base::without_trailing_blanks(text) : text;
    }
    base::DataType to_;
    NodePtr child_;
    VectorBuffer results_;
  };
  return std::make_unique<CutNode>(to, std::move(child));
}

template <class From>
NodePtr make_rounded_decimal(const base::DataType& to, const UnitRounding& rounding,
                             int128_t factor, NodePtr child) {
  const int128_t end = power_of_ten(to.precision);
  if (is_wide(to)) {
    return make_rounded<From, int128_t>(to, rounding, factor, end, std::move(child));
  }
  return make_rounded<From, int64_t>(to, rounding, factor, end, std::move(child));
}

NodePtr make_cast_from_double(const base::DataType& to, NodePtr child) {
  const bool decimal = to.kind == TypeKind::kDecimal;
  switch (physical_type(to)) {
    case PhysicalType::kInt32: return make_double_to_integer<int32_t>(to, std::move(child));
    case PhysicalType::kInt64:
      return decimal ? make_double_to_decimal<int64_t>(to, std::move(child))
                     : make_double_to_integer<int64_t>(to, std::move(child));
    case PhysicalType::kInt128: return make_double_to_decimal<int128_t>(to, std::move(child));
    default: fail_plan("a DOUBLE is cast to a number or a text");
  }
}

NodePtr make_number_cast(const base::DataType& from, const base::DataType& to, NodePtr child) {
  const bool to_number = to.kind == TypeKind::kInt || to.kind == TypeKind::kBigInt ||
                         to.kind == TypeKind::kDecimal || to.kind == TypeKind::kDouble;
  require_plan(to_number, "a number is cast to a number or a text");
  return with_physical_type(child->type(), [&](auto value) -> NodePtr {
    using From = decltype(value);
    if constexpr (std::is_same_v<From, base::StringRef> || std::is_same_v<From, base::Interval>) {
      fail_plan("a number is cast");
    } else if constexpr (std::is_same_v<From, double>) {
      return make_cast_from_double(to, std::move(child));
    } else {
      if (to.kind == TypeKind::kDouble) {
        return make_cast_to_double<From>(from, to, std::move(child));
      }
      return make_integer_cast<From>(from, to, std::move(child));
    }
  });
}

// A text as any other type, row by row.
class ParseNode : public ExpressionNode {
 public:
  ParseNode(const base::DataType& to, NodePtr child)
      : ExpressionNode(physical_type(to)),
        to_(to),
        child_(std::move(child)),
        results_(physical_type(to)) {}

  Vector evaluate(const Batch& input, const Selection& rows) override {
    const Vector vector = child_->evaluate(input, rows);
    for_selected(rows, [&](uint32_t i) {
      if (vector.is_null(i)) return;
      const std::string_view text = vector.as<base::StringRef>()[i].view();
      const auto value = to_.kind == TypeKind::kDecimal ? cast_to_decimal(to_, text)
                                                        : base::parse_value(to_, text);
      if (!value.ok()) fail_value(value.error().message, value.error().state);
      write(*value, i);
    });
    Vector result = results_.view();
    result.nulls = vector.nulls;
    return result;
  }

 private:
  void write(const base::Value& value, uint32_t i) {
    switch (to_.kind) {
      case TypeKind::kInt:
        results_.values<int32_t>()[i] = static_cast<int32_t>(std::get<int64_t>(value));
        break;
      case TypeKind::kBigInt: results_.values<int64_t>()[i] = std::get<int64_t>(value); break;
      case TypeKind::kDecimal: {
        const int128_t units = std::get<base::DecimalValue>(value).units;
        if (is_wide(to_)) {
          results_.values<int128_t>()[i] = units;
        } else {
          results_.values<int64_t>()[i] = static_cast<int64_t>(units);
        }
        break;
      }
      case TypeKind::kDouble: results_.values<double>()[i] = std::get<double>(value); break;
      case TypeKind::kBoolean:
        results_.values<uint8_t>()[i] = static_cast<uint8_t>(std::get<bool>(value));
        break;
      case TypeKind::kDate: results_.values<int32_t>()[i] = std::get<base::Date>(value).days; break;
      case TypeKind::kInterval:
        results_.values<base::Interval>()[i] = std::get<base::Interval>(value);
        break;
      default: results_.values<int64_t>()[i] = std::get<base::Timestamp>(value).micros; break;
    }
  }

  base::DataType to_;
  NodePtr child_;
  VectorBuffer results_;
};

NodePtr make_boolean_cast(const base::DataType& from, const base::DataType& to, NodePtr child) {
  if (to.kind == TypeKind::kInt) {
    return make_node<uint8_t, int32_t>(to, std::move(child), [](uint8_t value, int32_t* result) {
      *result = value != 0 ? 1 : 0;
      return uint64_t{0};
    });
  }
  require_plan(from.kind == TypeKind::kInt && to.kind == TypeKind::kBoolean, "no such cast");
  return make_node<int32_t, uint8_t>(to, std::move(child), [](int32_t value, uint8_t* result) {
    *result = value != 0 ? 1 : 0;
    return uint64_t{0};
  });
}

NodePtr make_date_to_timestamp(const base::DataType& to, NodePtr child) {
  return make_node<int32_t, int64_t>(
      to, std::move(child),
      [](int32_t days, int64_t* micros) -> uint64_t {
        return fault_if(__builtin_mul_overflow(int64_t{days}, base::kMicrosPerDay, micros));
      },
      "timestamp out of range", "22008");
}

NodePtr make_timestamp_to_date(const base::DataType& to, NodePtr child) {
  return make_node<int64_t, int32_t>(
      to, std::move(child), [](int64_t micros, int32_t* days) -> uint64_t {
        const int64_t whole = micros / base::kMicrosPerDay;
        *days = static_cast<int32_t>(whole - (micros % base::kMicrosPerDay < 0 ? 1 : 0));
        return 0;
      });
}

}  // namespace

NodePtr make_decimal_rounding(const base::DataType& to, const UnitRounding& rounding,
                              uint32_t zeros, NodePtr child) {
  const int128_t factor = power_of_ten(zeros);
  if (child->type() == PhysicalType::kInt128) {
    return make_rounded_decimal<int128_t>(to, rounding, factor, std::move(child));
  }
  require_plan(child->type() == PhysicalType::kInt64 && to.kind == TypeKind::kDecimal,
               "a DECIMAL is rounded to a DECIMAL");
  return make_rounded_decimal<int64_t>(to, rounding, factor, std::move(child));
}

NodePtr make_cast(const base::DataType& from, const base::DataType& to, NodePtr child,
                  const QueryLimits& limits) {
  if (to.is_string()) {
    if (from.is_string()) return make_text_cut(to, std::move(child));
    return make_text_cut(to, std::make_unique<TextCastNode>(from, std::move(child), limits));
  }
  if (from.kind == to.kind && from.kind != TypeKind::kDecimal) return child;
  if (from.kind == TypeKind::kInt && to.kind == TypeKind::kBigInt) {
    return make_widening(std::move(child), PhysicalType::kInt64);
  }
  if (from.kind == TypeKind::kDate && to.kind == TypeKind::kTimestamp) {
    return make_date_to_timestamp(to, std::move(child));
  }
  if (from.kind == TypeKind::kTimestamp && to.kind == TypeKind::kDate) {
    return make_timestamp_to_date(to, std::move(child));
  }
  if (from.is_string()) return std::make_unique<ParseNode>(to, std::move(child));
  if (from.kind == TypeKind::kBoolean || to.kind == TypeKind::kBoolean) {
    return make_boolean_cast(from, to, std::move(child));
  }
  const bool from_number =
      from.kind != TypeKind::kDate && from.kind != TypeKind::kTimestamp && !from.is_string();
  require_plan(from_number, "no such cast");
  return make_number_cast(from, to, std::move(child));
}

}  // namespace diptych::olap
