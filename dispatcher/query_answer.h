// QueryAnswer: what the caller of query, query_batch or submit_query gets: each statement's result
// or error, exactly once.
//
//   open ──put (as statements end)──finish (their batch has ended)──► answered
//     └───── finish_early (cancelled, or its time is over) ─────────► answered
//
// Whoever comes first calls `done`; nothing that comes later changes anything. An early answer has
// what was put and may be shown; the statements without get the reason.
//
// Threads    put, take_back, finish: the OLAP dispatcher's or the long lane's, or the caller's
//            before the job is submitted. finish_early: the query watch's. The control: any.
//
// Invariants
//   N1  `done` is called at most once, and outside of the mutex.

#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "dispatcher/running_query.h"
#include "olap/query.h"

namespace diptych::dispatcher {

using QueryResults = std::vector<base::Result<olap::QueryResult>>;

class QueryAnswer {
 public:
  using Done = std::function<void(QueryResults)>;

  // `deadline_ns`: of base::steady_ns(); 0: none.
  QueryAnswer(size_t statements, uint64_t deadline_ns)
      : deadline_ns_(deadline_ns), places_(statements) {
    results_.reserve(statements);
  }
  static QueryAnswerPtr make(size_t statements, uint64_t deadline_ns);

  olap::QueryControl& control() { return control_; }
  uint64_t deadline_ns() const { return deadline_ns_; }
  // Before the job is submitted.
  void set_done(Done done) { done_ = std::move(done); }

  // kOnceFinished: what it shows may yet be lost.
  enum class Show : uint8_t { kAnyTime, kOnceFinished };
  void put(size_t statement, base::Result<olap::QueryResult> result, Show show);
  // What these have shall be shown to nobody: they are put anew.
  void take_back(std::span<const size_t> statements);
  // All statements were put.
  void finish();
  // The control is stopped.
  void finish_early();

 private:
  struct Place {
    std::optional<base::Result<olap::QueryResult>> result;
    Show show = Show::kAnyTime;
  };

  QueryResults collect(bool early);  // the mutex is held

  const uint64_t deadline_ns_;
  olap::QueryControl control_;
  std::mutex mutex_;           // guards all below
  std::vector<Place> places_;  // by statement
  QueryResults results_;       // room for them: an answer to come needs no memory
  Done done_;
  bool answered_ = false;
};

}  // namespace diptych::dispatcher
