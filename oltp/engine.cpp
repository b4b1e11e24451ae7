#include "oltp/engine.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "base/thread.h"
#include "oltp/engine_state.h"
#include "oltp/runs_procedures.h"

namespace diptych::oltp {
namespace {

void add(std::atomic<uint64_t>* counter, uint64_t count) {
  // relaxed: a figure for people; the leader is the only writer.
  counter->store(counter->load(std::memory_order_relaxed) + count, std::memory_order_relaxed);
}

}  // namespace

Engine::State::State(const base::Catalog* catalog, const EngineOptions& options,
                     propagation::UpdateQueue* queue)
    : core(catalog, options, queue), start_(options.spin), done_(options.spin) {
  DIPTYCH_CHECK(options.placement.threads >= 1, "the leader is a worker");
  DIPTYCH_CHECK(options.placement.threads <= kWorkersMax, "indexes bear so many (index.h)");
  DIPTYCH_CHECK(queue != nullptr || !options.export_updates, "updates are exported to a queue");
  DIPTYCH_CHECK(
      options.export_mode == propagation::ExportMode::kColumns || options.placement.threads <= 1,
      "a row is exported whole only where nobody else writes parts of it");
  for (uint32_t i = 0; i < options.placement.threads; ++i) {
    workers.push_back(std::make_unique<Worker>(&core, base::WorkerId(i)));
  }
  try {
    for (uint32_t i = 1; i < options.placement.threads; ++i) {
      threads_.emplace_back([this, i] { serve(i); });
    }
  } catch (...) {
    end_threads();
    throw;
  }
}

Engine::State::~State() {
  end_threads();
}

void Engine::State::end_threads() {
  // release: pairs with the acquire in serve.
  stopping_.store(true, std::memory_order_release);
  start_.wake_all();
  for (base::Thread& thread : threads_) thread.join();
}

void Engine::State::serve(uint32_t worker) {
  base::name_this_thread("oltp-" + std::to_string(worker));
  const std::vector<uint32_t>& cores = core.options.placement.cores;
  if (!cores.empty()) base::pin_this_thread(std::span(&cores[worker % cores.size()], 1));
  uint64_t seen = 0;
  while (true) {
    const uint32_t ticket = start_.ticket();
    // acquire: pairs with the destructor's release.
    if (stopping_.load(std::memory_order_acquire)) return;
    // acquire: pairs with the release in run_on_workers; batch_ and the tables are as the leader
    // set them.
    const uint64_t generation = generation_.load(std::memory_order_acquire);
    if (generation == seen) {
      start_.wait(ticket);
      continue;
    }
    seen = generation;
    run_share(worker);
    // acq_rel: the leader sees what every worker did, also those that were done before the last.
    if (running_.fetch_sub(1, std::memory_order_acq_rel) == 1) done_.wake_all();
  }
}

void Engine::State::run_share(uint32_t worker) {
  const AsWorker as((base::WorkerId(worker)));
  if (batch_.replay != nullptr) {
    batch_.replay->run(workers[worker].get());
  } else if (batch_.is_over) {
    workers[worker]->drop_dead_entries();
  } else {
    workers[worker]->run_share(order_.share(worker), batch_.deadline_ns);
  }
}

void Engine::State::arrange(std::span<Request* const> requests) {
  const RunsProcedures marked;
  hints_.clear();
  uint64_t now_ns = base::steady_ns();
  for (Request* const request : requests) {
    core.procedure(request->procedure);  // there is one
    if (workers.size() > 1) hints_.push_back(leader().partition_of(*request, &now_ns));
  }
  order_.arrange(requests, hints_, workers.size());
}

void Engine::State::run_on_workers(std::span<Request* const> requests, uint64_t deadline_ns) {
  arrange(requests);
  batch_ = {.deadline_ns = deadline_ns};
  if (threads_.empty()) return run_share(0);
  run_batch_on_indexes();
}

void Engine::State::run_on_leader(std::span<Request* const> requests, uint64_t deadline_ns) {
  order_.arrange(requests, {}, 1);
  batch_ = {.deadline_ns = deadline_ns};
  run_share(0);
}

// Of each table and its indexes, one worker is at them.
void Engine::State::run_on_workers(UpdateReplay* replay) {
  batch_ = {.replay = replay};
  run_batch();
}

void Engine::State::run_batch() noexcept {
  // relaxed: published by generation_.
  running_.store(static_cast<uint32_t>(threads_.size()), std::memory_order_relaxed);
  // release: pairs with the acquire in serve. relaxed: the leader alone writes it.
  generation_.store(generation_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  start_.wake_all();
  run_share(0);
  while (true) {
    const uint32_t ticket = done_.ticket();
    // acquire: pairs with the threads' acq_rel; their shares are over and their work is seen.
    if (running_.load(std::memory_order_acquire) == 0) break;
    done_.wait(ticket);
  }
}

void Engine::State::run_batch_on_indexes() {
  const auto set_indexes = [&](Concurrency concurrency) {
    for (TableIndex* const index : core.indexes) {
      if (index != nullptr) index->index->set_concurrency(concurrency);
    }
  };
  set_indexes(Concurrency::kShared);
  run_batch();
  set_indexes(Concurrency::kSingle);
}

void Engine::State::take_back_batch() {
  for (auto& worker : workers) worker->report() = WorkerReport();
  // relaxed: between batches nobody else runs.
  core.last_vid.store(pushed_.value, std::memory_order_relaxed);
}

// Each worker its own, where they are many: it has been at their leaves.
void Engine::State::drop_dead_entries() {
  size_t entries = 0;
  for (const auto& worker : workers) entries += worker->dead_entries();
  if (threads_.empty() || entries < kDroppedByAllMin) {
    for (auto& worker : workers) worker->drop_dead_entries();
    return;
  }
  batch_ = {.is_over = true};
  run_batch_on_indexes();
}

void Engine::State::reach_boundary() {
  for (auto& worker : workers) worker->forget_rolled_back_owners();
  drop_dead_entries();
  for (auto& worker : workers) worker->finish_batch();
  trim_strings();
  // relaxed: between batches nobody else runs.
  const base::Vid newest(core.last_vid.load(std::memory_order_relaxed));
  if (core.options.export_updates && newest != pushed_) {
    std::vector<propagation::SealedSet> sets;
    for (auto& worker : workers) worker->take_updates(&sets);
    if (core.options.before_push) core.options.before_push(sets);
    core.queue->push(std::move(sets), newest);
    pushed_ = newest;
  }
  for (auto& worker : workers) {
    for (const base::TableId table : worker->touched_tables()) reclaim_indexes(core.table(table));
    worker->forget_touched_tables();
  }
  measure_memory();
}

void Engine::State::trim_strings() {
  if (!core.strings.is_due()) return;
  size_t free_bytes = 0;
  for (const auto& worker : workers) free_bytes += worker->strings().free_bytes();
  if (!core.strings.has_much_free(free_bytes)) return;
  for (const auto& worker : workers) worker->strings().give_back();
  core.strings.trim();
}

void Engine::State::reclaim_indexes(const Table& table) {
  for (const auto& index : table.indexes) {
    // relaxed: between batches nobody else runs. Also after changes that were rolled back.
    index->rekeyed.store(false, std::memory_order_relaxed);
    index->index->reclaim();
  }
}

void Engine::State::measure_memory() {
  const bool is_quick = core.indexes.size() <= kIndexesMeasuredAlways;
  const uint64_t begin_ns = is_quick ? 0 : base::steady_ns();
  if (!is_quick && begin_ns - measured_ns_ < kMeasuredShare * measuring_ns_) return;
  size_t undo = 0;
  size_t rows = 0;
  size_t indexes = 0;
  for (const auto& worker : workers) undo += worker->undo_bytes();
  for (const auto& table : core.tables) {
    if (table == nullptr) continue;
    rows += table->rows.allocated_bytes();
    for (const auto& index : table->indexes) indexes += index->index->memory_bytes();
  }
  // relaxed: figures for people, each on its own, here and below.
  row_bytes.store(rows, std::memory_order_relaxed);
  string_bytes.store(core.strings.allocated_bytes(), std::memory_order_relaxed);
  // relaxed: likewise.
  undo_bytes.store(undo, std::memory_order_relaxed);
  index_bytes.store(indexes, std::memory_order_relaxed);
  if (is_quick) return;
  measured_ns_ = base::steady_ns();
  measuring_ns_ = measured_ns_ - begin_ns;
}

Engine::Engine(const base::Catalog* catalog, const EngineOptions& options,
               propagation::UpdateQueue* queue)
    : state_(std::make_unique<State>(catalog, options, queue)) {
  for (const base::TableSchema& table : catalog->tables()) add_table(table.id);
}

Engine::~Engine() = default;

void Engine::make_room_for_procedures(size_t more) {
  auto& procedures = state_->core.procedures;
  const size_t wanted = procedures.size() + more;
  if (wanted > procedures.capacity()) procedures.reserve(std::max(wanted, 2 * procedures.size()));
}

base::ProcedureId Engine::register_procedure(ProcedureDefinition definition) {
  return register_procedure(std::make_unique<ProcedureDefinition>(std::move(definition)));
}

base::ProcedureId Engine::register_procedure(std::unique_ptr<ProcedureDefinition> definition) {
  auto& procedures = state_->core.procedures;
  DIPTYCH_CHECK(procedures.size() < RunMark::kProceduresMax, "a mark has room for the id");
  procedures.push_back(std::move(definition));
  return base::ProcedureId(static_cast<uint32_t>(procedures.size() - 1));
}

void Engine::replace_procedure(base::ProcedureId id, ProcedureDefinition definition) {
  auto& procedures = state_->core.procedures;
  DIPTYCH_CHECK(id.value < procedures.size(), "a procedure id comes from register_procedure");
  ProcedureDefinition& present = *procedures[id.value];
  DIPTYCH_CHECK(present.argument_bytes == definition.argument_bytes &&
                    present.reply_bytes == definition.reply_bytes,
                "requests with buffers of these sizes may be waiting");
  present = std::move(definition);
}

BatchReport Engine::run_batch(std::span<Request* const> requests) {
  BatchReport report;
  if (requests.empty()) return report;
  const uint64_t now_ns = base::steady_ns();
  const uint64_t longest_ns = UINT64_MAX - now_ns;
  const uint64_t deadline_ns =
      now_ns + std::min(state_->core.options.batch_time_max_ns, longest_ns);
  std::vector<Request*> losers, others;
  if (state_->has_losers) {
    std::ranges::partition_copy(requests, std::back_inserter(losers), std::back_inserter(others),
                                State::is_loser);
  }
  if (!state_->core.is_lost()) {
    losers.empty() ? state_->run_on_workers(requests, deadline_ns)
                   : state_->run_on_leader(losers, deadline_ns);
  }
  if (state_->core.is_lost()) {
    state_->take_back_batch();
    report.again.assign(requests.begin(), requests.end());
    return report;
  }
  report.has_run = true;
  state_->reach_boundary();
  std::vector<Request*> conflicted;
  for (auto& worker : state_->workers) {
    const WorkerReport share = std::exchange(worker->report(), WorkerReport());
    report.committed += share.committed;
    report.aborted += share.aborted;
    report.conflicts += share.conflicts;
    report.again.insert(report.again.end(), share.unrun.begin(), share.unrun.end());
    conflicted.insert(conflicted.end(), share.conflicted.begin(), share.conflicted.end());
    report.slow.insert(report.slow.end(), share.slow.begin(), share.slow.end());
  }
  if (!losers.empty()) report.again.insert(report.again.end(), others.begin(), others.end());
  report.again.insert(report.again.end(), conflicted.begin(), conflicted.end());
  state_->has_losers =
      std::ranges::any_of(losers.empty() ? conflicted : report.again, State::is_loser);
  add(&state_->batches, 1);
  add(&state_->committed, report.committed);
  add(&state_->aborted, report.aborted);
  add(&state_->conflicts, report.conflicts);
  return report;
}

base::Vid Engine::last_vid() const {
  // acquire: whoever asks from another thread sees what the commit did (C1).
  return base::Vid(state_->core.last_vid.load(std::memory_order_acquire));
}

std::vector<RunningProcedure> Engine::running() const {
  std::vector<RunningProcedure> running;
  for (const auto& worker : state_->workers) {
    if (const auto now = worker->mark().read()) running.push_back(*now);
  }
  return running;
}

EngineMetrics Engine::metrics() const {
  EngineMetrics metrics;
  // relaxed: figures for people, each on its own, here and below.
  metrics.batches = state_->batches.load(std::memory_order_relaxed);
  metrics.committed = state_->committed.load(std::memory_order_relaxed);
  // relaxed: likewise.
  metrics.aborted = state_->aborted.load(std::memory_order_relaxed);
  metrics.conflicts = state_->conflicts.load(std::memory_order_relaxed);
  // relaxed: likewise.
  metrics.row_bytes = state_->row_bytes.load(std::memory_order_relaxed);
  metrics.string_bytes = state_->string_bytes.load(std::memory_order_relaxed);
  // relaxed: likewise.
  metrics.undo_bytes = state_->undo_bytes.load(std::memory_order_relaxed);
  metrics.index_bytes = state_->index_bytes.load(std::memory_order_relaxed);
  return metrics;
}

}  // namespace diptych::oltp
