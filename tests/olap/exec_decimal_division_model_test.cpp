// Quotients of decimals against long division by hand, digit by digit; their remainders.

#include <optional>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "base/int128.h"
#include "tests/olap/exec_table.h"

namespace diptych::olap::test {
namespace {

using base::int128_t;
using base::uint128_t;

constexpr uint8_t kScaleMax = 37;

// Nothing where it has over 38 digits.
std::optional<int128_t> naive_quotient(int128_t value, int128_t divisor, uint32_t digits) {
  const uint128_t by = divisor < 0 ? -static_cast<uint128_t>(divisor) : uint128_t(divisor);
  const uint128_t size = value < 0 ? -static_cast<uint128_t>(value) : uint128_t(value);
  const auto end = static_cast<uint128_t>(base::power_of_ten(38));
  uint128_t quotient = size / by;
  uint128_t rest = size % by;
  for (uint32_t i = 0; i < digits; ++i) {
    if (quotient >= end / 10) return std::nullopt;
    quotient = quotient * 10 + rest * 10 / by;
    rest = rest * 10 % by;
  }
  if (rest * 2 >= by) ++quotient;
  if (quotient >= end) return std::nullopt;
  const auto result = static_cast<int128_t>(quotient);
  return (value < 0) != (divisor < 0) ? -result : result;
}

ExpressionPtr quotient_of(int128_t value, int128_t divisor, uint8_t scale) {
  return make(ExpressionKind::kDivide, decimal_type(38, scale),
              literal(decimal_type(38, 0), decimal(value, 0)),
              literal(decimal_type(38, 0), decimal(divisor, 0)));
}

base::Result<QueryResult> run_values(std::vector<ExpressionPtr> rows) {
  auto values = std::make_unique<Operator>();
  values->kind = OperatorKind::kValues;
  values->output.push_back(rows[0]->type);
  values->expressions = std::move(rows);
  const TestReplica replica;
  return test::run(plan_of(std::move(values)), replica.replica());
}

// Numbers of every length, those at the ends of 64 bits, and halves of the last digit.
class DecimalDivision : public testing::TestWithParam<uint8_t> {
 protected:
  int128_t any() {
    static constexpr int128_t kEnds[] = {1,
                                         INT64_MAX,
                                         INT64_MIN,
                                         int128_t{INT64_MAX} + 1,
                                         int128_t{INT64_MIN} - 1,
                                         int128_t{UINT64_MAX}};
    if (random_() % 8 == 0) return kEnds[random_() % std::size(kEnds)];
    const auto bits = static_cast<int128_t>(static_cast<uint128_t>(random_()) << 64 | random_());
    return bits >> (5 + random_() % 120);  // less than 10^37
  }
  std::mt19937_64 random_{GetParam()};
};

TEST_P(DecimalDivision, IsThatByHand) {
  std::vector<ExpressionPtr> rows;
  std::vector<int128_t> expected;
  for (int i = 0; i < 3000; ++i) {
    const int128_t value = any();
    int128_t divisor = random_() % 4 == 0 ? int128_t{2} << random_() % 40 : any();
    if (divisor == 0) divisor = 3;
    const std::optional<int128_t> quotient = naive_quotient(value, divisor, GetParam());
    if (quotient) {
      expected.push_back(*quotient);
      rows.push_back(quotient_of(value, divisor, GetParam()));
      continue;
    }
    if (i % 50 != 0) continue;
    std::vector<ExpressionPtr> failing;
    failing.push_back(quotient_of(value, divisor, GetParam()));
    const auto result = run_values(std::move(failing));
    ASSERT_FALSE(result.ok()) << base::decimal_to_string(value, 0) << " / "
                              << base::decimal_to_string(divisor, 0);
    EXPECT_EQ(result.error().message, "decimal out of range: more than 38 digits");
  }
  const auto result = run_values(std::move(rows));
  ASSERT_TRUE(result.ok()) << result.error().to_string();
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(result->rows[i][0], decimal(expected[i], GetParam())) << "row " << i;
  }
}

TEST_P(DecimalDivision, LeavesTheRemainder) {
  const DataType type = decimal_type(38, GetParam());
  std::vector<ExpressionPtr> rows;
  std::vector<int128_t> expected;
  for (int i = 0; i < 1000; ++i) {
    const int128_t value = any();
    int128_t divisor = any();
    if (divisor == 0 || i % 16 == 0) divisor = -1;
    expected.push_back(value % divisor);
    rows.push_back(make(ExpressionKind::kModulo, type, literal(type, decimal(value, GetParam())),
                        literal(type, decimal(divisor, GetParam()))));
  }
  const auto result = run_values(std::move(rows));
  ASSERT_TRUE(result.ok()) << result.error().to_string();
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(result->rows[i][0], decimal(expected[i], GetParam())) << "row " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Scales, DecimalDivision, testing::Range(uint8_t{0}, kScaleMax));

}  // namespace
}  // namespace diptych::olap::test
