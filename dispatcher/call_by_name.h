// Whether a procedure can be called with SQL values (Database::call_by_name). Any thread.

#pragma once

#include "base/result.h"
#include "dispatcher/procedure_directory.h"

namespace diptych::dispatcher {

// kInvalidArgument: arguments or reply are not described.
base::Result<void> check_callable(const ProcedureSignature& procedure);

}  // namespace diptych::dispatcher
