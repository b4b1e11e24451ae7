// Scans whose conditions are answered on codes, against the naive reference: every type, columns
// that take every encoding, hot pages and compressed blocks, deleted rows, nulls, constants at the
// extremes and out of every frame and dictionary, and conditions that only expressions answer.

#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "olap/execution/scan/column_predicate.h"
#include "tests/olap/exec_model_table.h"
#include "tests/olap/exec_naive.h"

namespace diptych::olap::test {
namespace {

const std::vector<DataType> kCodeTypes = {kIntType,
                                          kIntType,
                                          kBigIntType,
                                          kBigIntType,
                                          decimal_type(12, 2),
                                          kDoubleType,
                                          kDateType,
                                          kBooleanType,
                                          kTimestampType,
                                          kTextType,
                                          kTextType,
                                          {TypeKind::kChar, 0, 0, 12},
                                          decimal_type(18, 4)};

// How the values of a column are spread; forms of chunks follow from it.
enum class Spread : uint8_t { kOne, kNear, kFew, kAny };

class CodesModel : public ::testing::TestWithParam<uint64_t> {
 protected:
  CodesModel() : random_(GetParam()), replica_(small_blocks(2)) {
    const base::TableId id = replica_.add_table(kCodeTypes);
    ModelRows rows{.count = 3000 + below(4500),
                   .row = [this](uint64_t) { return row(); },
                   .value = [this](uint16_t c) { return below(10) == 0 ? kNull : value_of(c); }};
    for (size_t c = 0; c < kCodeTypes.size(); ++c) {
      spreads_.push_back(static_cast<Spread>(below(4)));
      nulls_in_.push_back(below(3) == 0 ? 0 : below(40));
      rows.updated.push_back(static_cast<uint16_t>(c));
    }
    tables_.push_back(ModelTable(&replica_, id, rows, &random_).live());
  }

  uint64_t below(uint64_t bound) { return random_() % bound; }

  Row row() {
    Row row;
    for (size_t c = 0; c < kCodeTypes.size(); ++c) {
      const bool is_null = nulls_in_[c] != 0 && below(nulls_in_[c]) == 0;
      row.push_back(is_null ? kNull : value_of(c));
    }
    return row;
  }

  int64_t integer_of_spread(Spread spread, int64_t low, int64_t high) {
    switch (spread) {
      case Spread::kOne: return 42;
      case Spread::kNear: return 1000 + static_cast<int64_t>(below(200));
      case Spread::kFew: return static_cast<int64_t>(below(9)) * 99'991;
      case Spread::kAny: break;
    }
    if (below(50) == 0) return below(2) == 0 ? low : high;
    const auto bits = static_cast<int64_t>(random_()) >> below(64);
    return std::clamp(bits, low, high);
  }
  std::string text_of_spread(Spread spread) {
    static constexpr const char* kNames[] = {"BAR", "BARN", "OUGHT", "", "ABLE", "able"};
    static constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLM";
    switch (spread) {
      case Spread::kOne: return "the same";
      case Spread::kNear: return kNames[below(6)];
      case Spread::kFew: return "prefix " + std::to_string(below(5000)) + "ab";
      case Spread::kAny: break;
    }
    std::string text(below(12), 'a');
    for (char& c : text) c = kLetters[below(below(2) == 0 ? 2 : kLetters.size())];
    return text;
  }
  Value value_of(size_t c) {
    constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
    constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
    const Spread spread = spreads_[c];
    const DataType& type = kCodeTypes[c];
    switch (type.kind) {
      case TypeKind::kInt: return integer_of_spread(spread, INT32_MIN, INT32_MAX);
      case TypeKind::kBigInt: return integer_of_spread(spread, kMin, kMax);
      case TypeKind::kDecimal: {
        const int64_t most = type.precision == 18 ? 999'999'999'999'999'999 : 999'999'999'999;
        return decimal(integer_of_spread(spread, -most, most), type.scale);
      }
      case TypeKind::kDouble: {
        static const double kOdd[] = {0.0,
                                      -0.0,
                                      std::nan(""),
                                      -std::nan(""),
                                      1e300,
                                      -1e-300,
                                      std::numeric_limits<double>::infinity(),
                                      -std::numeric_limits<double>::infinity()};
        if (below(10) == 0) return kOdd[below(8)];
        return static_cast<double>(integer_of_spread(spread, -100'000, 100'000)) / 8;
      }
      case TypeKind::kDate:
        return base::Date{static_cast<int32_t>(integer_of_spread(spread, -100'000, 100'000))};
      case TypeKind::kTimestamp:
        return base::Timestamp{integer_of_spread(spread, -4'000'000'000, 4'000'000'000)};
      case TypeKind::kBoolean: return below(3) == 0;
      default: break;
    }
    std::string text = text_of_spread(spread);
    if (type.length != 0) text.resize(std::min<size_t>(text.size(), type.length));
    return text;
  }

  // A constant of the column's type: one that rows have, one next to it, or another.
  Value constant_of(size_t c) {
    const Value& some = tables_[0][below(tables_[0].size())][c];
    Value value = base::is_null(some) || below(3) == 0 ? value_of(c) : some;
    if (auto* const integer = std::get_if<int64_t>(&value)) {
      const bool is_int = kCodeTypes[c].kind == TypeKind::kInt;
      const int64_t low = is_int ? INT32_MIN : std::numeric_limits<int64_t>::min();
      const int64_t high = is_int ? INT32_MAX : std::numeric_limits<int64_t>::max();
      if (below(8) == 0) *integer = below(2) == 0 ? low : high;
      if (below(4) == 0 && *integer != low) --*integer;
      if (below(4) == 0 && *integer != high) ++*integer;
    }
    if (auto* const text = std::get_if<std::string>(&value); text != nullptr && below(3) == 0) {
      *text = below(2) == 0 ? *text + "x" : text->substr(0, below(text->size() + 1));
    }
    return value;
  }

  ExpressionPtr column_of_type(size_t c) { return column(static_cast<uint32_t>(c), kCodeTypes[c]); }
  ExpressionPtr comparison_on(size_t c) {
    const auto kind = static_cast<ExpressionKind>(static_cast<int>(ExpressionKind::kEqual) +
                                                  static_cast<int>(below(6)));
    if (kCodeTypes[c].kind == TypeKind::kInt && below(3) == 0) {
      // Against a BIGINT, which may be one that no INT is.
      ExpressionPtr wide = make(ExpressionKind::kCast, kBigIntType, column_of_type(c));
      const int64_t constant = below(2) == 0 ? int64_t{INT32_MAX} + 1 : integer_or_zero(c);
      return make(kind, kBooleanType, std::move(wide), literal(kBigIntType, number(constant)));
    }
    ExpressionPtr constant = literal(kCodeTypes[c], constant_of(c));
    if (below(4) == 0) {
      return make(kind, kBooleanType, std::move(constant), column_of_type(c));
    }
    return make(kind, kBooleanType, column_of_type(c), std::move(constant));
  }
  int64_t integer_or_zero(size_t c) {
    const Value value = constant_of(c);
    const auto* const integer = std::get_if<int64_t>(&value);
    return integer == nullptr ? 0 : *integer;
  }
  ExpressionPtr list_on(size_t c) {
    ExpressionPtr list = make(ExpressionKind::kInList, kBooleanType, column_of_type(c));
    for (uint64_t i = 1 + below(9); i != 0; --i) {
      list->children.push_back(literal(kCodeTypes[c], constant_of(c)));
    }
    if (below(4) == 0) list->children.push_back(literal(kCodeTypes[c], kNull));
    return list;
  }
  ExpressionPtr like_on(size_t c) {
    const Value constant = constant_of(c);
    std::string pattern;
    for (const char letter : std::get<std::string>(constant)) {
      if (below(12) == 0) pattern += below(2) == 0 ? "_" : "%";
      if (below(20) == 0) pattern += '\\';
      pattern += letter;
    }
    if (below(3) != 0) pattern = pattern.substr(0, below(4));
    if (pattern.ends_with('\\')) pattern.pop_back();
    if (below(3) != 0) {
      pattern = below(3) == 0 ? "%" + pattern : pattern + "%";
    }
    return make(ExpressionKind::kLike, kBooleanType, column_of_type(c),
                literal(kTextType, text(pattern)));
  }
  // The text's first characters, as many as the constant has or about so.
  ExpressionPtr beginning_on(size_t c) {
    const auto count_of = [&](const std::string& constant) {
      return std::max<int64_t>(static_cast<int64_t>(constant.size() + below(3)) - 1, 0);
    };
    const std::string constant = std::get<std::string>(constant_of(c)).substr(0, below(5));
    ExpressionPtr first =
        make(ExpressionKind::kFunction, kTextType, column_of_type(c),
             literal(kBigIntType, number(below(8) == 0 ? static_cast<int64_t>(below(3)) : 1)),
             literal(kBigIntType, number(count_of(constant))));
    first->function = Function::kSubstring;
    if (below(2) == 0) {
      first->function = Function::kLeft;
      first->children.erase(first->children.begin() + 1);
    }
    ExpressionPtr other = literal(kTextType, text(constant));
    switch (below(4)) {
      case 0: return make(ExpressionKind::kEqual, kBooleanType, std::move(first), std::move(other));
      case 1:
        return make(ExpressionKind::kNotEqual, kBooleanType, std::move(other), std::move(first));
      case 2: return make(ExpressionKind::kLess, kBooleanType, std::move(first), std::move(other));
      default: break;
    }
    ExpressionPtr list =
        make(ExpressionKind::kInList, kBooleanType, std::move(first), std::move(other));
    for (uint64_t i = below(4); i != 0; --i) {
      const std::string more = std::get<std::string>(constant_of(c)).substr(0, below(5));
      list->children.push_back(literal(kTextType, below(9) == 0 ? kNull : text(more)));
    }
    return list;
  }
  ExpressionPtr condition_on(size_t c, int depth) {
    if (kCodeTypes[c].is_string() && below(4) == 0) return beginning_on(c);
    switch (below(depth == 0 ? 9 : 6)) {
      case 0:
        return make(below(2) == 0 ? ExpressionKind::kIsNull : ExpressionKind::kIsNotNull,
                    kBooleanType, column_of_type(c));
      case 1: return list_on(c);
      case 2:
        if (kCodeTypes[c].is_string()) return like_on(c);
        if (kCodeTypes[c].kind == TypeKind::kBoolean) return column_of_type(c);
        return comparison_on(c);
      case 6: return make(ExpressionKind::kNot, kBooleanType, condition_on(c, depth + 1));
      case 7:
        return make(ExpressionKind::kOr, kBooleanType, condition_on(c, depth + 1),
                    condition_on(below(5) == 0 ? any_column() : c, depth + 1));
      case 8:
        return make(ExpressionKind::kAnd, kBooleanType, condition_on(c, depth + 1),
                    condition_on(below(5) == 0 ? any_column() : c, depth + 1));
      default: return comparison_on(c);
    }
  }
  size_t any_column() { return below(kCodeTypes.size()); }

  std::mt19937_64 random_;
  std::vector<Spread> spreads_;
  std::vector<uint64_t> nulls_in_;  // one value in so many; 0: none
  TestReplica replica_;
  NaiveTables tables_;
};

TEST_P(CodesModel, ScansAgree) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  size_t on_codes = 0;
  for (int round = 0; round < 60; ++round) {
    OperatorPtr op = scan(base::TableId(0), kCodeTypes);
    for (uint64_t i = 1 + below(3); i != 0; --i) {
      op->predicates.push_back(condition_on(any_column(), 0));
    }
    on_codes += column_conditions(op->predicates).size();
    std::vector<ExpressionPtr> output;
    for (uint64_t i = 1 + below(4); i != 0; --i) output.push_back(column_of_type(any_column()));
    const Plan plan = plan_of(project(std::move(op), std::move(output)));
    const std::vector<Row> expected = naive_execute(*plan.root, tables_);
    const base::Result<QueryResult> result = test::run(plan, replica_.replica());
    ASSERT_TRUE(result.ok()) << result.error().to_string();
    ASSERT_EQ(result->rows.size(), expected.size()) << "round " << round;
    const std::vector<std::string> found = lines(result->rows);
    const std::vector<std::string> wanted = lines(expected);
    const auto [first, other] = std::mismatch(found.begin(), found.end(), wanted.begin());
    ASSERT_EQ(first, found.end()) << "round " << round << ": " << *first << " for " << *other;
  }
  EXPECT_GT(on_codes, 30U) << "most conditions are for codes";
}

INSTANTIATE_TEST_SUITE_P(Seeds, CodesModel, ::testing::Range<uint64_t>(1, 9));

// Which conditions are, and what they become.
TEST(ColumnPredicate, JoinsTheConditionsOnAColumn) {
  const auto less = [](uint32_t c, int64_t value) {
    return make(ExpressionKind::kLess, kBooleanType, column(c, kBigIntType),
                literal(kBigIntType, number(value)));
  };
  std::vector<ExpressionPtr> conjuncts;
  conjuncts.push_back(make(ExpressionKind::kLike, kBooleanType, column(1, kTextType),
                           literal(kTextType, text("ab%"))));
  conjuncts.push_back(less(0, 10));
  conjuncts.push_back(make(ExpressionKind::kNot, kBooleanType, less(0, 3)));
  conjuncts.push_back(
      make(ExpressionKind::kLess, kBooleanType, column(0, kBigIntType), column(2, kBigIntType)));
  const std::vector<ColumnCondition> conditions = column_conditions(conjuncts);
  ASSERT_EQ(conditions.size(), 2U) << "a comparison of two columns is for expressions";
  EXPECT_EQ(conditions[0].predicate.column, 0U) << "numbers come first";
  EXPECT_EQ(conditions[0].conjuncts, (std::vector<uint32_t>{1, 2}));
  const auto& keys = conditions[0].predicate.passes.keys();
  ASSERT_EQ(keys.size(), 1U);
  EXPECT_EQ(keys[0].first, 3);
  EXPECT_EQ(keys[0].last, 9);
  EXPECT_EQ(conditions[1].conjuncts, (std::vector<uint32_t>{0}));
}

TEST(ColumnPredicate, LeavesPatternsWithMoreToThemToExpressions) {
  const auto like = [](const char* pattern) {
    return column_predicate(*make(ExpressionKind::kLike, kBooleanType, column(0, kTextType),
                                  literal(kTextType, text(pattern))));
  };
  for (const char* const pattern : {"a_%", "%a%", "a%b", "a\\%", "_", "%%", "%\\"}) {
    EXPECT_FALSE(like(pattern)) << pattern;
  }
  for (const char* const pattern : {"", "%", "ab", "ab%", "%ab"}) {
    EXPECT_TRUE(like(pattern)) << pattern;
  }
}

// Characters are not bytes: of these constants nothing is said of the column's bytes.
TEST(Codes, FirstCharactersThatAreNotAscii) {
  TestReplica replica;
  NaiveTables tables(1);
  const base::TableId id = replica.add_table({kTextType});
  for (const char* value : {"\u00e9", "\u00e9a", "\u00ea", "e", "ea", "eab", ""}) {
    tables[0].push_back({text(value)});
    replica.insert(id, tables[0].back());
  }
  for (const int64_t count : {1, 2}) {
    for (const char* constant : {"\u00e9", "\u00e9a", "e", "ea", ""}) {
      OperatorPtr op = scan(id, {kTextType});
      ExpressionPtr first = make(ExpressionKind::kFunction, kTextType, column(0, kTextType),
                                 literal(kBigIntType, number(count)));
      first->function = Function::kLeft;
      op->predicates.push_back(make(ExpressionKind::kEqual, kBooleanType, std::move(first),
                                    literal(kTextType, text(constant))));
      const std::vector<Row> expected = naive_execute(*op, tables);
      const auto result = test::run(plan_of(std::move(op)), replica.replica());
      ASSERT_TRUE(result.ok()) << result.error().to_string();
      EXPECT_EQ(lines(result->rows), lines(expected)) << count << " of '" << constant << "'";
    }
  }
}

}  // namespace
}  // namespace diptych::olap::test
