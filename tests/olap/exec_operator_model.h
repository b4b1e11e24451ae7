// OperatorModel: random tables with nulls, duplicates and deleted rows, in blocks and in pages, and
// plans over them against the naive reference, with one thread and with more threads than cores.

#pragma once

#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "tests/olap/exec_model_table.h"
#include "tests/olap/exec_naive.h"
#include "tests/sanitizers.h"

namespace diptych::olap::test {

// A unique row number, keys from small and large domains, and payloads.
inline const std::vector<DataType> kOperatorTypes = {kIntType,  kIntType,           kBigIntType,
                                                     kTextType, decimal_type(9, 2), kDoubleType,
                                                     kDateType, kBooleanType};
inline constexpr uint32_t kColumns = 8;

// Two tables of which one or the other has blocks, and two small ones.
class OperatorTables {
 public:
  explicit OperatorTables(uint64_t seed)
      : random_(seed), replica_(small_blocks(seed % 4 == 0 ? 2 : 1)) {
    const uint64_t large = below(4) == 0 ? 1 + below(1000) : 1200 + below(2400);
    const uint64_t other = 1 + below(below(2) == 0 ? 1500 : 200);
    const bool swapped = below(2) == 0;
    fill(0, swapped ? other : large);
    fill(1, swapped ? large : other);
    fill(2, 1 + below(large > 1000 ? 30 : 60));
    fill(3, 1 + below(200));
  }

  uint64_t below(uint64_t bound) { return random_() % bound; }
  const storage::Replica& replica() const { return replica_.replica(); }

 protected:
  Value key_value(const DataType& type, uint64_t domain) {
    const auto n = static_cast<int64_t>(below(domain));
    switch (type.kind) {
      case TypeKind::kInt:
      case TypeKind::kBigInt: return n - 3;
      case TypeKind::kDecimal: return decimal(n * 25 - 100, type.scale);
      case TypeKind::kDouble:
        return n == 1 ? -0.0 : n == 2 ? std::nan("") : static_cast<double>(n) / 4;
      case TypeKind::kDate: return base::Date{static_cast<int32_t>(n)};
      case TypeKind::kBoolean: return n % 2 == 0;
      default: return (n % 3 == 0 ? "a long enough text, with key " : "k") + std::to_string(n);
    }
  }

  void fill(uint32_t t, uint64_t count) {
    static constexpr uint64_t kDomains[] = {12, 12, 250, 700};
    const uint64_t domain = kDomains[below(4)];
    const bool in_runs = below(2) == 0;  // rows that follow each other have the same values
    std::vector<uint64_t> domains;
    std::vector<uint64_t> nulls_in;  // one value in so many
    for (uint32_t c = 0; c < kColumns; ++c) {
      // Joins along column 1 have rows, and not too many for the reference.
      const uint64_t choice = c <= 1 ? 8 : below(8);
      domains.push_back(choice == 0 ? 1 : choice <= 2 ? 100'000 : domain);
      nulls_in.push_back(below(4) == 0 ? UINT64_MAX : 8);
    }
    const auto value = [&](uint32_t c) {
      return below(nulls_in[c]) == 0 ? kNull : key_value(kOperatorTypes[c], domains[c]);
    };
    Row row;
    ModelRows rows{.count = count};
    rows.row = [&](uint64_t i) {
      if (row.empty() || !in_runs || below(10) == 0) {
        row.assign(1, kNull);
        for (uint32_t c = 1; c < kColumns; ++c) row.push_back(value(c));
      }
      row[0] = number(static_cast<int64_t>(i));
      return row;
    };
    for (uint16_t c = 1; c < kColumns; ++c) rows.updated.push_back(c);
    rows.value = [&](uint16_t c) {
      return below(8) == 0 ? key_value(kOperatorTypes[c], 900) : value(c);
    };
    const base::TableId id = replica_.add_table(kOperatorTypes);
    EXPECT_EQ(id.value, t);
    tables_.push_back(ModelTable(&replica_, id, rows, &random_).live());
  }

  // Two of the first so many tables, whose join along any column has not too many rows.
  std::pair<uint32_t, uint32_t> two_of(uint64_t tables) {
    constexpr size_t kPairsMax = 400'000;
    while (true) {
      const auto a = static_cast<uint32_t>(below(tables));
      const auto b = static_cast<uint32_t>(below(tables));
      if (tables_[a].size() * tables_[b].size() <= kPairsMax) return {a, b};
    }
  }

  OperatorPtr scan_of(uint32_t t) {
    OperatorPtr op = scan(base::TableId(t), kOperatorTypes);
    if (below(3) == 0) {
      op->predicates.push_back(make(ExpressionKind::kLess, kBooleanType, column(2, kBigIntType),
                                    literal(kBigIntType, number(static_cast<int64_t>(below(20))))));
    }
    // Above many rows, the hashed keys of a join offer the values of each of their columns.
    op->estimated_rows = below(2) == 0 ? 0 : 1e6;
    return op;
  }

  OperatorPtr random_join(OperatorPtr probe, OperatorPtr build) {
    const auto kind = static_cast<JoinKind>(below(7));
    std::vector<std::pair<uint32_t, uint32_t>> keys;
    const bool cross = build->table.value == 2 && below(4) == 0;
    for (uint64_t i = cross ? 0 : 1 + below(3); i != 0; --i) {
      const auto c = static_cast<uint32_t>(below(kColumns));
      keys.emplace_back(c, c);
    }
    OperatorPtr op = join(kind, std::move(probe), std::move(build), std::move(keys));
    if (below(2) == 0) {
      op->predicates.push_back(
          make(ExpressionKind::kLessEqual, kBooleanType, column(2, kBigIntType),
               column(static_cast<uint32_t>(op->children[0]->output.size() + 2), kBigIntType)));
    }
    return op;
  }

  std::mt19937_64 random_;
  TestReplica replica_;
  NaiveTables tables_;
};

class OperatorModel : public ::testing::TestWithParam<uint64_t>, public OperatorTables {
 protected:
  OperatorModel() : OperatorTables(GetParam()) {}

  void expect_same(const Plan& plan, bool ordered = false) {
    const std::vector<std::string> expected = lines(naive_execute(*plan.root, tables_), !ordered);
    for (const uint32_t threads : {1, 3}) {
      const base::Result<QueryResult> result = test::run(plan, replica_.replica(), threads);
      ASSERT_TRUE(result.ok()) << result.error().to_string();
      ASSERT_EQ(lines(result->rows, !ordered), expected) << threads << " threads";
    }
    // Two of them scan together.
    Executor executor(placement(3));
    const StopFlag stop{false};
    const Plan* const twice[] = {&plan, &plan};
    for (const auto& result : executor.run_batch(twice, replica_.replica(), stop)) {
      ASSERT_TRUE(result.ok()) << result.error().to_string();
      ASSERT_EQ(lines(result->rows, !ordered), expected) << "two of a batch";
    }
  }
};

}  // namespace diptych::olap::test
