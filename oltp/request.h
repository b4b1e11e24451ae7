// Request: one call of a stored procedure, from submission to reply.
//
// The caller owns it. It and everything to which it points must live until `complete` is called,
// which happens exactly once, on a thread of the dispatcher. complete must be short and must not
// block; it may submit requests.
//
//   created -> [Dispatcher: admit] -> queued -> [Engine: run_batch] -> outcome set
//                                       └ its deadline has passed: kDeadlineExceeded ┐
//           -> [Dispatcher: the batch has ended and is pushed] -> complete(request)
//   A conflict leads back to queued until conflicts == the limit.
//
// From complete on, it may be submitted again, changed or as it is: all that the caller does not
// set is set anew, and reply_texts keeps its memory.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/types.h"

namespace diptych::oltp {

inline constexpr base::ProcedureId kUnboundProcedure{~uint32_t{0}};

// The place of the rows that a transaction inserted in a worker's list (Engine::inserted_rows).
struct InsertedRows {
  base::WorkerId worker;
  uint32_t first = 0;
  uint32_t count = 0;
};

struct Request {
  // Set by the caller, best with of().
  base::ProcedureId procedure = kUnboundProcedure;
  uint64_t cells_hash = 0;               // ProcedureRef::cells_hash(); 0: only sizes are checked
  std::span<const std::byte> arguments;  // of the procedure's registered size
  std::span<std::byte> reply;            // likewise; written if the outcome is ok
  void (*complete)(Request*) = nullptr;
  void* context = nullptr;  // for the caller's use

  // Set at admission. The request does not run at or after this base::steady_ns(); 0: no deadline.
  uint64_t deadline_ns = 0;
  // The procedure reads these as now() and random(), so that replay is exact.
  base::Timestamp now;
  uint64_t random_seed = 0;
  uint64_t submitted_ns = 0;    // steady clock
  void* admitted_by = nullptr;  // for the dispatcher's use

  // Set by the engine.
  base::Result<void> outcome;
  base::Vid read_vid;
  base::Vid commit_vid;    // 0 for a transaction that wrote nothing
  uint32_t conflicts = 0;  // number of repeated runs because of conflicts
  InsertedRows inserted;   // of a transaction with a commit VID, if the engine records them
  // What the Texts of the reply point at, which is valid if the outcome is ok: the next run writes
  // it anew, so the arguments must not point there.
  std::vector<char> reply_texts;

  // Of a typed ref (ProcedureRef), with the check of the types that Database::call makes. `reply`
  // may be null: then there is none to be had.
  template <class Procedure>
  static Request of(const Procedure& procedure, const typename Procedure::Arguments* arguments,
                    typename Procedure::Reply* reply, void (*complete)(Request*) = nullptr,
                    void* context = nullptr) {
    Request request;
    request.procedure = procedure.id;
    request.cells_hash = Procedure::cells_hash();
    request.arguments = std::as_bytes(std::span(arguments, 1));
    if (reply != nullptr) request.reply = std::as_writable_bytes(std::span(reply, 1));
    request.complete = complete;
    request.context = context;
    return request;
  }
};

}  // namespace diptych::oltp
