// Scans ask joins above them: which they may ask, what that leaves, and that answers stay the same
// (OperatorModel and the differential tests have random plans).

#include <algorithm>
#include <optional>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/int128.h"
#include "olap/execution/join/join_filter.h"
#include "olap/execution/pipeline/plan_meter.h"
#include "olap/execution/vector/column_range.h"
#include "tests/olap/analyzed_plan.h"

namespace diptych::olap::test {
namespace {

constexpr int64_t kFilterRows = 60'000;
const std::vector<DataType> kFilterTypes = {kIntType, kIntType};

class JoinFilterTest : public ::testing::TestWithParam<uint32_t> {
 protected:
  // Tables 0 and 1: (i, i % 1000). Of one table, a second scan would look at the first one's rows.
  JoinFilterTest() {
    for (int tables = 0; tables < 2; ++tables) {
      const base::TableId table = replica_.add_table(kFilterTypes);
      for (int64_t i = 0; i < kFilterRows; ++i) {
        replica_.insert(table, {number(i), number(i % 1000)});
      }
    }
  }

  static OperatorPtr rows() { return scan(base::TableId(0), kFilterTypes); }
  static OperatorPtr rows_below(int64_t bound) {
    OperatorPtr op = scan(base::TableId(1), kFilterTypes);
    op->predicates.push_back(below(bound));
    return op;
  }
  static ExpressionPtr below(int64_t bound) {
    return make(ExpressionKind::kLess, kBooleanType, column(0, kIntType),
                literal(kIntType, number(bound)));
  }

  // What EXPLAIN ANALYZE says of rows that joins ruled out, of the plan's first scan; and the rows
  // of the plan.
  struct Ran {
    size_t rows = 0;
    bool has_asked = false;
  };
  Ran ran(OperatorPtr root) {
    Plan plan = plan_of(std::move(root));
    const auto result = run(plan, replica_.replica(), GetParam());
    EXPECT_TRUE(result.ok()) << result.error().to_string();
    Ran ran;
    ran.rows = result.ok() ? result->rows.size() : 0;
    plan.is_analyzed = true;
    const Operator* op = plan.root.get();
    while (!op->children.empty()) op = op->children[0].get();
    plan.lines.push_back({op, 0, "the scan"});
    const auto report = run(plan, replica_.replica(), GetParam());
    EXPECT_TRUE(report.ok()) << report.error().to_string();
    if (!report.ok()) return ran;
    const std::string text = std::get<std::string>(report->rows[0][0]);
    ran.has_asked = text.find("filtered by joins") != std::string::npos;
    return ran;
  }

  TestReplica replica_;
};

TEST_P(JoinFilterTest, JoinsThatDropRowsAreAsked) {
  for (const JoinKind kind : {JoinKind::kInner, JoinKind::kSemi, JoinKind::kBuildSemi}) {
    const Ran all = ran(join(kind, rows(), rows_below(300), {{0, 0}}));
    EXPECT_EQ(all.rows, 300U);
    EXPECT_TRUE(all.has_asked);
  }
  const Ran anti = ran(join(JoinKind::kBuildAnti, rows_below(100), rows_below(300), {{0, 0}}));
  EXPECT_EQ(anti.rows, 200U);
}

TEST_P(JoinFilterTest, JoinsThatKeepRowsWithoutAMatchAreNot) {
  for (const JoinKind kind : {JoinKind::kLeft, JoinKind::kAnti, JoinKind::kMark}) {
    const Ran all = ran(join(kind, rows(), rows_below(300), {{0, 0}}));
    EXPECT_EQ(all.rows,
              static_cast<size_t>(kind == JoinKind::kAnti ? kFilterRows - 300 : kFilterRows));
    EXPECT_FALSE(all.has_asked);
  }
}

TEST_P(JoinFilterTest, JoinsFurtherUpAreAskedThroughOthers) {
  for (const JoinKind kind : {JoinKind::kInner, JoinKind::kLeft, JoinKind::kSemi}) {
    OperatorPtr lower = join(kind, filter(rows(), below(50'000)), rows(), {{0, 0}});
    const Ran all = ran(join(JoinKind::kInner, std::move(lower), rows_below(300), {{0, 0}}));
    EXPECT_EQ(all.rows, 300U);
    EXPECT_TRUE(all.has_asked);
  }
  // The keys are the lower build side's.
  OperatorPtr lower = join(JoinKind::kInner, rows(), rows(), {{0, 0}});
  const Ran all = ran(join(JoinKind::kInner, std::move(lower), rows_below(300), {{2, 0}}));
  EXPECT_EQ(all.rows, 300U);
  EXPECT_FALSE(all.has_asked);
}

// Their numbers are too far apart for places. Each key column has few values, of its own.
class HashedKeysTest : public JoinFilterTest {
 protected:
  static inline const std::vector<DataType> kTypes = {kBigIntType, kIntType, kTextType};
  static constexpr int64_t kApart = int64_t{1} << 40;

  // Of so many rows: (i % 1000 * apart, i, "text i % 10").
  base::TableId table(int64_t count, int64_t apart) {
    const base::TableId id = replica_.add_table(kTypes);
    for (int64_t i = 0; i < count; ++i) {
      replica_.insert(id, {i % 50 == 7 ? kNull : number(i % 1000 * apart), number(i),
                           text("text " + std::to_string(i % 10))});
    }
    return id;
  }
  Ran joined(JoinKind kind, std::vector<std::pair<uint32_t, uint32_t>> keys, double probe_rows) {
    OperatorPtr probe = scan(probe_, kTypes);
    probe->estimated_rows = probe_rows;
    return ran(join(kind, std::move(probe), scan(build_, kTypes), std::move(keys)));
  }

  base::TableId probe_ = table(kFilterRows, kApart);
  base::TableId build_ = table(100, kApart);
};

TEST_P(HashedKeysTest, EachColumnDropsRows) {
  for (const JoinKind kind : {JoinKind::kInner, JoinKind::kSemi, JoinKind::kBuildSemi}) {
    for (const uint32_t other : {0U, 2U}) {
      const Ran all = joined(kind, {{other, other}, {1, 1}}, kFilterRows);
      EXPECT_EQ(all.rows, other == 0 ? 98U : 100U);
      EXPECT_TRUE(all.has_asked);
    }
  }
}

TEST_P(HashedKeysTest, AreNotAskedForAboutAsManyProbeRows) {
  EXPECT_FALSE(joined(JoinKind::kInner, {{0, 0}, {1, 1}}, 200).has_asked);
}

TEST_P(HashedKeysTest, ValuesThatLieFarApartAreNoSet) {
  const Ran all = joined(JoinKind::kInner, {{0, 0}, {2, 2}}, kFilterRows);
  EXPECT_FALSE(all.has_asked);
  EXPECT_EQ(all.rows, kFilterRows / 1000 * 98U);
}

TEST_P(HashedKeysTest, RowsWithoutAMatchAreKeptWhereTheyCount) {
  EXPECT_EQ(joined(JoinKind::kAnti, {{0, 0}, {1, 1}}, kFilterRows).rows, kFilterRows - 98U);
  EXPECT_EQ(joined(JoinKind::kLeft, {{0, 0}, {1, 1}}, kFilterRows).rows, size_t{kFilterRows});
  EXPECT_EQ(joined(JoinKind::kBuildAnti, {{0, 0}, {1, 1}}, kFilterRows).rows, 2U);
}

TEST_P(JoinFilterTest, OneThatKeepsMostIsAskedNoMore) {
  const OperatorPtr join_of_most = join(JoinKind::kInner, rows(), rows_below(1000), {{1, 0}});
  const Operator* const scan = filtered_scan(*join_of_most);
  ASSERT_EQ(scan, join_of_most->children[0].get());
  // Half of the rows: the others are dropped by the join itself.
  const Ran half = ran(join(JoinKind::kInner, rows(), rows_below(500), {{1, 0}}));
  EXPECT_EQ(half.rows, kFilterRows / 2U);
}

TEST_P(JoinFilterTest, RowsThatAFilterDropsComputeNoKeys) {
  // 1 / c1 fails where c1 is 0, which the filter drops.
  OperatorPtr probe = filter(rows(), make(ExpressionKind::kLess, kBooleanType,
                                          literal(kIntType, number(0)), column(1, kIntType)));
  OperatorPtr op = join(JoinKind::kInner, std::move(probe), rows_below(1), {{0, 0}});
  op->probe_keys[0] =
      make(ExpressionKind::kDivide, kIntType, literal(kIntType, number(1)), column(1, kIntType));
  EXPECT_EQ(filtered_scan(*op), nullptr);
  EXPECT_EQ(ran(std::move(op)).rows, static_cast<size_t>(kFilterRows / 1000 * 998));
}

TEST_P(JoinFilterTest, LeavesInWhichNoBuildKeyCanLieAreSkipped) {
  constexpr uint32_t kBlockRows = 1024;
  constexpr int64_t kProbed = 8 * kBlockRows;
  TestReplica replica(storage::StorageOptions{.partitions = 1, .block_rows = kBlockRows});
  const base::TableId probed = replica.add_table(kFilterTypes);
  for (int64_t i = 0; i < kProbed; ++i) {
    replica.insert(probed, {number(i), i % 100 == 7 ? kNull : number(i / 10)});
  }
  replica.compact();
  const base::TableId dense = replica.add_table(kFilterTypes);
  for (const int64_t key : {200, 300}) replica.insert(dense, {number(key), kNull});
  const base::TableId hashed = replica.add_table(kFilterTypes);
  for (const int64_t key : {200, 300, 1'000'000'000}) replica.insert(hashed, {number(key), kNull});
  const auto expect = [&](JoinKind kind, base::TableId built, int64_t rows, int64_t skipped) {
    const Plan plan =
        analyzed(join(kind, scan(probed, kFilterTypes), scan(built, kFilterTypes), {{1, 0}}),
                 ExplainFormat::kJson);
    const auto result = run(plan, replica.replica(), GetParam());
    ASSERT_TRUE(result.ok()) << result.error().to_string();
    std::string text;
    for (const auto& row : result->rows) text += std::get<std::string>(row[0]);
    const auto json = nlohmann::json::parse(text);
    EXPECT_EQ(json["rows"], rows);
    EXPECT_EQ(json["plan"]["children"][0]["blocks"], 8);
    EXPECT_EQ(json["plan"]["children"][0]["blocks_skipped"], skipped);
  };
  for (const JoinKind kind : {JoinKind::kInner, JoinKind::kSemi, JoinKind::kBuildSemi}) {
    const int64_t rows = kind == JoinKind::kBuildSemi ? 2 : 18;
    expect(kind, dense, rows, 6);
    expect(kind, hashed, rows, 1);
  }
  expect(JoinKind::kBuildAnti, hashed, 1, 1);
  expect(JoinKind::kLeft, dense, kProbed, 0);
  expect(JoinKind::kAnti, dense, kProbed - 18, 0);
}

template <class Number>
bool holds(ExpressionKind kind, Number a, Number b) {
  switch (kind) {
    case ExpressionKind::kLess: return a < b;
    case ExpressionKind::kLessEqual: return a <= b;
    case ExpressionKind::kGreater: return a > b;
    case ExpressionKind::kGreaterEqual: return a >= b;
    case ExpressionKind::kEqual: return a == b;
    default: return a != b;
  }
}

// Rows of the join, and blocks of its probe side that were skipped; all 8, where it was not run.
std::pair<int64_t, int64_t> rows_and_skipped(OperatorPtr join, const storage::Replica& replica,
                                             uint32_t threads) {
  const Plan plan = analyzed(std::move(join), ExplainFormat::kJson);
  const auto result = run(plan, replica, threads);
  EXPECT_TRUE(result.ok()) << result.error().to_string();
  if (!result.ok()) return {};
  std::string text;
  for (const auto& row : result->rows) text += std::get<std::string>(row[0]);
  const auto json = nlohmann::json::parse(text);
  const auto& scanned = json["plan"]["children"][0];
  return {json["rows"], scanned.contains("blocks") ? scanned["blocks_skipped"].get<int64_t>() : 8};
}

// A probe row (i, i % 4) and a build row (bound, key) match where the keys are equal and
// `i kind bound` holds; nulls never match.
class ComparedBuildValues : public ::testing::TestWithParam<uint32_t> {
 protected:
  static constexpr uint32_t kBlockRows = 1024;
  static constexpr int64_t kProbed = 8 * kBlockRows;

  ComparedBuildValues() {
    probed_ = replica_.add_table(kFilterTypes);
    for (int64_t i = 0; i < kProbed; ++i) replica_.insert(probed_, {number(i), number(i % 4)});
    replica_.compact();
  }

  base::TableId built_of(const std::vector<base::Value>& bounds) {
    const base::TableId built = replica_.add_table(kFilterTypes);
    for (size_t i = 0; i < bounds.size(); ++i) {
      replica_.insert(built, {bounds[i], number(static_cast<int64_t>(i % 4))});
    }
    return built;
  }

  // Pairs that match, and build rows with a match, counted by hand.
  struct Matches {
    int64_t pairs = 0;
    int64_t built = 0;
  };
  static Matches matches_of(ExpressionKind kind, const std::vector<base::Value>& bounds) {
    Matches matches;
    for (size_t b = 0; b < bounds.size(); ++b) {
      if (base::is_null(bounds[b])) continue;
      const int64_t before = matches.pairs;
      for (int64_t i = static_cast<int64_t>(b % 4); i < kProbed; i += 4) {
        matches.pairs += static_cast<int64_t>(holds(kind, i, std::get<int64_t>(bounds[b])));
      }
      matches.built += static_cast<int64_t>(matches.pairs > before);
    }
    return matches;
  }

  // Rows, and the probed blocks that were skipped.
  std::pair<int64_t, int64_t> ran(JoinKind join_kind, base::TableId built, ExpressionKind kind,
                                  bool is_mirrored) {
    OperatorPtr op =
        join(join_kind, scan(probed_, kFilterTypes), scan(built, kFilterTypes), {{1, 1}});
    ExpressionPtr left = column(0, kIntType);
    ExpressionPtr right = column(2, kIntType);
    if (is_mirrored) std::swap(left, right);
    op->predicates.push_back(
        make(is_mirrored ? mirrored(kind) : kind, kBooleanType, std::move(left), std::move(right)));
    return rows_and_skipped(std::move(op), replica_.replica(), GetParam());
  }

  TestReplica replica_{storage::StorageOptions{.partitions = 1, .block_rows = kBlockRows}};
  base::TableId probed_{};
};

TEST_P(ComparedBuildValues, RowsBeyondAllOfThemAreNotProbed) {
  using enum ExpressionKind;
  const std::vector<base::Value> bounds = {number(2500), number(2600), kNull, number(3000),
                                           number(2700)};
  const base::TableId built = built_of(bounds);
  const std::pair<ExpressionKind, int64_t> all[] = {
      {kLess, 5}, {kLessEqual, 5}, {kGreater, 2}, {kGreaterEqual, 2}, {kEqual, 7}, {kNotEqual, 0}};
  for (const auto& [kind, skipped] : all) {
    const Matches matches = matches_of(kind, bounds);
    for (const bool is_mirrored : {false, true}) {
      EXPECT_EQ(ran(JoinKind::kInner, built, kind, is_mirrored), std::pair(matches.pairs, skipped));
      EXPECT_EQ(ran(JoinKind::kLeft, built, kind, is_mirrored).second, 0);
      EXPECT_EQ(ran(JoinKind::kSemi, built, kind, is_mirrored).second, skipped);
      EXPECT_EQ(ran(JoinKind::kAnti, built, kind, is_mirrored).second, 0);
      EXPECT_EQ(ran(JoinKind::kBuildSemi, built, kind, is_mirrored),
                std::pair(matches.built, skipped));
    }
  }
}

TEST_P(ComparedBuildValues, NullsAloneAndTheEndsOfTheRangeMatchNothing) {
  using enum ExpressionKind;
  const std::pair<int64_t, int64_t> nothing(0, 8);
  for (const ExpressionKind kind : {kLess, kLessEqual, kGreater, kGreaterEqual, kEqual}) {
    EXPECT_EQ(ran(JoinKind::kInner, built_of({kNull, kNull}), kind, false), nothing);
  }
  EXPECT_EQ(ran(JoinKind::kInner, built_of({number(INT32_MIN)}), kLess, false), nothing);
  EXPECT_EQ(ran(JoinKind::kInner, built_of({number(INT32_MAX)}), kGreater, false), nothing);
  EXPECT_EQ(ran(JoinKind::kBuildAnti, built_of({number(kProbed)}), kGreater, false),
            std::pair(int64_t{1}, int64_t{8}));
}

// A table of one row without keys, or of two, whose DECIMAL(38,4) the probe's columns are cast to:
// what a row of the scan is compared with has more digits than its column.
class OneBuildRow : public ::testing::Test {
 protected:
  static constexpr uint32_t kBlockRows = 1024;
  static constexpr int64_t kProbed = 8 * kBlockRows;
  static constexpr DataType kBuilt = {base::TypeKind::kDecimal, 38, 4};
  static constexpr DataType kCents = {base::TypeKind::kDecimal, 12, 2};
  inline static const std::vector<DataType> kProbedTypes = {kIntType, kBigIntType, kCents};

  // Row i: i - 4096, the same, and i - 4096 and a half.
  OneBuildRow() {
    probed_ = replica_.add_table(kProbedTypes);
    for (int64_t i = 0; i < kProbed; ++i) {
      const int64_t value = i - kProbed / 2;
      replica_.insert(probed_, {number(value), number(value),
                                base::Value(base::DecimalValue{value * 100 + 50, 2})});
    }
    replica_.compact();
  }

  // In units of DECIMAL(38,4).
  static base::int128_t probed_units(uint32_t column, int64_t row) {
    return base::int128_t{row - kProbed / 2} * 10'000 + (column == 2 ? 5'000 : 0);
  }

  // Rows that the join gives, counted by hand.
  static int64_t expected(JoinKind join_kind, uint32_t column, ExpressionKind kind,
                          const std::vector<std::optional<base::int128_t>>& bounds) {
    int64_t pairs = 0;
    int64_t matched = 0;
    std::vector<bool> built(bounds.size());
    for (int64_t row = 0; row < kProbed; ++row) {
      const int64_t before = pairs;
      for (size_t b = 0; b < bounds.size(); ++b) {
        if (!bounds[b] || !holds(kind, probed_units(column, row), *bounds[b])) continue;
        ++pairs;
        built[b] = true;
      }
      matched += static_cast<int64_t>(pairs > before);
    }
    switch (join_kind) {
      case JoinKind::kLeft: return pairs + kProbed - matched;
      case JoinKind::kSemi: return matched;
      case JoinKind::kAnti: return kProbed - matched;
      case JoinKind::kBuildSemi: return std::count(built.begin(), built.end(), true);
      case JoinKind::kBuildAnti: return std::count(built.begin(), built.end(), false);
      default: return pairs;
    }
  }

  // A table's decimals have 18 digits: further ones come by a factor.
  OperatorPtr built_of(const std::vector<std::optional<base::int128_t>>& bounds) {
    constexpr DataType kFactor = {base::TypeKind::kDecimal, 38, 0};
    const std::vector<DataType> types = {{base::TypeKind::kDecimal, 18, 4}, kBigIntType};
    const base::int128_t factor = base::power_of_ten(18);
    const base::TableId built = replica_.add_table(types);
    for (const auto& bound : bounds) {
      const bool is_long = bound && (*bound >= factor || *bound <= -factor);
      const base::int128_t units = bound.value_or(0) / (is_long ? factor : 1);
      replica_.insert(built, {bound ? base::Value(base::DecimalValue{units, 4}) : kNull,
                              number(is_long ? static_cast<int64_t>(factor) : 1)});
    }
    std::vector<ExpressionPtr> outputs;
    outputs.push_back(make(ExpressionKind::kMultiply, kBuilt,
                           make(ExpressionKind::kCast, kBuilt, column(0, types[0])),
                           make(ExpressionKind::kCast, kFactor, column(1, types[1]))));
    return project(scan(built, types), std::move(outputs));
  }

  // Rows, and the probed blocks that were skipped.
  std::pair<int64_t, int64_t> ran(JoinKind join_kind, uint32_t column_number, ExpressionKind kind,
                                  bool is_mirrored,
                                  const std::vector<std::optional<base::int128_t>>& bounds) {
    OperatorPtr op = join(join_kind, scan(probed_, kProbedTypes), built_of(bounds), {});
    ExpressionPtr left =
        make(ExpressionKind::kCast, kBuilt, column(column_number, kProbedTypes[column_number]));
    ExpressionPtr right = column(3, kBuilt);
    if (is_mirrored) std::swap(left, right);
    op->predicates.push_back(
        make(is_mirrored ? mirrored(kind) : kind, kBooleanType, std::move(left), std::move(right)));
    return rows_and_skipped(std::move(op), replica_.replica(), 1);
  }

  TestReplica replica_{storage::StorageOptions{.partitions = 1, .block_rows = kBlockRows}};
  base::TableId probed_{};
};

TEST_F(OneBuildRow, ItsValueIsComparedWithoutTheCast) {
  using enum ExpressionKind;
  const base::int128_t beyond = base::power_of_ten(35);
  const std::optional<base::int128_t> none;
  const std::vector<std::vector<std::optional<base::int128_t>>> tables = {
      {0},           {1},           {-1},        {5'000},      {5'001},       {-5'001},
      {-10'005'000}, {10'000'000},  {beyond},    {-beyond},    {none},        {},
      {1, -30'000},  {none, 7'000}, {beyond, 0}, {none, none}, {-40'960'000}, {40'955'000}};
  bool is_mirrored = false;
  for (const auto& bounds : tables) {
    for (uint32_t column_number = 0; column_number < 3; ++column_number) {
      for (const ExpressionKind kind :
           {kLess, kLessEqual, kGreater, kGreaterEqual, kEqual, kNotEqual}) {
        for (const JoinKind join_kind :
             {JoinKind::kInner, JoinKind::kLeft, JoinKind::kSemi, JoinKind::kAnti,
              JoinKind::kBuildSemi, JoinKind::kBuildAnti}) {
          EXPECT_EQ(ran(join_kind, column_number, kind, is_mirrored, bounds).first,
                    expected(join_kind, column_number, kind, bounds))
              << "column " << column_number << " kind " << static_cast<int>(kind) << " join "
              << static_cast<int>(join_kind) << " bounds " << bounds.size();
          is_mirrored = !is_mirrored;
        }
      }
    }
  }
}

TEST_F(OneBuildRow, BlocksBeyondItsValueAreSkipped) {
  using enum ExpressionKind;
  for (uint32_t column_number = 0; column_number < 3; ++column_number) {
    const auto skipped = [&](ExpressionKind kind, std::optional<base::int128_t> bound) {
      return ran(JoinKind::kInner, column_number, kind, false, {bound}).second;
    };
    EXPECT_EQ(skipped(kGreater, 1), 4);
    EXPECT_EQ(skipped(kLess, -1), 4);
    EXPECT_EQ(skipped(kGreaterEqual, 20'485'001), 6);
    EXPECT_EQ(skipped(kEqual, 5'001), 8);
    EXPECT_EQ(skipped(kLessEqual, std::nullopt), 8);
    EXPECT_EQ(skipped(kNotEqual, 1), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, ComparedBuildValues, ::testing::Values(1, 4));
INSTANTIATE_TEST_SUITE_P(Threads, HashedKeysTest, ::testing::Values(1, 4));
INSTANTIATE_TEST_SUITE_P(Threads, JoinFilterTest, ::testing::Values(1, 4));

}  // namespace
}  // namespace diptych::olap::test
