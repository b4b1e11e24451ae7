#include "tests/olap/exec_naive.h"

#include <clocale>
#include <cmath>
#include <cstdlib>
#include <cwctype>
#include <set>

#include "olap/decimal_text.h"
#include "olap/sql/expression_tree.h"
#include "tests/olap/naive_date.h"

namespace diptych::olap::test {

namespace {

using base::int128_t;
using base::is_null;
using Kind = ExpressionKind;

int128_t power(int digits) {
  int128_t result = 1;
  for (int i = 0; i < digits; ++i) result *= 10;
  return result;
}

int128_t units_of(const Value& value) {
  if (const auto* decimal_value = std::get_if<base::DecimalValue>(&value))
    return decimal_value->units;
  return std::get<int64_t>(value);
}

Value number_of(const DataType& type, int128_t units) {
  if (type.kind == TypeKind::kDecimal) {
    if (units >= power(38) || units <= -power(38)) throw NaiveError("decimal");
    return base::DecimalValue{units, type.scale};
  }
  if (units != static_cast<int64_t>(units)) throw NaiveError("integer");
  if (type.kind == TypeKind::kInt && units != static_cast<int32_t>(units)) {
    throw NaiveError("integer");
  }
  return static_cast<int64_t>(units);
}

// Half away from zero.
int128_t divide_rounded(int128_t value, int128_t divisor) {
  if (divisor < 0) return divide_rounded(-value, -divisor);
  const int128_t whole = value / divisor;
  const int128_t rest = value % divisor;
  const int128_t twice = (rest < 0 ? -rest : rest) * 2;
  return twice >= divisor ? whole + (value < 0 ? -1 : 1) : whole;
}

// Letters in the case that the C library knows.
std::string with_case(const std::string& text, std::wint_t (*change)(std::wint_t)) {
  static const locale_t kUtf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  const locale_t before = uselocale(kUtf8);
  std::wstring wide(text.size(), L'\0');
  wide.resize(std::mbstowcs(wide.data(), text.c_str(), wide.size()));
  for (wchar_t& c : wide) c = static_cast<wchar_t>(change(static_cast<std::wint_t>(c)));
  std::string made(wide.size() * 4, '\0');
  made.resize(std::wcstombs(made.data(), wide.c_str(), made.size()));
  uselocale(before);
  return made;
}

// The text's characters.
std::vector<std::string> characters(std::string_view text) {
  std::vector<std::string> result;
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) & 0xc0) != 0x80 || result.empty()) result.emplace_back();
    result.back() += c;
  }
  return result;
}

// a + sign * b, part by part.
Value sum_of_intervals(const Value& a, int64_t sign, const Value& b) {
  const auto& x = std::get<base::Interval>(a);
  const auto& y = std::get<base::Interval>(b);
  const int64_t months = x.months + sign * y.months;
  const int64_t days = x.days + sign * y.days;
  const int128_t micros = int128_t{x.micros} + sign * int128_t{y.micros};
  const base::Interval sum{static_cast<int32_t>(months), static_cast<int32_t>(days),
                           static_cast<int64_t>(micros)};
  if (sum.months != months || sum.days != days || sum.micros != micros) {
    throw NaiveError("interval");
  }
  return sum;
}

// An infinite result of finite operands overflows, and a zero of what is none underflows.
Value checked_double(double x, double y, double result, bool scales) {
  const bool finite = std::isfinite(x) && std::isfinite(y);
  if (finite && std::isinf(result)) throw NaiveError("overflow");
  if (finite && scales && result == 0 && x != 0 && y != 0) throw NaiveError("underflow");
  return result;
}

Value arithmetic(const Expression& e, const Value& a, const Value& b) {
  if (is_null(a) || is_null(b)) return kNull;
  if (e.type.kind == TypeKind::kInterval) {
    const bool sums = e.kind == Kind::kAdd || e.kind == Kind::kSubtract;
    if (!sums) throw std::logic_error("no naive version of intervals times a number");
    return sum_of_intervals(a, e.kind == Kind::kAdd ? 1 : -1, b);
  }
  if (e.type.kind == TypeKind::kDouble) {
    const double x = std::get<double>(a);
    const double y = std::get<double>(b);
    switch (e.kind) {
      case Kind::kAdd: return checked_double(x, y, x + y, false);
      case Kind::kSubtract: return checked_double(x, y, x - y, false);
      case Kind::kMultiply: return checked_double(x, y, x * y, true);
      default:
        if (y == 0 && !std::isnan(x)) throw NaiveError("division");
        return checked_double(x, y, x / y, true);
    }
  }
  const int128_t x = units_of(a);
  const int128_t y = units_of(b);
  switch (e.kind) {
    case Kind::kAdd: return number_of(e.type, x + y);
    case Kind::kSubtract: return number_of(e.type, x - y);
    case Kind::kMultiply: {
      int128_t product;
      const int digits = e.children[0]->type.scale + e.children[1]->type.scale - e.type.scale;
      const bool overflow = __builtin_mul_overflow(x, y, &product);
      if (overflow && digits > 0) throw std::logic_error("256 bits");
      if (overflow) throw NaiveError("decimal");
      return number_of(e.type, divide_rounded(product, power(digits)));
    }
    default:
      if (y == 0) throw NaiveError("division");
      if (e.kind == Kind::kDivide && e.type.kind == TypeKind::kDecimal) {
        const int digits = e.type.scale + e.children[1]->type.scale - e.children[0]->type.scale;
        int128_t scaled;
        if (__builtin_mul_overflow(x, power(digits), &scaled)) throw std::logic_error("256 bits");
        return number_of(e.type, divide_rounded(scaled, y));
      }
      return number_of(e.type, e.kind == Kind::kModulo ? x % y : x / y);
  }
}

Value cast(const Expression& e, const Value& value) {
  if (is_null(value)) return kNull;
  const DataType& from = e.children[0]->type;
  const auto is_moment = [](const DataType& type) {
    return type.kind == TypeKind::kDate || type.kind == TypeKind::kTimestamp;
  };
  if (e.type.is_string()) {
    const std::string text = base::to_string(value);
    const std::string cut = e.type.length == 0 ? text : text.substr(0, e.type.length);
    return e.type.kind == TypeKind::kChar ? std::string(base::without_trailing_blanks(cut)) : cut;
  }
  if (from.is_string()) {
    const std::string& text = std::get<std::string>(value);
    const auto parsed = e.type.kind == TypeKind::kDecimal ? cast_to_decimal(e.type, text)
                                                          : base::parse_value(e.type, text);
    if (!parsed.ok()) throw NaiveError(parsed.error().message);
    return *parsed;
  }
  const bool others = from.kind == TypeKind::kDouble || from.kind == TypeKind::kBoolean ||
                      e.type.kind == TypeKind::kBoolean ||
                      (is_moment(from) && e.type.kind == TypeKind::kDate);
  if (others && e.type != from) throw std::logic_error("no naive version of the cast");
  if (e.type.kind == TypeKind::kTimestamp && from.kind == TypeKind::kDate) {
    return base::Timestamp{std::get<base::Date>(value).days * int64_t{86'400'000'000}};
  }
  if (e.type.kind == TypeKind::kDouble) {
    if (from.kind == TypeKind::kDouble) return value;
    return std::get<double>(*base::parse_value(e.type, base::to_string(value)));
  }
  const int digits = e.type.scale - from.scale;
  int128_t units = units_of(value);
  units = digits >= 0 ? units * power(digits) : divide_rounded(units, power(-digits));
  if (e.type.kind == TypeKind::kDecimal &&
      (units >= power(e.type.precision) || units <= -power(e.type.precision))) {
    throw NaiveError("decimal");
  }
  return number_of(e.type, units);
}

Value compare(Kind kind, const Value& a, const Value& b) {
  if (is_null(a) || is_null(b)) return kNull;
  const int order = naive_compare(a, b);
  switch (kind) {
    case Kind::kEqual: return order == 0;
    case Kind::kNotEqual: return order != 0;
    case Kind::kLess: return order < 0;
    case Kind::kLessEqual: return order <= 0;
    case Kind::kGreater: return order > 0;
    default: return order >= 0;
  }
}

// Of a decimal, in the scale of the result.
Value rounded(const Expression& e, const std::vector<Value>& values) {
  const DataType& from = e.children[0]->type;
  const int64_t digits = values.size() > 1 ? std::get<int64_t>(values[1]) : 0;
  int128_t units = units_of(values[0]);
  int128_t unit = 1;
  for (int64_t i = digits; i < from.scale && unit < power(38); ++i) unit *= 10;
  int128_t rest = units % unit;
  if (rest < 0) rest += unit;
  const bool up = e.function == Function::kCeil    ? rest != 0
                  : e.function == Function::kFloor ? false
                  : e.function == Function::kTruncate
                      ? units < 0 && rest != 0
                      : rest > unit - rest || (rest != 0 && rest == unit - rest && units > 0);
  units += up ? unit - rest : -rest;
  for (int i = from.scale; i < e.type.scale; ++i) units *= 10;
  for (int i = from.scale; i > e.type.scale; --i) units /= 10;
  if (units >= power(e.type.precision) || units <= -power(e.type.precision)) {
    throw NaiveError("decimal");
  }
  return number_of(e.type, units);
}

Value function_of(const Expression& e, const std::vector<Value>& values) {
  if (e.function == Function::kSingleRow) {
    if (!is_null(values[1]) && std::get<int64_t>(values[1]) > 1) throw NaiveError("single row");
    return values[0];
  }
  if (leaves_out_nulls(e)) throw std::logic_error("no naive version of what takes NULLs");
  for (const Value& value : values) {
    if (is_null(value)) return kNull;
  }
  switch (e.function) {
    case Function::kLength: return static_cast<int64_t>(std::get<std::string>(values[0]).size());
    case Function::kAscii: {
      const auto& string = std::get<std::string>(values[0]);
      if (!string.empty() && static_cast<uint8_t>(string[0]) >= 0x80) break;
      return int64_t{string.empty() ? uint8_t{0} : static_cast<uint8_t>(string[0])};
    }
    case Function::kUpper: return with_case(std::get<std::string>(values[0]), std::towupper);
    case Function::kLower: return with_case(std::get<std::string>(values[0]), std::towlower);
    case Function::kLeft:  // of none or more characters
    case Function::kSubstring: {
      const std::vector<std::string> string = characters(std::get<std::string>(values[0]));
      const int64_t start = e.function == Function::kLeft ? 1 : std::get<int64_t>(values[1]);
      int64_t length = std::get<int64_t>(values.back());
      if (e.function == Function::kLeft && length < 0) {
        length = std::max(length + static_cast<int64_t>(string.size()), int64_t{0});
      }
      if (length < 0) throw NaiveError("substring");
      std::string result;
      const int128_t end = std::min<int128_t>(int128_t{start} + length - 1, string.size());
      for (int64_t i = std::max(start, int64_t{1}); i <= end; ++i) result += string.at(i - 1);
      return result;
    }
    case Function::kCharLength:
      return static_cast<int64_t>(characters(std::get<std::string>(values[0])).size());
    case Function::kRound:
    case Function::kFloor:
    case Function::kCeil:
    case Function::kTruncate:
      if (e.type.kind == TypeKind::kDecimal) return rounded(e, values);
      break;
    case Function::kAddMonths:
    case Function::kAddDays:
      if (e.type.kind != TypeKind::kDate) break;
      return naive_date_shift(e.function, std::get<base::Date>(values[0]),
                              std::get<int64_t>(values[1]));
    case Function::kAbs: {
      if (const auto* number = std::get_if<double>(&values[0])) return std::fabs(*number);
      const int128_t units = units_of(values[0]);
      return number_of(e.type, units < 0 ? -units : units);
    }
    default:
      if (const auto* date = std::get_if<base::Date>(&values[0])) {
        return naive_date_function(e.function, *date);
      }
      break;
  }
  throw std::logic_error("no naive version of the function");
}

Value connective(const Expression& e, const Row& row, bool settled_by) {
  Value result = !settled_by;
  for (const ExpressionPtr& child : e.children) {
    const Value value = naive_evaluate(*child, row);
    if (is_null(value)) {
      result = kNull;
    } else if (std::get<bool>(value) == settled_by) {
      return settled_by;
    }
  }
  return result;
}

Value conditional(const Expression& e, const Row& row) {
  for (size_t i = 0; i + 1 < e.children.size(); i += 2) {
    if (naive_evaluate(*e.children[i], row) == Value(true)) {
      return naive_evaluate(*e.children[i + 1], row);
    }
  }
  return naive_evaluate(*e.children.back(), row);
}

Value in_list(const Expression& e, const std::vector<Value>& values) {
  if (is_null(values[0])) return kNull;
  Value result = false;
  for (size_t i = 1; i < values.size(); ++i) {
    const Value equal = compare(Kind::kEqual, values[0], values[i]);
    if (equal == Value(true)) return true;
    if (is_null(equal)) result = kNull;
  }
  static_cast<void>(e);
  return result;
}

}  // namespace

bool naive_like(std::string_view text, std::string_view pattern) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] == '%') {
    return naive_like(text, pattern.substr(1)) ||
           (!text.empty() && naive_like(text.substr(1), pattern));
  }
  if (text.empty()) return false;
  if (pattern[0] == '_') {
    return naive_like(text.substr(characters(text)[0].size()), pattern.substr(1));
  }
  if (pattern[0] == '\\') pattern.remove_prefix(1);
  return text[0] == pattern[0] && naive_like(text.substr(1), pattern.substr(1));
}

int naive_compare(const Value& a, const Value& b) {
  if (const auto* x = std::get_if<std::string>(&a)) {
    const int order = x->compare(std::get<std::string>(b));
    return order < 0 ? -1 : order > 0 ? 1 : 0;
  }
  if (const auto* x = std::get_if<double>(&a)) {
    const double y = std::get<double>(b);
    if (std::isnan(*x) || std::isnan(y)) return int{std::isnan(*x)} - int{std::isnan(y)};
    return *x < y ? -1 : *x > y ? 1 : 0;
  }
  const auto units = [](const Value& value) -> int128_t {
    if (const auto* truth = std::get_if<bool>(&value)) return *truth ? 1 : 0;
    if (const auto* date = std::get_if<base::Date>(&value)) return date->days;
    if (const auto* timestamp = std::get_if<base::Timestamp>(&value)) return timestamp->micros;
    if (const auto* interval = std::get_if<base::Interval>(&value)) {
      return (int128_t{interval->months} * 30 + interval->days) * 86'400'000'000 + interval->micros;
    }
    return units_of(value);
  };
  const int128_t x = units(a);
  const int128_t y = units(b);
  return x < y ? -1 : x > y ? 1 : 0;
}

Value naive_evaluate(const Expression& e, const Row& row) {
  switch (e.kind) {
    case Kind::kColumn: return row[e.column];
    case Kind::kLiteral: return e.literal;
    case Kind::kAnd: return connective(e, row, false);
    case Kind::kOr: return connective(e, row, true);
    case Kind::kCase: return conditional(e, row);
    case Kind::kCoalesce:
      for (const ExpressionPtr& child : e.children) {
        Value value = naive_evaluate(*child, row);
        if (!is_null(value)) return value;
      }
      return kNull;
    default: break;
  }
  std::vector<Value> values;
  for (const ExpressionPtr& child : e.children) values.push_back(naive_evaluate(*child, row));
  switch (e.kind) {
    case Kind::kCast: return cast(e, values[0]);
    case Kind::kNegate:
      if (is_null(values[0])) return kNull;
      if (e.type.kind == TypeKind::kDouble) return -std::get<double>(values[0]);
      if (e.type.kind == TypeKind::kInterval) {
        return sum_of_intervals(base::Interval{}, -1, values[0]);
      }
      return number_of(e.type, -units_of(values[0]));
    case Kind::kAdd:
    case Kind::kSubtract:
    case Kind::kMultiply:
    case Kind::kDivide:
    case Kind::kModulo: return arithmetic(e, values[0], values[1]);
    case Kind::kNot: return is_null(values[0]) ? kNull : Value(!std::get<bool>(values[0]));
    case Kind::kIsNull: return is_null(values[0]);
    case Kind::kIsNotNull: return !is_null(values[0]);
    case Kind::kLike:
      if (is_null(values[0])) return kNull;
      return naive_like(std::get<std::string>(values[0]), std::get<std::string>(values[1]));
    case Kind::kInList: return in_list(e, values);
    case Kind::kNullIf:
      return compare(Kind::kEqual, values[0], values[1]) == Value(true) ? kNull : values[0];
    case Kind::kConcat:
      if (is_null(values[0]) || is_null(values[1])) return kNull;
      return std::get<std::string>(values[0]) + std::get<std::string>(values[1]);
    case Kind::kFunction: return function_of(e, values);
    default: return compare(e.kind, values[0], values[1]);
  }
}

bool naive_satisfies(const std::vector<ExpressionPtr>& predicates, const Row& row) {
  for (const ExpressionPtr& predicate : predicates) {
    if (naive_evaluate(*predicate, row) != Value(true)) return false;
  }
  return true;
}

namespace {

// Of a variance the number that its argument casts to a DOUBLE, if that is exact.
const Expression& exact_argument(const Aggregate& one) {
  const Expression& argument = *one.argument;
  const bool variance =
      one.kind >= AggregateKind::kVarSamp && one.kind <= AggregateKind::kStddevPop;
  if (!variance || argument.kind != Kind::kCast) return argument;
  const TypeKind from = argument.children[0]->type.kind;
  const bool exact =
      from == TypeKind::kInt || from == TypeKind::kBigInt || from == TypeKind::kDecimal;
  return exact ? *argument.children[0] : argument;
}

Value naive_fold(const Aggregate& one, const std::vector<Row>& rows) {
  if (one.kind == AggregateKind::kCountAll) return static_cast<int64_t>(rows.size());
  std::vector<Value> values;
  for (const Row& row : rows) {
    Value value = naive_evaluate(exact_argument(one), row);
    if (!is_null(value)) values.push_back(std::move(value));
  }
  const auto less = [](const Value& a, const Value& b) { return naive_compare(a, b) < 0; };
  if (one.distinct) {
    std::sort(values.begin(), values.end(), less);
    const auto same = [](const Value& a, const Value& b) { return naive_compare(a, b) == 0; };
    values.erase(std::unique(values.begin(), values.end(), same), values.end());
  }
  if (one.kind == AggregateKind::kCovarPop) return naive_covariance(one, rows);
  if (one.kind == AggregateKind::kStringAgg) return naive_string_agg(one, rows);
  if (one.kind == AggregateKind::kCount) return static_cast<int64_t>(values.size());
  if (one.kind == AggregateKind::kCountDistinct) {
    return static_cast<int64_t>(
        std::set<Value, decltype(less)>(values.begin(), values.end(), less).size());
  }
  if (values.empty()) return kNull;
  if (is_ordered_set(one.kind)) return naive_ordered_set(one, std::move(values));
  if (one.kind == AggregateKind::kMin) return *std::min_element(values.begin(), values.end(), less);
  if (one.kind == AggregateKind::kMax) return *std::max_element(values.begin(), values.end(), less);
  if (one.kind >= AggregateKind::kBitAnd && one.kind <= AggregateKind::kBitXor) {
    return naive_bits(one.kind, values);
  }
  if (one.kind >= AggregateKind::kVarSamp) {
    if (exact_argument(one).type.kind == TypeKind::kDouble) return naive_moment(one.kind, values);
    const int128_t first = units_of(values[0]);
    const auto unit = static_cast<double>(power(exact_argument(one).type.scale));
    for (Value& value : values) value = static_cast<double>(units_of(value) - first) / unit;
    return naive_moment(one.kind, values);
  }
  if (one.argument->type.kind == TypeKind::kDouble) {
    double sum = 0;
    for (const Value& value : values) sum += std::get<double>(value);
    return one.kind == AggregateKind::kAvg ? sum / static_cast<double>(values.size()) : sum;
  }
  if (one.type.kind == TypeKind::kInterval) {
    if (one.kind == AggregateKind::kAvg) throw std::logic_error("no naive mean of intervals");
    Value sum = base::Interval{};
    for (const Value& value : values) sum = sum_of_intervals(sum, 1, value);
    return sum;
  }
  base::uint128_t modular = 0;  // what fits in the end is right, whatever it passes on its way
  for (const Value& value : values) modular += static_cast<base::uint128_t>(units_of(value));
  const auto sum = static_cast<int128_t>(modular);
  if (one.kind == AggregateKind::kSum) return number_of(one.type, sum);
  if (one.type.kind == TypeKind::kDecimal) {
    return number_of(one.type,
                     divide_rounded(sum * power(one.type.scale - one.argument->type.scale),
                                    static_cast<int128_t>(values.size())));
  }
  return static_cast<double>(sum) / static_cast<double>(values.size()) /
         static_cast<double>(power(one.argument->type.scale));
}

// Equal ones of a group have one name.
std::string name_of(const Value& key) {
  if (is_null(key)) return "";
  if (!std::holds_alternative<base::Interval>(key)) return "=" + base::to_string(key);
  const auto& interval = std::get<base::Interval>(key);
  return "=" + base::decimal_to_string(interval.normalized(), 0);
}

std::vector<Row> naive_aggregate(const Operator& op, const NaiveTables& tables) {
  std::map<std::vector<std::string>, std::pair<Row, std::vector<Row>>> groups;
  if (op.expressions.empty()) groups[{}];
  for (Row& row : naive_execute(*op.children[0], tables)) {
    Row key;
    std::vector<std::string> name;
    for (const ExpressionPtr& expression : op.expressions) {
      key.push_back(naive_evaluate(*expression, row));
      if (key.back() == Value(0.0)) key.back() = 0.0;  // -0
      name.push_back(name_of(key.back()));
    }
    auto& group = groups[name];
    if (group.second.empty()) group.first = key;
    group.second.push_back(std::move(row));
  }
  for (const std::vector<ExpressionPtr>& keys : op.standing_groups) {
    Row key;
    std::vector<std::string> name;
    for (const ExpressionPtr& e : keys) {
      key.push_back(naive_evaluate(*e, {}));
      name.push_back(name_of(key.back()));
    }
    groups[name].first = key;
  }
  std::vector<Row> result;
  for (const auto& [name, group] : groups) {
    Row row = group.first;
    for (const Aggregate& one : op.aggregates) row.push_back(naive_fold(one, group.second));
    result.push_back(std::move(row));
  }
  return result;
}

void cut(const Operator& op, std::vector<Row>* rows) {
  const uint64_t skip = std::min<uint64_t>(op.offset, rows->size());
  rows->erase(rows->begin(), rows->begin() + static_cast<int64_t>(skip));
  if (rows->size() > op.limit) rows->resize(op.limit);
}

}  // namespace

Value naive_aggregate_of(const Aggregate& aggregate, const std::vector<Row>& rows) {
  return naive_fold(aggregate, rows);
}

std::vector<Row> naive_execute(const Operator& op, const NaiveTables& tables) {
  std::vector<Row> result;
  switch (op.kind) {
    case OperatorKind::kHashJoin: return naive_join(op, tables);
    case OperatorKind::kAggregate: return naive_aggregate(op, tables);
    case OperatorKind::kWindow: return naive_window(op, naive_execute(*op.children[0], tables));
    case OperatorKind::kRecursion: return naive_recursion(op, tables);
    case OperatorKind::kWorkingRows: return tables.working.at(op.recursion);
    case OperatorKind::kValues:
      for (size_t i = 0; i < op.expressions.size(); ++i) {
        if (i % op.output.size() == 0) result.emplace_back();
        result.back().push_back(naive_evaluate(*op.expressions[i], {}));
      }
      return result;
    case OperatorKind::kAppend:
      for (const OperatorPtr& child : op.children) {
        for (Row& row : naive_execute(*child, tables)) result.push_back(std::move(row));
      }
      return result;
    case OperatorKind::kExpand:
      for (const Row& row : naive_execute(*op.children[0], tables)) {
        for (size_t set = 0; set < op.grouping_sets.size(); ++set) {
          Row& copy = result.emplace_back(row);
          for (size_t c = 0; c < op.grouping_sets[set].size(); ++c) {
            if (!op.grouping_sets[set][c]) copy[c] = kNull;
          }
          copy.push_back(static_cast<int64_t>(set));
        }
      }
      return result;
    case OperatorKind::kRepeat:
      for (Row& row : naive_execute(*op.children[0], tables)) {
        const int64_t times = std::get<int64_t>(row.back());
        for (int64_t i = 1; i <= times; ++i) {
          row.back() = i;
          result.push_back(row);
        }
      }
      return result;
    case OperatorKind::kScan:
      for (const Row& row : tables[op.table.value]) {
        Row& picked = result.emplace_back();
        for (const base::ColumnId id : op.columns) picked.push_back(row[id.value]);
      }
      break;
    default: result = naive_execute(*op.children[0], tables); break;
  }
  std::erase_if(result, [&](const Row& row) { return !naive_satisfies(op.predicates, row); });
  if (op.kind == OperatorKind::kProject) {
    for (Row& row : result) {
      Row out;
      for (const ExpressionPtr& e : op.expressions) out.push_back(naive_evaluate(*e, row));
      row = std::move(out);
    }
  }
  if (op.kind == OperatorKind::kSort) {
    std::stable_sort(result.begin(), result.end(),
                     [&](const Row& a, const Row& b) { return naive_before(op.sort_keys, a, b); });
  }
  if (op.kind == OperatorKind::kSort || op.kind == OperatorKind::kLimit) cut(op, &result);
  return result;
}

}  // namespace diptych::olap::test
