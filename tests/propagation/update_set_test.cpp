#include "propagation/export/update_set.h"

#include <algorithm>

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
    ASSERT_EQ(record.pieces, expected.columns.size());
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
    ASSERT_EQ(set.record_count(), all.size());
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
    ASSERT_EQ(set.record_count(), kept);
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

TEST(UpdateSetDeathTest, TakesBackOnlyTheNewestRecord) {
  UpdateChunks memory;
  UpdateSet updates(&memory);
  const UpdateRecord* const older = updates.append_delete(Vid(1), RowId(1));
  updates.append_delete(Vid(1), RowId(2));
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
