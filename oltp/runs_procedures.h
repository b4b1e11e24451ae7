// RunsProcedures: while it lives, marks the calling thread as running procedures (a share of a
// batch or a replay). Functions that would wait for the end of the calling procedure check the
// mark. A procedure's access and partition functions count as well.
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

  // True if this thread runs procedures of any engine.
  static bool here();
};

}  // namespace diptych::oltp
