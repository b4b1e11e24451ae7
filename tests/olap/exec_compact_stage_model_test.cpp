// CompactStage: every row comes out once, in order, with its values and nulls; where few came in
// each batch, in full ones.

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "olap/execution/pipeline/compact_stage.h"

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

class CompactStageTest : public testing::Test {
 protected:
  CompactStage make_stage(size_t batches_wanted = SIZE_MAX,
                          const std::vector<base::DataType>& types = kCompactTypes,
                          const std::vector<bool>& needed = kNeeded) {
    return {types, needed, std::make_unique<CompactSink>(&rows_, &counts_, batches_wanted)};
  }
  Batch& make_batch(uint32_t percent, bool with_nulls = false,
                    StringLife life = StringLife::kQuery) {
    return input_.make(percent, with_nulls, life, &expected_);
  }

  const uint64_t seed_ = std::random_device{}();
  CompactInput input_{seed_};
  std::vector<CompactedRow> expected_;
  std::vector<CompactedRow> rows_;
  std::vector<uint32_t> counts_;
};

TEST_F(CompactStageTest, HandsOnEachRowOnceInOrder) {
  SCOPED_TRACE(testing::Message() << "seed " << seed_);
  for (int round = 0; round < 50; ++round) {
    CompactStage stage = make_stage();
    for (uint64_t batches = input_.below(60); batches > 0; --batches) {
      constexpr uint32_t kPercents[] = {0, 1, 5, 30, 100};
      const StringLife life = input_.below(6) == 0 ? StringLife::kBatch : StringLife::kQuery;
      ASSERT_TRUE(stage.push(make_batch(kPercents[input_.below(5)], input_.below(2) == 0, life)));
      if (input_.below(20) == 0) {
        ASSERT_TRUE(stage.flush());
      }
    }
    ASSERT_TRUE(stage.flush());
    ASSERT_EQ(rows_, expected_);
    rows_.clear();
    expected_.clear();
  }
}

TEST_F(CompactStageTest, FillsBatches) {
  SCOPED_TRACE(testing::Message() << "seed " << seed_);
  CompactStage stage = make_stage();
  while (expected_.size() < 100 * size_t{kVectorRows}) {
    ASSERT_TRUE(stage.push(make_batch(3)));
  }
  ASSERT_TRUE(stage.flush());
  EXPECT_EQ(rows_, expected_);
  EXPECT_LE(counts_.size(), 120U);
}

TEST_F(CompactStageTest, KeepsNoMoreRowsThanItHasPushed) {
  CompactStage stage = make_stage();
  while (expected_.size() < kVectorRows) {
    ASSERT_TRUE(stage.push(make_batch(0)));
    ASSERT_LE(expected_.size(), 2 * rows_.size());
  }
}

TEST_F(CompactStageTest, PassesWideRowsAsTheyAre) {
  constexpr size_t kColumns = 200;
  std::vector<base::DataType> types = kCompactTypes;
  types.resize(kColumns, types[0]);
  std::vector<bool> needed = kNeeded;
  needed.resize(kColumns, true);
  CompactStage stage = make_stage(SIZE_MAX, types, needed);
  for (size_t batches = 1; batches < 4; ++batches) {
    Batch& batch = make_batch(1, true);
    batch.columns.resize(kColumns, batch.columns[0]);
    ASSERT_TRUE(stage.push(batch));
    ASSERT_EQ(counts_.size(), batches);
  }
  EXPECT_EQ(rows_, expected_);
}

TEST_F(CompactStageTest, PassesNothingOnOnceNoMoreIsWanted) {
  CompactStage stage = make_stage(3);
  for (int batches = 0; batches < 4; ++batches) ASSERT_TRUE(stage.push(make_batch(0)));
  ASSERT_EQ(counts_.size(), 2U);
  while (stage.push(make_batch(100))) ASSERT_LT(counts_.size(), 3U);
  EXPECT_EQ(counts_.size(), 3U);
}

}  // namespace
}  // namespace diptych::olap::test
