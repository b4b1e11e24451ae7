// Windows of aggregates over whole partitions against the naive reference, and which windows are
// such.

#include <map>

#include "olap/execution/window/window_totals.h"
#include "tests/olap/exec_operator_model.h"

namespace diptych::olap::test {
namespace {

using enum FrameBound;

WindowFunction whole(AggregateKind kind, const DataType& type, std::vector<uint32_t> arguments) {
  WindowFunction function{.kind = WindowKind::kAggregate,
                          .aggregate = kind,
                          .arguments = std::move(arguments),
                          .type = type};
  function.frame.end = kUnboundedFollowing;
  return function;
}

OperatorPtr window_over(OperatorPtr rows, std::vector<uint32_t> partition,
                        std::vector<WindowFunction> functions) {
  std::vector<DataType> output = rows->output;
  for (const WindowFunction& function : functions) output.push_back(function.type);
  OperatorPtr op = over(OperatorKind::kWindow, std::move(rows), std::move(output));
  op->window_partition = std::move(partition);
  op->window_functions = std::move(functions);
  return op;
}

class WindowTotalsModel : public OperatorModel {
 protected:
  WindowFunction random_total() {
    switch (below(8)) {
      case 0: return whole(AggregateKind::kCountAll, kBigIntType, {});
      case 1: return whole(AggregateKind::kCount, kBigIntType, {3});
      case 2: return whole(AggregateKind::kMin, kTextType, {3});
      case 3: return whole(AggregateKind::kMax, kDateType, {6});
      case 4: return whole(AggregateKind::kBitXor, kBigIntType, {2});
      case 5: {
        WindowFunction average = whole(AggregateKind::kAvg, decimal_type(38, 2), {4});
        average.argument_scale = 2;
        return average;
      }
      default: return whole(AggregateKind::kSum, decimal_type(38, 2), {4});
    }
  }
};

TEST_P(WindowTotalsModel, EachRowHasItsPartitionsAggregates) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  for (int round = 0; round < 6; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    std::vector<uint32_t> partition;
    for (uint64_t i = below(4); i != 0; --i) {
      partition.push_back(1 + static_cast<uint32_t>(below(kColumns - 1)));
    }
    std::vector<WindowFunction> functions;
    for (uint64_t i = 1 + below(3); i != 0; --i) functions.push_back(random_total());
    const auto table = static_cast<uint32_t>(2 + below(2));
    OperatorPtr op = window_over(scan_of(table), std::move(partition), std::move(functions));
    // No frame depends on it.
    if (below(3) == 0)
      op->sort_keys.push_back({static_cast<uint32_t>(below(kColumns)), true, true});
    ASSERT_TRUE(are_totals(*op));
    if (below(3) == 0) {
      const DataType type = op->output[kColumns];
      op = filter(std::move(op),
                  make(ExpressionKind::kIsNotNull, kBooleanType, column(kColumns, type)));
    }
    expect_same(plan_of(std::move(op)));
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, WindowTotalsModel,
                         ::testing::Range(uint64_t{1},
                                          uint64_t{diptych::test::kSanitized ? 9 : 25}));

// Each worker meets the partitions in an order of its own, and some that no other does.
TEST(WindowTotalsTest, PartitionsOfSeveralWorkersAreOne) {
  constexpr int32_t kPartitions = 700;
  constexpr uint32_t kBatches = 12;
  const OperatorPtr op = window_over(scan(base::TableId(0), {kIntType, kBigIntType}), {0},
                                     {whole(AggregateKind::kSum, kBigIntType, {1})});
  const NeededColumns needed(*op, op->output.size());
  const StopFlag never{false};
  const StopSignal stop(&never);
  MemoryBudget memory{MemoryLimits{}};
  ExecutionArena arena(placement(3));
  const RunContext context{.replica = nullptr, .arena = &arena, .stop = &stop, .memory = &memory};
  std::vector<std::unique_ptr<WindowTotals>> parts;
  std::map<int32_t, int64_t> sums;
  std::vector<int32_t> partitions(kVectorRows);
  std::vector<int64_t> values(kVectorRows);
  for (int32_t part = 0; part < 3; ++part) {
    parts.push_back(std::make_unique<WindowTotals>(context, *op, needed));
    for (uint32_t b = 0; b < kBatches; ++b) {
      for (uint32_t i = 0; i < kVectorRows; ++i) {
        const auto n = static_cast<int32_t>(b * kVectorRows + i);
        partitions[i] = part == 1 ? kPartitions - n % kPartitions : 3 * part + n % kPartitions;
        values[i] = int64_t{n} * (part + 1);
        sums[partitions[i]] += values[i];
      }
      Selection all;
      select_all(kVectorRows, &all);
      Batch batch;
      batch.columns = {{.type = PhysicalType::kInt32, .values = partitions.data()},
                       {.type = PhysicalType::kInt64, .values = values.data()}};
      batch.selection = &all;
      parts.back()->append(batch);
    }
  }
  parts[0]->finish(std::span(parts).subspan(1), Workers(&arena, stop));
  ASSERT_EQ(parts[0]->rows(), 3 * kBatches * kVectorRows);
  // Two columns of 12 bytes a row, the partition's number, and a sum by partition.
  EXPECT_GT(parts[0]->memory_bytes(), parts[0]->rows() * 16);
  EXPECT_LT(memory.bytes_largest(), parts[0]->memory_bytes() * 3 / 2);
  std::vector<VectorBuffer> buffers = parts[0]->make_buffers();
  std::vector<Vector> columns(buffers.size());
  Selection all;
  select_all(kVectorRows, &all);
  for (uint64_t first = 0; first < parts[0]->rows(); first += kVectorRows) {
    parts[0]->read(first, all, &buffers, &columns);
    for (uint32_t i = 0; i < kVectorRows; ++i) {
      const int32_t partition = columns[0].as<int32_t>()[i];
      ASSERT_EQ(columns[2].as<int64_t>()[i], sums.at(partition)) << "partition " << partition;
    }
  }
}

TEST(WindowTotalsTest, RowsAndPartitionsCountForTheMemoryLimit) {
  TestReplica replica;
  const base::TableId table = replica.add_table({kIntType});
  for (int64_t i = 0; i < 100'000; ++i) replica.insert(table, {number(i)});
  replica.compact();
  const Plan plan = plan_of(
      window_over(scan(table, {kIntType}), {0}, {whole(AggregateKind::kSum, kBigIntType, {0})}));
  const Plan* const plans[] = {&plan};
  const StopFlag stop{false};
  Executor small(placement(2), size_t{1} << 20);
  EXPECT_EQ(small.run_batch(plans, replica.replica(), stop)[0].code(),
            base::ErrorCode::kOutOfMemory);
  Executor large(placement(2), size_t{64} << 20);
  EXPECT_TRUE(large.run_batch(plans, replica.replica(), stop)[0].ok());
}

TEST(WindowTotalsTest, FramesOfSomeRowsAreNone) {
  const auto is_total = [](const Frame& frame, bool has_order = false,
                           AggregateKind kind = AggregateKind::kCountAll) {
    OperatorPtr op =
        window_over(scan(base::TableId(0), {kIntType}), {0}, {whole(kind, kBigIntType, {})});
    op->window_functions[0].frame = frame;
    if (has_order) op->sort_keys.push_back({0, false, false});
    return are_totals(*op);
  };
  using enum FrameMode;
  EXPECT_TRUE(is_total({}));
  EXPECT_FALSE(is_total({}, true));
  EXPECT_TRUE(is_total({.mode = kGroups, .start = kCurrentRow}));
  EXPECT_FALSE(is_total({.mode = kGroups, .start = kCurrentRow}, true));
  EXPECT_FALSE(is_total({.mode = kRows}));
  EXPECT_FALSE(is_total({.mode = kRows, .start = kCurrentRow, .end = kUnboundedFollowing}));
  EXPECT_TRUE(is_total({.mode = kRows, .end = kUnboundedFollowing}, true));
  EXPECT_FALSE(is_total({.mode = kRows, .start = kPreceding, .end = kUnboundedFollowing}));
  EXPECT_FALSE(is_total({.mode = kRows, .end = kFollowing}));
  for (const auto exclusion :
       {FrameExclusion::kCurrentRow, FrameExclusion::kGroup, FrameExclusion::kTies}) {
    EXPECT_FALSE(is_total({.end = kUnboundedFollowing, .exclusion = exclusion}));
  }
  EXPECT_FALSE(is_total({}, false, AggregateKind::kStringAgg));
  OperatorPtr numbered = window_over(scan(base::TableId(0), {kIntType}), {0},
                                     {whole(AggregateKind::kCountAll, kBigIntType, {}),
                                      {.kind = WindowKind::kRowNumber, .type = kBigIntType}});
  EXPECT_FALSE(are_totals(*numbered));
}

}  // namespace
}  // namespace diptych::olap::test
