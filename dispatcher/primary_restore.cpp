#include "dispatcher/primary_restore.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/quoted.h"
#include "dispatcher/row_assembler.h"
#include "dispatcher/side_by_side.h"
#include "oltp/table_restore.h"

namespace diptych::dispatcher {
namespace {

class PrimaryRestore {
 public:
  PrimaryRestore(const base::Catalog& catalog, const storage::Replica& replica,
                 oltp::Engine* engine, const PrimaryRestoreOptions& options)
      : options_(options), threads_(options.cores) {
    for (const base::TableSchema& schema : catalog.tables()) {
      const storage::Table& rows = replica.table(schema.id);
      Table& table = tables_.emplace_back();
      table.schema = &schema;
      table.rows = &rows;
      table.restore = engine->restore_table(schema.id, rows.live_rows(), threads_.lanes());
      for (uint32_t p = 0; p < rows.partition_count(); ++p) {
        const storage::Partition& partition = rows.partition(base::PartitionId(p));
        for (size_t l = 0; l < partition.leaf_count(); ++l) {
          leaves_.push_back({tables_.size() - 1, base::PartitionId(p), &partition.leaf(l)});
        }
      }
    }
  }

  base::Result<void> run() {
    threads_.run(leaves_.size(), [this](uint32_t lane, size_t i) { restore_leaf(lane, i); });
    if (failure_) return *failure_;
    std::vector<uint32_t> counts(tables_.size());
    threads_.run(tables_.size(), [&](uint32_t, size_t i) {
      counts[i] = tables_[i].restore->make_steps(kStepsPerThread * threads_.lanes());
    });
    std::vector<std::pair<Table*, uint32_t>> steps;
    for (size_t t = 0; t < tables_.size(); ++t) {
      for (uint32_t i = 0; i < counts[t]; ++i) steps.emplace_back(&tables_[t], i);
    }
    threads_.run(steps.size(),
                 [&](uint32_t, size_t i) { steps[i].first->restore->step(steps[i].second); });
    threads_.run(tables_.size(), [this](uint32_t, size_t i) {
      if (auto finished = tables_[i].restore->finish(); !finished) fail(tables_[i], finished);
    });
    if (failure_) return *failure_;
    return {};
  }

 private:
  // Of an index: more than one a thread, since they are not equally long.
  static constexpr uint32_t kStepsPerThread = 2;

  struct Table {
    const base::TableSchema* schema = nullptr;
    const storage::Table* rows = nullptr;
    std::unique_ptr<oltp::TableRestore> restore;
  };
  struct Leaf {
    size_t table;
    base::PartitionId partition;
    const storage::Leaf* leaf;
  };

  void restore_leaf(uint32_t lane, size_t number) {
    // relaxed: a hint to stop.
    if (failed_.load(std::memory_order_relaxed)) return;
    // This leaf's, where it is the thread's first, and those of the next one that it may get.
    for (const size_t ahead : {number, number + threads_.lanes()}) read_ahead(ahead);
    Table& table = tables_[leaves_[number].table];
    const storage::Leaf& leaf = *leaves_[number].leaf;
    RowAssembler assembler(*table.rows, table.restore.get(), lane);
    auto restored = assembler.restore(leaf, leaves_[number].partition);
    if (!restored) return fail(table, restored);
    if (options_.progress == nullptr) return;
    const std::lock_guard lock(mutex_);
    done_ += leaf.live_rows();
    options_.progress(done_);
  }

  void read_ahead(size_t number) const {
    if (number >= leaves_.size()) return;
    const Leaf& leaf = leaves_[number];
    const size_t columns = tables_[leaf.table].rows->layout().columns.size();
    for (size_t i = 0; i < columns; ++i) {
      if (!leaf.leaf->read_ahead(base::ColumnId(static_cast<uint16_t>(i)))) return;
    }
  }

  void fail(const Table& table, const base::Result<void>& failed) {
    const std::lock_guard lock(mutex_);
    if (!failure_) {
      const base::Error& error = failed.error();
      // Others say that the data is not what was saved.
      const bool is_whole =
          error.code == base::ErrorCode::kIo || error.code == base::ErrorCode::kOutOfMemory;
      const base::ErrorCode code = is_whole ? error.code : base::ErrorCode::kCorrupt;
      const std::string name = "table " + base::quoted(table.schema->name);
      failure_ = base::Error(code, code == error.code ? error.message : error.to_string());
      if (failure_->message.find(name) == std::string::npos) failure_ = failure_->within(name);
    }
    // relaxed: a hint to stop.
    failed_.store(true, std::memory_order_relaxed);
  }

  const PrimaryRestoreOptions& options_;
  const SideBySide threads_;
  std::vector<Table> tables_;
  std::vector<Leaf> leaves_;

  std::atomic<bool> failed_{false};  // writer: the first to fail
  std::mutex mutex_;
  std::optional<base::Error> failure_;  // guarded by mutex_
  uint64_t done_ = 0;                   // guarded by mutex_; rows
};

}  // namespace

base::Result<void> restore_primary(const base::Catalog& catalog, const storage::Replica& replica,
                                   oltp::Engine* engine, const PrimaryRestoreOptions& options) {
  return PrimaryRestore(catalog, replica, engine, options).run();
}

}  // namespace diptych::dispatcher
