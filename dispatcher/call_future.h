// Calls whose reply comes as a future: what call() of a database or a client makes of a procedure's
// arguments.

#pragma once

#include <future>
#include <memory>

#include "base/result.h"
#include "oltp/procedure.h"
#include "oltp/request.h"

namespace diptych::dispatcher {

template <class Reply>
using Future = std::future<base::Result<Reply>>;

namespace detail {

// A request that owns its arguments and reply.
template <class Arguments, class Reply>
struct OwnedCall {
  oltp::Request request;
  Arguments arguments;
  Reply reply;
  std::promise<base::Result<Reply>> promise;

  static void finish(oltp::Request* request) {
    std::unique_ptr<OwnedCall> self(static_cast<OwnedCall*>(request->context));
    if (request->outcome) {
      self->promise.set_value(self->reply);
    } else {
      self->promise.set_value(request->outcome.error());
    }
  }
};

// `submit(request)` admits it, or says why not.
template <class Arguments, class Reply, class Submit>
Future<Reply> call(const oltp::ProcedureRef<Arguments, Reply>& procedure,
                   const Arguments& arguments, const Submit& submit) {
  auto owned = std::make_unique<OwnedCall<Arguments, Reply>>();
  owned->arguments = arguments;
  owned->request = oltp::Request::of(procedure, &owned->arguments, &owned->reply,
                                     &OwnedCall<Arguments, Reply>::finish, owned.get());
  Future<Reply> future = owned->promise.get_future();
  if (auto submitted = submit(&owned->request); !submitted) {
    owned->promise.set_value(submitted.error());
  } else {
    static_cast<void>(owned.release());  // finish() takes it back
  }
  return future;
}

}  // namespace detail

}  // namespace diptych::dispatcher
