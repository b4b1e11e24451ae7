// Random typed expressions over random rows, against the naive reference: values, nulls and
// failures.

#include <optional>
#include <random>

#include <gtest/gtest.h>

#include "tests/olap/exec_model_table.h"
#include "tests/olap/exec_naive.h"
#include "tests/sanitizers.h"

namespace diptych::olap::test {
namespace {

const std::vector<DataType> kTypes = {kIntType,           kIntType,    kBigIntType,  kBigIntType,
                                      decimal_type(6, 2), kDoubleType, kBooleanType, kDateType,
                                      kTextType,          kTextType};

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed), extremes_(seed % 4 == 0) {
    for (const DataType& type : kTypes) {
      if (below(6) == 0) {
        constants_.emplace_back(value_or_null(type));
      } else {
        constants_.emplace_back(std::nullopt);
      }
    }
  }

  uint64_t below(uint64_t bound) { return random_() % bound; }
  std::mt19937_64* random() { return &random_; }
  int64_t small() { return static_cast<int64_t>(below(21)) - 10; }

  std::string word() {
    static constexpr size_t kSizes[] = {0, 1, 2, 3, 5, 12, 13, 20};
    std::string result(kSizes[below(8)], 'a');
    for (char& c : result) c = static_cast<char>('a' + below(3));
    return result;
  }

  Value value(const DataType& type) {
    switch (type.kind) {
      case TypeKind::kInt: return is_extreme() ? int64_t{INT32_MAX} : small();
      case TypeKind::kBigInt: return is_extreme() ? int64_t{INT64_MIN} : small();
      case TypeKind::kDecimal: return decimal(small() * 37, type.scale);
      case TypeKind::kDouble: return static_cast<double>(small()) / 4;
      case TypeKind::kBoolean: return below(2) == 0;
      case TypeKind::kDate:
        if (is_extreme()) return base::Date{below(2) == 0 ? 2'000'000'000 : -719'162};
        return base::Date{static_cast<int32_t>(small() * 100)};
      case TypeKind::kTimestamp: return base::Timestamp{small() * 1'000'000};
      default: return word();
    }
  }
  Value value_or_null(const DataType& type) { return below(5) == 0 ? kNull : value(type); }

  Row row(int64_t id) {
    Row result = {number(id)};
    for (size_t c = 0; c < kTypes.size(); ++c) {
      result.push_back(constants_[c] ? *constants_[c] : value_or_null(kTypes[c]));
    }
    return result;
  }

  ExpressionPtr leaf(const DataType& type) {
    std::vector<uint32_t> fitting;
    for (uint32_t i = 0; i < kTypes.size(); ++i) {
      if (kTypes[i] == type) fitting.push_back(i + 1);
    }
    if (!fitting.empty() && below(4) != 0) return column(fitting[below(fitting.size())], type);
    return literal(type, value_or_null(type));
  }

  ExpressionPtr expression(const DataType& type, int depth) {
    if (depth == 0 || below(6) == 0) return leaf(type);
    switch (below(5)) {
      case 0: return conditional(type, depth);
      case 1:
        return make(ExpressionKind::kCoalesce, type, expression(type, depth - 1),
                    expression(type, depth - 1));
      case 2:
        if (below(3) == 0) {
          return make(ExpressionKind::kNullIf, type, expression(type, depth - 1),
                      expression(type, depth - 1));
        }
        break;
      default: break;
    }
    switch (type.kind) {
      case TypeKind::kBoolean: return truth(depth);
      case TypeKind::kInt: return small_integer(depth);
      case TypeKind::kBigInt: return integer(depth);
      case TypeKind::kDecimal: return decimals(type, depth);
      case TypeKind::kDouble: return doubles(depth);
      case TypeKind::kVarchar: return texts(depth);
      case TypeKind::kDate: return dates(depth);
      default: return leaf(type);
    }
  }

 private:
  // Not for every seed: a round that adds such ones overflows in some row, and is over.
  bool is_extreme() { return extremes_ && below(40) == 0; }

  ExpressionPtr conditional(const DataType& type, int depth) {
    ExpressionPtr e = make(ExpressionKind::kCase, type);
    for (uint64_t i = 0; i <= below(2); ++i) {
      e->children.push_back(expression(kBooleanType, depth - 1));
      e->children.push_back(expression(type, depth - 1));
    }
    e->children.push_back(expression(type, depth - 1));
    return e;
  }

  static constexpr ExpressionKind kIntegerKinds[] = {
      ExpressionKind::kAdd, ExpressionKind::kSubtract, ExpressionKind::kMultiply,
      ExpressionKind::kModulo, ExpressionKind::kDivide};

  ExpressionPtr small_integer(int depth) {
    switch (below(6)) {
      case 0: return make(ExpressionKind::kCast, kIntType, expression(kBigIntType, depth - 1));
      case 1: return make(ExpressionKind::kNegate, kIntType, expression(kIntType, depth - 1));
      case 2:
        return call(below(2) == 0 ? Function::kLength : Function::kCharLength, kIntType,
                    expression(kTextType, depth - 1));
      default:
        return make(kIntegerKinds[below(5)], kIntType, expression(kIntType, depth - 1),
                    expression(kIntType, depth - 1));
    }
  }

  ExpressionPtr integer(int depth) {
    switch (below(5)) {
      case 0: return make(ExpressionKind::kCast, kBigIntType, expression(kIntType, depth - 1));
      case 1: return make(ExpressionKind::kNegate, kBigIntType, expression(kBigIntType, depth - 1));
      case 2: {
        constexpr auto kFirst = static_cast<uint64_t>(Function::kExtractYear);
        constexpr auto kFields = static_cast<uint64_t>(Function::kExtractIsoDayOfWeek) - kFirst + 1;
        return call(static_cast<Function>(kFirst + below(kFields)), kBigIntType,
                    expression(kDateType, depth - 1));
      }
      default:
        return make(kIntegerKinds[below(5)], kBigIntType, expression(kBigIntType, depth - 1),
                    expression(kBigIntType, depth - 1));
    }
  }

  ExpressionPtr dates(int depth) {
    constexpr auto kFirst = static_cast<uint64_t>(Function::kTruncateMillennium);
    constexpr auto kParts = static_cast<uint64_t>(Function::kTruncateDay) - kFirst + 1;
    const Function shift = below(2) == 0 ? Function::kAddMonths : Function::kAddDays;
    switch (below(3)) {
      case 0:
        return call(static_cast<Function>(kFirst + below(kParts)), kDateType,
                    expression(kDateType, depth - 1));
      case 1:
        return call(shift, kDateType, expression(kDateType, depth - 1),
                    literal(kBigIntType, number(below(30) == 0 ? INT64_MIN : small() * 100)));
      default:
        return call(shift, kDateType, expression(kDateType, depth - 1),
                    make(ExpressionKind::kCast, kBigIntType, expression(kIntType, depth - 1)));
    }
  }

  // Rounded, with zeros in place of the digits dropped.
  ExpressionPtr rounding(const DataType& type, int depth) {
    static constexpr Function kFunctions[] = {Function::kRound, Function::kTruncate,
                                              Function::kFloor, Function::kCeil};
    const Function function = kFunctions[below(4)];
    ExpressionPtr e = call(function, type, expression(type, depth - 1));
    if (function == Function::kRound || function == Function::kTruncate) {
      const auto digits = static_cast<int64_t>(below(8)) - 4;
      e->children.push_back(literal(kBigIntType, number(digits)));
    }
    return e;
  }

  ExpressionPtr decimals(const DataType& type, int depth) {
    if (type.precision > 18 && type.scale == 4) {
      return make(ExpressionKind::kMultiply, type, expression(decimal_type(6, 2), depth - 1),
                  expression(decimal_type(18, 2), depth - 1));
    }
    switch (below(5)) {
      case 0: return make(ExpressionKind::kCast, type, expression(kBigIntType, depth - 1));
      case 1: return make(ExpressionKind::kCast, type, expression(decimal_type(24, 4), depth - 1));
      case 2: return rounding(type, depth);
      default:
        return make(below(2) == 0 ? ExpressionKind::kAdd : ExpressionKind::kSubtract, type,
                    expression(type, depth - 1), expression(type, depth - 1));
    }
  }

  ExpressionPtr doubles(int depth) {
    if (below(3) == 0) {
      return make(ExpressionKind::kCast, kDoubleType,
                  expression(below(2) == 0 ? kBigIntType : decimal_type(6, 2), depth - 1));
    }
    static constexpr ExpressionKind kKinds[] = {ExpressionKind::kAdd, ExpressionKind::kSubtract,
                                                ExpressionKind::kMultiply, ExpressionKind::kDivide};
    return make(kKinds[below(4)], kDoubleType, expression(kDoubleType, depth - 1),
                expression(kDoubleType, depth - 1));
  }

  ExpressionPtr texts(int depth) {
    switch (below(4)) {
      case 0: return make(ExpressionKind::kCast, kTextType, expression(kBigIntType, depth - 1));
      case 1: return call(Function::kUpper, kTextType, expression(kTextType, depth - 1));
      case 2:
        return call(Function::kSubstring, kTextType, expression(kTextType, depth - 1),
                    expression(kBigIntType, 0), literal(kBigIntType, number(small() + 10)));
      default:
        return make(ExpressionKind::kConcat, kTextType, expression(kTextType, depth - 1),
                    expression(kTextType, depth - 1));
    }
  }

  ExpressionPtr truth(int depth) {
    static constexpr ExpressionKind kComparisons[] = {
        ExpressionKind::kEqual,     ExpressionKind::kNotEqual, ExpressionKind::kLess,
        ExpressionKind::kLessEqual, ExpressionKind::kGreater,  ExpressionKind::kGreaterEqual};
    static const DataType kCompared[] = {kIntType,     kBigIntType,        decimal_type(6, 2),
                                         kDoubleType,  kDateType,          kTextType,
                                         kBooleanType, decimal_type(24, 4)};
    const DataType type = kCompared[below(8)];
    switch (below(8)) {
      case 0: return make(ExpressionKind::kNot, kBooleanType, expression(kBooleanType, depth - 1));
      case 1:
        return make(below(2) == 0 ? ExpressionKind::kIsNull : ExpressionKind::kIsNotNull,
                    kBooleanType, expression(type, depth - 1));
      case 2: {
        ExpressionPtr e = make(ExpressionKind::kInList, kBooleanType, expression(type, depth - 1));
        for (uint64_t i = below(14) + 1; i != 0; --i) {
          e->children.push_back(literal(type, below(20) == 0 ? kNull : value(type)));
        }
        return e;
      }
      case 3: {
        std::string pattern = word();
        int wild = 3;  // more take the reference, which tries all ways, seconds
        for (char& c : pattern) {
          if (below(3) == 0 && wild-- > 0) {
            c = '%';
          } else if (below(4) == 0) {
            c = '_';
          }
        }
        ExpressionPtr operand = expression(kTextType, depth - 1);
        if (below(3) == 0) {
          operand = call(Function::kUpper, kTextType, std::move(operand));
          operand = call(Function::kLower, kTextType, std::move(operand));
        }
        return make(ExpressionKind::kLike, kBooleanType, std::move(operand),
                    literal(kTextType, text(pattern)));
      }
      case 4:
      case 5: {
        ExpressionPtr e =
            make(below(2) == 0 ? ExpressionKind::kAnd : ExpressionKind::kOr, kBooleanType);
        for (uint64_t i = below(3) + 2; i != 0; --i) {
          e->children.push_back(expression(kBooleanType, depth - 1));
        }
        return e;
      }
      default:
        return make(kComparisons[below(6)], kBooleanType, expression(type, depth - 1),
                    expression(type, depth - 1));
    }
  }

  std::mt19937_64 random_;
  bool extremes_;
  std::vector<std::optional<Value>> constants_;  // of columns with one value
};

std::vector<DataType> row_types() {
  std::vector<DataType> types = {kIntType};
  types.insert(types.end(), kTypes.begin(), kTypes.end());
  return types;
}

ModelRows rows_of(Generator* generator) {
  ModelRows rows{.count = 1 + generator->below(500)};
  if (generator->below(3) != 0) rows.count += storage::kBlockRowsMin;
  rows.row = [=](uint64_t i) { return generator->row(static_cast<int64_t>(i)); };
  rows.value = [=](uint16_t c) { return generator->value_or_null(kTypes[c - 1]); };
  for (uint16_t c = 1; c <= kTypes.size(); ++c) rows.updated.push_back(c);
  return rows;
}

class ExpressionModel : public ::testing::TestWithParam<uint64_t> {};

TEST_P(ExpressionModel, AgreesWithNaiveEvaluation) {
  const uint64_t seed = GetParam();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Generator generator(seed);
  TestReplica replica(small_blocks(1));
  const base::TableId table = replica.add_table(row_types());
  NaiveTables tables;
  const ModelRows rows = rows_of(&generator);
  tables.push_back(ModelTable(&replica, table, rows, generator.random()).live());
  static const DataType kResults[] = {kBooleanType,        kIntType,     kBigIntType,
                                      kDoubleType,         kTextType,    decimal_type(6, 2),
                                      decimal_type(18, 2), kBooleanType, decimal_type(24, 4)};
  int failed = 0;
  for (int round = 0; round < 40; ++round) {
    const DataType type = kResults[generator.below(std::size(kResults))];
    OperatorPtr source = scan(table, row_types());
    if (generator.below(2) == 0) {
      source->predicates.push_back(generator.expression(kBooleanType, 2));
    }
    std::vector<ExpressionPtr> outputs;
    outputs.push_back(column(0, kIntType));
    outputs.push_back(generator.expression(type, 4));
    const Plan plan = plan_of(project(std::move(source), std::move(outputs)));
    const base::Result<QueryResult> result = test::run(plan, replica.replica());
    try {
      const std::vector<Row> expected = naive_execute(*plan.root, tables);
      ASSERT_TRUE(result.ok()) << "round " << round << ": " << result.error().to_string();
      ASSERT_EQ(lines(result->rows), lines(expected)) << "round " << round;
    } catch (const NaiveError& error) {
      ++failed;
      ASSERT_FALSE(result.ok()) << "round " << round << " should fail: " << error.what();
      EXPECT_EQ(result.code(), base::ErrorCode::kInvalidArgument);
    }
  }
  EXPECT_LE(failed, 20) << "most expressions are to be evaluated";
}

INSTANTIATE_TEST_SUITE_P(Seeds, ExpressionModel,
                         ::testing::Range(uint64_t{1},
                                          uint64_t{diptych::test::kSanitized ? 11 : 41}));

}  // namespace
}  // namespace diptych::olap::test
