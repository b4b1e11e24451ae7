// RunsProcedures: marks the calling thread, while it lives, as one that runs procedures: a share of
// a batch, or a replay, on whatever thread that is. For the calls that would wait for the end of
// the procedure that makes them. What a procedure brings besides its body (access, partition)
// counts as well.
//
// Threads    any, each for itself; one at a time on a thread.
// Cost       two stores for a share or a replayed batch; nothing for a call.

#pragma once

namespace diptych::oltp {

class RunsProcedures {
 public:
  RunsProcedures();
  ~RunsProcedures();
  RunsProcedures(const RunsProcedures&) = delete;
  RunsProcedures& operator=(const RunsProcedures&) = delete;

  // Of any engine.
  static bool here();
};

}  // namespace diptych::oltp
