// diptych call from outside, with the bank of examples/bank/.

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/program_run.h"

namespace diptych::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class CallProgram : public testing::Test {
 protected:
  void SetUp() override {
    const Outcome made =
        run({"init", bank_, "--schema", DIPTYCH_SOURCE_DIR "/examples/bank/schema.sql"});
    ASSERT_EQ(made.code, 0) << made.err;
    ASSERT_EQ(call({"open_account", "1", "7", "Ada", "100.00"}).code, 0);
    ASSERT_EQ(call({"open_account", "2", "7", "Grace, née NULL", "50"}).code, 0);
  }

  Outcome call(const std::vector<std::string>& arguments) const {
    std::vector<std::string> all = {"call", bank_, "--procedures", DIPTYCH_BANK};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return run(all);
  }

  ScratchFolder folder_;
  const std::string bank_ = folder_.path("bank");
};

TEST_F(CallProgram, PrintsTheReplyInEachFormatAndSavesWhatItDid) {
  const Outcome table = call({"transfer", "1", "2", "30.00"});
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_EQ(table.out,
            "  left\n"
            "-------\n"
            " 70.00\n"
            "(1 row)\n");
  EXPECT_THAT(table.err, HasSubstr("transfer: "));
  const Outcome csv = call({"statement", "2", "--format", "csv"});
  EXPECT_EQ(csv.out,
            "owner,balance,booked,entries,last_amount,last_text\n"
            "\"Grace, née NULL\",80.00,80.00,2,30.00,received\n");
  const Outcome json = call({"--format", "json", "transfer", "2", "1", "0.5"});
  EXPECT_THAT(json.out, HasSubstr("\"rows\": [\n  [79.50]]"));
  const Outcome queried =
      run({"query", bank_, "--format", "csv", "-c", "SELECT id, balance FROM account ORDER BY id"});
  EXPECT_EQ(queried.out, "id,balance\n1,70.50\n2,79.50\n");
}

TEST_F(CallProgram, ListsProceduresWithArgumentsAndReplies) {
  const Outcome listed = call({"--list", "--format", "csv"});
  EXPECT_EQ(listed.code, 0) << listed.err;
  EXPECT_THAT(listed.out, HasSubstr("transfer,\"from BIGINT, to BIGINT, amount DECIMAL(15,2)\","
                                    "\"left DECIMAL(15,2)\",bank\n"));
  EXPECT_THAT(listed.out, HasSubstr("open_account,"));
}

TEST_F(CallProgram, WhatFailsSaysWhyAndChangesNothing) {
  const struct {
    std::vector<std::string> arguments;
    std::string said;
  } cases[] = {
      {{"transfer", "1", "2", "1000"}, "aborted: not enough money"},
      {{"transfer", "1", "9", "1"},
       "not found: in procedure \"transfer\": table \"account\" has no row with the key in index "
       "\"account_pkey\""},
      {{"transfer", "1", "2", "-1"}, "an amount is more than nothing"},
      {{"transfer", "1", "2"}, "takes 3 arguments, got 2\n"},
      {{"transfer", "1", "2"}, "transfer takes: from BIGINT, to BIGINT, amount DECIMAL(15,2)\n"},
      {{"transfer", "1", "2", "NULL"}, "argument 3 \"amount\""},
      {{"--null", "none", "transfer", "1", "2", "NULL"}, "\"NULL\""},
      {{"transfer", "1", "two", "3"}, "argument 2 \"to\""},
      {{"transfers", "1"}, "there are: open_account, transfer, interest, statement"},
      {{"open_account", "3", "7", "E\xff", "1"}, "\"owner\": the text is not valid UTF-8"},
      {{"open_account", "1", "7", "Eve", "1"}, "already exists: in procedure \"open_account\""},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(one.said);
    const Outcome outcome = call(one.arguments);
    EXPECT_EQ(outcome.code, 1);
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, HasSubstr(one.said));
  }
  EXPECT_EQ(
      run({"query", bank_, "--format", "csv", "-c", "SELECT sum(balance) AS s FROM account"}).out,
      "s\n150.00\n");
}

TEST_F(CallProgram, NoErrorHasControlCharacters) {
  const Outcome failed = call({"open_account", "9", "7", std::string(50, '\x1b'), "1"});
  EXPECT_EQ(failed.code, 1);
  const Outcome unknown = run({"query", bank_, "-c", "SELECT \"a\x1b[31m\rb\""});
  EXPECT_EQ(unknown.code, 1);
  for (const Outcome& outcome : {failed, unknown}) {
    EXPECT_THAT(outcome.err, HasSubstr("\\x1b"));
    EXPECT_THAT(outcome.err, Not(HasSubstr("\x1b")));
    EXPECT_EQ(outcome.err.find('\r'), std::string::npos);
  }
}

TEST_F(CallProgram, BehindTwoDashesAnythingIsAnArgument) {
  const Outcome refused = call({"open_account", "3", "7", "--Ada", "1"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("not expected: --Ada; behind -- it is an argument"));
  EXPECT_EQ(call({"open_account", "3", "--", "7", "--Ada", "1"}).code, 0);
  EXPECT_EQ(call({"open_account", "5", "7", "-hans", "1"}).code, 0);
  EXPECT_EQ(call({"--null", "none", "--", "open_account", "4", "7", "-h", "1"}).code, 0);
  EXPECT_EQ(call({"--", "open_account", "6", "7", "--", "6"}).code, 0);
  EXPECT_EQ(call({"--list", "--", "statement"}).code, 2);
  const Outcome queried = run({"query", bank_, "--format", "csv", "-c",
                               "SELECT id, owner FROM account WHERE id > 2 ORDER BY id"});
  EXPECT_EQ(queried.out, "id,owner\n3,--Ada\n4,-h\n5,-hans\n6,--\n");
}

TEST_F(CallProgram, IsSavedThoughNobodyReadsItsReply) {
  const std::string program = DIPTYCH_PROGRAM " call " + bank_ + " --procedures " DIPTYCH_BANK;
  const std::string unread = " transfer 1 2 30.00 2>&1 | { exec 0<&-; sleep 1; }";
  ASSERT_EQ(std::system((program + unread).c_str()), 0);
  const Outcome queried =
      run({"query", bank_, "--format", "csv", "-c", "SELECT id, balance FROM account ORDER BY id"});
  EXPECT_EQ(queried.out, "id,balance\n1,70.00\n2,80.00\n") << queried.err;
}

TEST_F(CallProgram, ALibraryThatDoesNotFitIsNamed) {
  const std::string file = folder_.file("text.so", "not a library");
  const Outcome outcome = run({"call", bank_, "--procedures", file, "--list"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr(file), HasSubstr("not a shared library")));
  const std::string schema =
      folder_.file("s.sql", "CREATE TABLE account (id BIGINT NOT NULL PRIMARY KEY);");
  ASSERT_EQ(run({"init", folder_.path("other"), "--schema", schema}).code, 0);
  const Outcome unbound =
      run({"call", folder_.path("other"), "--procedures", DIPTYCH_BANK, "--list"});
  EXPECT_EQ(unbound.code, 1);
  EXPECT_THAT(unbound.err, AllOf(HasSubstr("module \"bank\""), HasSubstr("table \"account\"")));
}

TEST_F(CallProgram, TwoLibrariesOfOneNameAreRefused) {
  const Outcome outcome = call({"--procedures", DIPTYCH_BANK, "--list"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("another of the libraries is a module \"bank\", too"));
}

}  // namespace
}  // namespace diptych::cli
