#include "dispatcher/long_lane.h"

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "base/thread.h"

namespace diptych::dispatcher {

LongLane::LongLane(const LongLaneOptions& options, const olap::Executor* beside,
                   const olap::StopFlag* stop, Callbacks callbacks)
    : options_(options), beside_(beside), stop_(stop), callbacks_(std::move(callbacks)) {
  try {
    for (uint32_t i = 0; i < options_.queries_max; ++i) {
      threads_.emplace_back([this] { work(); });
    }
  } catch (...) {
    LongLane::stop();
    throw;
  }
}

LongLane::~LongLane() {
  stop();
}

void LongLane::stop() {
  {
    const std::lock_guard lock(mutex_);
    DIPTYCH_CHECK(waiting_.empty() && running_ == 0, "J1: every query has ended");
    stopping_ = true;
  }
  changed_.notify_all();
  for (base::Thread& thread : threads_) thread.join();
  threads_.clear();
}

void LongLane::add(LongQuery&& query) {
  query.added_ns = base::steady_ns();
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(query));
  ++added_;
}

bool LongLane::wants_snapshot() const {
  const std::lock_guard lock(mutex_);
  return !waiting_.empty() && running_ < options_.queries_max;
}

LongQuery& LongLane::next() {
  const std::lock_guard lock(mutex_);
  DIPTYCH_CHECK(!waiting_.empty(), "one waits for a snapshot");
  return waiting_.front();
}

void LongLane::begin(std::unique_ptr<storage::ReplicaSnapshot> snapshot) {
  {
    const std::lock_guard lock(mutex_);
    DIPTYCH_CHECK(!waiting_.empty() && running_ < options_.queries_max, "J2: there is room");
    Run& run = begun_.emplace_back();
    run.query = std::move(waiting_.front());
    run.snapshot = std::move(snapshot);
    waiting_.pop_front();
    ++running_;
  }
  changed_.notify_one();
}

LongQuery LongLane::give_up() {
  const std::lock_guard lock(mutex_);
  LongQuery query = std::move(waiting_.front());
  waiting_.pop_front();
  return query;
}

std::vector<LongQuery> LongLane::take_stopped() {
  const auto goes_on = [](const LongQuery& query) {
    return !query.job->answer->control().is_stopped();
  };
  const std::lock_guard lock(mutex_);
  const auto stopped = std::stable_partition(waiting_.begin(), waiting_.end(), goes_on);
  std::vector<LongQuery> taken(std::make_move_iterator(stopped),
                               std::make_move_iterator(waiting_.end()));
  waiting_.erase(stopped, waiting_.end());
  return taken;
}

void LongLane::report(Metrics* metrics) const {
  const std::lock_guard lock(mutex_);
  metrics->long_queries = added_;
  metrics->long_queries_running = running_;
  metrics->long_queries_waiting = waiting_.size();
}

void LongLane::work() {
  base::mark_this_thread_as_of(this);
  base::pin_this_thread(options_.cores);
  base::name_this_thread("olap-long");
  base::lower_priority_of_this_thread();
  base::SidePlacement alone;
  alone.cores = options_.cores;
  alone.threads = 1;
  olap::Executor executor(alone, *beside_);
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || !begun_.empty(); });
    if (begun_.empty()) return;
    Run run = std::move(begun_.front());
    begun_.pop_front();
    lock.unlock();
    execute(&executor, std::move(run));
    lock.lock();
  }
}

void LongLane::execute(olap::Executor* executor, Run run) {
  const base::Vid vid = run.snapshot->vid();
  olap::QueryRoute& route = run.query.job->route;
  route.long_lane_ns = base::steady_ns() - run.query.added_ns;
  route.snapshot_bytes = callbacks_.snapshot_bytes;
  try {
    std::vector<olap::QueryRun> queries;
    for (const size_t statement : run.query.statements) {
      queries.push_back({.plan = &run.query.job->statements[statement].plan,
                         .control = &run.query.job->answer->control(),
                         .route = &route});
    }
    executor->run_batch(queries, run.snapshot->replica(), *stop_,
                        [&](size_t query, base::Result<olap::QueryResult> result) {
                          callbacks_.put(run.query, run.query.statements[query], std::move(result),
                                         vid);
                        });
  } catch (const std::bad_alloc&) {  // beside the queries themselves, which fail alone
    for (const size_t statement : run.query.statements) {
      callbacks_.put(run.query, statement, base::ErrorCode::kOutOfMemory, vid);
    }
  }
  run.snapshot.reset();
  {
    const std::lock_guard lock(mutex_);
    --running_;
  }
  callbacks_.ended(std::move(run.query), vid);
}

}  // namespace diptych::dispatcher
