// Request: one call of a stored procedure, from submission to reply.
//
// The caller owns it and everything it points at until `complete` is called, exactly once, on a
// thread of the dispatcher; complete must be short and must not block (it may submit requests).
//
//   created -> [Dispatcher: admit] -> queued -> [Engine: run_batch] -> outcome set
//                                       └ its deadline has passed: kDeadlineExceeded ┐
//           -> [Dispatcher: the batch has ended and is pushed] -> complete(request)
//   A conflict leads back to queued until conflicts == the limit.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/ids.h"
#include "base/result.h"
#include "base/types.h"

namespace diptych::oltp {

// Where a worker noted the rows that the transaction inserted (Engine::inserted_rows).
struct InsertedRows {
  base::WorkerId worker;
  uint32_t first = 0;
  uint32_t count = 0;
};

struct Request {
  // Set by the caller.
  base::ProcedureId procedure;
  std::span<const std::byte> arguments;  // of the size that the procedure was registered with
  std::span<std::byte> reply;            // likewise; written when the outcome is ok
  void (*complete)(Request*) = nullptr;
  void* context = nullptr;  // the caller's own

  // Set at admission: base::steady_ns() from which on it is not run any more; 0: none.
  uint64_t deadline_ns = 0;
  // Likewise; the procedure reads them as now() and random(), so that replay is exact.
  base::Timestamp now;
  uint64_t random_seed = 0;
  uint64_t submitted_ns = 0;    // steady clock
  void* admitted_by = nullptr;  // the dispatcher's own

  // Set by the engine.
  base::Result<void> outcome;
  base::Vid read_vid;
  base::Vid commit_vid;    // 0 for a transaction that wrote nothing
  uint32_t conflicts = 0;  // how often it was run again because of a conflict
  InsertedRows inserted;   // of a transaction with a commit VID, where the engine notes them
};

}  // namespace diptych::oltp
