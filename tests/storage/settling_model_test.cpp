// Columns that settle: their values stay what a map of rows says, through settling, reads of single
// vectors and rows, writes that thaw them, and settling again; and through the block file.

#include <algorithm>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "storage/compressed_block.h"
#include "storage/encoding/encode.h"
#include "storage/settling.h"
#include "tests/storage/one_row.h"
#include "tests/storage/partition_model.h"
#include "tests/storage/record_rows.h"

namespace diptych::storage {
namespace {

using base::ColumnId;
using test::PartitionModel;
using test::TestRow;

constexpr uint32_t kSettlingRows = 2 * kBlockRowsMin;

base::TableSchema settled_schema(base::Settled settled) {
  base::TableSchema schema = test::narrow_schema();
  schema.settled = settled;
  return schema;
}

class SettlingModel : public ::testing::Test {
 protected:
  explicit SettlingModel(base::Settled settled = base::Settled::kOn)
      : seed_(std::random_device()()),
        schema_(settled_schema(settled)),
        partition_(schema_, StorageOptions{.block_rows = kBlockRowsMin}, nullptr),
        model_(schema_, &partition_, seed_) {}

  // Texts that zstd makes smaller than symbols do, numbers that it does not.
  void fill() {
    for (uint32_t i = 0; i < kSettlingRows; ++i) model_.insert(row(i));
    partition_.compact_all();
  }
  TestRow row(uint32_t i) {
    auto& random = model_.random();
    const auto number = static_cast<int64_t>(random.below(1000));
    std::string text = "row number " + std::to_string(i) + " of the table";
    return TestRow(model_.layout(), {number, base::Value(), std::move(text)});
  }
  std::string_view form(uint32_t leaf, uint16_t column) {
    return partition_.leaf(leaf).storage(ColumnId(column)).encoding;
  }
  // Calls of compact() until nothing is done for as long as a column may have to wait.
  uint32_t settle() {
    uint32_t calls = 0;
    for (uint32_t quiet = 0; quiet < kQuietFactor * 4 * CompressedBlock::kQuietLooks; ++quiet) {
      ++calls;
      if (partition_.compact() != 0) quiet = 0;
    }
    return calls;
  }
  void expect_rows_by_vectors() {
    for (size_t l = 0; l < partition_.leaf_count(); ++l) {
      const Leaf& leaf = partition_.leaf(l);
      const PinnedColumn texts = value_or_throw(leaf.pin(ColumnId(2)));
      DecodeBuffer buffer;
      for (uint32_t first = 0; first < leaf.row_slots(); first += 64 * 3) {
        const uint32_t count = std::min(64U * 3, leaf.row_slots() - first);
        const ColumnView view = texts.view(first, count, &buffer);
        for (uint32_t i = 0; i < count; ++i) {
          const auto found = model_.rows().find(leaf.first_ordinal() + first + i);
          if (found == model_.rows().end()) continue;
          const base::Value& expected = found->second.row.values()[2];
          ASSERT_EQ(view.is_null(i), base::is_null(expected));
          if (view.is_null(i)) continue;
          ASSERT_EQ(view.as<base::StringRef>()[i].view(), std::get<std::string>(expected));
        }
      }
    }
  }

  uint64_t seed_;
  base::TableSchema schema_;
  Partition partition_;
  PartitionModel model_;
};

TEST_F(SettlingModel, QuietColumnsSettleWhereThatIsSmallerAndThawForAWrite) {
  SCOPED_TRACE(::testing::Message() << "seed " << seed_);
  fill();
  const std::string frozen(form(0, 2));
  ASSERT_NE(frozen, "zstd");
  const size_t before = partition_.leaf(0).storage(ColumnId(2)).bytes;
  for (uint32_t look = 1; look < kQuietFactor * CompressedBlock::kQuietLooks; ++look) {
    partition_.compact();
    ASSERT_EQ(form(0, 2), frozen) << look << " looks are not enough";
  }
  settle();
  EXPECT_EQ(form(0, 2), "zstd");
  EXPECT_EQ(form(1, 2), "zstd");
  EXPECT_EQ(form(0, 0), "packed frame") << "ten bits a number are as small as zstd's";
  EXPECT_LT(partition_.leaf(0).storage(ColumnId(2)).bytes, before * 19 / 20);
  EXPECT_GE(partition_.figures().columns_settled, 2U);
  ASSERT_NO_FATAL_FAILURE(model_.expect_agreement());
  ASSERT_NO_FATAL_FAILURE(expect_rows_by_vectors());

  model_.update(3, ColumnId(2));
  EXPECT_EQ(form(0, 2), "plain");
  EXPECT_TRUE(partition_.leaf(0).storage(ColumnId(2)).thawed);
  EXPECT_EQ(form(1, 2), "zstd");
  ASSERT_NO_FATAL_FAILURE(model_.expect_agreement());
  settle();
  EXPECT_EQ(form(0, 2), "zstd") << "quiet again";
  ASSERT_NO_FATAL_FAILURE(model_.expect_agreement());
}

TEST_F(SettlingModel, AgreesWithAMapThroughWritesAndErasures) {
  SCOPED_TRACE(::testing::Message() << "seed " << seed_);
  fill();
  for (int round = 0; round < 4; ++round) {
    settle();
    ASSERT_NO_FATAL_FAILURE(model_.expect_agreement());
    for (int i = 0; i < 30; ++i) model_.update(model_.any_ordinal(), model_.random().column());
    for (int i = 0; i < 10; ++i) model_.erase(model_.any_ordinal());
    ASSERT_NO_FATAL_FAILURE(model_.expect_agreement());
    ASSERT_NO_FATAL_FAILURE(expect_rows_by_vectors());
  }
}

TEST_F(SettlingModel, AColumnThatIsWrittenNowAndThenDoesNotSettle) {
  fill();
  for (uint32_t look = 0; look < 4 * kQuietFactor * CompressedBlock::kQuietLooks; ++look) {
    // In place: within the frame.
    if (look % 32 == 0) model_.update(5, ColumnId(0), int64_t{look % 1000});
    partition_.compact();
  }
  EXPECT_EQ(form(0, 0), "packed frame");
  EXPECT_EQ(form(0, 2), "zstd");
  model_.expect_agreement();
}

// Looks write to no leaf that a snapshot has, and settling to a copy of it.
TEST_F(SettlingModel, ASnapshotKeepsTheFormsThatItsColumnsHad) {
  SCOPED_TRACE(::testing::Message() << "seed " << seed_);
  fill();
  const std::string frozen(form(0, 2));
  const Partition image(partition_.cut());
  partition_.compact();
  EXPECT_EQ(&partition_.leaf(0), &image.leaf(0));
  settle();
  EXPECT_EQ(form(0, 2), "zstd");
  EXPECT_EQ(image.leaf(0).storage(ColumnId(2)).encoding, frozen);
  ASSERT_NO_FATAL_FAILURE(model_.expect_agreement());
  ASSERT_NO_FATAL_FAILURE(model_.expect_agreement(image, model_.rows()));
}

// Updates take a text that a dictionary has already, however long it is and however often.
TEST(Settling, LeavesADictionaryThatStandsForMoreTextThanAChunkTakes) {
  base::TableSchema schema;
  schema.settled = base::Settled::kOn;
  schema.columns.push_back({"t", {base::TypeKind::kVarchar}, base::Nullability::kNotNull});
  const base::RowLayout layout(schema);
  Partition partition(schema, StorageOptions{.block_rows = kBlockRowsMin});
  const ColumnId column(0);
  const TestRow long_text(layout, {std::string(encoding::kChunkTextBytesMax / 1000, 'x')});
  const TestRow short_text(layout, {std::string("b")});
  test::RecordRow record(layout);
  for (uint32_t i = 0; i < kBlockRowsMin; ++i) {
    record.encode(i < 10 ? long_text : short_text);
    test::insert_row(partition, base::RowId(i), record.row(), record.strings_base());
  }
  partition.compact_all();
  record.encode(long_text);
  for (uint32_t i = 0; i < kBlockRowsMin; ++i) {
    test::update_cell(partition, i, column, record.cell(column), record.strings_base());
  }
  for (uint32_t look = 0; look < 2 * kQuietFactor * CompressedBlock::kQuietLooks; ++look) {
    partition.compact();
  }
  EXPECT_EQ(partition.leaf(0).storage(column).encoding, "dictionary");
  EXPECT_EQ(partition.figures().columns_settled, 0U);
}

class UnsettledModel : public SettlingModel {
 protected:
  UnsettledModel() : SettlingModel(base::Settled::kOff) {}
};

TEST_F(UnsettledModel, TablesThatDoNotSayItDoNotSettle) {
  fill();
  const std::string frozen(form(0, 2));
  settle();
  EXPECT_EQ(form(0, 2), frozen);
  EXPECT_EQ(partition_.figures().columns_settled, 0U);
}

}  // namespace
}  // namespace diptych::storage
