// Bulk loads: rows of a table that come as one transaction, past the log, into both replicas.

#include <atomic>
#include <exception>
#include <functional>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/thrown_text.h"
#include "dispatcher/database_state.h"
#include "propagation/bulk_load.h"

namespace diptych::dispatcher {
namespace {

// Marks this thread as the one on which the source runs.
class SourceRuns {
 public:
  explicit SourceRuns(std::atomic<std::thread::id>* thread) : thread_(thread) {
    // relaxed: the mark is for this thread's own calls.
    thread_->store(std::this_thread::get_id(), std::memory_order_relaxed);
  }
  SourceRuns(const SourceRuns&) = delete;
  SourceRuns& operator=(const SourceRuns&) = delete;
  ~SourceRuns() {
    // relaxed: as above.
    thread_->store({}, std::memory_order_relaxed);
  }

 private:
  std::atomic<std::thread::id>* const thread_;
};

base::Result<RowBatch> next_batch(const std::function<base::Result<RowBatch>()>& next,
                                  std::atomic<std::thread::id>* source_thread) {
  const SourceRuns marked(source_thread);
  try {
    return next();
  } catch (const std::exception& thrown) {
    return base::Error(base::ErrorCode::kAborted,
                       fmt::format("the source of the rows threw: {}", base::thrown_text(thrown)));
  } catch (...) {
    return base::Error(base::ErrorCode::kAborted,
                       "the source of the rows threw something that is no std::exception");
  }
}

}  // namespace

base::Result<LoadReport> Database::load(base::TableId table,
                                        const std::function<base::Result<RowBatch>()>& next,
                                        const ChangeOptions& change) {
  const uint64_t asked_ns = base::steady_ns();
  if (auto allowed = state_->check_may_wait("load"); !allowed) return allowed.error();
  if (auto open = state_->check_not_closing(); !open) return open.error();
  if (auto recovered = state_->ensure_recovered(); !recovered) return recovered.error();
  const auto held = state_->stop_for_change(asked_ns, change);
  if (!held) return held.error();
  if (auto found = state_->check_table(*held, table); !found) return found.error();
  if (auto usable = state_->check_log(); !usable) return usable.error();
  try {
    return state_->load(*held, table, next);
  } catch (const std::bad_alloc&) {
    return state_->lose_memory_unlogged(*held);
  }
}

base::Result<LoadReport> Database::State::load(
    const BatchGate::Exclusive& held, base::TableId table,
    const std::function<base::Result<RowBatch>()>& next) {
  if (log != nullptr) backups.cut_log(held, log.get(), engine.last_vid());
  // A row of the load may get the RowID of one whose delete the replica has yet to apply.
  olap_dispatcher->bring_up_to_date();
  if (auto usable = olap_dispatcher->check_replica(); !usable) return usable.error();
  std::optional<propagation::BulkLoad> sink;
  if (options.export_updates) {
    sink.emplace(
        &replica, &applier, table,
        [&](uint32_t count, const auto& body) { executor.run_parallel(count, body); },
        placement.olap.cores);
  }
  LoadReport report;
  engine.set_room(data_room());
  clock.batch_begins(base::steady_ns());
  const auto counted = [&] {
    auto batch = next_batch(next, &source_thread);
    if (batch) report.rows += batch->count;
    return batch;
  };
  auto loaded = engine.load(table, counted, sink ? &*sink : nullptr);
  clock.batch_ends(engine.last_vid());
  if (loaded && sink) sink->finish(*loaded);
  if (sink && sink->failure()) olap_dispatcher->lose_replica(*sink->failure());
  if (!loaded) return loaded.error();
  report.vid = *loaded;
  // It has committed, whatever has become of the replica: so either a manifest has it from here on,
  // or calls are refused.
  if (log != nullptr) {
    log->skip_to(*loaded);
    if (auto saved = save_unlogged(held); !saved) return saved.error().within("the load");
  }
  // Of the load, only its VID is in the queue: the replica's freshness.
  olap_dispatcher->bring_up_to_date();
  if (auto usable = olap_dispatcher->check_replica(); !usable) return usable.error();
  olap_dispatcher->publish_figures(held);
  return report;
}

}  // namespace diptych::dispatcher
