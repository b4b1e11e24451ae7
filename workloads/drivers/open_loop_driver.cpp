#include "workloads/drivers/open_loop_driver.h"

#include <chrono>
#include <cmath>
#include <thread>

#include "base/clock.h"
#include "base/thread.h"
#include "workloads/drivers/drawn_call.h"
#include "workloads/drivers/log_wait.h"

namespace diptych::workloads {
namespace {

// Arrivals nearer than this are made together: a sleep takes about as long.
constexpr uint64_t kTickNs = 50'000;
constexpr uint64_t kWaitNs = 10'000'000;  // for completions, then it looks at the phase

}  // namespace

struct OpenLoopDriver::Call : Completion, DrawnCall {
  OpenLoopDriver* driver = nullptr;
  uint64_t arrived_ns = 0;
  uint64_t completed_ns = 0;
};

OpenLoopDriver::OpenLoopDriver(dispatcher::Database* database, const tpcc::Procedures& procedures,
                               const OpenLoopOptions& options, const PhaseSwitch* phase)
    : database_(database),
      procedures_(procedures),
      options_(options),
      inputs_(options.seed, options.warehouses),
      random_(options.seed + 1),
      phase_(phase) {
  // At a rate, one more than can be admitted: it is refused.
  const uint32_t spare = options.calls_per_second > 0 ? 1 : 0;
  for (uint32_t i = 0; i < options.queue_requests + spare; ++i) {
    calls_.push_back(std::make_unique<Call>());
    calls_.back()->driver = this;
    free_.push_back(calls_.back().get());
  }
}

OpenLoopDriver::~OpenLoopDriver() {
  join();
}

void OpenLoopDriver::start() {
  thread_.start("open-clients", database_->placement().olap.cores, [this] { run(); });
}

void OpenLoopDriver::join() {
  thread_.join();
}

uint64_t OpenLoopDriver::next_gap_ns() {
  const double uniform = (static_cast<double>(random_.next() >> 11) + 1) * 0x1p-53;  // (0, 1]
  return static_cast<uint64_t>(-std::log(uniform) * 1e9 / options_.calls_per_second);
}

void OpenLoopDriver::run() {
  const bool at_rate = options_.calls_per_second > 0;
  // Calls come from elsewhere: a rate does not stand still while the replica's threads work, and
  // then make up for it by a burst.
  if (at_rate) base::raise_priority_of_this_thread();
  uint64_t next_ns = base::steady_ns();
  while (phase_->calls_go_on() && !closed_) {
    take_finished();
    if (!at_rate) {
      while (!free_.empty() && !closed_) submit(free_.back(), base::steady_ns());
      completions_.wait(std::max<int64_t>(1, options_.queue_requests / 4), kWaitNs);
      continue;
    }
    // Where calls come faster than one thread makes them, it does not catch up.
    while (next_ns <= base::steady_ns() && phase_->calls_go_on() && !closed_) {
      if (free_.empty()) take_finished();
      if (!free_.empty()) {
        submit(free_.back(), next_ns);
      } else if (phase_->calls_count()) {  // all are out, the last ones being handed back
        ++statistics_.offered;
        ++statistics_.refused;
      }
      next_ns += next_gap_ns();
    }
    std::this_thread::sleep_for(std::chrono::nanoseconds(kTickNs));
  }
  LogWait log_wait(database_, phase_);
  while (free_.size() < calls_.size()) {
    completions_.wait(1, kWaitNs);
    const size_t before = free_.size();
    take_finished();
    log_wait.look(free_.size() != before);
  }
}

void OpenLoopDriver::submit(Call* call, uint64_t arrived_ns) {
  call->draw(&inputs_, procedures_);
  call->arrived_ns = arrived_ns;
  call->request.complete = &complete;
  call->request.context = call;
  const bool counts = phase_->calls_count();
  if (counts) ++statistics_.offered;
  free_.pop_back();
  const auto submitted = database_->submit(
      &call->request,
      {.admission = dispatcher::Admission::kRefuse, .timeout_ns = options_.timeout_ns});
  if (submitted) return;
  free_.push_back(call);
  if (submitted.code() != base::ErrorCode::kOverloaded) {
    fail(submitted.error());
    closed_ = true;
  } else if (counts) {
    ++statistics_.refused;
  }
}

void OpenLoopDriver::fail(const base::Error& error) {
  ++statistics_.failed;
  if (statistics_.error.empty()) statistics_.error = error.to_string();
}

void OpenLoopDriver::take_finished() {
  Completion* next = completions_.take_all();
  while (next != nullptr) {
    auto* const call = static_cast<Call*>(next);
    next = next->next;
    record(*call);
    free_.push_back(call);
  }
}

void OpenLoopDriver::record(const Call& call) {
  const auto& outcome = call.request.outcome;
  const bool expired = !outcome && outcome.code() == base::ErrorCode::kDeadlineExceeded;
  if (!outcome && outcome.code() != base::ErrorCode::kAborted && !expired) {
    return fail(outcome.error());
  }
  if (!phase_->calls_count()) return;
  if (expired) {
    ++statistics_.expired;
    return;
  }
  ++statistics_.answered;
  statistics_.latency_ns.record(call.completed_ns - call.arrived_ns);
}

void OpenLoopDriver::complete(dispatcher::Request* request) {
  auto* const call = static_cast<Call*>(request->context);
  call->completed_ns = base::steady_ns();
  call->driver->completions_.push(call);
}

}  // namespace diptych::workloads
