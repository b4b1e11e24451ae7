#include "dispatcher/query_answer.h"

#include <utility>

#include "base/check.h"

namespace diptych::dispatcher {

QueryAnswerPtr QueryAnswer::make(size_t statements, uint64_t deadline_ns) {
  return std::make_shared<QueryAnswer>(statements, deadline_ns);  // shared_ptr: see QueryAnswerPtr
}

void QueryAnswer::put(size_t statement, base::Result<olap::QueryResult> result, Show show) {
  const std::lock_guard lock(mutex_);
  if (answered_) return;
  places_[statement] = {std::move(result), show};
}

void QueryAnswer::take_back(std::span<const size_t> statements) {
  const std::lock_guard lock(mutex_);
  if (answered_) return;
  for (const size_t statement : statements) places_[statement].result.reset();
}

QueryResults QueryAnswer::collect(bool early) {
  answered_ = true;
  QueryResults results = std::move(results_);
  for (Place& place : places_) {
    const bool shown = place.result && (!early || place.show == Show::kAnyTime);
    DIPTYCH_CHECK(shown || early, "every statement of a batch that has ended has a result");
    if (shown) {
      results.push_back(std::move(*place.result));
    } else {
      results.emplace_back(control_.error());
    }
  }
  return results;
}

void QueryAnswer::finish() {
  QueryResults results;
  {
    const std::lock_guard lock(mutex_);
    if (answered_) return;
    results = collect(false);
  }
  done_(std::move(results));
}

void QueryAnswer::finish_early() {
  DIPTYCH_CHECK(control_.is_stopped(), "only what was stopped is answered early");
  QueryResults results;
  {
    const std::lock_guard lock(mutex_);
    if (answered_) return;
    results = collect(true);
  }
  done_(std::move(results));
}

}  // namespace diptych::dispatcher
