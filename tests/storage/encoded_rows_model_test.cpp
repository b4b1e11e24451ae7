#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "storage/table.h"
#include "tests/storage/every_type_table.h"
#include "tests/storage/one_row.h"
#include "tests/storage/partition_model.h"
#include "tests/storage/record_rows.h"

namespace diptych::storage {
namespace {

using test::every_type_schema;
using test::narrow_schema;
using test::PartitionModel;

TEST(EncodedRows, HasTheValuesOfRowsOfEveryType) {
  PartitionModel model(every_type_schema(), BlockForm::kCompressed, std::random_device()());
  ASSERT_TRUE(model.append_block());
  ASSERT_EQ(model.partition().leaf_count(), 1U);
  ASSERT_EQ(model.partition().leaf(0).form(), LeafForm::kCompressed);
  ASSERT_NO_FATAL_FAILURE(model.expect_agreement());
  for (int i = 0; i < 2'000; ++i) model.update(model.any_ordinal(), model.random().column());
  for (int i = 0; i < 500; ++i) model.erase(model.any_ordinal());
  model.expect_agreement();
}

TEST(EncodedRows, IsNoLargerThanOneMadeFromPages) {
  PartitionModel appended(narrow_schema(), BlockForm::kCompressed, 11);
  ASSERT_TRUE(appended.append_block());
  PartitionModel inserted(narrow_schema(), BlockForm::kCompressed, 11);
  for (uint32_t i = 0; i < kBlockRowsDefault; ++i) inserted.insert();
  inserted.partition().compact_all();
  ASSERT_EQ(inserted.partition().leaf_count(), 1U);
  EXPECT_LE(appended.partition().memory_bytes(), inserted.partition().memory_bytes());
}

TEST(EncodedRows, ComesWhereNoSlotWaitsForAnInsert) {
  PartitionModel model(narrow_schema(), BlockForm::kCompressed, 12);
  EXPECT_EQ(model.partition().slots_before_block(), 0U);
  for (int i = 0; i < 1'000; ++i) model.insert();
  EXPECT_EQ(model.partition().slots_before_block(), kBlockRowsDefault - 1'000);
  for (int i = 0; i < 10; ++i) model.erase(model.any_ordinal());
  EXPECT_EQ(model.partition().slots_before_block(), kBlockRowsDefault - 990);
  while (model.partition().slots_before_block() != 0) model.insert();
  ASSERT_EQ(model.rows().size(), kBlockRowsDefault);
  ASSERT_TRUE(model.append_block());
  // A block that is worn has slots again: inserts make it pages.
  for (uint32_t i = 0; i < kBlockRowsDefault / 4; ++i) model.erase(kBlockRowsDefault + i);
  EXPECT_EQ(model.partition().slots_before_block(), kBlockRowsDefault / 4);
  for (uint32_t i = 0; i < kBlockRowsDefault / 4; ++i)
    ASSERT_LT(model.insert(), 2 * kBlockRowsDefault);
  EXPECT_EQ(model.partition().slots_before_block(), 0U);
  model.expect_agreement();
}

TEST(EncodedRows, IsNotMadeOfPlainForm) {
  PartitionModel model(narrow_schema(), BlockForm::kPlain, 13);
  EXPECT_FALSE(model.append_block());
  EXPECT_EQ(model.partition().leaf_count(), 0U);
}

TEST(EncodedRows, IsNotMadeOfMoreTextThanABlockTakes) {
  base::TableSchema schema;
  schema.columns.push_back({"t", {base::TypeKind::kVarchar}, base::Nullability::kNotNull});
  const base::RowLayout layout(schema);
  Partition partition(schema);
  const test::TestRow row(layout, {std::string(1025, 'x')});
  const std::vector<NewRow> rows(kBlockRowsDefault, {base::RowId(1), row.bytes(), nullptr});
  EXPECT_EQ(partition.append_block(rows), std::nullopt);
  EXPECT_EQ(partition.leaf_count(), 0U);
}

TEST(EncodedRows, AreABlockOfTheMostRowsWithAKibibyteOfTextEach) {
  base::TableSchema schema;
  schema.columns.push_back({"t", {base::TypeKind::kVarchar}, base::Nullability::kNotNull});
  const base::RowLayout layout(schema);
  Partition partition(schema, StorageOptions{.block_rows = kBlockRowsMax});
  test::RandomRows random(layout, 15);
  std::vector<test::TestRow> texts;
  for (int i = 0; i < 8; ++i) texts.push_back(test::TestRow(layout, {random.text(400)}));
  std::vector<NewRow> rows;
  for (uint32_t i = 0; i < kBlockRowsMax; ++i) {
    rows.push_back({base::RowId(i), texts[i % texts.size()].bytes(), nullptr});
  }
  ASSERT_EQ(partition.append_block(rows), 0U);
  const base::ColumnId column(0);
  EXPECT_EQ(partition.leaf(0).storage(column).encoding, "dictionary");
  // A text that the dictionary lacks.
  test::RecordRow record(layout);
  record.encode(test::TestRow(layout, {random.text(401)}));
  test::update_cell(partition, 77'770, column, record.cell(column), record.strings_base());
  ASSERT_EQ(partition.leaf(0).form(), LeafForm::kCompressed);
  EXPECT_TRUE(partition.leaf(0).storage(column).thawed);
  for (uint32_t i = 0; i < kBlockRowsMax; i += 7'777) {
    const base::Value value = partition.value(i, column);
    const bool is_updated = i == 77'770;
    ASSERT_EQ(std::get<std::string>(value).size(), is_updated ? 401U : 400U) << i;
    ASSERT_EQ(value == texts[i % texts.size()].values()[0], !is_updated) << i;
  }
  const test::TestRow more(layout, {std::string(1025, 'x')});
  Partition other(schema, StorageOptions{.block_rows = kBlockRowsMax});
  const std::vector<NewRow> too_large(kBlockRowsMax, {base::RowId(1), more.bytes(), nullptr});
  EXPECT_EQ(other.append_block(too_large), std::nullopt);
}

// As a load that is taken back: blocks, and pages that were begun behind them.
class DroppedRanges : public ::testing::TestWithParam<BlockForm> {};

TEST_P(DroppedRanges, AreThoseAtTheEndWhereNoRowLives) {
  PartitionModel model(narrow_schema(), GetParam(), 14);
  constexpr uint32_t kKept = 500;
  for (uint32_t i = 0; i < kKept; ++i) model.insert();
  size_t one_range = 0;
  for (int round = 0; round < 2; ++round) {
    while (model.partition().slots_before_block() != 0) model.insert();
    one_range = std::max(one_range, model.partition().memory_bytes());
    for (int i = 0; i < 2; ++i) {
      if (model.append_block()) continue;
      for (uint32_t row = 0; row < kBlockRowsDefault; ++row) model.insert();
    }
    for (int i = 0; i < 700; ++i) model.insert();
    if (round == 1) model.partition().compact_all();
    for (uint32_t ordinal = kKept; ordinal <= 3 * kBlockRowsDefault + 699; ++ordinal) {
      model.erase(ordinal);
    }
    model.partition().drop_dead_ranges();
    ASSERT_NO_FATAL_FAILURE(model.expect_agreement());
    ASSERT_EQ(model.rows().size(), kKept);
    // Of the first range, where rows live, the others' slots are free.
    ASSERT_EQ(model.partition().slots_before_block(), kBlockRowsDefault - kKept);
    const uint32_t reused = model.insert();
    ASSERT_LT(reused, kBlockRowsDefault);
    model.erase(reused);
  }
  EXPECT_LE(model.partition().memory_bytes(), one_range + one_range / 4);
  for (uint32_t ordinal = 0; ordinal < kKept; ++ordinal) model.erase(ordinal);
  model.partition().drop_dead_ranges();
  EXPECT_EQ(model.partition().leaf_count(), 0U);
  EXPECT_EQ(model.insert(), 0U);
  model.expect_agreement();
}

INSTANTIATE_TEST_SUITE_P(Forms, DroppedRanges,
                         ::testing::Values(BlockForm::kCompressed, BlockForm::kPlain),
                         [](const auto& form) {
                           return form.param == BlockForm::kPlain ? "PlainBlocks" : "Compressed";
                         });

}  // namespace
}  // namespace diptych::storage
