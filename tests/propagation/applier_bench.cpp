// How many updates a second one core applies, on a mix like TPC-C's New-Order.
//
// A transaction updates four columns of 10 random stock-like rows (1 million rows of 17 columns)
// and inserts 10 orderline-like rows; the constant-size variant also deletes the 10 oldest. Items
// are records. The argument is the number of transactions in one apply. Time is the CPU time of
// apply(), so that other load on the machine does not count; making the sets is not timed.

#include <deque>
#include <random>

#include <benchmark/benchmark.h>

#include "base/thread.h"
#include "propagation/applier.h"

namespace diptych::propagation {
namespace {

using base::ColumnId;
using base::NumaNode;
using base::RowId;
using base::TableId;
using base::Vid;
using base::WorkerId;

constexpr uint64_t kStockRows = 1'000'000;
constexpr uint64_t kOrderlineRows = 1'000'000;
constexpr uint32_t kWorkers = 4;
constexpr TableId kStock(0);
constexpr TableId kOrderline(1);

base::TableSchema table(const char* name, TableId id, const std::vector<base::DataType>& types) {
  base::TableSchema schema;
  schema.name = name;
  schema.id = id;
  for (const base::DataType& type : types) {
    schema.columns.push_back({std::string(name) + std::to_string(schema.columns.size()), type,
                              base::Nullability::kNotNull});
  }
  return schema;
}

base::TableSchema stock_schema() {
  using base::TypeKind;
  std::vector<base::DataType> types(2, {TypeKind::kInt});      // s_i_id, s_w_id
  types.push_back({TypeKind::kInt});                           // 2: s_quantity
  types.insert(types.end(), 10, {TypeKind::kChar, 0, 0, 24});  // s_dist_01 ... s_dist_10
  types.push_back({TypeKind::kDecimal, 8, 0});                 // 13: s_ytd
  types.insert(types.end(), 2, {TypeKind::kInt});              // 14, 15: s_order_cnt, s_remote_cnt
  types.push_back({TypeKind::kVarchar, 0, 0, 50});             // s_data
  return table("stock", kStock, types);
}

base::TableSchema orderline_schema() {
  using base::TypeKind;
  std::vector<base::DataType> types(6, {TypeKind::kInt});
  types.push_back({TypeKind::kTimestamp});
  types.push_back({TypeKind::kInt});
  types.push_back({TypeKind::kDecimal, 6, 2});
  types.push_back({TypeKind::kChar, 0, 0, 24});
  return table("orderline", kOrderline, types);
}

// A row whose integers are small and whose strings fill their columns.
std::vector<std::byte> some_row(const base::RowLayout& layout) {
  std::vector<std::byte> row(layout.bytes);
  for (const base::ColumnLayout& column : layout.columns) {
    if (column.type.is_string()) {
      row[column.offset] = static_cast<std::byte>(column.type.length);
      std::fill_n(row.begin() + column.offset + 1, column.type.length, std::byte{'x'});
    } else {
      row[column.offset] = std::byte{7};
    }
  }
  return row;
}

class Workload {
 public:
  Workload(uint32_t partitions, bool constant_size)
      : constant_size_(constant_size),
        stock_schema_(stock_schema()),
        orderline_schema_(orderline_schema()),
        stock_(stock_schema_),
        orderline_(orderline_schema_),
        stock_row_(some_row(stock_)),
        orderline_row_(some_row(orderline_)),
        replica_({.partitions = partitions}) {
    replica_.add_table(stock_schema_);
    replica_.add_table(orderline_schema_);
    applier_ = std::make_unique<Applier>(&replica_, NumaNode(0));
    constexpr uint64_t kStep = 100'000;
    uint64_t ignored_ns = 0;
    for (uint64_t first = 0; first < kStockRows; first += kStep) {
      open();
      for (uint64_t i = first; i < first + kStep; ++i) {
        set(0, kStock).append_insert(Vid(0), RowId(i), stock_, stock_row_.data());
      }
      apply(&ignored_ns);
    }
    for (uint64_t first = 0; first < kOrderlineRows; first += kStep) {
      open();
      for (uint64_t i = first; i < first + kStep; ++i) insert_orderline(0, Vid(0));
      apply(&ignored_ns);
    }
    for (uint32_t p = 0; p < partitions; ++p) {
      for (int i = 0; i < 40; ++i) {
        replica_.table(kStock).partition(base::PartitionId(p)).compact();
        replica_.table(kOrderline).partition(base::PartitionId(p)).compact();
      }
    }
  }

  void make_batch(uint64_t transactions) {
    static constexpr std::array<ColumnId, 4> kUpdated = {ColumnId(2), ColumnId(13), ColumnId(14),
                                                         ColumnId(15)};
    open();
    for (uint64_t t = 0; t < transactions; ++t) {
      const Vid vid(++vid_);
      const auto worker = static_cast<uint32_t>(random_() % kWorkers);
      for (int i = 0; i < 10; ++i) {
        const RowId row_id(random_() % kStockRows);
        set(worker, kStock)
            .append_update(vid, row_id, stock_, stock_row_.data(), {stock_, kUpdated});
        if (constant_size_) {
          set(worker, kOrderline).append_delete(vid, orderlines_.front());
          orderlines_.pop_front();
        }
        insert_orderline(worker, vid);
      }
    }
  }

  ApplyReport apply(uint64_t* cpu_ns) {
    std::vector<SealedSet> sealed;
    for (SealedSet& open_set : open_) {
      if (!open_set.updates->empty()) sealed.push_back(std::move(open_set));
    }
    queue_.push(std::move(sealed), Vid(vid_));
    CollectedSets collected = queue_.collect();
    const uint64_t start = base::thread_cpu_ns();
    const ApplyReport report = applier_->apply(collected, base::in_turn);
    *cpu_ns = base::thread_cpu_ns() - start;
    queue_.recycle(std::move(collected.sets));
    return report;
  }

 private:
  void open() {
    open_.clear();
    for (uint32_t w = 0; w < kWorkers; ++w) {
      for (const TableId t : {kStock, kOrderline}) {
        open_.push_back({WorkerId(w), t, queue_.take_empty()});
      }
    }
  }
  UpdateSet& set(uint32_t worker, TableId t) { return *open_[worker * 2 + t.value].updates; }
  void insert_orderline(uint32_t worker, Vid vid) {
    const RowId row_id(next_orderline_++);
    set(worker, kOrderline).append_insert(vid, row_id, orderline_, orderline_row_.data());
    orderlines_.push_back(row_id);
  }

  bool constant_size_;
  base::TableSchema stock_schema_;
  base::TableSchema orderline_schema_;
  base::RowLayout stock_;
  base::RowLayout orderline_;
  std::vector<std::byte> stock_row_;
  std::vector<std::byte> orderline_row_;
  storage::Replica replica_;
  std::unique_ptr<Applier> applier_;
  UpdateQueue queue_;
  std::vector<SealedSet> open_;
  std::deque<RowId> orderlines_;
  uint64_t next_orderline_ = 0;
  uint64_t vid_ = 0;
  std::mt19937_64 random_{1};
};

void run(benchmark::State& state, uint32_t partitions, bool constant_size) {
  Workload workload(partitions, constant_size);
  ApplyReport sum;
  for (auto _ : state) {
    workload.make_batch(static_cast<uint64_t>(state.range(0)));
    uint64_t cpu_ns = 0;
    const ApplyReport report = workload.apply(&cpu_ns);
    state.SetIterationTime(static_cast<double>(cpu_ns) / 1e9);
    sum.changes += report.changes;
  }
  state.SetItemsProcessed(static_cast<int64_t>(sum.changes));
}

void BM_ApplyGrowing(benchmark::State& state) {
  run(state, 1, false);
}
void BM_ApplyConstantSize(benchmark::State& state) {
  run(state, 1, true);
}
void BM_ApplyConstantSizeEightPartitions(benchmark::State& state) {
  run(state, 8, true);
}

BENCHMARK(BM_ApplyGrowing)->Arg(500)->UseManualTime()->Iterations(100);
BENCHMARK(BM_ApplyConstantSize)->Arg(50)->Arg(500)->Arg(5000)->UseManualTime()->Iterations(100);
BENCHMARK(BM_ApplyConstantSizeEightPartitions)->Arg(500)->UseManualTime()->Iterations(100);

}  // namespace
}  // namespace diptych::propagation
