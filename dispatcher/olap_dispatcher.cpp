#include "dispatcher/olap_dispatcher.h"

#include <new>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "base/thread.h"
#include "storage/buffer_manager.h"

namespace diptych::dispatcher {

OlapDispatcher::OlapDispatcher(const OlapDispatcherOptions& options, const OlapReplica& replica,
                               propagation::UpdateQueue* updates, BatchGate* gate,
                               FreshnessClock* clock, Prepare prepare,
                               std::function<void()> run_checkpoint)
    : options_(options),
      replica_(replica),
      updates_(updates),
      gate_(gate),
      clock_(clock),
      prepare_(std::move(prepare)),
      run_checkpoint_(std::move(run_checkpoint)),
      queues_(options.limits, options.spin),
      arrivals_(options.spin) {
  DIPTYCH_CHECK(options.batch_queries_max != 0, "Database::open checks its options");
  if (options.long_query_ns != 0 || options.long_query_rows > 0) {
    long_lane_ = std::make_unique<LongLane>(
        LongLaneOptions{options.placement.cores, options.long_queries_max}, replica.executor,
        &stop_queries_,
        LongLane::Callbacks{.put =
                                [this](const LongQuery& query, size_t statement,
                                       base::Result<olap::QueryResult> result, base::Vid snapshot) {
                                  put(*query.job, statement, std::move(result), snapshot);
                                },
                            .ended =
                                [this](LongQuery query, base::Vid snapshot) {
                                  {
                                    TokenReturn tokens;
                                    answer(*query.job, snapshot, &tokens);
                                  }
                                  wake();
                                },
                            .snapshot_bytes =
                                [this] {
                                  const std::lock_guard lock(figures_mutex_);
                                  return figures_.memory.replica.snapshot_bytes;
                                }});
  }
  publish_sizes();
  thread_ = base::Thread([this] { run(); });
}

OlapDispatcher::~OlapDispatcher() {
  stop();
}

void OlapDispatcher::stop() {
  if (!thread_.joinable()) return;
  queues_.close();
  wake();
  thread_.join();
  if (long_lane_ != nullptr) long_lane_->stop();
}

base::Result<void> OlapDispatcher::submit(std::unique_ptr<QueryJob> job, QueryQueue* queue,
                                          Admission admission) {
  const uint64_t deadline_ns = job->answer->deadline_ns();
  if (auto admitted = queues_.admit(queue, admission, deadline_ns); !admitted) {
    queues_.note_refusal(admitted.code());
    return admitted;
  }
  job->admitted_by = &queue->tokens();
  job->submitted_ns = base::steady_ns();
  try {
    if (deadline_ns != 0) options_.watch->add(job->answer);
    queues_.push(queue, std::move(job), deadline_ns);
  } catch (const std::bad_alloc&) {
    TokenReturn().give_back(&queue->tokens());
    throw;
  }
  wake();
  return {};
}

// The thread sleeps on one of two parkers (see sleep); a ring that nobody hears costs no syscall.
void OlapDispatcher::wake() {
  arrivals_.wake_all();
  updates_->parker().wake_all();
}

void OlapDispatcher::apply_now() {
  // release: pairs with the acquire in turn_is_due; who sees the wish sees what it is about.
  apply_wanted_.store(true, std::memory_order_release);
  wake();
}

void OlapDispatcher::wish_checkpoint() {
  // release: pairs with the acquire in run; who sees the wish sees who waits for it.
  checkpoint_wanted_.store(true, std::memory_order_release);
  wake();
}

void OlapDispatcher::snapshot_has_gone() {
  wake();
}

void OlapDispatcher::queries_were_stopped() {
  if (long_lane_ != nullptr) wake();
}

void OlapDispatcher::cancel_queries() {
  // relaxed: a flag of its own, which the executor's workers look at.
  stop_queries_.store(true, std::memory_order_relaxed);
}

void OlapDispatcher::count_failed(base::ErrorCode why) {
  const std::lock_guard lock(figures_mutex_);
  ++figures_.queries_failed;
  ++figures_.queries_failed_by[static_cast<size_t>(why)];
}

void OlapDispatcher::report(Metrics* metrics) const {
  const std::lock_guard lock(figures_mutex_);
  metrics->queries_completed = figures_.queries_completed;
  metrics->queries_failed = figures_.queries_failed;
  metrics->queries_failed_by = figures_.queries_failed_by;
  const AdmissionFigures admission = queues_.figures();
  metrics->queries_refused = admission.refused;
  metrics->clients_refused += admission.clients_refused;
  metrics->queries_in_flight = admission.in_flight;
  if (long_lane_ != nullptr) long_lane_->report(metrics);
  metrics->query_batches = figures_.query_batches;
  metrics->batch_queries = figures_.batch_queries;
  metrics->query_batch_ns = figures_.query_batch_ns;
  metrics->replica_vid = figures_.replica_vid;
  metrics->updates_applied = figures_.updates_applied;
  metrics->apply_runs = figures_.apply_runs;
  metrics->apply_ns = figures_.apply_ns;
  metrics->compact_ns = figures_.compact_ns;
  metrics->apply_cpu_ns = figures_.apply_cpu_ns;
  metrics->compact_cpu_ns = figures_.compact_cpu_ns;
  metrics->apply_steps = figures_.apply_steps;
  metrics->freshness_ns = figures_.freshness_ns;
  metrics->wait_apply_ns = figures_.wait_apply_ns;
  metrics->memory.replica = figures_.memory.replica;
  metrics->memory.replica_indexes = figures_.memory.replica_indexes;
  metrics->olap_memory_bytes = replica_bytes();
  if (replica_.tables->buffers() != nullptr) {
    metrics->olap_chunks = replica_.tables->buffers()->figures();
  }
}

void OlapDispatcher::run() {
  base::mark_this_thread_as_of(this);
  base::pin_this_thread(options_.placement.cores);
  base::name_this_thread("olap-dispatcher");
  get_ready();
  Jobs jobs;
  while (true) {
    const uint32_t arrival_ticket = arrivals_.ticket();
    const uint32_t update_ticket = updates_->parker().ticket();
    take_jobs(&jobs);
    // acquire: pairs with the release in wish_checkpoint.
    if (checkpoint_wanted_.exchange(false, std::memory_order_acquire)) {
      const BatchGate::Passage passage = gate_->pass(Side::kOlap);
      run_checkpoint_();
      pending_since_ns_ = 0;
    }
    if (replica_.tables->wants_reclaim()) {
      const BatchGate::Passage passage = gate_->pass(Side::kOlap);
      reclaim();
    }
    if (long_lane_ != nullptr) answer_stopped();
    if (long_lane_ != nullptr && long_lane_->wants_snapshot()) {
      const BatchGate::Passage passage = gate_->pass(Side::kOlap);
      take_turn();
      begin_long_queries();
    }
    if (!jobs.empty()) {
      run_one_batch(&jobs);
    } else if (turn_is_due(base::steady_ns())) {
      const BatchGate::Passage passage = gate_->pass(Side::kOlap);
      take_turn();
    } else if (queues_.drained()) {
      return;
    } else {
      sleep(arrival_ticket, update_ticket);
    }
  }
}

void OlapDispatcher::take_jobs(Jobs* jobs) {
  queues_.fill(options_.batch_queries_max, base::steady_ns(), jobs, &expired_);
  const uint64_t taken_ns = base::steady_ns();  // some have come since
  for (const auto& job : *jobs) job->route.queue_ns = taken_ns - job->submitted_ns;
  TokenReturn tokens;
  for (const auto& job : expired_) {
    job->answer->control().expire();  // seldom before the watch has
    fail(*job, job->answer->control().error());
    answer(*job, base::Vid(), &tokens);
  }
  expired_.clear();
}

void OlapDispatcher::take_turn() {
  bring_up_to_date();
  pending_since_ns_ = 0;
}

bool OlapDispatcher::turn_is_due(uint64_t now_ns) {
  // acquire: pairs with the release in apply_now.
  const bool wanted = apply_wanted_.exchange(false, std::memory_order_acquire);
  // acquire: pairs with the release in plan_compaction.
  const uint64_t compaction_due_ns = compaction_due_ns_.load(std::memory_order_acquire);
  if (compaction_due_ns != 0 && now_ns >= compaction_due_ns) return true;
  if (updates_->pending_bytes() == 0) {
    pending_since_ns_ = 0;
    return false;
  }
  if (pending_since_ns_ == 0) pending_since_ns_ = now_ns;
  return wanted || now_ns - pending_since_ns_ >= options_.apply_interval_ns;
}

// With updates pending: until they are due, unless a query or apply_now comes first; further pushes
// do not wake the thread. With none: until anything comes, or compaction goes on.
void OlapDispatcher::sleep(uint32_t arrival_ticket, uint32_t update_ticket) {
  const uint64_t now_ns = base::steady_ns();
  // acquire: as in turn_is_due.
  const uint64_t compaction_due_ns = compaction_due_ns_.load(std::memory_order_acquire);
  if (pending_since_ns_ != 0) {
    const uint64_t due_ns = pending_since_ns_ + options_.apply_interval_ns;
    if (due_ns > now_ns) arrivals_.wait_for(arrival_ticket, due_ns - now_ns);
  } else if (compaction_due_ns == 0) {
    updates_->parker().wait(update_ticket);
  } else if (compaction_due_ns > now_ns) {
    updates_->parker().wait_for(update_ticket, compaction_due_ns - now_ns);
  }
}

void OlapDispatcher::run_one_batch(Jobs* jobs) {
  base::Vid snapshot;
  {
    const BatchGate::Passage passage = gate_->pass(Side::kOlap);
    take_turn();
    snapshot = replica_.tables->snapshot();
    try {
      compile(*jobs);
      Moved moved = execute(jobs);
      move_to_long_lane(jobs, &moved, snapshot);
    } catch (const std::bad_alloc&) {  // beside the queries themselves, which fail alone
      for (auto& job : *jobs) {
        if (job != nullptr) fail(*job, base::ErrorCode::kOutOfMemory);
      }
    }
    if (long_lane_ != nullptr) begin_long_queries();
  }
  TokenReturn tokens;
  for (auto& job : *jobs) {
    if (job != nullptr) answer(*job, snapshot, &tokens);
  }
  jobs->clear();
}

void OlapDispatcher::move_to_long_lane(Jobs* jobs, Moved* moved, base::Vid snapshot) {
  for (size_t i = 0; i < moved->size(); ++i) {
    if ((*moved)[i].empty()) continue;
    LongQuery query{std::move((*jobs)[i]), std::move((*moved)[i]), snapshot};
    try {
      long_lane_->add(std::move(query));
    } catch (const std::bad_alloc&) {
      (*jobs)[i] = std::move(query.job);
      fail(*(*jobs)[i], base::ErrorCode::kOutOfMemory);
    }
  }
}

void OlapDispatcher::begin_long_queries() {
  while (long_lane_->wants_snapshot()) {
    if (replica_failure_) {
      end_unrun(long_lane_->give_up(), *replica_failure_);
      continue;
    }
    try {
      compile(&long_lane_->next(), replica_.tables->snapshot());
      long_lane_->begin(
          std::make_unique<storage::ReplicaSnapshot>(replica_.tables, storage::SnapshotUse::kRead));
    } catch (const std::bad_alloc&) {
      const LongQuery query = long_lane_->give_up();
      fail(*query.job, base::ErrorCode::kOutOfMemory);
      TokenReturn tokens;
      answer(*query.job, query.compiled_for, &tokens);
    }
  }
}

void OlapDispatcher::answer_stopped() {
  for (const LongQuery& query : long_lane_->take_stopped()) {
    end_unrun(query, query.job->answer->control().error());
  }
}

void OlapDispatcher::end_unrun(const LongQuery& query, const base::Error& error) {
  for (const size_t statement : query.statements) {
    put(*query.job, statement, error, query.compiled_for);
  }
  TokenReturn tokens;
  answer(*query.job, query.compiled_for, &tokens);  // others of the batch may have ended, with rows
}

void OlapDispatcher::compile(LongQuery* query, base::Vid snapshot) {
  if (query->compiled_for == snapshot) return;
  QueryJob& job = *query->job;
  query->statements.clear();
  for (size_t i = 0; i < job.statements.size(); ++i) {
    if (job.statements[i].prepared) query->statements.push_back(i);
  }
  job.answer->take_back(query->statements);
  std::erase_if(query->statements, [&](size_t statement) {
    job.statements[statement].prepared = false;
    prepare_(&job, statement, table_rows_);
    return !job.statements[statement].prepared;
  });
  query->compiled_for = snapshot;
}

void OlapDispatcher::fail(QueryJob& job, const base::Error& error) {
  for (size_t i = 0; i < job.statements.size(); ++i) put(job, i, error, base::Vid());
}

void OlapDispatcher::answer(QueryJob& job, base::Vid snapshot, TokenReturn* tokens) {
  if (options_.log != nullptr) options_.log->wait_until_durable(snapshot);
  if (options_.watch->is_finishing() && answer_soon(job)) return;
  answer(*job.answer, job.admitted_by, tokens);
}

void OlapDispatcher::answer(QueryAnswer& answer, AdmissionTokens* admitted_by,
                            TokenReturn* tokens) {
  // The token first: a completion that submits its successor finds room for it.
  tokens->give_back(admitted_by);
  if (answer.deadline_ns() != 0) options_.watch->remove(answer);
  answer.finish();
}

bool OlapDispatcher::answer_soon(QueryJob& job) try {
  options_.watch->finish([this, of = job.answer, admitted_by = job.admitted_by] {
    {
      TokenReturn tokens;
      answer(*of, admitted_by, &tokens);
    }
    wake();
  });
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

void OlapDispatcher::put(QueryJob& job, size_t statement, base::Result<olap::QueryResult> result,
                         base::Vid snapshot) {
  const bool is_counted = std::exchange(job.statements[statement].counted, true);
  if (result && !is_counted) {
    const std::lock_guard lock(figures_mutex_);
    ++figures_.queries_completed;
  } else if (!is_counted) {
    count_failed(result.code());
  }
  const bool durable = options_.log == nullptr || options_.log->is_durable(snapshot);
  job.answer->put(statement, std::move(result),
                  durable ? QueryAnswer::Show::kAnyTime : QueryAnswer::Show::kOnceFinished);
}

void OlapDispatcher::run(std::span<const olap::QueryRun> queries,
                         const olap::DeliverResult& deliver) {
  if (!replica_failure_) {
    replica_.executor->run_batch(queries, *replica_.tables, stop_queries_, deliver);
    return;
  }
  for (size_t i = 0; i < queries.size(); ++i) deliver(i, *replica_failure_);
}

// On all the side's cores: by the hundred, statements take as long to compile as to run.
void OlapDispatcher::compile(const Jobs& jobs) {
  replica_.executor->run_parallel(static_cast<uint32_t>(jobs.size()),
                                  [&](uint32_t i) { compile(jobs[i].get()); });
}

void OlapDispatcher::compile(QueryJob* job) try {
  const olap::QueryControl& control = job->answer->control();
  if (control.is_stopped()) return fail(*job, control.error());
  for (size_t s = 0; s < job->statements.size(); ++s) prepare_(job, s, table_rows_);
} catch (const std::bad_alloc&) {
  for (QueryJob::Statement& statement : job->statements) statement.prepared = false;
  fail(*job, base::ErrorCode::kOutOfMemory);
}

bool OlapDispatcher::is_long(const olap::Plan& plan) const {
  return options_.long_query_rows > 0 && plan.explanation.empty() &&
         olap::estimated_rows(plan) >= options_.long_query_rows;
}

OlapDispatcher::Moved OlapDispatcher::execute(Jobs* in) {
  Jobs& jobs = *in;
  Jobs ended;  // their plans stay until the batch has run
  ended.reserve(jobs.size());
  Moved moved(jobs.size());
  std::vector<size_t> open(jobs.size());  // statements that have not ended, by job
  std::vector<olap::QueryRun> queries;
  std::vector<Place> places;
  const uint64_t start_ns = base::steady_ns();
  {
    const std::lock_guard lock(figures_mutex_);
    ++figures_.query_batches;
    figures_.freshness_ns.record(clock_->age_ns(start_ns));
    for (size_t j = 0; j < jobs.size(); ++j) {
      if (long_lane_ != nullptr) moved[j].reserve(jobs[j]->statements.size());
      QueryAnswer& answer = *jobs[j]->answer;
      // Seldom before the watch has seen it.
      if (answer.deadline_ns() != 0 && answer.deadline_ns() <= start_ns) answer.control().expire();
      for (size_t i = 0; i < jobs[j]->statements.size(); ++i) {
        const QueryJob::Statement& statement = jobs[j]->statements[i];
        figures_.wait_apply_ns.record(start_ns - jobs[j]->submitted_ns);
        if (!statement.prepared) continue;
        if (is_long(statement.plan)) {
          moved[j].push_back(i);
          continue;
        }
        queries.push_back(
            {&statement.plan, &answer.control(), options_.long_query_ns, &jobs[j]->route});
        places.push_back({j, i});
        ++open[j];
      }
    }
    figures_.batch_queries.record(queries.size());
  }
  const base::Vid snapshot = replica_.tables->snapshot();
  size_t left = queries.size();
  const auto end_job = [&](size_t j) {
    const bool durable = options_.log == nullptr || options_.log->is_durable(snapshot);
    if (left == 0 || open[j] != 0 || !moved[j].empty() || !durable) return;
    if (!answer_soon(*jobs[j])) return;  // it is answered when its batch has ended
    ended.push_back(std::move(jobs[j]));
  };
  for (size_t j = 0; j < jobs.size(); ++j) end_job(j);  // of which no statement compiled
  run(queries, [&](size_t query, base::Result<olap::QueryResult> result) {
    const Place& place = places[query];
    QueryJob& job = *jobs[place.job];
    const bool too_long = !result && result.code() == base::ErrorCode::kDeadlineExceeded;
    if (too_long && !job.answer->control().is_stopped()) {
      moved[place.job].push_back(place.statement);
    } else {
      put(job, place.statement, std::move(result), snapshot);
    }
    --open[place.job];
    --left;
    end_job(place.job);
  });
  const std::lock_guard lock(figures_mutex_);
  figures_.query_batch_ns.record(base::steady_ns() - start_ns);
  return moved;
}

}  // namespace diptych::dispatcher
