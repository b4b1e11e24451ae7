#include "olap/result_table.h"

#include <memory>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "olap/arrow_export.h"
#include "tests/olap/exec_table.h"

namespace diptych::olap::test {
namespace {

using base::DecimalValue;

const std::vector<ResultColumn> kEveryType = {
    {"i", kIntType},    {"b", kBigIntType},  {"d", decimal_type(12, 2)}, {"w", decimal_type(38, 5)},
    {"f", kDoubleType}, {"t", kBooleanType}, {"day", kDateType},         {"at", kTimestampType},
    {"text", kTextType}};
constexpr DataType kIntervalType{base::TypeKind::kInterval};

// A value of each type, or NULL with the probability 1 / `one_in`.
std::vector<Row> random_rows(uint64_t seed, size_t count, uint32_t one_in) {
  std::mt19937_64 random(seed);
  const auto any = [&] { return static_cast<int64_t>(random()); };
  std::vector<Row> rows;
  for (size_t i = 0; i < count; ++i) {
    Row row = {number(static_cast<int32_t>(any())),
               number(any()),
               decimal(any() % 1'000'000'000'000, 2),
               decimal(base::int128_t{any()} * any(), 5),
               Value(static_cast<double>(any()) / 7),
               Value(any() % 2 == 0),
               Value(base::Date{static_cast<int32_t>(any() % 1'000'000)}),
               Value(base::Timestamp{any()}),
               text(std::string(random() % 40, static_cast<char>('a' + random() % 26)))};
    for (Value& value : row) {
      if (one_in != 0 && random() % one_in == 0) value = kNull;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

QueryResult result_of(const std::vector<ResultColumn>& columns, const std::vector<Row>& rows) {
  QueryResult result;
  result.columns = columns;
  result.rows = ResultRows(ResultTable(columns, rows));
  return result;
}

TEST(ResultTable, GivesBackEveryValueAndNull) {
  for (const uint32_t one_in : {0U, 1U, 2U, 50U}) {
    for (const size_t count : {0U, 1U, 7U, 8U, 9U, 1'000U}) {
      const std::vector<Row> rows = random_rows(count + one_in, count, one_in);
      const std::vector<Row> found = result_of(kEveryType, rows).rows;
      ASSERT_EQ(found, rows) << count << " rows, a null in " << one_in;
    }
  }
}

TEST(ResultTable, RowsAreFoundAcrossChunks) {
  const auto rows = static_cast<int64_t>(2 * ResultTable::kRowsMax + 3);
  std::vector<Row> values;
  for (int64_t i = 0; i < rows; ++i) values.push_back({i % 1000 == 1 ? kNull : number(i)});
  const QueryResult result = result_of({{"n", kBigIntType}}, values);
  ASSERT_EQ(result.rows.table()->chunks().size(), 3U);
  ASSERT_EQ(result.rows.size(), values.size());
  for (size_t i = 0; i < values.size(); i += 997) {
    ASSERT_EQ(result.rows[i][0], values[i][0]) << i;
  }
  EXPECT_EQ(result.rows.at(values.size() - 1).at(0), values.back()[0]);
}

TEST(ResultTable, ACopyOfAResultSharesItsTable) {
  const QueryResult result = result_of(kEveryType, random_rows(1, 10, 0));
  const QueryResult copy = result;
  EXPECT_EQ(copy.rows.table(), result.rows.table());
  EXPECT_DEATH(static_cast<void>(result.rows[10]), "a row of the result");
}

// A query's own result, over nulls and several workers' chunks, has the naive order of values.
TEST(ResultTable, AQueryFillsItAsTheTableStands) {
  TestReplica replica;
  std::vector<DataType> types;
  for (const ResultColumn& column : kEveryType) types.push_back(column.type);
  types[3] = decimal_type(18, 5);  // a column has no more digits
  const base::TableId table = replica.add_table(types);
  std::vector<Row> rows = random_rows(9, 5'000, 5);
  for (Row& row : rows) {
    row[3] = base::is_null(row[3]) ? kNull : decimal(std::get<int64_t>(number(77)), 5);
    replica.insert(table, row);
  }
  for (const uint32_t threads : {1U, 3U}) {
    const Plan plan = plan_of(scan(table, types));
    const auto result = run(plan, replica.replica(), threads);
    ASSERT_TRUE(result.ok()) << result.error().to_string();
    ASSERT_EQ(lines(result->rows), lines(rows)) << threads << " threads";
  }
}

TEST(ArrowExport, PointsAtTheResultsOwnBuffersAndKeepsThem) {
  auto result = std::make_unique<QueryResult>(result_of(kEveryType, random_rows(3, 100, 3)));
  const ResultTable* const table = result->rows.table().get();
  const std::weak_ptr<const ResultTable> kept = result->rows.table();
  ArrowArray batch;
  ASSERT_TRUE(export_arrow_batch(*result, 0, &batch).ok());
  ASSERT_EQ(batch.n_children, static_cast<int64_t>(kEveryType.size()));
  for (size_t c = 0; c < kEveryType.size(); ++c) {
    const ResultArray& array = table->chunks()[0].columns[c];
    EXPECT_EQ(batch.children[c]->length, 100);
    EXPECT_EQ(batch.children[c]->null_count, static_cast<int64_t>(array.null_count()));
    EXPECT_EQ(batch.children[c]->buffers[0], array.validity());
    EXPECT_EQ(batch.children[c]->buffers[1], array.values());
    EXPECT_EQ(batch.children[c]->n_buffers, array.type().is_string() ? 3 : 2);
  }
  // A child may be moved out and outlive the batch, and both outlive the result.
  ArrowArray text = *batch.children[8];
  batch.children[8]->release = nullptr;
  result.reset();
  batch.release(&batch);
  EXPECT_EQ(batch.release, nullptr);
  EXPECT_FALSE(kept.expired());
  EXPECT_EQ(text.buffers[2], table->chunks()[0].columns[8].texts());
  text.release(&text);
  EXPECT_TRUE(kept.expired());
}

const std::vector<Row> kIntervals = {
    {Value(base::Interval{14, -3, 1'500'000})}, {kNull}, {Value(base::Interval{0, 0, -1})}};

TEST(ResultTable, GivesBackIntervals) {
  const std::vector<Row> found = result_of({{"age", kIntervalType}}, kIntervals).rows;
  EXPECT_EQ(found, kIntervals);
}

TEST(ArrowExport, IntervalsAreCopiedWithTheirTimeInNanoseconds) {
  struct MonthDayNano {
    int32_t months;
    int32_t days;
    int64_t nanos;
  };
  const QueryResult result = result_of({{"age", kIntervalType}}, kIntervals);
  ArrowSchema schema;
  export_arrow_schema(result, &schema);
  EXPECT_STREQ(schema.children[0]->format, "tin");
  schema.release(&schema);
  ArrowArray batch;
  ASSERT_TRUE(export_arrow_batch(result, 0, &batch).ok());
  EXPECT_EQ(batch.children[0]->null_count, 1);
  const auto* const values = static_cast<const MonthDayNano*>(batch.children[0]->buffers[1]);
  EXPECT_EQ(values[0].months, 14);
  EXPECT_EQ(values[0].days, -3);
  EXPECT_EQ(values[0].nanos, 1'500'000'000);
  EXPECT_EQ(values[2].nanos, -1000);
  batch.release(&batch);
}

TEST(ArrowExport, ATimeBeyondArrowsNanosecondsFailsTheBatch) {
  const int64_t most = INT64_MAX / 1000;
  for (const int64_t micros : {most, most + 1, -most - 1}) {
    const QueryResult result = result_of({{"n", kIntType}, {"age", kIntervalType}},
                                         {{number(1), Value(base::Interval{0, 0, micros})}});
    ArrowArray batch;
    const auto exported = export_arrow_batch(result, 0, &batch);
    ASSERT_EQ(exported.ok(), micros == most);
    if (exported) {
      batch.release(&batch);
      continue;
    }
    EXPECT_EQ(exported.error().sqlstate(), "22008");
    ArrowArrayStream stream;
    export_arrow_stream(result, &stream);
    EXPECT_EQ(stream.get_last_error(&stream), nullptr);
    EXPECT_NE(stream.get_next(&stream, &batch), 0);
    EXPECT_NE(std::string(stream.get_last_error(&stream)).find("column \"age\""),
              std::string::npos);
    stream.release(&stream);
  }
}

TEST(ArrowExport, AStreamHasTheSchemaAllBatchesAndAnEnd) {
  const std::vector<Row> rows(ResultTable::kRowsMax + 1, {number(5)});
  ArrowArrayStream stream;
  export_arrow_stream(result_of({{"five", kIntType}}, rows), &stream);
  ArrowSchema schema;
  ASSERT_EQ(stream.get_schema(&stream, &schema), 0);
  EXPECT_STREQ(schema.format, "+s");
  ASSERT_EQ(schema.n_children, 1);
  EXPECT_STREQ(schema.children[0]->format, "i");
  EXPECT_STREQ(schema.children[0]->name, "five");
  EXPECT_EQ(schema.children[0]->flags, ARROW_FLAG_NULLABLE);
  schema.release(&schema);
  for (const int64_t length : {static_cast<int64_t>(ResultTable::kRowsMax), int64_t{1}}) {
    ArrowArray batch;
    ASSERT_EQ(stream.get_next(&stream, &batch), 0);
    EXPECT_EQ(batch.length, length);
    EXPECT_EQ(batch.children[0]->null_count, 0);
    EXPECT_EQ(static_cast<const int32_t*>(batch.children[0]->buffers[1])[length - 1], 5);
    batch.release(&batch);
  }
  ArrowArray none;
  ASSERT_EQ(stream.get_next(&stream, &none), 0);
  EXPECT_EQ(none.release, nullptr);
  stream.release(&stream);
  EXPECT_EQ(stream.release, nullptr);
}

}  // namespace
}  // namespace diptych::olap::test
