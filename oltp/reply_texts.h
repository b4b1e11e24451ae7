// Reply texts: the bytes that a reply's long strings point at become the request's, since those of
// rows and of the transaction go with the batch, and the caller's with its arguments.
//
// Threads    any, each at a request of its own.

#pragma once

#include "base/result.h"
#include "oltp/procedure.h"
#include "oltp/request.h"

namespace diptych::oltp {

// After the procedure has returned. `frame` is the stack frame of who called it: below lies what
// functions that have returned had there. kInvalidArgument: a text of the reply lies there, and not
// where Transaction::keep would have put it. (Of one that lay on the heap, nobody can tell.)
base::Result<void> keep_reply_texts(const ProcedureDefinition& procedure, Request* request,
                                    const void* frame);

}  // namespace diptych::oltp
