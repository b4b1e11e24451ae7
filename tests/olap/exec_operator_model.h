// OperatorModel: random tables with nulls, duplicates and deleted rows, and plans over them against
// the naive reference, with one thread and with more threads than cores.

#pragma once

#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "tests/olap/exec_naive.h"
#include "tests/sanitizers.h"

namespace diptych::olap::test {

// A unique row number, keys from small and large domains, and payloads.
inline const std::vector<DataType> kOperatorTypes = {kIntType,  kIntType,           kBigIntType,
                                                     kTextType, decimal_type(9, 2), kDoubleType,
                                                     kDateType, kBooleanType};
inline constexpr uint32_t kColumns = 8;

class OperatorModel : public ::testing::TestWithParam<uint64_t> {
 public:
  uint64_t below(uint64_t bound) { return random_() % bound; }

 protected:
  OperatorModel() : random_(GetParam()) {
    fill(0, 1 + below(1500));
    fill(1, 1 + below(1500));
    fill(2, 1 + below(60));
    fill(3, 1 + below(200));
  }

  Value key_value(const DataType& type) {
    if (below(8) == 0) return kNull;
    const auto n = static_cast<int64_t>(below(domain_));
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

  void fill(uint32_t t, uint64_t rows) {
    domain_ = below(2) == 0 ? 12 : 700;
    const bool in_runs = below(2) == 0;  // rows that follow each other have the same values
    const base::TableId id = replica_.add_table(kOperatorTypes);
    tables_.emplace_back();
    Row row;
    for (uint64_t i = 0; i < rows; ++i) {
      if (row.empty() || !in_runs || below(10) == 0) {
        row.assign(1, kNull);
        for (uint32_t c = 1; c < kColumns; ++c) row.push_back(key_value(kOperatorTypes[c]));
      }
      row[0] = number(static_cast<int64_t>(i));
      replica_.insert(id, row);
      if (below(6) == 0) {
        replica_.erase(replica_.inserted() - 1);
      } else {
        tables_[t].push_back(row);
      }
    }
  }

  OperatorPtr scan_of(uint32_t t) {
    OperatorPtr op = scan(base::TableId(t), kOperatorTypes);
    if (below(3) == 0) {
      op->predicates.push_back(make(ExpressionKind::kLess, kBooleanType, column(2, kBigIntType),
                                    literal(kBigIntType, number(static_cast<int64_t>(below(20))))));
    }
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

  void expect_same(const Plan& plan, bool ordered = false) {
    const std::vector<Row> expected = naive_execute(*plan.root, tables_);
    for (const uint32_t threads : {1, 3}) {
      const base::Result<QueryResult> result = test::run(plan, replica_.replica(), threads);
      ASSERT_TRUE(result.ok()) << result.error().to_string();
      ASSERT_EQ(lines(result->rows, !ordered), lines(expected, !ordered)) << threads << " threads";
    }
    // Two of them scan together.
    Executor executor(placement(3));
    const StopFlag stop{false};
    const Plan* const twice[] = {&plan, &plan};
    for (const auto& result : executor.run_batch(twice, replica_.replica(), stop)) {
      ASSERT_TRUE(result.ok()) << result.error().to_string();
      ASSERT_EQ(lines(result->rows, !ordered), lines(expected, !ordered)) << "two of a batch";
    }
  }

  std::mt19937_64 random_;
  uint64_t domain_ = 12;
  TestReplica replica_;
  NaiveTables tables_;
};

}  // namespace diptych::olap::test
