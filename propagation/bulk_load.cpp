#include "propagation/bulk_load.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/check.h"
#include "base/thread.h"
#include "storage/buffer_manager.h"

namespace diptych::propagation {
namespace {

// A partition has so many rows when partitions are worked on: by then the others have a block's.
constexpr size_t routed_rows_max(size_t block_rows) {
  return block_rows + block_rows / 4;
}

}  // namespace

BulkLoad::BulkLoad(storage::Replica* replica, Applier* applier, base::TableId table,
                   base::ForEach for_each, std::vector<uint32_t> cores)
    : replica_(replica),
      table_(table),
      for_each_(std::move(for_each)),
      cores_(std::move(cores)),
      block_rows_(replica->options().block_rows),
      chunks_max_(std::max<size_t>(2, replica->partition_count() * block_rows_ / kChunkRows)) {
  empty_.reserve(chunks_max_ + 2);  // whatever happens to the memory meanwhile
  partitions_.resize(replica->partition_count());
  for (uint32_t p = 0; p < replica->partition_count(); ++p) {
    partitions_[p].applier = &applier->partition(table, base::PartitionId(p));
  }
}

BulkLoad::~BulkLoad() {
  DIPTYCH_CHECK(!thread_.joinable() && open_.empty(), "a load is finished or discarded");
}

void BulkLoad::take(std::span<const LoadedRow> rows) {
  while (!rows.empty()) {
    const size_t count = std::min(rows.size(), kChunkRows - open_.size());
    open_.insert(open_.end(), rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(count));
    rows = rows.subspan(count);
    if (open_.size() == kChunkRows) hand_over();
  }
}

void BulkLoad::hand_over() {
  if (!base::ensure_begun(&thread_, [this] { run(); })) {
    take_in(open_);
    open_.clear();
    return;
  }
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return chunks_.size() < chunks_max_; });
  chunks_.push_back(std::move(open_));
  open_ = {};
  if (!empty_.empty()) {
    open_ = std::move(empty_.back());
    empty_.pop_back();
  }
  lock.unlock();
  changed_.notify_all();
  open_.reserve(kChunkRows);
}

void BulkLoad::run() {
  base::pin_this_thread(cores_);
  base::name_this_thread("olap-load");
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return !chunks_.empty() || ends_; });
    if (chunks_.empty()) return;
    Chunk chunk = std::move(chunks_.front());
    chunks_.pop_front();
    lock.unlock();
    changed_.notify_all();
    take_in(chunk);
    chunk.clear();
    lock.lock();
    empty_.push_back(std::move(chunk));
  }
}

void BulkLoad::end_thread(Waiting waiting) {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    if (waiting == Waiting::kIsDropped) chunks_.clear();
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void BulkLoad::take_in(const Chunk& chunk) {
  guarded([&] {
    route(chunk);
    const bool is_time = std::ranges::any_of(partitions_, [&](const PartitionLoad& partition) {
      return partition.waiting.size() >= routed_rows_max(block_rows_);
    });
    if (is_time) write(Rest::kWaits);
  });
}

void BulkLoad::route(const Chunk& chunk) {
  const storage::Table& table = replica_->table(table_);
  for (const LoadedRow& loaded : chunk) {
    // The Text of a long string is a pointer, not an offset: so it counts from nullptr.
    partitions_[table.partition_of(loaded.row_id).value].waiting.push_back(
        {loaded.row_id, loaded.row, nullptr});
  }
}

void BulkLoad::write(Rest rest) {
  for_each_(static_cast<uint32_t>(partitions_.size()), [&](uint32_t p) {
    PartitionLoad& partition = partitions_[p];
    std::vector<storage::NewRow>& waiting = partition.waiting;
    std::span<const storage::NewRow> rows = waiting;
    while (rows.size() >= block_rows_ || (rest == Rest::kIsWritten && !rows.empty())) {
      rows = rows.subspan(partition.applier->load(rows.first(std::min(rows.size(), block_rows_))));
    }
    waiting.erase(waiting.begin(), waiting.end() - static_cast<std::ptrdiff_t>(rows.size()));
  });
  // Blocks leave memory where the budget wants it. What does not stays, over the budget.
  if (replica_->buffers() != nullptr) static_cast<void>(replica_->buffers()->trim());
}

template <class Body>
void BulkLoad::guarded(const Body& body) {
  if (failure_) return;
  try {
    body();
  } catch (const storage::ChunkFailure& failure) {
    failure_ = failure.error();
  } catch (const std::bad_alloc&) {
    failure_ = base::Error(base::ErrorCode::kOutOfMemory,
                           "there is no memory left for the rows of a load");
  }
}

void BulkLoad::finish(base::Vid vid) {
  end_thread(Waiting::kIsRouted);
  guarded([&] {
    route(open_);
    write(Rest::kIsWritten);
    storage::Table& table = replica_->table(table_);
    for_each_(table.partition_count(),
              [&](uint32_t p) { table.partition(base::PartitionId(p)).compact_all(); });
    replica_->set_snapshot(vid);
  });
  open_.clear();
}

void BulkLoad::discard(const RowIdRuns& loaded) {
  end_thread(Waiting::kIsDropped);
  open_.clear();
  guarded([&] {
    storage::Table& table = replica_->table(table_);
    std::vector<RowIdRuns> routed(partitions_.size());
    loaded.for_each(
        [&](base::RowId row_id) { routed[table.partition_of(row_id).value].append(row_id); });
    for_each_(table.partition_count(), [&](uint32_t p) {
      partitions_[p].waiting.clear();
      partitions_[p].applier->unload(routed[p]);
    });
  });
}

}  // namespace diptych::propagation
