// Compressed blocks: columns thaw where they are written and freeze when they are quiet, and rows
// stay what they were.

#include <random>
#include <string>

#include <gtest/gtest.h>

#include "storage/compressed_block.h"
#include "tests/storage/partition_model.h"

namespace diptych::storage {
namespace {

using base::ColumnId;
using test::PartitionModel;
using test::TestRow;

uint32_t thawed_columns(const Leaf& leaf, size_t columns) {
  uint32_t thawed = 0;
  for (size_t c = 0; c < columns; ++c) {
    thawed += leaf.storage(ColumnId(static_cast<uint16_t>(c))).thawed ? 1 : 0;
  }
  return thawed;
}

struct BlockCase {
  base::TableSchema schema;
  uint32_t block_rows;
};

// Of every type; and of as many rows as there can be.
class CompressedBlockModel : public ::testing::TestWithParam<BlockCase> {};

TEST_P(CompressedBlockModel, AgreesWithAMapOfRowsThroughThawAndFreeze) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  PartitionModel model(GetParam().schema, BlockForm::kCompressed, seed, GetParam().block_rows);
  const size_t columns = model.layout().columns.size();
  const bool all_different = GetParam().block_rows == kBlockRowsMax;
  if (all_different) model.random() = test::RandomRows::all_different(model.layout(), seed);
  for (uint32_t i = 0; i < GetParam().block_rows + 100; ++i) model.insert();
  const size_t as_pages = model.partition().memory_bytes();
  model.partition().compact_all();
  const Leaf& block = model.partition().leaf(0);
  ASSERT_EQ(block.form(), LeafForm::kCompressed);
  EXPECT_EQ(thawed_columns(block, columns), 0U);
  const size_t frozen = model.partition().memory_bytes();
  EXPECT_LT(frozen, as_pages * 3 / 4);
  ASSERT_NO_FATAL_FAILURE(model.expect_agreement());
  for (int i = 0; i < 6000; ++i) model.update(model.any_ordinal(), model.random().column());
  for (int i = 0; i < 500; ++i) model.erase(model.any_ordinal());
  EXPECT_GT(thawed_columns(block, columns), columns / 10);
  const size_t thawed = model.partition().memory_bytes();
  EXPECT_GT(thawed, frozen + frozen / 10);
  ASSERT_NO_FATAL_FAILURE(model.expect_agreement());
  size_t calls = 0;
  for (uint32_t look = 0; look < CompressedBlock::kQuietLooks + columns; ++look) {
    calls += model.partition().compact() != 0 ? 1 : 0;
  }
  EXPECT_EQ(&model.partition().leaf(0), &block);
  EXPECT_GE(calls, columns / 10);  // one column a call
  EXPECT_EQ(thawed_columns(block, columns), 0U);
  // Else what was written may need wider codes than what was there.
  EXPECT_LT(model.partition().memory_bytes(), all_different ? frozen + frozen / 20 : thawed);
  ASSERT_NO_FATAL_FAILURE(model.expect_agreement());
  if (!all_different) {
    test::expect_forms(model.forms(), {"page", "full block", "block with dead rows", "packed frame",
                                       "dictionary", "symbol text", "thawed patched text"});
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, CompressedBlockModel,
                         ::testing::Values(BlockCase{test::every_type_schema(), kBlockRowsDefault},
                                           BlockCase{test::narrow_schema(), kBlockRowsMax}),
                         [](const auto& block) {
                           return "Rows" + std::to_string(block.param.block_rows);
                         });

TEST(CompressedBlock, TakesAValueOfItsFrameInPlaceAndThawsForOneOutside) {
  PartitionModel model(test::narrow_schema(), BlockForm::kCompressed, 1);
  const ColumnId number(0);
  for (uint32_t i = 0; i < kBlockRowsDefault; ++i) {
    model.insert(TestRow(model.layout(), {int64_t{i % 100}, 0.5, std::string("same")}));
  }
  model.partition().compact_all();
  const Leaf& block = model.partition().leaf(0);
  EXPECT_EQ(block.storage(number).encoding, "packed frame");
  EXPECT_EQ(block.storage(ColumnId(1)).encoding, "constant");
  EXPECT_EQ(block.storage(ColumnId(2)).encoding, "constant");
  const size_t packed = block.storage(number).bytes;
  model.update(17, number, int64_t{127});  // 7 bits
  EXPECT_FALSE(block.storage(number).thawed);
  EXPECT_EQ(block.summary(number).max, 127);
  model.update(17, number, int64_t{128});
  EXPECT_TRUE(block.storage(number).thawed);
  EXPECT_GT(block.storage(number).bytes, packed);
  EXPECT_FALSE(block.storage(ColumnId(1)).thawed);
  for (uint32_t look = 0; look <= CompressedBlock::kQuietLooks; ++look) {
    EXPECT_TRUE(block.storage(number).thawed) << look;  // the first look meets the writes
    model.partition().compact();
  }
  EXPECT_FALSE(block.storage(number).thawed);
  model.expect_agreement();
}

TEST(CompressedBlock, StaysThawedLongerEachTimeItHadToThawAgain) {
  PartitionModel model(test::narrow_schema(), BlockForm::kCompressed, 2);
  const ColumnId number(0);
  for (uint32_t i = 0; i < kBlockRowsDefault; ++i) {
    model.insert(TestRow(model.layout(), {int64_t{0}, 0.5, std::string("same")}));
  }
  model.partition().compact_all();
  const Leaf& block = model.partition().leaf(0);
  uint32_t looks_before = 0;
  for (int64_t value = 1'000; value < 1'000'000'000; value *= 1'000) {
    model.update(5, number, value);
    ASSERT_TRUE(block.storage(number).thawed);
    uint32_t looks = 0;
    for (; block.storage(number).thawed; ++looks) model.partition().compact();
    EXPECT_GT(looks, looks_before);
    looks_before = looks;
  }
}

TEST(CompressedBlock, BecomesPagesForInsertsWhenAQuarterOfItsRowsAreDeleted) {
  PartitionModel model(test::narrow_schema(), BlockForm::kCompressed, 3);
  for (uint32_t i = 0; i < 2 * kBlockRowsDefault; ++i) model.insert();
  model.partition().compact_all();
  ASSERT_EQ(model.partition().leaf_count(), 2U);
  const auto erase_of_first_block = [&](uint32_t count) {
    while (count-- != 0) model.erase(model.rows().lower_bound(count * 3)->first);
  };
  erase_of_first_block(kBlockRowsDefault / 4 - 1);
  EXPECT_EQ(model.insert(), 2 * kBlockRowsDefault);  // on a new page: the block is not worn
  model.erase(model.rows().begin()->first);
  constexpr uint32_t kPageRowsMax = 4096;
  while (model.partition().leaf(0).form() == LeafForm::kCompressed) model.insert();
  EXPECT_LT(model.rows().rbegin()->first, 2 * kBlockRowsDefault + kPageRowsMax);
  model.expect_agreement();
  for (uint32_t i = 1; i < kBlockRowsDefault / 4; ++i) ASSERT_LT(model.insert(), kBlockRowsDefault);
  model.expect_agreement();
  EXPECT_EQ(model.partition().live_rows(), model.rows().rbegin()->first + 1);
}

// Where nothing is inserted: with it the block becomes pages, as above.
TEST(CompressedBlock, IsWrittenAgainWithoutTheTextsOfItsDeadRowsWhereNoInsertsCome) {
  PartitionModel model(test::narrow_schema(), BlockForm::kCompressed, 4);
  for (uint32_t i = 0; i < 2 * kBlockRowsDefault; ++i) model.insert();
  model.partition().compact_all();
  const Partition& partition = model.partition();
  const ColumnId text(2);
  const size_t whole = partition.leaf(0).storage(text).bytes;
  for (uint32_t i = 0; i < kBlockRowsDefault / 2; ++i) {
    model.erase(model.rows().lower_bound(2 * i)->first);
  }
  EXPECT_TRUE(partition.wants_compaction());
  for (int look = 0; look < 4; ++look) model.partition().compact();
  EXPECT_EQ(partition.figures().blocks_rewritten, 1U);
  EXPECT_EQ(partition.figures().blocks_melted, 0U);
  EXPECT_FALSE(partition.wants_compaction()) << "a row of two is dead, and written again";
  EXPECT_EQ(partition.leaf(0).form(), LeafForm::kCompressed);
  EXPECT_LT(partition.leaf(0).storage(text).bytes, whole * 3 / 4);
  ASSERT_NO_FATAL_FAILURE(model.expect_agreement());
  // Its slots are still there for inserts, and it is written once more when most rows are dead.
  for (uint32_t i = 0; i < kBlockRowsDefault / 2 - 100; ++i) {
    model.erase(model.rows().begin()->first);
  }
  for (int look = 0; look < 4; ++look) model.partition().compact();
  EXPECT_LT(partition.leaf(0).storage(text).bytes, whole / 4);
  ASSERT_NO_FATAL_FAILURE(model.expect_agreement());
  for (uint32_t i = 0; i < kBlockRowsDefault / 2; ++i) ASSERT_LT(model.insert(), kBlockRowsDefault);
  ASSERT_NO_FATAL_FAILURE(model.expect_agreement());
}

// What waits to have its values dropped may take inserts, and be a block again, before its turn.
TEST(CompressedBlock, ThatWasEmptiedAndFilledAgainKeepsItsRows) {
  PartitionModel model(test::narrow_schema(), BlockForm::kCompressed, 8, kBlockRowsMin);
  constexpr uint32_t kBlocks = 3;
  for (uint32_t i = 0; i < kBlocks * kBlockRowsMin; ++i) model.insert();
  model.partition().compact_all();
  while (!model.rows().empty()) model.erase(model.rows().begin()->first);
  const size_t emptied = model.partition().memory_bytes();
  model.insert();
  model.partition().compact_all();
  ASSERT_NO_FATAL_FAILURE(model.expect_agreement());
  EXPECT_EQ(model.partition().figures().blocks_melted, 1U);
  for (uint32_t call = 0; call <= kBlocks; ++call) model.partition().compact();
  ASSERT_NO_FATAL_FAILURE(model.expect_agreement());
  EXPECT_LT(model.partition().memory_bytes(), emptied);
  EXPECT_FALSE(model.partition().wants_compaction());
}

TEST(CompressedBlock, MadeOfRowsThatAreAllErasedDropsTheirValues) {
  PartitionModel model(test::narrow_schema(), BlockForm::kCompressed, 9, kBlockRowsMin);
  for (uint32_t i = 0; i < kBlockRowsMin; ++i) model.insert();
  while (!model.rows().empty()) model.erase(model.rows().begin()->first);
  model.partition().compact_all();
  const Leaf& block = model.partition().leaf(0);
  ASSERT_EQ(block.form(), LeafForm::kCompressed);
  EXPECT_NE(block.storage(ColumnId(1)).encoding, "constant");
  model.partition().compact();
  EXPECT_EQ(block.storage(ColumnId(1)).encoding, "constant");
  EXPECT_FALSE(model.partition().wants_compaction());
  model.expect_agreement();
}

constexpr size_t kLongText = 20'000;

TestRow with_text(const PartitionModel& model, const std::string& text) {
  return TestRow(model.layout(), {int64_t{1}, text});
}

base::TableSchema long_text_schema() {
  base::TableSchema schema;
  schema.name = "long_text";
  schema.columns.push_back({"k", {base::TypeKind::kInt}, base::Nullability::kNotNull});
  schema.columns.push_back({"t", {base::TypeKind::kVarchar}, base::Nullability::kNullable});
  return schema;
}

TEST(CompressedBlock, IsNotMadeOfTextsThatAreTooLarge) {
  PartitionModel model(long_text_schema(), BlockForm::kCompressed, 4);
  const std::string text(kLongText, 'x');
  const auto long_texts =
      static_cast<uint32_t>(CompressedBlock::text_bytes_max(kBlockRowsDefault) / kLongText) + 1;
  for (uint32_t i = 0; i < kBlockRowsDefault; ++i) {
    model.insert(with_text(model, i < long_texts ? text : "b"));
  }
  EXPECT_EQ(model.partition().compact(), 0U);
  EXPECT_EQ(model.partition().compact(), 0U);
  model.partition().compact_all();
  EXPECT_EQ(model.partition().leaf(0).form(), LeafForm::kPlain);
  model.expect_agreement();
}

TEST(CompressedBlock, BecomesPagesWhenItsTextsGrowTooLarge) {
  PartitionModel model(long_text_schema(), BlockForm::kCompressed, 5);
  const ColumnId column(1);
  const std::string text(kLongText, 'x');
  for (uint32_t i = 0; i < 2 * kBlockRowsDefault; ++i) {
    model.insert(with_text(model, i < 100 ? text : "b"));
  }
  model.partition().compact_all();
  const Leaf* const block = &model.partition().leaf(0);
  ASSERT_EQ(block->storage(column).encoding, "dictionary");
  const auto long_texts =
      static_cast<uint32_t>(CompressedBlock::text_bytes_max(kBlockRowsDefault) / kLongText) * 5 / 4;
  for (uint32_t i = 100; i < long_texts; ++i) model.update(i, column, text);
  ASSERT_EQ(&model.partition().leaf(0), block);
  EXPECT_FALSE(block->storage(column).thawed);
  // One run of updates, the second row of which no chunk can take.
  const std::string other = "a text that is not in the dictionary";
  const uint32_t ordinals[] = {59'999, 60'000, 60'001, 60'000};
  const base::Value values[] = {text, other, std::string("b"), other + "!"};
  model.update(ordinals, column, values);
  EXPECT_EQ(model.partition().leaf(0).form(), LeafForm::kPlain);
  EXPECT_EQ(model.partition().figures().blocks_melted, 1U);
  model.update(ordinals, column, values);
  EXPECT_EQ(model.partition().figures().blocks_melted, 1U);
  EXPECT_EQ(model.partition().compact(), 0U);  // it stays pages
  model.expect_agreement();
}

TEST(CompressedBlock, KnowsNothingOfADoubleColumnThatHoldsNan) {
  PartitionModel model(test::narrow_schema(), BlockForm::kCompressed, 6);
  const ColumnId column(1);
  for (uint32_t i = 0; i < kBlockRowsDefault; ++i) {
    const base::Value value = i == 9 ? base::Value(std::monostate()) : base::Value(i * -0.5);
    model.insert(TestRow(model.layout(), {int64_t{1}, value, std::string("x")}));
  }
  model.partition().compact_all();
  const Leaf& block = model.partition().leaf(0);
  ColumnSummary summary = block.summary(column);
  EXPECT_TRUE(summary.known && summary.has_null);
  EXPECT_EQ(summary.min_double, (kBlockRowsDefault - 1) * -0.5);
  EXPECT_EQ(summary.max_double, 0);
  model.update(3, column, 2.5);
  EXPECT_EQ(block.summary(column).max_double, 2.5);
  model.update(3, column, std::nan(""));
  EXPECT_FALSE(block.summary(column).known);
  EXPECT_FALSE(block.summary(ColumnId(2)).known);
}

}  // namespace
}  // namespace diptych::storage
