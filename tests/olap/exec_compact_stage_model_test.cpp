// CompactStage: every row comes out once, in order, with its values and nulls; where few came in
// each batch, in full ones.

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "olap/execution/compact_stage.h"

namespace diptych::olap::test {
namespace {

struct CompactedRow {
  int64_t number;
  bool is_null;
  std::string text;
  bool operator==(const CompactedRow&) const = default;
};

// Keeps what comes, and how many rows came at a time. Wants so many batches.
class CompactSink : public Stage {
 public:
  CompactSink(std::vector<CompactedRow>* rows, std::vector<uint32_t>* counts, size_t batches_wanted)
      : rows_(*rows), counts_(*counts), batches_wanted_(batches_wanted) {}

  bool push(Batch& batch) override {
    EXPECT_GT(batch.selection->count, 0U) << "P1";
    EXPECT_LT(counts_.size(), batches_wanted_) << "P2";
    counts_.push_back(batch.selection->count);
    for_selected(*batch.selection, [&](uint32_t i) {
      const Vector& numbers = batch.columns[0];
      const bool is_null = numbers.is_null(i);
      rows_.push_back({is_null ? 0 : numbers.as<int64_t>()[i], is_null,
                       std::string(batch.columns[2].as<base::StringRef>()[i].view())});
    });
    return counts_.size() < batches_wanted_;
  }

 private:
  std::vector<CompactedRow>& rows_;
  std::vector<uint32_t>& counts_;
  const size_t batches_wanted_;
};

const std::vector<base::DataType> kCompactTypes = {
    {base::TypeKind::kBigInt}, {base::TypeKind::kInt}, {base::TypeKind::kVarchar}};

class CompactInput {
 public:
  explicit CompactInput(uint64_t seed) : random_(seed) { batch_.selection = &selection_; }

  uint64_t below(uint64_t bound) { return random_() % bound; }

  // A batch with about so many percent of its rows; what is selected goes to *expected.
  Batch& make(uint32_t percent, bool with_nulls, StringLife life,
              std::vector<CompactedRow>* expected) {
    const auto slots = static_cast<uint32_t>(1 + below(kVectorRows));
    uint64_t bits[kVectorWords] = {};
    set_bit(bits, below(slots));
    for (uint32_t i = 0; i < slots; ++i) {
      if (below(100) < percent) set_bit(bits, i);
    }
    select_bits(bits, slots, &selection_);
    numbers_.clear_nulls();
    texts_.assign(slots, {});
    for (uint32_t i = 0; i < slots; ++i) {
      numbers_.values<int64_t>()[i] = static_cast<int64_t>(random_());
      if (with_nulls && below(3) == 0) set_bit(numbers_.nulls(), i);
      texts_[i] = "text of a row, too long to be kept inline " + std::to_string(below(1000));
      refs_.values<base::StringRef>()[i] = base::StringRef(texts_[i]);
    }
    // Nobody needs the second column: it has no values.
    Vector nothing;
    nothing.type = PhysicalType::kInt32;
    batch_.columns = {with_nulls ? numbers_.view_with_nulls() : numbers_.view(), nothing,
                      refs_.view()};
    batch_.columns[2].string_life = life;
    for_selected(selection_, [&](uint32_t i) {
      const bool is_null = batch_.columns[0].is_null(i);
      expected->push_back({is_null ? 0 : numbers_.values<int64_t>()[i], is_null, texts_[i]});
    });
    if (life == StringLife::kQuery) kept_.push_back(std::move(texts_));
    return batch_;
  }

 private:
  std::mt19937_64 random_;
  VectorBuffer numbers_{PhysicalType::kInt64};
  VectorBuffer refs_{PhysicalType::kString};
  std::vector<std::string> texts_;
  std::vector<std::vector<std::string>> kept_;
  Selection selection_;
  Batch batch_;
};

const std::vector<bool> kNeeded = {true, false, true};

TEST(CompactStageModel, HandsOnEachRowOnceInOrder) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  CompactInput input(seed);
  for (int round = 0; round < 50; ++round) {
    std::vector<CompactedRow> expected;
    std::vector<CompactedRow> rows;
    std::vector<uint32_t> counts;
    CompactStage stage(kCompactTypes, kNeeded,
                       std::make_unique<CompactSink>(&rows, &counts, SIZE_MAX));
    for (uint64_t batches = input.below(60); batches > 0; --batches) {
      constexpr uint32_t kPercents[] = {0, 1, 5, 30, 100};
      const StringLife life = input.below(6) == 0 ? StringLife::kBatch : StringLife::kQuery;
      Batch& batch = input.make(kPercents[input.below(5)], input.below(2) == 0, life, &expected);
      ASSERT_TRUE(stage.push(batch));
      if (input.below(20) == 0) {
        ASSERT_TRUE(stage.flush());
      }
    }
    ASSERT_TRUE(stage.flush());
    ASSERT_EQ(rows, expected);
  }
}

TEST(CompactStage, FillsBatches) {
  CompactInput input(1);
  std::vector<CompactedRow> expected;
  std::vector<CompactedRow> rows;
  std::vector<uint32_t> counts;
  CompactStage stage(kCompactTypes, kNeeded,
                     std::make_unique<CompactSink>(&rows, &counts, SIZE_MAX));
  while (expected.size() < 100 * size_t{kVectorRows}) {
    ASSERT_TRUE(stage.push(input.make(3, false, StringLife::kQuery, &expected)));
  }
  ASSERT_TRUE(stage.flush());
  EXPECT_EQ(rows, expected);
  EXPECT_LE(counts.size(), 115U);
}

TEST(CompactStage, KeepsNoMoreRowsThanItHasPushed) {
  CompactInput input(4);
  std::vector<CompactedRow> expected;
  std::vector<CompactedRow> rows;
  std::vector<uint32_t> counts;
  CompactStage stage(kCompactTypes, kNeeded,
                     std::make_unique<CompactSink>(&rows, &counts, SIZE_MAX));
  while (expected.size() < kVectorRows) {
    ASSERT_TRUE(stage.push(input.make(0, false, StringLife::kQuery, &expected)));
    ASSERT_LE(expected.size(), 2 * rows.size());
  }
}

TEST(CompactStage, PassesWideRowsAsTheyAre) {
  CompactInput input(3);
  std::vector<CompactedRow> expected;
  std::vector<CompactedRow> rows;
  std::vector<uint32_t> counts;
  constexpr size_t kColumns = 200;
  std::vector<base::DataType> types = kCompactTypes;
  types.resize(kColumns, types[0]);
  std::vector<bool> needed = kNeeded;
  needed.resize(kColumns, true);
  CompactStage stage(types, needed, std::make_unique<CompactSink>(&rows, &counts, SIZE_MAX));
  for (size_t batches = 1; batches < 4; ++batches) {
    Batch& batch = input.make(1, true, StringLife::kQuery, &expected);
    batch.columns.resize(kColumns, batch.columns[0]);
    ASSERT_TRUE(stage.push(batch));
    ASSERT_EQ(counts.size(), batches);
  }
  EXPECT_EQ(rows, expected);
}

TEST(CompactStage, PassesNothingOnOnceNoMoreIsWanted) {
  CompactInput input(2);
  std::vector<CompactedRow> expected;
  std::vector<CompactedRow> rows;
  std::vector<uint32_t> counts;
  CompactStage stage(kCompactTypes, kNeeded, std::make_unique<CompactSink>(&rows, &counts, 3));
  for (int batches = 0; batches < 4; ++batches) {
    ASSERT_TRUE(stage.push(input.make(0, false, StringLife::kQuery, &expected)));
  }
  ASSERT_EQ(counts.size(), 2U);
  EXPECT_FALSE(stage.push(input.make(100, false, StringLife::kQuery, &expected)));
  EXPECT_EQ(counts.size(), 3U);
}

}  // namespace
}  // namespace diptych::olap::test
