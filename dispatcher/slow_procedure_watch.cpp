#include "dispatcher/slow_procedure_watch.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "base/amount_text.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/notice.h"
#include "base/thread.h"

namespace diptych::dispatcher {

SlowProcedureWatch::SlowProcedureWatch(uint64_t limit_ns, const oltp::Engine* engine,
                                       const ProcedureDirectory* procedures)
    : limit_ns_(limit_ns), engine_(engine), procedures_(procedures) {
  DIPTYCH_CHECK(limit_ns != 0, "0 is for no watch at all");
  thread_ = base::Thread([this] { watch(); });
}

SlowProcedureWatch::~SlowProcedureWatch() {
  {
    const std::lock_guard guard(mutex_);
    stopping_ = true;
  }
  stop_asked_.notify_all();
  thread_.join();
}

void SlowProcedureWatch::watch() {
  base::name_this_thread("slow-watch");
  constexpr uint64_t kShortestNs = 1'000'000;
  constexpr uint64_t kLongestNs = 60'000'000'000;
  const std::chrono::nanoseconds period(std::clamp(limit_ns_ / 2, kShortestNs, kLongestNs));
  std::unique_lock guard(mutex_);
  while (!stop_asked_.wait_for(guard, period, [this] { return stopping_; })) look_at_running();
}

void SlowProcedureWatch::look_at_running() {
  const uint64_t now_ns = base::steady_ns();
  for (const oltp::RunningProcedure& run : engine_->running()) {
    if (now_ns <= run.since_ns || now_ns - run.since_ns <= limit_ns_) continue;
    note(run.procedure, now_ns - run.since_ns, "has run for {} and goes on");
  }
}

void SlowProcedureWatch::ended(std::span<const oltp::SlowRun> runs) {
  if (runs.empty()) return;
  const std::lock_guard guard(mutex_);
  figures_.ended += runs.size();
  for (const oltp::SlowRun& run : runs) note(run.procedure, run.ns, "ran for {}");
}

void SlowProcedureWatch::note(base::ProcedureId procedure, uint64_t ns, const char* how) {
  const ProcedureSignature* const signature = procedures_->find(procedure);
  DIPTYCH_CHECK(signature != nullptr, "only registered procedures run");
  if (ns > figures_.slowest_ns) {
    figures_.slowest_ns = ns;
    figures_.slowest = signature->name;
  }
  if (!reported_.insert(procedure).second) return;
  base::notify(
      "procedure \"{}\" {}; others wait for it; the limit of slow_procedure_ns is {} (said once "
      "for each procedure)",
      signature->name, fmt::format(fmt::runtime(how), base::duration_text(ns)),
      base::duration_text(limit_ns_));
}

SlowProcedureWatch::Figures SlowProcedureWatch::figures() const {
  const std::lock_guard guard(mutex_);
  return figures_;
}

}  // namespace diptych::dispatcher
