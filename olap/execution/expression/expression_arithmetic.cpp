// Arithmetic on integers, decimals and doubles, and the functions of numbers.

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "olap/execution/expression/arithmetic_kernels.h"
#include "olap/execution/expression/expression_nodes.h"
#include "olap/execution/expression/row_node.h"
#include "olap/execution/limits/query_failure.h"

namespace diptych::olap {

namespace {

template <class Operation, class Operand, class Outcome>
class ArithmeticNode : public ExpressionNode {
 public:
  ArithmeticNode(PhysicalType type, NodePtr left, NodePtr right)
      : ExpressionNode(type), left_(std::move(left)), right_(std::move(right)), results_(type) {}

  Vector evaluate(const Batch& input, const Selection& rows) override {
    const Vector a = left_->evaluate(input, rows);
    const Vector b = right_->evaluate(input, rows);
    Vector result = results_.view();
    result.nulls = merge_nulls(a, b, rows.slots, results_.nulls());
    const auto* const left = a.as<Operand>();
    const auto* const right = b.as<Operand>();
    const uint64_t faults =
        apply_operation<Operation>(left, right, results_.values<Outcome>(), rows);
    if (faults != 0 &&
        has_live_fault<Operation, Operand, Outcome>(left, right, result.nulls, rows)) {
      fail(left, right, result.nulls, rows);
    }
    return result;
  }

 private:
  // Tells a division by zero from an overflowing one.
  [[noreturn]] void fail(const Operand* left, const Operand* right, const uint64_t* nulls,
                         const Selection& rows) {
    bool zero = false;
    bool underflow = false;
    for_selected(rows, [&](uint32_t i) {
      Outcome outcome{};
      if (nulls != nullptr && bit_at(nulls, i)) return;
      if (Operation::apply(left[i], right[i], &outcome) == 0) return;
      zero |= right[i] == Operand{};
      underflow |= outcome == Outcome{};
    });
    const bool divides = Operation::message(type()) == kDivisionByZero;
    if (type() == PhysicalType::kDouble && !(divides && zero)) {
      fail_value(underflow ? kDoubleUnderflow : kDoubleOverflow);
    }
    fail_value(divides && !zero ? out_of_range(type()) : Operation::message(type()));
  }

  NodePtr left_;
  NodePtr right_;
  VectorBuffer results_;
};

template <class From, class To>
class WideningNode : public ExpressionNode {
 public:
  WideningNode(PhysicalType type, NodePtr child)
      : ExpressionNode(type), child_(std::move(child)), results_(type) {}

  Vector evaluate(const Batch& input, const Selection& rows) override {
    const Vector vector = child_->evaluate(input, rows);
    const auto* const from = vector.as<From>();
    auto* const to = results_.values<To>();
    for_slots(rows, [&](uint32_t i) { to[i] = static_cast<To>(from[i]); });
    Vector result = results_.view();
    result.nulls = vector.nulls;
    return result;
  }

 private:
  NodePtr child_;
  VectorBuffer results_;
};

template <class Operation, class Operand, class Outcome = Operand>
NodePtr make_node(PhysicalType type, std::vector<NodePtr> children) {
  return std::make_unique<ArithmeticNode<Operation, Operand, Outcome>>(type, std::move(children[0]),
                                                                       std::move(children[1]));
}

template <class Operation>
NodePtr make_sum_like(PhysicalType type, std::vector<NodePtr> children) {
  if (type == PhysicalType::kDouble) {
    return make_node<Operation, double>(type, std::move(children));
  }
  for (NodePtr& child : children) child = make_widening(std::move(child), type);
  if (type == PhysicalType::kInt32) {
    return make_node<Operation, int32_t>(type, std::move(children));
  }
  if (type == PhysicalType::kInt64) {
    return make_node<Operation, int64_t>(type, std::move(children));
  }
  require_plan(type == PhysicalType::kInt128, "arithmetic is on integers, DECIMAL or DOUBLE");
  return make_node<Operation, int128_t>(type, std::move(children));
}

// 0 - x, with the faults of it.
NodePtr make_negation(PhysicalType type, std::vector<NodePtr> children) {
  base::DataType zero_type;
  base::Value zero;
  if (type == PhysicalType::kDouble) {
    zero_type.kind = base::TypeKind::kDouble;
    zero = -0.0;
  } else {
    const bool small = type == PhysicalType::kInt32;
    zero_type.kind = small ? base::TypeKind::kInt : base::TypeKind::kBigInt;
    zero = int64_t{0};
  }
  children.insert(children.begin(), make_literal(zero_type, zero));
  return make_sum_like<SubtractOperation>(type, std::move(children));
}

// Those of 64 bits.
constexpr uint32_t kShortPowers = 20;
constexpr auto kPowersOfTen = [] {
  std::array<uint64_t, kShortPowers> powers{};
  for (uint32_t i = 0; i < kShortPowers; ++i) powers[i] = static_cast<uint64_t>(power_of_ten(i));
  return powers;
}();

// value * 10^digits / divisor, rounded half away from zero, where all are short. Without branches:
// signs, and which way it rounds, are as good as random.
uint64_t divide_short(int64_t value, uint32_t digits, int64_t divisor, int128_t* result) {
  const auto size = [](int64_t x) {
    const auto sign = static_cast<uint64_t>(x >> 63);
    return (static_cast<uint64_t>(x) ^ sign) - sign;
  };
  const uint64_t by = size(divisor);
  const uint64_t whole = size(value) / by;
  const uint64_t rest = size(value) - whole * by;
  // rest < by: this quotient is less than 10^digits.
  const base::uint128_t product = base::uint128_t{rest} * kPowersOfTen[digits];
  uint64_t digits_behind = static_cast<uint64_t>(product / by);
  const uint64_t last_rest = static_cast<uint64_t>(product) - digits_behind * by;
  digits_behind += static_cast<uint64_t>(last_rest >= by - last_rest);
  const auto quotient =
      static_cast<int128_t>(base::uint128_t{whole} * kPowersOfTen[digits] + digits_behind);
  const int128_t sign = (value ^ divisor) >> 63;
  *result = (quotient ^ sign) - sign;
  return fault_if(quotient >= kWideDecimalEnd);
}

// The same of any numbers; the product may need 256 bits, so that the digits come out a few at a
// time. A fault where the quotient does not fit.
uint64_t divide_scaled(int128_t value, uint32_t digits, int128_t divisor, int128_t* result) {
  __extension__ using Unsigned = unsigned __int128;
  if (divisor == 0) return kFault;
  const auto short_value = static_cast<int64_t>(value);
  const auto short_divisor = static_cast<int64_t>(divisor);
  if (digits < kShortPowers && short_value == value && short_divisor == divisor) {
    return divide_short(short_value, digits, short_divisor, result);
  }
  const bool negative = (value < 0) != (divisor < 0);
  const auto size = [](int128_t x) { return x < 0 ? -static_cast<Unsigned>(x) : Unsigned(x); };
  const Unsigned by = size(divisor);
  Unsigned quotient = size(value) / by;
  Unsigned rest = size(value) % by;
  const Unsigned room = ~Unsigned{0} / by;  // rest < by: rest * 10^n fits while 10^n is within
  uint32_t step = 0;
  while (step < 18 && kPowersOfTen[step + 1] <= room) ++step;
  bool overflow = false;
  for (uint32_t left = digits; left != 0;) {
    if (step == 0) {  // by at most 10^38: twice as much fits, ten times does not
      Unsigned tenfold = 0;
      unsigned digit = 0;
      for (int i = 0; i < 10; ++i) {
        tenfold += rest;
        if (tenfold < by) continue;
        tenfold -= by;
        ++digit;
      }
      rest = tenfold;
      overflow |= __builtin_mul_overflow(quotient, Unsigned{10}, &quotient);
      overflow |= __builtin_add_overflow(quotient, digit, &quotient);
      --left;
      continue;
    }
    const uint32_t now = std::min(left, step);
    const Unsigned factor = kPowersOfTen[now];
    rest *= factor;
    overflow |= __builtin_mul_overflow(quotient, factor, &quotient);
    overflow |= __builtin_add_overflow(quotient, rest / by, &quotient);
    rest %= by;
    left -= now;
  }
  if (rest >= by - rest && rest != 0) overflow |= __builtin_add_overflow(quotient, 1, &quotient);
  overflow |= quotient >= static_cast<Unsigned>(kWideDecimalEnd);
  *result = negative ? -static_cast<int128_t>(quotient) : static_cast<int128_t>(quotient);
  return fault_if(overflow);
}

// a * b / 10^digits, rounded half away from zero; the product may need 256 bits.
uint64_t multiply_scaled(int128_t a, uint32_t digits, int128_t b, int128_t* result) {
  __extension__ using Unsigned = unsigned __int128;
  int128_t product;
  if (!__builtin_mul_overflow(a, b, &product)) {
    *result = divide_rounded(product, power_of_ten(digits));
    return wide_fault(false, *result);
  }
  const auto size = [](int128_t x) { return x < 0 ? -static_cast<Unsigned>(x) : Unsigned(x); };
  const auto low = [](Unsigned x) { return static_cast<uint64_t>(x); };
  const auto high = [](Unsigned x) { return static_cast<uint64_t>(x >> 64); };
  const Unsigned x = size(a);
  const Unsigned y = size(b);
  const Unsigned lows = Unsigned{low(x)} * low(y) + low(Unsigned(power_of_ten(digits) / 2));
  const Unsigned cross = Unsigned{low(x)} * high(y);
  const Unsigned other_cross = Unsigned{high(x)} * low(y);
  const Unsigned middle = Unsigned{high(lows)} + low(cross) + low(other_cross) +
                          high(Unsigned(power_of_ten(digits) / 2));
  const Unsigned highs =
      Unsigned{high(x)} * high(y) + high(cross) + high(other_cross) + high(middle);
  uint64_t limbs[] = {low(lows), low(middle), low(highs), high(highs)};
  for (uint32_t left = digits; left != 0;) {
    const uint32_t now = std::min(left, 18U);
    const auto by = static_cast<uint64_t>(power_of_ten(now));
    Unsigned rest = 0;
    for (int i = 3; i >= 0; --i) {
      const Unsigned part = (rest << 64) | limbs[i];
      limbs[i] = low(part / by);
      rest = part % by;
    }
    left -= now;
  }
  const auto quotient = static_cast<int128_t>((Unsigned{limbs[1]} << 64) | limbs[0]);
  *result = (a < 0) != (b < 0) ? -quotient : quotient;
  return wide_fault(limbs[2] != 0 || limbs[3] != 0 || (limbs[1] >> 63) != 0, quotient);
}

// A quotient, or a product that has fewer digits after the point than its factors together.
class ScaledDecimalNode : public ExpressionNode {
 public:
  using Operation = uint64_t (*)(int128_t a, uint32_t digits, int128_t b, int128_t* result);

  ScaledDecimalNode(Operation operation, uint32_t digits, std::vector<NodePtr> children)
      : ExpressionNode(PhysicalType::kInt128),
        operation_(operation),
        digits_(digits),
        children_(std::move(children)),
        results_(PhysicalType::kInt128) {}

  Vector evaluate(const Batch& input, const Selection& rows) override {
    const Vector a = children_[0]->evaluate(input, rows);
    const Vector b = children_[1]->evaluate(input, rows);
    Vector result = results_.view();
    result.nulls = merge_nulls(a, b, rows.slots, results_.nulls());
    for_selected(rows, [&](uint32_t i) {
      if (result.is_null(i)) return;
      const int128_t by = b.as<int128_t>()[i];
      const uint64_t fault =
          operation_(a.as<int128_t>()[i], digits_, by, &results_.values<int128_t>()[i]);
      if (fault != 0) fail_value(by == 0 ? kDivisionByZero : kDecimalOutOfRange);
    });
    return result;
  }

 private:
  Operation operation_;
  uint32_t digits_;
  std::vector<NodePtr> children_;
  VectorBuffer results_;
};

template <class Integer>
NodePtr make_integer_division(ExpressionKind kind, PhysicalType type,
                              std::vector<NodePtr> children) {
  for (NodePtr& child : children) child = make_widening(std::move(child), type);
  if (kind == ExpressionKind::kModulo) {
    return make_node<ModuloOperation, Integer>(type, std::move(children));
  }
  return make_node<DivideOperation, Integer>(type, std::move(children));
}

// By the remainder of wide decimals of one scale, and by quotients of any scales.
NodePtr make_decimal_division(const Expression& expression, std::vector<NodePtr> children) {
  for (NodePtr& child : children) child = make_widening(std::move(child), PhysicalType::kInt128);
  if (expression.kind == ExpressionKind::kModulo) {
    return make_node<ModuloOperation, int128_t>(PhysicalType::kInt128, std::move(children));
  }
  const int digits = expression.type.scale + expression.children[1]->type.scale -
                     expression.children[0]->type.scale;
  require_plan(digits >= 0, "a quotient's scale is at least its dividend's");
  return std::make_unique<ScaledDecimalNode>(divide_scaled, static_cast<uint32_t>(digits),
                                             std::move(children));
}

NodePtr make_product(const Expression& expression, std::vector<NodePtr> children) {
  const PhysicalType type = physical_type(expression.type);
  const int digits = expression.children[0]->type.scale + expression.children[1]->type.scale -
                     expression.type.scale;
  if (digits > 0) {
    for (NodePtr& child : children) child = make_widening(std::move(child), PhysicalType::kInt128);
    require_plan(type == PhysicalType::kInt128, "a product is rounded to a wide decimal");
    return std::make_unique<ScaledDecimalNode>(multiply_scaled, static_cast<uint32_t>(digits),
                                               std::move(children));
  }
  if (type == PhysicalType::kInt128 && children[0]->type() == PhysicalType::kInt64 &&
      children[1]->type() == PhysicalType::kInt64) {
    return make_node<MultiplyOperation, int64_t, int128_t>(type, std::move(children));
  }
  return make_sum_like<MultiplyOperation>(type, std::move(children));
}

}  // namespace

NodePtr make_widening(NodePtr child, PhysicalType type) {
  if (child->type() == type) return child;
  const PhysicalType from = child->type();
  if (from == PhysicalType::kInt32 && type == PhysicalType::kInt64) {
    return std::make_unique<WideningNode<int32_t, int64_t>>(type, std::move(child));
  }
  if (from == PhysicalType::kInt32 && type == PhysicalType::kInt128) {
    return std::make_unique<WideningNode<int32_t, int128_t>>(type, std::move(child));
  }
  require_plan(from == PhysicalType::kInt64 && type == PhysicalType::kInt128,
               "the operands of arithmetic have equal types");
  return std::make_unique<WideningNode<int64_t, int128_t>>(type, std::move(child));
}

NodePtr make_arithmetic(const Expression& expression, std::vector<NodePtr> children,
                        const QueryLimits& limits) {
  const PhysicalType type = physical_type(expression.type);
  if (type == PhysicalType::kInterval) {
    return make_interval_arithmetic(expression.kind, std::move(children), limits);
  }
  switch (expression.kind) {
    case ExpressionKind::kNegate: return make_negation(type, std::move(children));
    case ExpressionKind::kAdd: return make_sum_like<AddOperation>(type, std::move(children));
    case ExpressionKind::kSubtract:
      return make_sum_like<SubtractOperation>(type, std::move(children));
    case ExpressionKind::kMultiply: return make_product(expression, std::move(children));
    default: break;
  }
  switch (type) {
    case PhysicalType::kInt32:
      return make_integer_division<int32_t>(expression.kind, type, std::move(children));
    case PhysicalType::kInt64:
      return make_integer_division<int64_t>(expression.kind, type, std::move(children));
    case PhysicalType::kInt128: return make_decimal_division(expression, std::move(children));
    default:
      require_plan(type == PhysicalType::kDouble && expression.kind == ExpressionKind::kDivide,
                   "division is of integers, DOUBLE or wide DECIMAL");
      return make_node<DivideOperation, double>(type, std::move(children));
  }
}

namespace {

// One function of a number, row by row: results[i] = function(values[i]).
template <class T, class F>
class NumberNode : public ExpressionNode {
 public:
  NumberNode(PhysicalType type, NodePtr child, F function)
      : ExpressionNode(type), child_(std::move(child)), function_(function), results_(type) {}

  Vector evaluate(const Batch& input, const Selection& rows) override {
    const Vector vector = child_->evaluate(input, rows);
    const T* const from = vector.as<T>();
    T* const to = results_.values<T>();
    for_selected(rows, [&](uint32_t i) {
      if (!vector.is_null(i)) to[i] = function_(from[i]);
    });
    Vector result = results_.view();
    result.nulls = vector.nulls;
    return result;
  }

 private:
  NodePtr child_;
  F function_;
  VectorBuffer results_;
};

// An operation of one number, which is cheap and cannot trap.
template <class Operation, class T>
class OneNumberNode : public ExpressionNode {
 public:
  explicit OneNumberNode(NodePtr child)
      : ExpressionNode(child->type()), child_(std::move(child)), results_(type()) {}

  Vector evaluate(const Batch& input, const Selection& rows) override {
    const Vector vector = child_->evaluate(input, rows);
    const T* const from = vector.as<T>();
    T* const to = results_.values<T>();
    uint64_t faults = 0;
    for_slots(rows, [&](uint32_t i) { faults |= Operation::apply(from[i], &to[i]); });
    if ((faults & kFault) != 0) require_no_live_fault(vector, rows);
    Vector result = results_.view();
    result.nulls = vector.nulls;
    return result;
  }

 private:
  void require_no_live_fault(const Vector& vector, const Selection& rows) {
    for_selected(rows, [&](uint32_t i) {
      T ignored;
      const bool fault = (Operation::apply(vector.as<T>()[i], &ignored) & kFault) != 0;
      if (fault && !vector.is_null(i)) fail_value(out_of_range(type()));
    });
  }

  NodePtr child_;
  VectorBuffer results_;
};

NodePtr make_absolute(NodePtr child) {
  switch (child->type()) {
    case PhysicalType::kInt32:
      return std::make_unique<OneNumberNode<AbsoluteOperation, int32_t>>(std::move(child));
    case PhysicalType::kInt64:
      return std::make_unique<OneNumberNode<AbsoluteOperation, int64_t>>(std::move(child));
    case PhysicalType::kInt128:
      return std::make_unique<OneNumberNode<AbsoluteOperation, int128_t>>(std::move(child));
    case PhysicalType::kDouble:
      return std::make_unique<OneNumberNode<AbsoluteOperation, double>>(std::move(child));
    default: fail_plan("abs is of a number");
  }
}

template <class T, class F>
NodePtr make_number(NodePtr child, F function) {
  const PhysicalType type = child->type();
  return std::make_unique<NumberNode<T, F>>(type, std::move(child), function);
}

int64_t round_digits(const Expression& expression) {
  const bool has_digits =
      expression.function == Function::kRound || expression.function == Function::kTruncate;
  if (!has_digits || expression.children.size() < 2) return 0;
  const Expression& digits = *expression.children[1];
  const auto* const literal = std::get_if<int64_t>(&digits.literal);
  require_plan(digits.kind == ExpressionKind::kLiteral && literal != nullptr,
               "round's digits are a literal");
  return std::clamp<int64_t>(*literal, -400, 400);
}

NodePtr make_double_rounding(Function function, int64_t digits, NodePtr child) {
  if (function == Function::kFloor) {
    return make_number<double>(std::move(child), [](double x) { return std::floor(x); });
  }
  if (function == Function::kCeil) {
    return make_number<double>(std::move(child), [](double x) { return std::ceil(x); });
  }
  if (digits == 0 && function == Function::kRound) {
    return make_number<double>(std::move(child), [](double x) { return std::nearbyint(x); });
  }
  const double power = std::pow(10.0, static_cast<double>(digits));
  const bool truncates = function == Function::kTruncate;
  return make_number<double>(std::move(child), [power, truncates](double x) {
    const double scaled = x * power;
    if (!std::isfinite(scaled)) return x;
    return (truncates ? std::trunc(scaled) : std::round(scaled)) / power;
  });
}

// Of a decimal: what is dropped may be more than all of its digits.
NodePtr make_decimal_rounding(const Expression& expression, NodePtr child,
                              const QueryLimits& limits) {
  const base::DataType& from = expression.children[0]->type;
  const base::DataType& to = expression.type;
  const int64_t kept = round_digits(expression);
  const int64_t dropped = from.scale - kept;
  if (dropped <= 0) {
    return from == to ? std::move(child) : make_cast(from, to, std::move(child), limits);
  }
  if (dropped > kWideDecimalDigitsMax) {
    const UnitRounding to_zero(kWideDecimalDigitsMax, Function::kTruncate);
    return make_decimal_rounding(to, to_zero, 0, std::move(child));
  }
  return make_decimal_rounding(to,
                               UnitRounding(static_cast<uint32_t>(dropped), expression.function),
                               static_cast<uint32_t>(to.scale - kept), std::move(child));
}

// To as many digits as each row says, of a wide decimal that keeps its scale.
NodePtr make_rounding_by_row(const Expression& expression, std::vector<NodePtr> children,
                             const QueryLimits& limits) {
  const bool fits = children[0]->type() == PhysicalType::kInt128 &&
                    children[1]->type() == PhysicalType::kInt64 &&
                    expression.type == expression.children[0]->type;
  require_plan(fits, "a wide decimal is rounded to digits of its row");
  return make_row_node<int128_t>(
      PhysicalType::kInt128, std::move(children), limits,
      [function = expression.function, scale = expression.type.scale](const RowArguments& a,
                                                                      VectorTexts*) {
        const int64_t digits = std::max<int64_t>(a.integer(1), -kWideDecimalDigitsMax);
        if (digits >= scale) return a.wide(0);
        const auto dropped = static_cast<uint32_t>(scale - digits);
        if (dropped > kWideDecimalDigitsMax) return int128_t{0};
        int128_t rounded = UnitRounding(dropped, function).apply(a.wide(0));
        const bool overflow = __builtin_mul_overflow(rounded, power_of_ten(dropped), &rounded);
        if (wide_fault(overflow, rounded) != 0) fail_value(kDecimalOutOfRange);
        return rounded;
      });
}

NodePtr make_rounding(const Expression& expression, NodePtr child, const QueryLimits& limits) {
  switch (child->type()) {
    case PhysicalType::kDouble:
      return make_double_rounding(expression.function, round_digits(expression), std::move(child));
    case PhysicalType::kInt64:
    case PhysicalType::kInt128: return make_decimal_rounding(expression, std::move(child), limits);
    default: return child;  // INT is whole already
  }
}

}  // namespace

NodePtr make_number_function(const Expression& expression, std::vector<NodePtr> children,
                             const QueryLimits& limits) {
  if (children.size() == 2 && expression.children[1]->kind != ExpressionKind::kLiteral) {
    return make_rounding_by_row(expression, std::move(children), limits);
  }
  NodePtr child = std::move(children[0]);
  if (expression.function != Function::kAbs)
    return make_rounding(expression, std::move(child), limits);
  return make_absolute(std::move(child));
}

NodePtr make_sign(NodePtr child) {
  require_plan(child->type() == PhysicalType::kDouble, "sign is of a DOUBLE");
  return std::make_unique<OneNumberNode<SignOperation, double>>(std::move(child));
}

NodePtr make_bit_function(Function function, PhysicalType type, std::vector<NodePtr> children) {
  const auto of = [&](auto operation) -> NodePtr {
    using Operation = BitOperation<decltype(operation)>;
    if (type == PhysicalType::kInt32) {
      return make_node<Operation, int64_t, int32_t>(type, std::move(children));
    }
    return make_node<Operation, int64_t>(type, std::move(children));
  };
  switch (function) {
    case Function::kBitAnd: return of(std::bit_and<int64_t>());
    case Function::kBitOr: return of(std::bit_or<int64_t>());
    case Function::kBitXor: return of(std::bit_xor<int64_t>());
    case Function::kShiftLeft: return of([](int64_t a, int64_t b) { return a << (b & 63); });
    default: return of([](int64_t a, int64_t b) { return a >> (b & 63); });
  }
}

}  // namespace diptych::olap
