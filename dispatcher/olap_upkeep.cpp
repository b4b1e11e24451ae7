// The replica between two batches of queries: what was pushed is applied, blocks are compressed,
// and memory is brought within its limit.

#include <algorithm>
#include <atomic>
#include <new>
#include <utility>

#include "base/clock.h"
#include "base/notice.h"
#include "base/thread.h"
#include "dispatcher/olap_dispatcher.h"
#include "storage/buffer_manager.h"

namespace diptych::dispatcher {
namespace {

constexpr uint64_t kCompactLimitNs = 20'000'000;  // the block or column begun then is finished

constexpr size_t kTablesSizedAlways = 64;
constexpr uint64_t kSizedShare = 100;

}  // namespace

void OlapDispatcher::get_ready() {
  const BatchGate::Passage passage = gate_->pass(Side::kOlap);
  try {
    index_rows();
  } catch (const storage::ChunkFailure& failure) {
    lose_replica(failure.error());
  } catch (const std::bad_alloc&) {
    lose_replica(base::ErrorCode::kOutOfMemory);
  }
  refresh_statistics();
  const std::lock_guard lock(figures_mutex_);
  publish_sizes();
}

void OlapDispatcher::index_rows() {
  replica_.applier->add_tables(
      [this](uint32_t count, const auto& body) { replica_.executor->run_parallel(count, body); });
}

propagation::ApplyReport OlapDispatcher::apply(const propagation::CollectedSets& collected) {
  index_rows();
  if (collected.sets.empty()) return {};
  return replica_.applier->apply(collected, [this](uint32_t count, const auto& body) {
    replica_.executor->run_parallel(count, body);
  });
}

// Each partition looks at its tables until the time is up; the next call begins with another one,
// and with another partition, where a thread has several.
void OlapDispatcher::compact() {
  storage::Replica& replica = *replica_.tables;
  const std::span<const base::TableId> live = replica.live_tables();
  const uint64_t end_ns = base::steady_ns() + kCompactLimitNs;
  const uint32_t partitions = replica.partition_count();
  std::atomic<bool> has_remade{false};
  replica_.executor->run_parallel(partitions, [&](uint32_t i) {
    const base::PartitionId partition((first_to_compact_ + i) % partitions);
    bool in_time = base::steady_ns() < end_ns;
    for (size_t t = 0; t < live.size() && in_time; ++t) {
      const base::TableId table = live[(first_to_compact_ + t) % live.size()];
      const size_t done = replica.table(table).partition(partition).compact(end_ns);
      if (done == 0) continue;
      in_time = base::steady_ns() < end_ns;
      // relaxed: run_parallel orders it before the load below.
      has_remade.store(true, std::memory_order_relaxed);
    }
  });
  // relaxed: as above.
  if (has_remade.load(std::memory_order_relaxed)) has_remade_ = true;
  ++first_to_compact_;
}

// Whoever has applied: a checkpoint, a load, DDL or a comparison may be the last for long.
void OlapDispatcher::plan_compaction() {
  const bool wanted = !replica_failure_ && replica_.tables->wants_compaction();
  // release: pairs with the acquire in turn_is_due, on this dispatcher's thread.
  compaction_due_ns_.store(wanted ? compacted_ns_ + options_.apply_interval_ns : 0,
                           std::memory_order_release);
  if (wanted && !base::is_this_thread_of(this)) wake();  // it may sleep until something comes
}

// Where the disk or the system refuses, chunks stay in memory, over the budget.
void OlapDispatcher::trim() {
  storage::BufferManager* const buffers = replica_.tables->buffers();
  if (buffers == nullptr) return;
  const base::Result<void> trimmed = buffers->trim();
  if (!trimmed && !std::exchange(trim_failed_, true)) {
    base::notify("columns stay in memory, over the limit: {}", trimmed.error());
  }
  trim_failed_ = !trimmed;
}

// What a snapshot had that has gone.
void OlapDispatcher::reclaim() {
  if (!replica_failure_) replica_.tables->reclaim();
  const std::lock_guard lock(figures_mutex_);
  publish_sizes();
}

void OlapDispatcher::lose_replica(const base::Error& error) noexcept {
  // First, and without a text, which takes memory: else a replica without some updates would be
  // taken for whole, and saved.
  replica_failure_ = base::Error(error.code);
  try {
    replica_failure_ = error.within("updates can no longer be applied to the OLAP replica");
  } catch (const std::bad_alloc&) {
    return;
  }
}

void OlapDispatcher::bring_up_to_date() {
  // Of a replica that is lost, what it has not seen gets older.
  propagation::CollectedSets collected =
      replica_failure_ ? updates_->collect() : clock_->collect(updates_);
  const storage::Replica& replica = *replica_.tables;
  propagation::ApplyReport applied;
  uint64_t cpu_ns = 0;
  uint64_t compact_ns = 0;
  uint64_t compact_cpu_ns = 0;
  const uint64_t start_ns = base::steady_ns();
  try {
    if (!replica_failure_) {
      const uint64_t cpu_start_ns = base::thread_cpu_ns();
      applied = apply(collected);
      cpu_ns = base::thread_cpu_ns() - cpu_start_ns;
      const uint64_t compact_start_ns = base::steady_ns();
      const bool rests = compact_start_ns - compacted_ns_ >= options_.apply_interval_ns;
      if (applied.changes != 0 || (rests && replica_.tables->wants_compaction())) {
        const uint64_t compact_cpu_start_ns = base::thread_cpu_ns();
        compact();
        compact_cpu_ns = base::thread_cpu_ns() - compact_cpu_start_ns;
        compacted_ns_ = base::steady_ns();
        compact_ns = compacted_ns_ - compact_start_ns;
      }
    }
  } catch (const storage::ChunkFailure& failure) {
    lose_replica(failure.error());
  } catch (const std::bad_alloc&) {
    lose_replica(base::ErrorCode::kOutOfMemory);
  }
  if (!collected.sets.empty()) updates_->recycle(std::move(collected.sets));
  if (!replica_failure_) trim();
  plan_compaction();
  const uint64_t end_ns = base::steady_ns();
  const bool has_new_tables = table_rows_.size() != replica.table_count();
  if (has_new_tables || lacks_samples_ || (has_remade_ && applied.changes != 0)) {
    refresh_statistics();
  } else {
    refresh_statistics(applied.tables);
  }
  const std::lock_guard lock(figures_mutex_);
  if (applied.changes != 0) {
    ++figures_.apply_runs;
    figures_.updates_applied += applied.changes;
    figures_.apply_ns.record(end_ns - start_ns);
    figures_.apply_cpu_ns += cpu_ns;
  }
  if (compact_ns != 0) figures_.compact_ns.record(compact_ns);
  figures_.compact_cpu_ns += compact_cpu_ns;
  if (applied.changes != 0 || has_new_tables || compact_ns != 0 || sizes_are_old_) {
    publish_sizes_soon();
  }
}

void OlapDispatcher::clear_table(base::TableId id, const BatchGate::Exclusive&) {
  replica_.tables->clear_table(id);
  table_was_cleared(id);
}

void OlapDispatcher::drop_table(base::Catalog::DroppedTable table, const BatchGate::Exclusive&) {
  const base::TableId id = table->id;
  replica_.tables->drop_table(std::move(table));
  table_was_cleared(id);
}

void OlapDispatcher::table_was_cleared(base::TableId id) {
  replica_.applier->clear_table(id);
  sizes_are_old_ = true;
  if (id.value >= keepers_.size()) return;  // refresh_statistics() had no memory for it
  keepers_[id.value] = olap::StatisticsKeeper(&replica_.tables->table(id));
  table_rows_[id.value] = {};
  refresh_statistics(std::span(&id, 1));
}

void OlapDispatcher::publish_figures(const BatchGate::Exclusive&) {
  refresh_statistics();
  const std::lock_guard lock(figures_mutex_);
  publish_sizes();
}

// Where there is no memory for them, they stay as they are for now: plans are a little worse.
void OlapDispatcher::refresh_statistics() try {
  if (replica_failure_) return;  // a change of it may have ended halfway, here and below
  storage::Replica& replica = *replica_.tables;
  table_rows_.resize(replica.table_count());
  for (size_t id = keepers_.size(); id < table_rows_.size(); ++id) {
    keepers_.emplace_back(&replica.table(base::TableId(static_cast<uint32_t>(id))));
  }
  const std::span<const base::TableId> live = replica.live_tables();
  replica_.executor->run_parallel(static_cast<uint32_t>(live.size()), [&](uint32_t i) {
    const size_t id = live[i].value;
    keepers_[id].refresh(&table_rows_[id]);
  });
  lacks_samples_ = std::ranges::any_of(
      live, [&](base::TableId id) { return table_rows_[id.value].lacks_samples; });
  has_remade_ = false;
} catch (const std::bad_alloc&) {
  lacks_samples_ = true;
}

void OlapDispatcher::refresh_statistics(std::span<const base::TableId> tables) try {
  if (replica_failure_ || tables.empty()) return;
  replica_.executor->run_parallel(static_cast<uint32_t>(tables.size()), [&](uint32_t i) {
    const size_t id = tables[i].value;
    keepers_[id].refresh(&table_rows_[id]);
  });
  lacks_samples_ = std::ranges::any_of(
      tables, [&](base::TableId id) { return table_rows_[id.value].lacks_samples; });
} catch (const std::bad_alloc&) {
  lacks_samples_ = true;
}

// Where there is no memory for them, figures stay as they are until the next time.
void OlapDispatcher::publish_sizes() try {
  if (replica_failure_) return;
  const uint64_t begin_ns = base::steady_ns();
  const storage::Replica& replica = *replica_.tables;
  figures_.apply_steps = replica_.applier->steps();
  figures_.replica_vid = replica.snapshot();
  figures_.memory.replica = {};
  figures_.memory.replica_indexes = replica_.applier->memory_bytes();
  for (const base::TableId id : replica.live_tables()) {
    figures_.memory.replica.add(replica.table(id).figures());
  }
  figures_.memory.replica.snapshot_bytes = replica.snapshot_bytes();  // of cleared tables, too
  // relaxed: a figure.
  replica_bytes_.store(figures_.memory.replica.memory_bytes() + figures_.memory.replica_indexes,
                       std::memory_order_relaxed);
  sizes_are_old_ = false;
  sized_ns_ = base::steady_ns();
  sizing_ns_ = sized_ns_ - begin_ns;
} catch (const std::bad_alloc&) {
  // As said above.
}

void OlapDispatcher::publish_sizes_soon() {
  const bool is_quick = replica_.tables->live_tables().size() <= kTablesSizedAlways;
  if (is_quick || base::steady_ns() - sized_ns_ >= kSizedShare * sizing_ns_) return publish_sizes();
  sizes_are_old_ = true;
  if (!replica_failure_) figures_.replica_vid = replica_.tables->snapshot();
}

}  // namespace diptych::dispatcher
