#include <cmath>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "storage/table.h"
#include "tests/storage/every_type_table.h"
#include "tests/storage/record_rows.h"

namespace diptych::storage {
namespace {

using base::ColumnId;
using base::NumaNode;
using base::RowId;
using test::every_type_schema;
using test::RandomRows;
using test::RecordRow;
using test::TestRow;

bool is_set(const uint64_t* words, uint32_t i) {
  return (words[i / 64] >> (i % 64) & 1) != 0;
}

// Every leaf's summaries cover what its live rows have (L3), and its counts are right (L1).
void expect_summaries_cover(const Partition& partition, const base::TableSchema& schema) {
  uint64_t live_rows = 0;
  for (size_t l = 0; l < partition.leaf_count(); ++l) {
    const Leaf& leaf = partition.leaf(l);
    uint32_t live = 0;
    for (uint32_t i = 0; i < leaf.row_slots(); ++i) live += is_set(leaf.live_bits(), i) ? 1 : 0;
    ASSERT_EQ(live, leaf.live_rows());
    live_rows += live;
    for (size_t c = 0; c < schema.columns.size(); ++c) {
      const ColumnId column(static_cast<uint16_t>(c));
      const ColumnSummary summary = leaf.summary(column);
      DecodeBuffer buffer;
      const ColumnView view = leaf.column(column, 0, leaf.row_slots(), &buffer);
      const base::DataType& type = schema.columns[c].type;
      for (uint32_t i = 0; i < leaf.row_slots(); ++i) {
        if (!is_set(leaf.live_bits(), i)) continue;
        if (view.nulls != nullptr && is_set(view.nulls, i)) {
          ASSERT_TRUE(summary.has_null);
          continue;
        }
        if (!summary.known) continue;
        if (type.kind == base::TypeKind::kDouble) {
          ASSERT_LE(summary.min_double, view.as<double>()[i]);
          ASSERT_GE(summary.max_double, view.as<double>()[i]);
        } else if (value_bytes(type) == 4) {
          ASSERT_LE(summary.min, view.as<int32_t>()[i]);
          ASSERT_GE(summary.max, view.as<int32_t>()[i]);
        } else {
          ASSERT_LE(summary.min, view.as<int64_t>()[i]);
          ASSERT_GE(summary.max, view.as<int64_t>()[i]);
        }
      }
    }
  }
  ASSERT_EQ(live_rows, partition.live_rows());
}

struct ModelRow {
  RowId row_id;
  TestRow row;
};

void expect_equal(const Partition& partition, const base::TableSchema& schema,
                  const std::map<uint32_t, ModelRow>& model) {
  ASSERT_EQ(partition.live_rows(), model.size());
  for (const auto& [ordinal, expected] : model) {
    uint32_t position;
    const Leaf& leaf = partition.leaf_of(ordinal, &position);
    ASSERT_EQ(leaf.first_ordinal() + position, ordinal);
    ASSERT_EQ(leaf.row_id(position), expected.row_id);
    for (size_t c = 0; c < schema.columns.size(); ++c) {
      ASSERT_EQ(partition.value(ordinal, ColumnId(static_cast<uint16_t>(c))),
                expected.row.values()[c])
          << "ordinal " << ordinal << " column " << schema.columns[c].name;
    }
  }
}

TEST(PartitionModel, AgreesWithAMapOfRowsThroughInsertUpdateEraseAndReuse) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  const base::TableSchema schema = every_type_schema();
  const base::RowLayout layout(schema);
  RandomRows rows(layout, seed);
  Partition partition(schema, NumaNode(0));
  std::map<uint32_t, ModelRow> model;
  RecordRow record(layout);
  for (int step = 0; step < 60'000; ++step) {
    const bool grows = step % 20'000 < 12'000;
    const uint64_t dice = rows.below(10);
    auto known = model.lower_bound(static_cast<uint32_t>(rows.below(8000)));
    if (known == model.end() || dice < (grows ? 6U : 1U)) {
      const RowId row_id(rows.random()());
      const TestRow row = rows.row();
      record.encode(row);
      const uint32_t ordinal = partition.insert(row_id, record.row(), record.strings_base());
      ASSERT_FALSE(model.contains(ordinal));
      // The lowest free slot is taken, so nothing free lies below it.
      model.emplace(ordinal, ModelRow{row_id, row});
    } else if (dice < 8) {
      const ColumnId column = rows.column();
      known->second.row.set(column, rows.value(column));
      record.encode(known->second.row);
      partition.prefetch_erase(known->first);
      const RowPlace place = partition.place(known->first);
      partition.prefetch({&place, 1}, {&column, 1});
      partition.update(known->first, column, record.cell(column), record.strings_base());
    } else {
      partition.erase(known->first);
      model.erase(known);
    }
    if (step % 15'000 == 14'999) {
      ASSERT_NO_FATAL_FAILURE(expect_equal(partition, schema, model));
      ASSERT_NO_FATAL_FAILURE(expect_summaries_cover(partition, schema));
    }
  }
}

base::TableSchema narrow_schema() {
  base::TableSchema schema;
  schema.name = "narrow";
  schema.columns.push_back({"k", {base::TypeKind::kInt}, base::Nullability::kNotNull});
  schema.columns.push_back({"d", {base::TypeKind::kDouble}, base::Nullability::kNullable});
  schema.columns.push_back(
      {"s", {base::TypeKind::kVarchar, 0, 0, 30}, base::Nullability::kNullable});
  schema.indexes.push_back(
      {"narrow_pkey", {}, base::IndexKind::kHash, base::Uniqueness::kUnique, {ColumnId(0)}});
  return schema;
}

// Rows across several block ranges; blocks are made while updates, erases and reuse go on.
TEST(PartitionModel, KeepsRowsAndOrdinalsWhenPagesBecomeBlocks) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  const base::TableSchema schema = narrow_schema();
  const base::RowLayout layout(schema);
  RandomRows rows(layout, seed);
  Partition partition(schema, NumaNode(0));
  std::map<uint32_t, ModelRow> model;
  RecordRow record(layout);
  const auto insert = [&] {
    const TestRow row = rows.row();
    record.encode(row);
    const RowId row_id(rows.random()());
    const uint32_t ordinal = partition.insert(row_id, record.row(), record.strings_base());
    ASSERT_TRUE(model.emplace(ordinal, ModelRow{row_id, row}).second);
  };
  size_t written = 0;
  for (int round = 0; round < 8; ++round) {
    for (int i = 0; i < 25'000; ++i) insert();
    ASSERT_EQ(model.rbegin()->first + 1, model.size());  // slots were reused, lowest first
    for (int i = 0; i < 2'000; ++i) {
      auto known = model.lower_bound(static_cast<uint32_t>(rows.below(model.rbegin()->first)));
      const ColumnId column = rows.column();
      known->second.row.set(column, rows.value(column));
      record.encode(known->second.row);
      partition.update(known->first, column, record.cell(column), record.strings_base());
      known = model.lower_bound(static_cast<uint32_t>(rows.below(model.rbegin()->first)));
      partition.erase(known->first);
      model.erase(known);
    }
    for (int i = 0; i < 2'000; ++i) insert();
    for (int i = 0; i < 3; ++i) written += partition.compact();
    ASSERT_NO_FATAL_FAILURE(expect_equal(partition, schema, model));
    ASSERT_NO_FATAL_FAILURE(expect_summaries_cover(partition, schema));
  }
  EXPECT_GT(written, 0U);
  EXPECT_EQ(partition.leaf(0).row_slots(), kBlockRows);
  EXPECT_EQ(partition.compact(), 0U);
  uint32_t next = 0;
  for (size_t i = 0; i < partition.leaf_count(); ++i) {
    EXPECT_EQ(partition.leaf(i).first_ordinal(), next);
    EXPECT_EQ(next % 64, 0U);
    next += partition.leaf(i).row_slots();
  }
}

TEST(Partition, LeavesABusyRangeInItsPages) {
  const base::TableSchema schema = narrow_schema();
  const base::RowLayout layout(schema);
  RandomRows rows(layout, 3);
  Partition partition(schema, NumaNode(0));
  RecordRow record(layout);
  record.encode(rows.row());
  for (uint32_t i = 0; i < kBlockRows; ++i) {
    partition.insert(RowId(i), record.row(), record.strings_base());
  }
  const size_t pages = partition.leaf_count();
  for (int call = 0; call < 3; ++call) {
    for (uint32_t i = 0; i < kBlockRows / 4; ++i) {
      partition.update(i, ColumnId(0), record.cell(ColumnId(0)), record.strings_base());
    }
    EXPECT_EQ(partition.compact(), 0U);
  }
  EXPECT_EQ(partition.leaf_count(), pages);
  EXPECT_GT(partition.compact(), 0U);
  EXPECT_EQ(partition.leaf_count(), 1U);
}

TEST(Partition, IsBlocksWithoutTheMemoryOfTheirPagesAfterALoad) {
  const base::TableSchema schema = narrow_schema();
  const base::RowLayout layout(schema);
  RandomRows rows(layout, 5);
  Partition partition(schema, NumaNode(0));
  RecordRow record(layout);
  std::map<uint32_t, ModelRow> model;
  const auto insert = [&](uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
      const TestRow row = rows.row();
      record.encode(row);
      const RowId row_id(model.size());
      const uint32_t ordinal = partition.insert(row_id, record.row(), record.strings_base());
      model.emplace(ordinal, ModelRow{row_id, row});
    }
  };
  insert(2 * kBlockRows + 10);
  const size_t loaded = partition.memory_bytes();
  partition.compact_all();
  EXPECT_EQ(partition.leaf_count(), 3U);
  EXPECT_LT(partition.memory_bytes(), loaded + loaded / 20);
  expect_equal(partition, schema, model);
  insert(kBlockRows);  // on pages whose memory was given back
  expect_equal(partition, schema, model);
  EXPECT_GT(partition.memory_bytes(), loaded + loaded / 3);
}

// As TPC-C's constant-size variant: each round inserts, updates and deletes as many rows.
TEST(Partition, KeepsItsMemoryFlatInAConstantSizeRun) {
  const base::TableSchema schema = every_type_schema();
  const base::RowLayout layout(schema);
  RandomRows rows(layout, 4);
  Partition partition(schema, NumaNode(0));
  RecordRow record(layout);
  std::vector<uint32_t> live;
  const auto insert = [&] {
    record.encode(rows.row());
    live.push_back(partition.insert(RowId(1), record.row(), record.strings_base()));
  };
  for (int i = 0; i < 5'000; ++i) insert();
  size_t settled = 0;
  for (int round = 0; round < 40; ++round) {
    for (int i = 0; i < 2'500; ++i) {
      std::swap(live[rows.below(live.size())], live.back());
      partition.erase(live.back());
      live.pop_back();
      insert();
      const ColumnId column = rows.column();
      record.encode(rows.row());
      partition.update(live[rows.below(live.size())], column, record.cell(column),
                       record.strings_base());
    }
    partition.compact();
    if (round == 9) settled = partition.memory_bytes();
  }
  EXPECT_LE(partition.memory_bytes(), settled + settled / 50);
}

TEST(Partition, KnowsNothingOfADoubleColumnThatHoldsNan) {
  const base::TableSchema schema = narrow_schema();
  const base::RowLayout layout(schema);
  Partition partition(schema, NumaNode(0));
  RecordRow record(layout);
  const auto insert = [&](double value) {
    record.encode(TestRow(layout, {int64_t{1}, value, std::monostate()}));
    partition.insert(RowId(1), record.row(), record.strings_base());
  };
  EXPECT_EQ(partition.leaf_count(), 0U);
  insert(2.5);
  const ColumnSummary summary = partition.leaf(0).summary(ColumnId(1));
  EXPECT_TRUE(summary.known);
  EXPECT_EQ(summary.min_double, 2.5);
  EXPECT_EQ(summary.max_double, 2.5);
  EXPECT_FALSE(summary.has_null);
  insert(std::nan(""));
  insert(3.5);
  EXPECT_FALSE(partition.leaf(0).summary(ColumnId(1)).known);
}

}  // namespace
}  // namespace diptych::storage
