// Groups of several workers, merged alone and by partitions, against the naive aggregate over all
// rows: however the rows are shared out.

#include <random>

#include <gtest/gtest.h>

#include "olap/execution/group/merged_groups.h"
#include "olap/execution/result_stage.h"
#include "tests/olap/exec_naive.h"
#include "tests/sanitizers.h"

namespace diptych::olap::test {
namespace {

using diptych::test::kSanitized;

const std::vector<DataType> kGroupedTypes = {kIntType, kTextType, kBigIntType, kDoubleType,
                                             kTextType};

struct GroupShape {
  const char* what;
  uint64_t rows_max;
  uint64_t keys;
  bool text_key;
  uint64_t values;  // different ones
  // The part of a row.
  uint32_t (*part_of)(uint64_t row, uint32_t parts);

  // Under a sanitizer too, different keys make several partitions.
  uint64_t rows() const { return kSanitized ? rows_max / 4 : rows_max; }
};

constexpr GroupShape kGroupShapes[] = {
    {"no rows", 0, 1, false, 50, [](uint64_t, uint32_t) { return 0U; }},
    {"all keys different", 40'000, 1 << 30, false, 50,
     [](uint64_t row, uint32_t parts) { return static_cast<uint32_t>(row % parts); }},
    {"each part all keys", 60'000, 900, true, 50,
     [](uint64_t row, uint32_t parts) { return static_cast<uint32_t>(row % parts); }},
    {"one key", 30'000, 1, true, 50,
     [](uint64_t row, uint32_t parts) { return static_cast<uint32_t>(row % parts); }},
    {"all in the last part", 40'000, 20'000, true, 50,
     [](uint64_t, uint32_t parts) { return parts - 1; }},
    {"parts of very different sizes", 50'000, 5'000, false, 50,
     [](uint64_t row, uint32_t parts) {
       return row % 100 == 0 ? static_cast<uint32_t>(row / 100 % parts) : 0;
     }},
    {"many groups of both parts and of one", 80'000, 60'000, true, 50,
     [](uint64_t row, uint32_t parts) { return static_cast<uint32_t>(row % parts); }},
    {"many values of few groups", 80'000, 5, false, 1 << 30,
     [](uint64_t row, uint32_t parts) { return static_cast<uint32_t>(row % parts); }},
};

std::vector<Row> random_grouped_rows(const GroupShape& shape, std::mt19937_64* random) {
  std::vector<Row> rows;
  for (uint64_t i = 0; i < shape.rows(); ++i) {
    const auto key = static_cast<int64_t>((*random)() % shape.keys);
    const auto value = static_cast<int64_t>((*random)() % shape.values);
    // Sums of 64 bits pass their ends, those of one key the same one again and again.
    const int64_t summed = value % 8 != 7 ? value
                           : key % 3 == 0 ? INT64_MIN + value
                                          : INT64_MAX - value;
    rows.push_back(
        {key % 17 == 3 ? kNull : number(key),
         text("the text of a key, " + std::to_string(key % 1000)),
         value == 0 ? kNull : number(summed), static_cast<double>(value % 9),
         value == 1 ? kNull : text("a text that is kept " + std::to_string(value % 50))});
  }
  return rows;
}

// Pushes the rows of a part, a vector's worth at a time.
void update_part(const std::vector<const Row*>& rows, GroupTable* table) {
  for (size_t first = 0; first < rows.size(); first += kVectorRows) {
    std::vector<VectorBuffer> buffers;
    for (const DataType& type : kGroupedTypes) {
      buffers.emplace_back(physical_type(type));
      buffers.back().clear_nulls();
    }
    Selection selection;
    select_all(static_cast<uint32_t>(std::min<size_t>(kVectorRows, rows.size() - first)),
               &selection);
    for (uint32_t i = 0; i < selection.count; ++i) {
      const Row& row = *rows[first + i];
      for (size_t c = 0; c < row.size(); ++c) {
        VectorBuffer& buffer = buffers[c];
        if (is_null(row[c])) {
          set_bit(buffer.nulls(), i);
        } else if (c == 0) {
          buffer.values<int32_t>()[i] = static_cast<int32_t>(std::get<int64_t>(row[c]));
        } else if (c == 2) {
          buffer.values<int64_t>()[i] = std::get<int64_t>(row[c]);
        } else if (c == 3) {
          buffer.values<double>()[i] = std::get<double>(row[c]);
        } else {
          buffer.values<base::StringRef>()[i] = base::StringRef(std::get<std::string>(row[c]));
        }
      }
    }
    Batch batch;
    batch.selection = &selection;
    for (VectorBuffer& buffer : buffers) {
      batch.columns.push_back(buffer.view_with_nulls());
      batch.columns.back().string_life = StringLife::kBatch;
    }
    table->update(batch);
  }
}

// What aggregates keep beside their groups: with values, those of two workers are partitioned too,
// unless they are distinct numbers.
enum class Kept : uint8_t { kNothing, kNumbers, kValues };

OperatorPtr grouped(bool text_key, Kept kept, OperatorPtr child) {
  std::vector<ExpressionPtr> keys;
  keys.push_back(column(0, kIntType));
  if (text_key) keys.push_back(column(1, kTextType));
  std::vector<Aggregate> all;
  all.push_back(aggregate_of(AggregateKind::kCountAll, nullptr));
  all.push_back(aggregate_of(AggregateKind::kCount, column(4, kTextType)));
  all.push_back(aggregate_of(AggregateKind::kSum, column(2, kBigIntType)));
  all.push_back(aggregate_of(AggregateKind::kSum, column(3, kDoubleType)));
  all.push_back(aggregate_of(AggregateKind::kMax, column(4, kTextType)));
  all.push_back(aggregate_of(AggregateKind::kMin, column(2, kBigIntType)));
  if (kept == Kept::kNothing) return aggregate(std::move(child), std::move(keys), std::move(all));
  all.push_back(aggregate_of(AggregateKind::kCountDistinct, column(2, kBigIntType)));
  if (kept == Kept::kNumbers) return aggregate(std::move(child), std::move(keys), std::move(all));
  all.push_back(aggregate_of(AggregateKind::kCountDistinct, column(4, kTextType)));
  all.push_back(aggregate_of(AggregateKind::kMax, column(4, kTextType)));
  all.back().distinct = true;
  Aggregate texts = aggregate_of(AggregateKind::kStringAgg, column(4, kTextType));
  texts.further.push_back(literal(kTextType, text(",")));
  texts.further.push_back(column(4, kTextType));
  texts.order.push_back({2, true, false});
  all.push_back(std::move(texts));
  using Kind = AggregateKind;
  all.push_back(ordered_set_of(Kind::kMode, column(4, kTextType), true));
  all.push_back(ordered_set_of(Kind::kPercentileDisc, column(2, kBigIntType), false, 0.7));
  all.push_back(ordered_set_of(Kind::kPercentileCont, column(3, kDoubleType), true, 0.5));
  return aggregate(std::move(child), std::move(keys), std::move(all));
}

std::vector<std::string> merged_lines(const Operator& op, MergedGroups::Tables parts,
                                      MemoryBudget* memory, const Workers& workers) {
  MergedGroups groups(op, std::move(parts), memory, workers);
  const QueryHeap texts = groups.take_part_texts();
  ResultPart result(memory);
  GroupSource source(op, groups, std::make_unique<ResultStage>(op.output, &result));
  for (uint64_t morsel = 0; morsel < groups.morsels(); ++morsel) source.run(morsel);
  std::vector<ResultColumn> columns;
  for (const DataType& type : op.output) columns.push_back({"c", type});
  return lines(ResultRows(ResultTable(columns, result.take(), result.hand_over())));
}

// By one worker, two and more.
void expect_groups_of_all_rows(const GroupShape& shape, Kept kept, const NaiveTables& tables) {
  const StopFlag never{false};
  const StopSignal stop(&never);
  const OperatorPtr op = grouped(shape.text_key, kept, scan(base::TableId(0), kGroupedTypes));
  const std::vector<std::string> expected = lines(naive_execute(*op, tables));
  for (const uint32_t workers : {1, 2, 3, 8}) {
    ExecutionArena arena(placement(workers));
    MemoryBudget memory{MemoryLimits{}};
    MergedGroups::Tables parts;
    for (uint32_t part = 0; part < workers; ++part) {
      std::vector<const Row*> rows;
      for (uint64_t i = 0; i < shape.rows(); ++i) {
        if (shape.part_of(i, workers) == part) rows.push_back(&tables[0][i]);
      }
      parts.push_back(std::make_unique<GroupTable>(*op, QueryLimits{&memory, &stop}));
      update_part(rows, parts.back().get());
    }
    const auto merged = merged_lines(*op, std::move(parts), &memory, Workers(&arena, stop));
    ASSERT_EQ(merged.size(), expected.size()) << shape.what << ", " << workers << " workers";
    for (size_t i = 0; i < merged.size(); ++i) {
      ASSERT_EQ(merged[i], expected[i]) << shape.what << ", " << workers << " workers";
    }
  }
}

TEST(MergedGroupsModel, AreThoseOfAllRows) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  for (const GroupShape& shape : kGroupShapes) {
    const NaiveTables tables = {random_grouped_rows(shape, &random)};
    const Kept kept = random() % 2 == 0 ? Kept::kNothing : Kept::kValues;
    ASSERT_NO_FATAL_FAILURE(expect_groups_of_all_rows(shape, kept, tables));
    ASSERT_NO_FATAL_FAILURE(expect_groups_of_all_rows(shape, Kept::kNumbers, tables));
  }
}

TEST(MergedGroupsModel, AStoppedMergeEnds) {
  std::mt19937_64 random(1);
  const GroupShape& shape = kGroupShapes[1];
  const std::vector<Row> rows = random_grouped_rows(shape, &random);
  std::vector<const Row*> all;
  for (const Row& row : rows) all.push_back(&row);
  const OperatorPtr op = grouped(false, Kept::kValues, scan(base::TableId(0), kGroupedTypes));
  MemoryBudget memory{MemoryLimits{}};
  const StopFlag never{false};
  const StopSignal going_on(&never);
  const StopFlag stopped{true};
  const StopSignal stop(&stopped);
  ExecutionArena arena(placement(3));
  for (const uint32_t part_count : {2, 3}) {
    MergedGroups::Tables parts;
    for (uint32_t part = 0; part < part_count; ++part) {
      parts.push_back(std::make_unique<GroupTable>(*op, QueryLimits{&memory, &going_on}));
      update_part(all, parts.back().get());
    }
    EXPECT_THROW(MergedGroups(*op, std::move(parts), &memory, Workers(&arena, stop)), QueryFailure);
  }
}

}  // namespace
}  // namespace diptych::olap::test
