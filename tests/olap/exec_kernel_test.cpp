// What single parts of execution promise: truth tables, LIKE, failures of live rows only, casts,
// dates, leaves skipped by summaries.

#include <random>

#include <gtest/gtest.h>

#include "base/civil_day.h"
#include "olap/execution/expression/arithmetic_kernels.h"
#include "olap/execution/expression/unit_rounding.h"
#include "olap/execution/pattern/like_pattern.h"
#include "olap/execution/pattern/text_memo.h"
#include "olap/execution/pattern/text_search.h"
#include "olap/execution/scan/leaf_filter.h"
#include "olap/execution/vector/utf8_text.h"
#include "tests/olap/exec_naive.h"

namespace diptych::olap::test {
namespace {

// The value of an expression without columns.
base::Result<Value> value_of(ExpressionPtr expression) {
  auto values = std::make_unique<Operator>();
  values->kind = OperatorKind::kValues;
  values->output.push_back(expression->type);
  values->expressions.push_back(std::move(expression));
  const Plan plan = plan_of(std::move(values));
  const TestReplica replica;
  base::Result<QueryResult> result = test::run(plan, replica.replica());
  if (!result.ok()) return result.error();
  EXPECT_EQ(result->rows.size(), 1U);
  return result->rows[0][0];
}

ExpressionPtr big(int64_t value) {
  return literal(kBigIntType, number(value));
}

// Beside the same sums of what is a millionth.
TEST(ExactSums, PassWhatTheyAreKeptInAndComeBack) {
  std::mt19937_64 random(5);
  const int128_t large = power_of_ten(38) - power_of_ten(35);
  for (int round = 0; round < 300; ++round) {
    ExactSum sum;
    ExactSum halves[2];
    int128_t millionths = 0;
    const auto count = static_cast<int64_t>(1 + random() % 3000);
    for (int64_t i = 0; i < count; ++i) {
      const bool negative = random() % 8 < static_cast<uint64_t>(round % 9);
      const int128_t value =
          (negative ? -1 : 1) * (large - static_cast<int128_t>(random() % 1000) * 1'000'000);
      sum += value;
      halves[random() % 2] += value;
      millionths += value / 1'000'000;
    }
    halves[0] += halves[1];
    ASSERT_EQ(sum.low(), halves[0].low());
    ASSERT_EQ(sum.high(), halves[0].high());
    ASSERT_EQ(static_cast<double>(sum) == 0, millionths == 0);
    ASSERT_NEAR(static_cast<double>(sum), static_cast<double>(millionths) * 1e6,
                1e-9 * static_cast<double>(large) * static_cast<double>(count));
    int128_t whole;
    int128_t rest;
    ASSERT_TRUE(sum.divide(count, &whole, &rest)) << "no average is more than its values";
    ASSERT_LT(rest < 0 ? -rest : rest, count);
    ASSERT_TRUE(rest == 0 || (rest < 0) == (millionths < 0));
    // whole * count + rest is the sum, modulo 2^128, and about so large.
    using Unsigned = base::uint128_t;
    ASSERT_EQ(static_cast<int128_t>(static_cast<Unsigned>(whole) * static_cast<Unsigned>(count) +
                                    static_cast<Unsigned>(rest)),
              sum.low());
    ASSERT_LE(whole < 0 ? -whole : whole, large);
  }
  ExactSum beyond(int128_t{0}, 5);
  int128_t whole;
  int128_t rest;
  EXPECT_FALSE(beyond.divide(7, &whole, &rest)) << "5 * 2^128 / 7 has over 127 bits";
  EXPECT_TRUE(beyond.divide(11, &whole, &rest));
}

TEST(TruthTables, AndOrNotAreThreeValued) {
  const Value values[] = {Value(true), Value(false), kNull};
  for (const Value& a : values) {
    for (const Value& b : values) {
      for (const Value& c : values) {
        for (const ExpressionKind kind : {ExpressionKind::kAnd, ExpressionKind::kOr}) {
          const bool settled_by = kind == ExpressionKind::kOr;
          Value expected = !settled_by;
          for (const Value& one : {a, b, c}) {
            if (base::is_null(one) && expected != Value(settled_by)) expected = kNull;
            if (one == Value(settled_by)) expected = settled_by;
          }
          const auto leaf = [](const Value& v) { return literal(kBooleanType, v); };
          EXPECT_EQ(*value_of(make(kind, kBooleanType, leaf(a), leaf(b), leaf(c))), expected);
          ExpressionPtr negated = make(ExpressionKind::kNot, kBooleanType,
                                       make(kind, kBooleanType, leaf(a), leaf(b), leaf(c)));
          const Value opposite = base::is_null(expected) ? kNull : Value(!std::get<bool>(expected));
          EXPECT_EQ(*value_of(std::move(negated)), opposite);
        }
      }
    }
  }
}

// Vectors whose operands all fit 31 bits are computed in another way than others.
TEST(NarrowArithmetic, AgreesWithWide) {
  std::mt19937_64 random(3);
  const int64_t edges[] = {1,        2, 3, 7, 9999, 10'000, 46'341, (1 << 30) + 1, INT32_MAX - 1,
                           INT32_MAX};
  const int64_t misfits[] = {0, -1, -7, int64_t{INT32_MAX} + 1, INT64_MAX, INT64_MIN};
  std::vector<int64_t> a(kVectorRows);
  std::vector<int64_t> b(kVectorRows);
  std::vector<int64_t> products(kVectorRows);
  std::vector<int64_t> rests(kVectorRows);
  Selection all;
  select_all(kVectorRows, &all);
  for (uint32_t round = 0; round < 2000; ++round) {
    for (uint32_t i = 0; i < kVectorRows; ++i) {
      a[i] = random() % 4 == 0 ? edges[random() % std::size(edges)]
                               : static_cast<int32_t>(random() >> 33);
      b[i] = random() % 4 == 0 ? edges[random() % std::size(edges)]
                               : static_cast<int32_t>(random() >> (33 + random() % 31)) + 1;
      if (b[i] > INT32_MAX) b[i] = INT32_MAX;
    }
    const bool narrow = round % 4 != 0;
    if (!narrow)
      (random() % 2 == 0 ? a : b)[random() % kVectorRows] = misfits[random() % std::size(misfits)];
    const uint64_t product_faults =
        apply_operation<MultiplyOperation>(a.data(), b.data(), products.data(), all);
    const uint64_t rest_faults =
        apply_operation<ModuloOperation>(a.data(), b.data(), rests.data(), all);
    bool overflows = false;
    bool divides_by_zero = false;
    for (uint32_t i = 0; i < kVectorRows; ++i) {
      const auto product = static_cast<base::int128_t>(a[i]) * b[i];
      if (product == static_cast<int64_t>(product)) {
        ASSERT_EQ(products[i], static_cast<int64_t>(product)) << a[i] << " * " << b[i];
      } else {
        overflows = true;
      }
      if (b[i] == 0) {
        divides_by_zero = true;
      } else {
        ASSERT_EQ(rests[i], static_cast<int64_t>(static_cast<base::int128_t>(a[i]) % b[i]))
            << a[i] << " % " << b[i];
      }
    }
    ASSERT_EQ(product_faults != 0, overflows);
    ASSERT_EQ(rest_faults != 0, divides_by_zero);
  }
}

TEST(LikePattern, AgreesWithTheDefinition) {
  const uint64_t seed = 7;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 20'000; ++round) {
    std::string text(random() % 9, ' ');
    for (char& c : text) c = "ab%_"[random() % 4];
    std::string pattern;
    for (uint64_t i = random() % 6; i != 0; --i) {
      static const char* const kParts[] = {"a", "b", "%", "_", "\\%", "\\_", "ab"};
      pattern += kParts[random() % 7];
    }
    const base::Result<LikePattern> compiled = LikePattern::compile(pattern);
    ASSERT_TRUE(compiled.ok());
    ASSERT_EQ(compiled->matches(text), naive_like(text, pattern)) << text << " like " << pattern;
  }
}

TEST(LikePattern, AgreesWithTheDefinitionInTextsOfAnyLength) {
  std::mt19937_64 random(8);
  for (int round = 0; round < 10'000; ++round) {
    std::string text(random() % 81, ' ');
    for (char& c : text) c = static_cast<char>(random() % 8 == 0 ? '%' : 'a' + random() % 3);
    std::string pattern;
    for (uint64_t i = random() % 4; i != 0; --i) {
      static const char* const kParts[] = {"%", "_", "\\%", "a", "bc"};
      pattern += random() % 2 == 0 ? "%" : kParts[random() % 5];
      if (text.size() > 5) pattern += text.substr(random() % (text.size() - 3), random() % 3);
    }
    if (pattern.ends_with('\\')) continue;
    const base::Result<LikePattern> compiled = LikePattern::compile(pattern);
    ASSERT_TRUE(compiled.ok());
    ASSERT_EQ(compiled->matches(text), naive_like(text, pattern)) << text << " like " << pattern;
  }
}

TEST(TextSearch, FindsTheFirstPlace) {
  std::mt19937_64 random(9);
  for (int round = 0; round < 100'000; ++round) {
    std::string text(random() % 200, ' ');
    for (char& c : text) c = static_cast<char>(random() % 4 == 0 ? 'b' + random() % 2 : 'a');
    // One that is there, or, with another byte, maybe not.
    const size_t at = random() % (text.size() + 1);
    std::string wanted = text.substr(at, random() % 20);
    if (!wanted.empty() && random() % 2 == 0) wanted[random() % wanted.size()] = '\0';
    const size_t from = random() % (text.size() + 1);
    ASSERT_EQ(find_text(text, wanted, from), text.find(wanted, from)) << text << ": " << wanted;
  }
}

// Texts of few and of many values, whose bytes lie where others did in the vector before.
TEST(TextMemo, GivesEachTextItsOwnAnswer) {
  std::mt19937_64 random(10);
  TextMemo memo;
  std::vector<std::string> texts(200);
  for (int vector = 0; vector < 500; ++vector) {
    const size_t values = vector / 50 % 2 == 0 ? 4 : texts.size();
    for (std::string& text : texts) {
      for (char& c : text.assign(random() % 2 == 0 ? 5 : 20, ' ')) {
        c = static_cast<char>('a' + random() % 3);
      }
    }
    memo.start();
    for (int i = 0; i < 300; ++i) {
      const std::string& text = texts[random() % values];
      const auto passes = [](const base::StringRef& of) { return of.data()[0] == 'b'; };
      ASSERT_EQ(memo.ask(base::StringRef(text), passes), text[0] == 'b');
    }
  }
}

TEST(LikePattern, RefusesATrailingEscape) {
  EXPECT_FALSE(LikePattern::compile("abc\\").ok());
  EXPECT_TRUE(LikePattern::compile("abc\\\\").ok());
}

TEST(Faults, FailTheQueryWithTheirMessage) {
  const auto fault = [](ExpressionPtr e) {
    const base::Result<Value> result = value_of(std::move(e));
    return result.ok() ? "none" : result.error().message;
  };
  using Kind = ExpressionKind;
  EXPECT_EQ(fault(make(Kind::kAdd, kBigIntType, big(INT64_MAX), big(1))), "bigint out of range");
  EXPECT_EQ(fault(make(Kind::kSubtract, kBigIntType, big(INT64_MIN), big(1))),
            "bigint out of range");
  EXPECT_EQ(fault(make(Kind::kMultiply, kBigIntType, big(INT64_MAX), big(2))),
            "bigint out of range");
  EXPECT_EQ(fault(make(Kind::kDivide, kBigIntType, big(INT64_MIN), big(-1))),
            "bigint out of range");
  EXPECT_EQ(fault(make(Kind::kNegate, kBigIntType, big(INT64_MIN))), "bigint out of range");
  const auto small = [](int64_t value) { return literal(kIntType, number(value)); };
  EXPECT_EQ(fault(make(Kind::kAdd, kIntType, small(INT32_MAX), small(1))), "integer out of range");
  EXPECT_EQ(fault(make(Kind::kSubtract, kIntType, small(INT32_MIN), small(1))),
            "integer out of range");
  EXPECT_EQ(fault(make(Kind::kMultiply, kIntType, small(65'536), small(32'768))),
            "integer out of range");
  EXPECT_EQ(fault(make(Kind::kDivide, kIntType, small(INT32_MIN), small(-1))),
            "integer out of range");
  EXPECT_EQ(fault(make(Kind::kDivide, kIntType, small(1), small(0))), "division by zero");
  EXPECT_EQ(fault(make(Kind::kModulo, kIntType, small(INT32_MIN), small(-1))), "none");
  EXPECT_EQ(fault(make(Kind::kNegate, kIntType, small(INT32_MIN))), "integer out of range");
  EXPECT_EQ(fault(call(Function::kAbs, kIntType, small(INT32_MIN))), "integer out of range");
  EXPECT_EQ(fault(make(Kind::kModulo, kBigIntType, big(3), big(0))), "division by zero");
  EXPECT_EQ(fault(make(Kind::kDivide, kDoubleType, literal(kDoubleType, Value(1.0)),
                       literal(kDoubleType, Value(0.0)))),
            "division by zero");
  const DataType wide = decimal_type(38, 0);
  base::int128_t most = 1;
  for (int i = 0; i < 38; ++i) most *= 10;
  most -= 1;
  EXPECT_EQ(
      fault(make(Kind::kAdd, wide, literal(wide, decimal(most, 0)), literal(wide, decimal(1, 0)))),
      "decimal out of range: more than 38 digits");
  EXPECT_EQ(fault(make(Kind::kCast, decimal_type(3, 1), big(100))),
            "a value does not fit its DECIMAL's digits");
  EXPECT_EQ(fault(make(Kind::kAdd, kBigIntType, big(INT64_MAX), literal(kBigIntType, kNull))),
            "none");
  EXPECT_EQ(fault(make(Kind::kModulo, kBigIntType, big(INT64_MIN), big(-1))), "none");
}

TEST(Faults, OfRowsThatAreNotSelectedDoNotMatter) {
  TestReplica replica;
  const base::TableId table = replica.add_table({kBigIntType});
  for (int64_t i = -3; i <= 3; ++i) replica.insert(table, {number(i)});
  const auto quotient = [] {
    return make(ExpressionKind::kModulo, kBigIntType, literal(kBigIntType, number(6)),
                column(0, kBigIntType));
  };
  const auto not_zero = [] {
    return make(ExpressionKind::kNotEqual, kBooleanType, column(0, kBigIntType),
                literal(kBigIntType, number(0)));
  };
  OperatorPtr source = scan(table, {kBigIntType});
  source->predicates.push_back(make(
      ExpressionKind::kAnd, kBooleanType, not_zero(),
      make(ExpressionKind::kEqual, kBooleanType, quotient(), literal(kBigIntType, number(0)))));
  const base::Result<QueryResult> guarded =
      test::run(plan_of(std::move(source)), replica.replica());
  ASSERT_TRUE(guarded.ok()) << guarded.error().to_string();
  EXPECT_EQ(guarded->rows.size(), 6U);
  std::vector<ExpressionPtr> outputs;
  outputs.push_back(make(ExpressionKind::kCase, kBigIntType, not_zero(), quotient(),
                         literal(kBigIntType, number(-1))));
  const auto chosen = test::run(plan_of(project(scan(table, {kBigIntType}), std::move(outputs))),
                                replica.replica());
  EXPECT_TRUE(chosen.ok());
  outputs.clear();
  outputs.push_back(quotient());
  const Plan failing = plan_of(project(scan(table, {kBigIntType}), std::move(outputs)));
  EXPECT_EQ(test::run(failing, replica.replica()).error().message, "division by zero");
  replica.erase(3);  // the zero
  EXPECT_TRUE(test::run(failing, replica.replica()).ok());
}

TEST(Casts, RoundHalfAwayFromZero) {
  const auto cast = [](const DataType& from, Value value, const DataType& to) {
    return *value_of(make(ExpressionKind::kCast, to, literal(from, std::move(value))));
  };
  EXPECT_EQ(cast(decimal_type(6, 2), decimal(125, 2), decimal_type(6, 1)), decimal(13, 1));
  EXPECT_EQ(cast(decimal_type(6, 2), decimal(-125, 2), decimal_type(6, 1)), decimal(-13, 1));
  EXPECT_EQ(cast(decimal_type(6, 2), decimal(124, 2), kBigIntType), number(1));
  EXPECT_EQ(cast(kIntType, number(5), decimal_type(30, 4)), decimal(50'000, 4));
  EXPECT_EQ(cast(decimal_type(6, 2), decimal(150, 2), kDoubleType), Value(1.5));
  EXPECT_EQ(cast(kDateType, base::Date{1}, kTimestampType), Value(base::Timestamp{86'400'000'000}));
  EXPECT_EQ(cast(kTimestampType, base::Timestamp{-1}, kDateType), Value(base::Date{-1}));
  EXPECT_EQ(cast(decimal_type(6, 2), decimal(-5, 2), kTextType), text("-0.05"));
}

TEST(Dates, MonthsClampToTheLastDay) {
  const auto date = [](int32_t y, uint32_t m, uint32_t d) {
    return Value(base::date_from_civil({y, m, d}));
  };
  const auto plus = [](Value value, int64_t months) {
    return *value_of(call(Function::kAddMonths, kDateType, literal(kDateType, std::move(value)),
                          literal(kBigIntType, number(months))));
  };
  EXPECT_EQ(plus(date(2024, 1, 31), 1), date(2024, 2, 29));
  EXPECT_EQ(plus(date(2023, 1, 31), 1), date(2023, 2, 28));
  EXPECT_EQ(plus(date(2024, 3, 15), -15), date(2022, 12, 15));
  EXPECT_EQ(plus(date(1970, 1, 1), -1), date(1969, 12, 1));
  const auto part = [](Function function, int64_t micros) {
    return *value_of(call(function, kBigIntType, literal(kTimestampType, base::Timestamp{micros})));
  };
  EXPECT_EQ(part(Function::kExtractYear, -1), number(1969));
  EXPECT_EQ(part(Function::kExtractMicroseconds, -1), number(59'999'999));
  EXPECT_EQ(part(Function::kExtractQuarter, -1), number(4));
  const auto first_day = static_cast<int32_t>(INT64_MIN / base::kMicrosPerDay - 1);
  EXPECT_EQ(part(Function::kExtractDay, INT64_MIN),
            number(base::civil_from_date(base::Date{first_day}).day));
  // Outside of what 32-bit words know.
  for (const int32_t days : {INT32_MIN, -base::CivilDay::kDaysMax - 1, INT32_MAX}) {
    const base::CivilDate civil = base::civil_from_date(base::Date{days});
    const auto field = [&](Function function) {
      return *value_of(call(function, kBigIntType, literal(kDateType, base::Date{days})));
    };
    EXPECT_EQ(field(Function::kExtractYear), number(civil.year));
    EXPECT_EQ(field(Function::kExtractMonth), number(civil.month));
    EXPECT_EQ(field(Function::kExtractDay), number(civil.day));
  }
  const Value truncated = *value_of(
      call(Function::kTruncateMonth, kTimestampType, literal(kTimestampType, base::Timestamp{-1})));
  EXPECT_EQ(truncated, Value(base::Timestamp{-31LL * 86'400'000'000}));
}

// Of all powers of ten: numbers of any length, and those around a multiple and its half.
TEST(UnitRounding, IsTheQuotientOfWholeNumbers) {
  using base::int128_t;
  std::mt19937_64 random(7);
  const auto expected = [](int128_t value, int128_t unit, Function function) {
    const int128_t down = value / unit - (value % unit < 0 ? 1 : 0);
    const int128_t rest = value - down * unit;
    if (rest == 0) return down;
    switch (function) {
      case Function::kFloor: return down;
      case Function::kCeil: return down + 1;
      case Function::kTruncate: return value < 0 ? down + 1 : down;
      default: return down + (value < 0 ? rest > unit - rest : rest >= unit - rest);
    }
  };
  for (uint32_t digits = 1; digits <= 38; ++digits) {
    const int128_t unit = base::power_of_ten(digits);
    for (const Function function :
         {Function::kRound, Function::kFloor, Function::kCeil, Function::kTruncate}) {
      const UnitRounding rounding(digits, function);
      const auto check = [&](int128_t value) {
        const int128_t end = base::power_of_ten(38);
        if (value >= end || value <= -end) return;
        ASSERT_EQ(rounding.apply(value), expected(value, unit, function))
            << base::decimal_to_string(value, 0) << " by 10^" << digits;
        const auto near = static_cast<int64_t>(value);
        if (near == value && near != INT64_MIN) {
          ASSERT_EQ(rounding.apply(near), expected(value, unit, function)) << near;
        }
      };
      for (int i = 0; i < 300; ++i) {
        const int128_t any = (static_cast<int128_t>(random()) << 64 | random()) >> random() % 127;
        for (const int128_t near : {any, any / unit * unit, any / unit * unit + unit / 2}) {
          for (int off = -1; off <= 1; ++off) check(near + off);
        }
      }
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Rounding, FollowsItsFunction) {
  const auto apply = [](Function function, base::int128_t units, int64_t digits) {
    ExpressionPtr e =
        call(function, decimal_type(6, 2), literal(decimal_type(6, 2), decimal(units, 2)));
    if (function == Function::kRound) e->children.push_back(literal(kBigIntType, number(digits)));
    return *value_of(std::move(e));
  };
  EXPECT_EQ(apply(Function::kRound, 125, 1), decimal(130, 2));
  EXPECT_EQ(apply(Function::kRound, -125, 1), decimal(-130, 2));
  EXPECT_EQ(apply(Function::kFloor, -101, 0), decimal(-200, 2));
  EXPECT_EQ(apply(Function::kCeil, 101, 0), decimal(200, 2));
  EXPECT_EQ(apply(Function::kRound, 150, -1), decimal(0, 2));
}

// A leaf that only has a summary.
class SummaryLeaf : public storage::Leaf {
 public:
  explicit SummaryLeaf(storage::ColumnSummary summary)
      : Leaf(storage::LeafForm::kPlain), summary_(summary) {}
  base::Result<storage::PinnedColumn> pin(base::ColumnId) const override {
    return base::ErrorCode::kUnsupported;
  }
  base::Result<storage::PinnedColumn> pin_row_ids() const override {
    return base::ErrorCode::kUnsupported;
  }
  bool read_ahead(base::ColumnId) const override { return false; }
  bool in_memory(base::ColumnId) const override { return false; }
  storage::ColumnSummary summary(base::ColumnId) const override { return summary_; }
  storage::ColumnStorage storage(base::ColumnId) const override { return {}; }

 private:
  storage::ColumnSummary summary_;
};

TEST(LeafFilter, NeverLosesARowAndSkipsWhatItCan) {
  const uint64_t seed = 11;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  int skipped = 0;
  for (int round = 0; round < 3000; ++round) {
    const auto bound = [&] { return static_cast<int64_t>(random() % 21) - 10; };
    std::vector<Value> values;
    storage::ColumnSummary summary;
    summary.known = true;
    summary.has_null = false;
    summary.min = INT64_MAX;
    summary.max = INT64_MIN;
    for (uint64_t i = 1 + random() % 4; i != 0; --i) {
      if (random() % 5 == 0) {
        values.push_back(kNull);
        summary.has_null = true;
        continue;
      }
      const int64_t value = bound();
      values.push_back(number(value));
      summary.min = std::min(summary.min, value);
      summary.max = std::max(summary.max, value);
    }
    static constexpr ExpressionKind kKinds[] = {
        ExpressionKind::kEqual,   ExpressionKind::kNotEqual,     ExpressionKind::kLess,
        ExpressionKind::kGreater, ExpressionKind::kGreaterEqual, ExpressionKind::kLessEqual,
        ExpressionKind::kIsNull,  ExpressionKind::kInList};
    const ExpressionKind kind = kKinds[random() % 8];
    ExpressionPtr predicate = make(kind, kBooleanType);
    predicate->children.push_back(column(0, kBigIntType));
    if (kind != ExpressionKind::kIsNull) {
      predicate->children.push_back(literal(kBigIntType, number(bound())));
    }
    if (kind == ExpressionKind::kInList) {
      predicate->children.push_back(literal(kBigIntType, number(bound())));
    } else if (kind != ExpressionKind::kIsNull && random() % 2 == 0) {
      std::swap(predicate->children[0], predicate->children[1]);
    }
    bool matches = false;
    for (const Value& value : values) {
      matches |= naive_evaluate(*predicate, {value}) == Value(true);
    }
    OperatorPtr op = scan(base::TableId(0), {kBigIntType});
    op->predicates.push_back(std::move(predicate));
    const bool may_match = LeafFilter(*op).may_match(SummaryLeaf(summary));
    EXPECT_TRUE(may_match || !matches);
    skipped += may_match ? 0 : 1;
  }
  EXPECT_GT(skipped, 500);
}

TEST(Executor, RunsABatchWhereAFailingQueryFailsAlone) {
  TestReplica replica;
  const base::TableId table = replica.add_table({kBigIntType});
  for (int64_t i = 0; i < 5000; ++i) replica.insert(table, {number(i)});
  std::vector<ExpressionPtr> outputs;
  outputs.push_back(make(ExpressionKind::kModulo, kBigIntType, literal(kBigIntType, number(6)),
                         column(0, kBigIntType)));
  const Plan failing = plan_of(project(scan(table, {kBigIntType}), std::move(outputs)));
  const Plan good = plan_of(scan(table, {kBigIntType}));
  const Plan* const plans[] = {&good, &failing, &good};
  Executor executor(placement(3));
  StopFlag stop{false};
  const auto results = executor.run_batch(plans, replica.replica(), stop);
  ASSERT_EQ(results.size(), 3U);
  EXPECT_EQ(results[0]->rows.size(), 5000U);
  EXPECT_EQ(results[1].code(), base::ErrorCode::kInvalidArgument);
  EXPECT_EQ(results[2]->rows.size(), 5000U);
  stop = true;
  for (const auto& result : executor.run_batch(plans, replica.replica(), stop)) {
    EXPECT_EQ(result.code(), base::ErrorCode::kCancelled);
  }
}

TEST(Executor, SkippedLeavesLoseNoRow) {
  TestReplica replica(1);
  const base::TableId table = replica.add_table({kIntType, kTextType});
  const int64_t rows = 70'000;
  for (int64_t i = 0; i < rows; ++i) replica.insert(table, {number(i), text("payload")});
  for (const int64_t bound : {int64_t{0}, int64_t{1}, rows / 2, rows - 1, rows}) {
    OperatorPtr op = scan(table, {kIntType, kTextType});
    op->predicates.push_back(make(ExpressionKind::kGreaterEqual, kBooleanType, column(0, kIntType),
                                  literal(kIntType, number(bound))));
    const auto result = test::run(plan_of(std::move(op)), replica.replica(), 3);
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(static_cast<int64_t>(result->rows.size()), rows - bound);
  }
}

// Many bytes are passed over at a time, of characters of all lengths.
TEST(Characters, AreCountedAndFoundAsOneByOne) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 2000; ++round) {
    const std::string_view others[] = {"\xC3\xA4", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"};
    std::string text;
    while (random() % 6 != 0) {
      if (random() % 2 == 0) {
        text.append(random() % 90, 'a');
      } else {
        text += others[random() % std::size(others)];
      }
    }
    std::vector<size_t> starts;
    for (size_t at = 0; at < text.size(); at += character_bytes(text, at)) starts.push_back(at);
    const auto count = static_cast<int64_t>(starts.size());
    ASSERT_EQ(count_characters(text), count) << text;
    starts.push_back(text.size());
    for (int64_t n = -1; n < count + 2; ++n) {
      const auto expected = static_cast<size_t>(std::clamp<int64_t>(n, 0, count));
      ASSERT_EQ(offset_of_character(text, n), starts[expected]) << n << " of " << text;
    }
  }
}

// Texts are copied to the end of their memory, where a sanitizer would notice a byte beyond it.
TEST(Characters, AreLookedForWithinTheTextWhateverItsBytes) {
  std::mt19937_64 random(8);
  for (int round = 0; round < 2000; ++round) {
    std::vector<char> bytes(random() % 40);
    for (char& byte : bytes) byte = static_cast<char>(random());
    const std::string_view text(bytes.data(), bytes.size());
    const auto size = static_cast<int64_t>(text.size());
    ASSERT_LE(count_characters(text), size);
    for (int64_t n = -1; n < size + 2; ++n) ASSERT_LE(offset_of_character(text, n), text.size());
  }
}

TEST(Characters, OfALongTextCanBeStopped) {
  const std::string text(size_t{5} << 19, 'a');  // two MiB and a half
  int checks = 0;
  EXPECT_EQ(count_characters(text, [&] { ++checks; }), int64_t{5} << 19);
  EXPECT_EQ(checks, 2);
}

}  // namespace
}  // namespace diptych::olap::test
