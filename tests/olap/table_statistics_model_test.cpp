// Statistics against a map of the rows, after every round of random writes: rows come, go and are
// updated, slots are used again, pages become blocks and blocks pages, columns thaw, freeze and
// settle, levels change.

#include <algorithm>
#include <bit>
#include <cmath>
#include <deque>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "olap/table_statistics.h"
#include "tests/sanitizers.h"
#include "tests/storage/kept_replica.h"
#include "tests/storage/partition_model.h"
#include "tests/temporary_directory.h"

namespace diptych::olap {
namespace {

using base::ColumnId;
using storage::ChangeWatch;
using storage::test::PartitionModel;

// What a column's drawn rows have: nulls last, as infinity, which no test value is.
struct Drawn {
  std::vector<double> numbers;
  std::vector<std::string> texts;

  void sort() {
    std::sort(numbers.begin(), numbers.end());
    std::sort(texts.begin(), texts.end());
  }
  bool operator==(const Drawn&) const = default;
};

double number_of(const base::Value& value) {
  if (base::is_null(value)) return INFINITY;
  if (const auto* text = std::get_if<std::string>(&value)) return text_number(*text);
  if (const auto* is_true = std::get_if<bool>(&value)) return *is_true ? 1 : 0;
  return *numeric_value(value);
}

std::vector<uint64_t> bits_of(const SampledColumn& sample) {
  std::vector<uint64_t> bits;
  for (const double number : sample.numbers()) bits.push_back(std::bit_cast<uint64_t>(number));
  return bits;
}

bool agree(const ColumnSample& a, const ColumnSample& b) {
  const auto same = [](const auto& x, const auto& y) {
    return x.number == y.number && x.share == y.share;
  };
  return a.is_whole == b.is_whole && a.has_all_values == b.has_all_values &&
         a.null_share == b.null_share && a.distinct == b.distinct && a.quantiles == b.quantiles &&
         std::equal(a.frequent.begin(), a.frequent.end(), b.frequent.begin(), b.frequent.end(),
                    same);
}

class TableStatisticsModel : public ::testing::Test {
 protected:
  explicit TableStatisticsModel(uint32_t block_rows = storage::kBlockRowsMin)
      : seed_(std::random_device()()),
        schema_(settled_schema()),
        table_(schema_, {.partitions = 2, .block_rows = block_rows}),
        keeper_(&table_) {
    for (uint32_t p = 0; p < table_.partition_count(); ++p) {
      models_.emplace_back(schema_, &table_.partition(base::PartitionId(p)), seed_ + p);
      models_.back().random() =
          storage::test::RandomRows::all_different(models_.back().layout(), seed_ + p);
    }
  }

  static base::TableSchema settled_schema() {
    base::TableSchema schema = storage::test::every_type_schema();
    schema.settled = base::Settled::kOn;
    return schema;
  }
  uint64_t any(uint64_t below) { return models_[0].random().below(below); }

  // Values of few kinds now and then, so that some are frequent, columns thaw and bounds move.
  void write(PartitionModel* model, uint64_t inserts_in_ten) {
    const uint64_t dice = any(10);
    if (model->rows().empty() || dice < inserts_in_ten) {
      model->insert();
    } else if (dice < 8 || any(4) != 0) {
      const ColumnId column = model->random().column();
      const uint32_t ordinal = model->any_ordinal();
      if (any(2) == 0) {
        model->update(ordinal, column);
      } else {
        const auto& other = model->rows().at(model->any_ordinal());
        model->update(ordinal, column, other.row.values()[column.value]);
      }
    } else {
      model->erase(model->any_ordinal());
    }
  }

  // Values beyond all others, which are there for one look and gone by the next: summaries stay
  // wide until leaves are made anew.
  void pass_an_extreme(int round) {
    PartitionModel& model = models_[any(2)];
    if (model.rows().empty()) return;
    const uint32_t last = model.rows().rbegin()->first;
    const auto near_the_end = static_cast<uint32_t>(last - any(std::min<uint64_t>(last + 1, 900)));
    const uint32_t ordinal =
        any(2) == 0 ? model.any_ordinal() : model.rows().lower_bound(near_the_end)->first;
    model.update(ordinal, ColumnId(0), int64_t{2'000'000} + round * 1'000);
    keeper_.refresh(&statistics_);
    if (any(2) == 0) {
      model.erase(ordinal);
    } else {
      model.update(ordinal, ColumnId(0), int64_t{0});
    }
    keeper_.refresh(&statistics_);
  }

  void expect_agreement() {
    keeper_.refresh(&statistics_);
    ASSERT_EQ(statistics_.rows, models_[0].rows().size() + models_[1].rows().size());
    ASSERT_FALSE(statistics_.lacks_samples);
    TableSample again(schema_, keeper_.sample().levels());
    again.refresh(&table_, TableSample::Changes(table_.partition_count()),
                  std::vector<bool>(schema_.columns.size(), true));
    ASSERT_EQ(again.levels(), keeper_.sample().levels());
    for (uint16_t c = 0; c < schema_.columns.size(); ++c) {
      SCOPED_TRACE(schema_.columns[c].name);
      ASSERT_EQ(statistics_.columns[c], bounds_of(ColumnId(c)));
      ASSERT_NO_FATAL_FAILURE(expect_sample(c, again.sample(ColumnId(c)).get()));
    }
  }

  uint64_t seed_;
  base::TableSchema schema_;
  storage::Table table_;
  StatisticsKeeper keeper_;
  TableStatistics statistics_;
  std::deque<PartitionModel> models_;

 private:
  ColumnBounds bounds_of(ColumnId column) {
    ColumnBounds bounds;
    const base::TypeKind kind = schema_.columns[column.value].type.kind;
    if (schema_.columns[column.value].type.is_string() || kind == base::TypeKind::kBoolean) {
      return bounds;
    }
    for (uint32_t p = 0; p < table_.partition_count(); ++p) {
      const storage::Partition& partition = table_.partition(base::PartitionId(p));
      for (size_t l = 0; l < partition.leaf_count(); ++l) {
        if (partition.leaf(l).live_rows() == 0) continue;
        const auto summary = partition.leaf(l).summary(column);
        if (!summary.known) continue;
        if (kind == base::TypeKind::kDouble) {
          bounds.widen(summary.min_double, summary.max_double);
        } else {
          bounds.widen(static_cast<double>(summary.min), static_cast<double>(summary.max));
        }
      }
      // They cover every value, whatever the summaries say.
      for (const auto& [ordinal, row] : models_[p].rows()) {
        const base::Value& value = row.row.values()[column.value];
        if (!base::is_null(value)) bounds.widen(*numeric_value(value), *numeric_value(value));
      }
    }
    return bounds;
  }

  void expect_sample(uint16_t c, const SampledColumn* again) {
    const SampledColumn* const sample = statistics_.samples[c].get();
    ASSERT_EQ(sample == nullptr, statistics_.rows == 0);
    if (sample == nullptr) return;
    Drawn expected;
    const TableSample::Levels levels = keeper_.sample().levels();
    for (const PartitionModel& model : models_) {
      for (const auto& [ordinal, row] : model.rows()) {
        if (!ChangeWatch::is_drawn(ordinal, levels.rows)) continue;
        const base::Value& value = row.row.values()[c];
        expected.numbers.push_back(number_of(value));
        const auto* const text = std::get_if<std::string>(&value);
        if (text != nullptr && ChangeWatch::is_drawn(ordinal, levels.texts)) {
          expected.texts.push_back(*text);
        }
      }
    }
    expected.sort();
    Drawn found;
    for (const double number : sample->numbers()) {
      if (SampledValues::is_none(number)) continue;
      found.numbers.push_back(std::isnan(number) ? INFINITY : number);
    }
    found.texts = sample->summary().texts;
    found.sort();
    ASSERT_EQ(found, expected);
    ASSERT_TRUE(agree(sample->summary(), again->summary()));
    ASSERT_EQ(sample->summary().is_whole, levels.rows == 0);
  }
};

TEST_F(TableStatisticsModel, AreThoseOfTheSnapshotAfterAnyWrites) {
  SCOPED_TRACE(::testing::Message() << "seed " << seed_);
  // Twenty rounds grow and shrink the table once.
  for (int round = 0; round < (diptych::test::kSanitized ? 20 : 40); ++round) {
    const bool grows = round % 20 < 12;
    const uint64_t writes = any(3) == 0 ? any(20) : any(3'000);
    for (uint64_t i = 0; i < writes; ++i) write(&models_[any(2)], grows ? 8 : any(4));
    const uint64_t removed = grows ? 0 : any(2'000);
    for (uint64_t i = 0; i < removed; ++i) {
      PartitionModel& model = models_[any(2)];
      if (!model.rows().empty()) model.erase(model.any_ordinal());
    }
    pass_an_extreme(round);
    const uint64_t looks = any(4) == 0 ? any(200) : any(3);
    for (uint64_t i = 0; i < looks; ++i) {
      std::ignore = table_.partition(base::PartitionId(static_cast<uint32_t>(any(2)))).compact();
    }
    ASSERT_NO_FATAL_FAILURE(expect_agreement()) << "round " << round;
  }
}

// The first look at a table that is large, and what it says once its rows are gone.
TEST_F(TableStatisticsModel, FollowALargeTableUntilItIsEmpty) {
  SCOPED_TRACE(::testing::Message() << "seed " << seed_);
  for (int i = 0; i < 40'000; ++i) models_[i % 2].insert();
  for (uint32_t p = 0; p < 2; ++p) table_.partition(base::PartitionId(p)).compact_all();
  ASSERT_NO_FATAL_FAILURE(expect_agreement());
  EXPECT_EQ(keeper_.sample().levels().rows, 3U);
  while (statistics_.rows != 0) {
    for (uint64_t i = 0; i < 9'000; ++i) {
      PartitionModel& model = models_[i % 2];
      if (!model.rows().empty()) model.erase(model.any_ordinal());
    }
    ASSERT_NO_FATAL_FAILURE(expect_agreement());
  }
  EXPECT_EQ(keeper_.sample().levels().rows, 0U);
}

// A published sample is not written any more.
TEST_F(TableStatisticsModel, WhatWasGivenOutStaysAsItWas) {
  for (int i = 0; i < 1'000; ++i) models_[0].insert();
  keeper_.refresh(&statistics_);
  const auto before = statistics_.samples;
  std::vector<std::vector<uint64_t>> bits;
  for (const auto& sample : before) bits.push_back(bits_of(*sample));
  for (uint32_t i = 0; i < 1'000; ++i) models_[0].update(i, ColumnId(0));
  keeper_.refresh(&statistics_);
  EXPECT_NE(statistics_.samples[0], before[0]);
  for (size_t c = 0; c < before.size(); ++c) {
    EXPECT_EQ(statistics_.samples[c] == before[c], c != 0);  // no other column changed
    EXPECT_EQ(bits_of(*before[c]), bits[c]);
  }
}

class TableStatisticsOfBlocks : public TableStatisticsModel {
 protected:
  TableStatisticsOfBlocks() : TableStatisticsModel(storage::kBlockRowsDefault) {}
};

// Blocks that a bulk load adds, and takes back.
TEST_F(TableStatisticsOfBlocks, FollowABulkLoad) {
  SCOPED_TRACE(::testing::Message() << "seed " << seed_);
  ASSERT_NO_FATAL_FAILURE(expect_agreement());
  ASSERT_TRUE(models_[0].append_block());
  ASSERT_NO_FATAL_FAILURE(expect_agreement());
  while (!models_[0].rows().empty()) models_[0].erase(models_[0].rows().begin()->first);
  table_.partition(base::PartitionId(0)).drop_dead_ranges();
  ASSERT_NO_FATAL_FAILURE(expect_agreement());
  models_[0].insert();
  ASSERT_NO_FATAL_FAILURE(expect_agreement());
}

constexpr size_t kNarrowBudget = 4096;

class TableStatisticsInFile : public ::testing::Test {
 protected:
  TableStatisticsInFile()
      : kept_(directory_.path(), schema_, kNarrowBudget), model_(schema_, &kept_.partition(), 3) {
    model_.random() = storage::test::RandomRows::all_different(model_.layout(), 3);
    for (uint32_t i = 0; i < 2 * storage::kBlockRowsMin; ++i) model_.insert();
    kept_.partition().compact_all();
    EXPECT_TRUE(kept_.save().ok());
    EXPECT_TRUE(kept_.reopen().ok());
    model_.set_partition(&kept_.partition());
  }
  storage::Table* table() { return &kept_.replica().table(base::TableId(0)); }
  // While all columns are in memory, since they are pinned.
  void load_and_refresh(StatisticsKeeper* keeper, TableStatistics* statistics) {
    std::vector<storage::PinnedColumn> pinned;
    for (size_t l = 0; l < kept_.partition().leaf_count(); ++l) {
      for (uint16_t c = 0; c < schema_.columns.size(); ++c) {
        pinned.push_back(storage::value_or_throw(kept_.partition().leaf(l).pin(ColumnId(c))));
      }
    }
    keeper->refresh(statistics);
  }

  size_t distinct_in_model() const {
    std::set<int64_t> values;
    for (const auto& [ordinal, row] : model_.rows()) {
      values.insert(std::get<int64_t>(row.row.values()[0]));
    }
    return values.size();
  }

  const base::TableSchema schema_ = storage::test::narrow_schema();
  const diptych::test::TemporaryDirectory directory_;
  storage::test::KeptReplica kept_;
  PartitionModel model_;
};

// A column that is in the block file only is not read for its sample; its bounds are known.
TEST_F(TableStatisticsInFile, ColumnsGetTheirSamplesOnceTheyAreInMemory) {
  StatisticsKeeper keeper(table());
  TableStatistics statistics;
  keeper.refresh(&statistics);
  EXPECT_TRUE(statistics.lacks_samples);
  EXPECT_EQ(statistics.samples[0], nullptr);
  EXPECT_TRUE(statistics.columns[0].known);
  EXPECT_EQ(kept_.buffers().figures().loads, 0U);
  load_and_refresh(&keeper, &statistics);
  EXPECT_FALSE(statistics.lacks_samples);
  for (const auto& sample : statistics.samples) EXPECT_NE(sample, nullptr);
}

// The old values are kept meanwhile; one of the rows that changed while it could not be read is
// gone before it can, and is no row of the sample any more.
TEST_F(TableStatisticsInFile, ColumnsGetTheirChangesOnceTheyAreInMemory) {
  StatisticsKeeper keeper(table());
  TableStatistics statistics;
  load_and_refresh(&keeper, &statistics);
  const auto before = statistics.samples;
  model_.update(5, ColumnId(0), int64_t{5'000'005});
  model_.update(7, ColumnId(0), int64_t{5'000'007});
  ASSERT_TRUE(kept_.buffers().trim().ok());
  keeper.refresh(&statistics);
  EXPECT_TRUE(statistics.lacks_samples);
  EXPECT_EQ(statistics.samples, before);
  EXPECT_EQ(statistics.columns[0].max, 5'000'007);
  model_.erase(7);
  keeper.refresh(&statistics);
  EXPECT_TRUE(statistics.lacks_samples);
  EXPECT_NE(statistics.samples[0], before[0]);
  EXPECT_LT(statistics.samples[0]->summary().quantiles.back(), 5'000'005);
  load_and_refresh(&keeper, &statistics);
  EXPECT_FALSE(statistics.lacks_samples);
  EXPECT_EQ(statistics.samples[0]->summary().quantiles.back(), 5'000'005);
  EXPECT_EQ(statistics.samples[0]->summary().distinct, static_cast<double>(distinct_in_model()));
}

}  // namespace
}  // namespace diptych::olap
