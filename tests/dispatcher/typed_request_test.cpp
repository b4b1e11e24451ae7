// Requests that are made of typed refs.

#include <future>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/dispatcher/bank_fixture.h"

namespace diptych::dispatcher {
namespace {

TEST(TypedRequest, IsCheckedAsACallIsAndMayBeSubmittedAgain) {
  auto bank = Bank::open({});
  bank->fill(3);
  Database& database = *bank->database;
  struct Sent {
    TransferArguments arguments{.from = 1, .to = 2, .cents = 5};
    TransferReply reply;
    Request request;
    std::promise<void> ended;

    static void end(Request* request) { static_cast<Sent*>(request->context)->ended.set_value(); }
  };
  Sent sent;
  sent.request = Request::of(bank->transfer, &sent.arguments, &sent.reply, &Sent::end, &sent);
  for (const int64_t left : {99'95, 99'90}) {  // again as it is
    sent.ended = {};
    ASSERT_TRUE(database.submit(&sent.request, CallOptions{}).ok());
    sent.ended.get_future().get();
    ASSERT_TRUE(sent.request.outcome.ok()) << sent.request.outcome.error().to_string();
    EXPECT_EQ(sent.reply.left_cents, left);
  }
  sent.ended = {};
  sent.request = Request::of(bank->transfer, &sent.arguments, nullptr, &Sent::end, &sent);
  ASSERT_TRUE(database.submit(&sent.request, CallOptions{}).ok());
  sent.ended.get_future().get();
  EXPECT_TRUE(sent.request.outcome.ok());
  // A ref of another database: the sizes are the same, and the types are not.
  struct Other {
    uint32_t from, to;
    int64_t cents;
  };
  const Other other{1, 2, 5};
  const ProcedureRef<Other, TransferReply> wrong{bank->transfer.id};
  sent.request = Request::of(wrong, &other, &sent.reply, &Sent::end, &sent);
  const auto refused = database.submit(&sent.request, CallOptions{});
  EXPECT_EQ(refused.code(), base::ErrorCode::kInvalidArgument);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("than the ref by which it is called"));
}

}  // namespace
}  // namespace diptych::dispatcher
