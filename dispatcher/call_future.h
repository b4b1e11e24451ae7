// Calls whose reply comes as a future: what call() of a database or a client makes of a procedure's
// arguments.

#pragma once

#include <future>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.h"
#include "oltp/procedure.h"
#include "oltp/request.h"

namespace diptych::dispatcher {

// A reply with long strings (base::Text), and the bytes that they point at: a string that is copied
// out of it is valid as long as this is. It can be moved.
template <class Reply>
class ReplyWithTexts : public Reply {
 public:
  ReplyWithTexts(const Reply& reply, std::vector<char> texts)
      : Reply(reply), texts_(std::move(texts)) {}
  ReplyWithTexts(ReplyWithTexts&&) noexcept = default;
  ReplyWithTexts& operator=(ReplyWithTexts&&) noexcept = default;

 private:
  std::vector<char> texts_;
};

// What a call gives.
template <class Reply>
using Answer =
    std::conditional_t<oltp::detail::points_elsewhere<Reply>(), ReplyWithTexts<Reply>, Reply>;

template <class Reply>
using Future = std::future<base::Result<Answer<Reply>>>;

namespace detail {

// A request that owns its arguments and reply.
template <class Arguments, class Reply>
struct OwnedCall {
  oltp::Request request;
  Arguments arguments;
  Reply reply;
  std::promise<base::Result<Answer<Reply>>> promise;

  static void finish(oltp::Request* request) {
    std::unique_ptr<OwnedCall> self(static_cast<OwnedCall*>(request->context));
    if (!request->outcome) {
      self->promise.set_value(request->outcome.error());
    } else if constexpr (oltp::detail::points_elsewhere<Reply>()) {
      self->promise.set_value(Answer<Reply>(self->reply, std::move(request->reply_texts)));
    } else {
      self->promise.set_value(self->reply);
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
