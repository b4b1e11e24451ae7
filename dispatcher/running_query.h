// Queries that can be stopped: their options, and handles by which any thread stops one.

#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/value.h"
#include "dispatcher/admission.h"
#include "dispatcher/call_options.h"
#include "olap/query_result.h"

namespace diptych::dispatcher {

class QueryAnswer;  // dispatcher/query_answer.h
class QueryWatch;   // dispatcher/query_watch.h

using QueryAnswerPtr = std::shared_ptr<QueryAnswer>;  // shared_ptr: batch, watch and handle have it
using QueryWatchPtr = std::shared_ptr<QueryWatch>;    // shared_ptr: handles outlive the database

struct QueryOptions {
  std::vector<base::Value> parameters = {};  // of $1, $2 and so on, of each statement
  // Measured from submission, including admission. What has not ended by then fails with
  // kDeadlineExceeded, and does not run if its turn comes later. 0: no limit.
  uint64_t timeout_ns = 0;
  Admission admission = Admission::kWait;  // on a dispatcher's thread it is kRefuse
  Priority priority = Priority::kNormal;   // a client's queries have the client's
};

// Called once, on a dispatcher's thread.
using QueryDone = std::function<void(base::Result<olap::QueryResult>)>;

// Handle to a submitted query or batch. Copies refer to the same one; a handle may outlive query
// and database.
class QueryHandle {
 public:
  QueryHandle() = default;  // of none
  QueryHandle(QueryAnswerPtr answer, std::weak_ptr<QueryWatch> watch)
      : answer_(std::move(answer)), watch_(std::move(watch)) {}

  // Any thread. The statements that have not ended fail with kCancelled, within 100 ms, whatever
  // else runs. No effect once they have ended.
  void cancel() const;
  // The calling thread is one that its answer may wait for.
  bool awaits_this_thread() const;

 private:
  QueryAnswerPtr answer_;
  std::weak_ptr<QueryWatch> watch_;
};

// A query on its way (Database::start_query).
class RunningQuery {
 public:
  RunningQuery(QueryHandle handle, std::future<base::Result<olap::QueryResult>> result)
      : handle_(std::move(handle)), result_(std::move(result)) {}

  const QueryHandle& handle() const { return handle_; }
  void cancel() const { handle_.cancel(); }
  // Waits for the result. Once. kInvalidArgument: in a completion or procedure, which it would wait
  // for itself; the result is still to be had, and here too once it is there.
  base::Result<olap::QueryResult> get();
  bool wait_for(uint64_t nanoseconds) const {
    const std::chrono::nanoseconds time(std::min(nanoseconds, kForeverNs));
    return result_.wait_for(time) == std::future_status::ready;
  }

 private:
  QueryHandle handle_;
  std::future<base::Result<olap::QueryResult>> result_;
};

}  // namespace diptych::dispatcher
