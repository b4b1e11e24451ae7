#include "oltp/runs_procedures.h"

#include "base/check.h"

namespace diptych::oltp {
namespace {

thread_local bool runs_here = false;

}  // namespace

RunsProcedures::RunsProcedures() {
  DIPTYCH_CHECK(!runs_here, "a procedure cannot begin a batch or a replay");
  runs_here = true;
}

RunsProcedures::~RunsProcedures() {
  runs_here = false;
}

bool RunsProcedures::here() {
  return runs_here;
}

}  // namespace diptych::oltp
