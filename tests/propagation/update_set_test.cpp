#include "propagation/export/update_set.h"

#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/storage/every_type_table.h"

namespace diptych::propagation {
namespace {

using base::ColumnId;
using base::RowId;
using base::Vid;
using storage::test::every_type_schema;
using storage::test::RandomRows;
using storage::test::TestRow;

// Reads a cell of a record as a value; `row` is where the row would start.
base::Value read_cell(const UpdateRecord& record, const base::RowLayout& layout, ColumnId id,
                      const std::byte* cell) {
  const base::ColumnLayout& column = layout.column(id);
  std::vector<std::byte> row(layout.bytes);
  std::memcpy(row.data() + column.offset, cell, column.bytes);
  if (!column.type.is_inline() && !base::is_null_cell(column, row.data())) {
    return std::string(long_string(record, cell));
  }
  return base::load_value(column, row.data());
}

struct Expected {
  UpdateType type;
  Vid vid;
  RowId row_id;
  TestRow row;
  std::vector<ColumnId> columns;
};

void expect_record(const Expected& expected, const UpdateRecord& record,
                   const base::RowLayout& layout) {
  ASSERT_EQ(record.type, expected.type);
  ASSERT_EQ(record.vid, expected.vid);
  ASSERT_EQ(record.row_id, expected.row_id);
  ASSERT_EQ(record.bytes % 8, 0U);
  if (expected.type == UpdateType::kInsert || expected.type == UpdateType::kReplace) {
    for (size_t i = 0; i < layout.columns.size(); ++i) {
      const ColumnId id(static_cast<uint16_t>(i));
      ASSERT_EQ(read_cell(record, layout, id, record.body() + layout.column(id).offset),
                expected.row.values()[i]);
    }
  } else if (expected.type == UpdateType::kUpdate) {
    ASSERT_EQ(record.column_count, expected.columns.size());
    ASSERT_TRUE(std::ranges::equal(record.columns(), expected.columns));
    const std::byte* cell = record.cells();
    size_t end = static_cast<size_t>(cell - reinterpret_cast<const std::byte*>(&record));
    for (const ColumnId id : expected.columns) {
      const base::Value& value = expected.row.values()[id.value];
      ASSERT_EQ(read_cell(record, layout, id, cell), value);
      const base::ColumnLayout& column = layout.column(id);
      cell += column.bytes;
      end += column.bytes;
      const auto* text = std::get_if<std::string>(&value);
      if (text != nullptr && !column.type.is_inline()) end += text->size();
    }
    // No byte more than that, but for rounding.
    ASSERT_EQ(record.bytes, (end + 7) / 8 * 8);
  }
}

void append(const Expected& e, const base::RowLayout& layout, UpdateSet* set) {
  switch (e.type) {
    case UpdateType::kInsert: set->append_insert(e.vid, e.row_id, layout, e.row.bytes()); return;
    case UpdateType::kUpdate:
      set->append_update(e.vid, e.row_id, layout, e.row.bytes(), {layout, e.columns});
      return;
    case UpdateType::kDelete: set->append_delete(e.vid, e.row_id); return;
    case UpdateType::kReplace: set->append_replace(e.vid, e.row_id, layout, e.row.bytes()); return;
  }
}

TEST(UpdateSet, ReturnsEveryRecordAsItWasAppendedAlsoAfterReuse) {
  const base::TableSchema schema = every_type_schema();
  const base::RowLayout layout(schema);
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  RandomRows rows(layout, seed);
  UpdateChunks memory;
  UpdateSet set(&memory);
  const ColumnId text = *schema.find_column("text");
  for (int round = 0; round < 3; ++round) {
    std::vector<Expected> all;
    for (uint64_t i = 0; i < 3000; ++i) {
      Expected e{static_cast<UpdateType>(rows.below(3)),
                 Vid(i / 3),
                 RowId(rows.random()()),
                 rows.row(),
                 {}};
      if (i % 500 == 17) e.row.set(text, rows.text(rows.below(3 * UpdateSet::kChunkBytes)));
      for (size_t c = 0; c < layout.columns.size(); ++c) {
        const ColumnId id(static_cast<uint16_t>(c));
        if (rows.below(3) == 0 || id == text) e.columns.push_back(id);
      }
      append(e, layout, &set);
      all.push_back(std::move(e));
    }
    ASSERT_EQ(set.change_count(), all.size());
    size_t i = 0;
    size_t bytes = 0;
    set.for_each([&](const UpdateRecord& record) {
      ASSERT_LT(i, all.size());
      bytes += record.bytes;
      expect_record(all[i++], record, layout);
    });
    ASSERT_EQ(i, all.size());
    ASSERT_EQ(bytes, set.used_bytes());
    set.clear();
    ASSERT_TRUE(set.empty());
    ASSERT_TRUE(set.chunks().empty());
  }
}

TEST(UpdateSet, MovesARecordLargerThanAChunksRestToTheNextChunk) {
  const base::RowLayout layout(every_type_schema());
  RandomRows rows(layout, 1);
  TestRow row = rows.row();
  const ColumnId text(static_cast<uint16_t>(layout.columns.size() - 2));
  UpdateChunks memory;
  UpdateSet set(&memory);
  for (uint64_t i = 0; i < 5; ++i) {
    row.set(text, rows.text(UpdateSet::kChunkBytes * 2 / 3));
    set.append_insert(Vid(i), RowId(i), layout, row.bytes());
    ASSERT_EQ(set.chunks().size(), i + 1);
  }
  for (const UpdateSet::Chunk& chunk : set.chunks()) {
    EXPECT_LE(chunk.used, chunk.bytes);
  }
}

// As a transaction does whose reads turn out to have changed; records of up to some chunks.
TEST(UpdateSet, KeepsNoMemoryOfARecordLargerThanAChunk) {
  const base::RowLayout layout(every_type_schema());
  RandomRows rows(layout, 1);
  TestRow row = rows.row();
  row.set(ColumnId(static_cast<uint16_t>(layout.columns.size() - 2)),
          rows.text(5 * UpdateSet::kChunkBytes));
  UpdateChunks memory;
  UpdateSet set(&memory);
  const auto chunk_bytes_of_a_small_one = [&] {
    set.append_delete(Vid(2), RowId(1));
    return set.chunks().front().bytes;
  };
  set.append_insert(Vid(1), RowId(1), layout, row.bytes());
  EXPECT_GT(set.chunks().front().bytes, 5 * UpdateSet::kChunkBytes);
  set.clear();
  EXPECT_EQ(chunk_bytes_of_a_small_one(), UpdateSet::kChunkBytes);
  set.clear();
  set.take_back(set.append_insert(Vid(1), RowId(1), layout, row.bytes()));
  EXPECT_EQ(chunk_bytes_of_a_small_one(), UpdateSet::kChunkBytes);
}

TEST(UpdateSet, TakesBackTheNewestRecordsAndGoesOn) {
  const base::RowLayout layout(every_type_schema());
  RandomRows rows(layout, 1);
  TestRow row = rows.row();
  const ColumnId text(static_cast<uint16_t>(layout.columns.size() - 2));
  UpdateChunks memory;
  UpdateSet set(&memory);
  std::vector<UpdateRecord*> records;
  const auto append_some = [&](uint64_t vid) {
    for (uint64_t i = 0; i < 20; ++i) {
      row.set(text, rows.text(rows.below(3 * UpdateSet::kChunkBytes)));
      records.push_back(set.append_insert(Vid(vid), RowId(records.size()), layout, row.bytes()));
    }
  };
  for (uint64_t vid = 1; vid <= 5; ++vid) {
    append_some(vid);
    const size_t used_bytes = set.used_bytes();
    const size_t chunks = set.chunks().size();
    const size_t kept = records.size();
    append_some(vid);
    for (; records.size() > kept; records.pop_back()) set.take_back(records.back());
    ASSERT_EQ(set.used_bytes(), used_bytes);
    ASSERT_EQ(set.chunks().size(), chunks);
    ASSERT_EQ(set.change_count(), kept);
  }
  size_t i = 0;
  set.for_each([&](const UpdateRecord& record) {
    ASSERT_EQ(&record, records[i]);
    ASSERT_EQ(record.row_id, RowId(i++));
  });
  EXPECT_EQ(i, records.size());
  for (; !records.empty(); records.pop_back()) set.take_back(records.back());
  EXPECT_TRUE(set.empty());
  EXPECT_TRUE(set.chunks().empty());
}

// Updates of any rows, all to what one row holds.
class RowsInSequence : public testing::Test {
 protected:
  RowsInSequence() { row_.set(number_, int64_t{1}); }

  UpdateRecord* update(uint64_t vid, uint64_t row_id) {
    return set_.append_update(Vid(vid), RowId(row_id), layout_, row_.bytes(), {layout_, columns_});
  }
  // "first row: rows" of each record.
  std::string records() const {
    std::string all;
    set_.for_each([&](const UpdateRecord& record) {
      all += fmt::format("{}: {}, ", record.row_id.value, record.rows());
    });
    return all;
  }

  const base::TableSchema schema_ = every_type_schema();
  const base::RowLayout layout_{schema_};
  const ColumnId number_ = *schema_.find_column("bigint");
  RandomRows rows_{layout_, 1};
  TestRow row_ = rows_.row();
  std::vector<ColumnId> columns_{number_};
  UpdateChunks memory_;
  UpdateSet set_{&memory_};
};

TEST_F(RowsInSequence, OfATransactionUpdatedAlikeAreOneRecord) {
  const UpdateRecord* const first = update(1, 10);
  const size_t bytes = set_.used_bytes();
  EXPECT_EQ(update(1, 11), first);
  EXPECT_EQ(update(1, 12), first);
  EXPECT_EQ(set_.used_bytes(), bytes);
  EXPECT_EQ(set_.change_count(), 3u);
  EXPECT_EQ(records(), "10: 3, ");
}

TEST_F(RowsInSequence, AreRecordsOfTheirOwnWhereAnythingDiffers) {
  update(1, 10);
  update(1, 12);  // a row between
  update(1, 11);  // backwards
  update(2, 12);  // another transaction
  row_.set(number_, int64_t{2});
  update(2, 13);  // another value
  columns_.push_back(ColumnId(0));
  update(2, 14);  // more columns
  columns_ = {ColumnId(0)};
  update(2, 15);  // others
  set_.append_delete(Vid(2), RowId(40));
  update(2, 16);  // not behind the newest record
  EXPECT_EQ(records(), "10: 1, 12: 1, 11: 1, 12: 1, 13: 1, 14: 1, 15: 1, 40: 1, 16: 1, ");
}

TEST_F(RowsInSequence, WhoseEqualBytesAreOfOtherColumnsAreRecordsOfTheirOwn) {
  const ColumnId other = *schema_.find_column("timestamp");
  row_.set(other, base::Timestamp{1});
  update(1, 10);
  columns_ = {other};
  update(1, 11);
  EXPECT_EQ(records(), "10: 1, 11: 1, ");
}

// The first columns and their cells are the same.
TEST_F(RowsInSequence, WhoseColumnsAreMoreOrFewerAreRecordsOfTheirOwn) {
  const ColumnId other = *schema_.find_column("timestamp");
  update(1, 10);
  columns_ = {number_, other};
  update(1, 11);
  columns_ = {number_};
  update(1, 12);
  EXPECT_EQ(records(), "10: 1, 11: 1, 12: 1, ");
}

// The set's next user may be another table, whose transaction has the number of a record that the
// memory still has.
TEST_F(RowsInSequence, AreRecordsOfTheirOwnOnceTheSetWasCleared) {
  update(1, 10);
  set_.clear();
  update(1, 11);
  set_.append_delete(Vid(1), RowId(20));
  EXPECT_EQ(records(), "11: 1, 20: 1, ");
  set_.clear();
  set_.append_delete(Vid(1), RowId(21));
  EXPECT_EQ(records(), "21: 1, ");
  EXPECT_EQ(set_.change_count(), 1u);
}

TEST_F(RowsInSequence, EndWithTheirRunOfRowIds) {
  for (uint64_t row = base::kRowIdRun - 2; row < 2 * base::kRowIdRun + 3; ++row) update(1, row);
  EXPECT_EQ(records(), "254: 2, 256: 256, 512: 3, ");
}

TEST_F(RowsInSequence, WithALongStringAreRecordsOfTheirOwn) {
  columns_ = {*schema_.find_column("text")};
  update(1, 10);
  update(1, 11);
  EXPECT_EQ(records(), "10: 1, 11: 1, ");
}

TEST_F(RowsInSequence, OfATransactionThatGoAreOneRecord) {
  update(1, 10);
  UpdateRecord* const first = set_.append_delete(Vid(1), RowId(11));  // another change
  EXPECT_EQ(set_.append_delete(Vid(1), RowId(12)), first);
  set_.append_delete(Vid(1), RowId(14));  // a row between
  set_.append_delete(Vid(2), RowId(15));  // another transaction
  set_.append_insert(Vid(2), RowId(16), layout_, row_.bytes());
  set_.append_delete(Vid(2), RowId(17));  // not behind the newest record
  EXPECT_EQ(records(), "10: 1, 11: 2, 14: 1, 15: 1, 16: 1, 17: 1, ");
  EXPECT_EQ(set_.change_count(), 7u);
  for (uint64_t row = 510; row < 514; ++row) set_.append_delete(Vid(3), RowId(row));
  set_.take_back(set_.append_delete(Vid(3), RowId(514)));
  EXPECT_EQ(records(), "10: 1, 11: 2, 14: 1, 15: 1, 16: 1, 17: 1, 510: 2, 512: 2, ");
}

TEST_F(RowsInSequence, AreTakenBackOneByOne) {
  UpdateRecord* const before = update(1, 9);
  std::vector<UpdateRecord*> appended;
  for (uint64_t row = 10; row < 13; ++row) appended.push_back(update(2, row));
  for (; !appended.empty(); appended.pop_back()) set_.take_back(appended.back());
  EXPECT_EQ(records(), "9: 1, ");
  EXPECT_EQ(set_.change_count(), 1u);
  EXPECT_EQ(set_.used_bytes(), before->bytes);
  update(3, 10);
  update(3, 11);
  set_.take_back(update(3, 12));
  update(3, 12);
  EXPECT_EQ(records(), "9: 1, 10: 3, ");
  set_.take_back(update(4, 20));
  update(4, 21);
  EXPECT_EQ(records(), "9: 1, 10: 3, 21: 1, ");
}

TEST_F(RowsInSequence, AreCopiedAsTheyAre) {
  for (uint64_t row = 10; row < 15; ++row) update(1, row);
  UpdateSet copy(&memory_);
  set_.for_each([&](const UpdateRecord& record) { copy.append_copy(record); });
  EXPECT_EQ(copy.change_count(), 5u);
  EXPECT_EQ(copy.used_bytes(), set_.used_bytes());
  UpdateSet joined(&memory_);
  joined.append_set(set_);
  EXPECT_EQ(joined.change_count(), 5u);
  EXPECT_EQ(joined.used_bytes(), set_.used_bytes());
}

TEST(UpdateSetDeathTest, TakesBackOnlyTheNewestRecord) {
  UpdateChunks memory;
  UpdateSet updates(&memory);
  UpdateRecord* const older = updates.append_delete(Vid(1), RowId(1));
  updates.append_delete(Vid(1), RowId(3));
  EXPECT_DEATH(updates.take_back(older), "newest");
}

TEST(UpdateSetDeathTest, RefusesAVidThatGoesBackwards) {
  UpdateChunks memory;
  UpdateSet set(&memory);
  set.append_delete(Vid(5), RowId(1));
  EXPECT_DEATH(set.append_delete(Vid(4), RowId(1)), "VID order");
}

}  // namespace
}  // namespace diptych::propagation
