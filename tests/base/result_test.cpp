#include "base/result.h"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/check.h"

namespace diptych::base {
namespace {

Result<int> half(int number) {
  if (number % 2 != 0) return Error(ErrorCode::kInvalidArgument, "3 is odd; give an even number");
  return number / 2;
}

TEST(Result, IsAValueOrAnError) {
  ASSERT_TRUE(half(4).ok());
  EXPECT_EQ(*half(4), 2);
  const auto error = half(3);
  ASSERT_FALSE(error);
  EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(error.error().to_string(), "invalid argument: 3 is odd; give an even number");
}

TEST(Result, AnExpectedOutcomeIsACodeAlone) {
  const Result<void> conflict = ErrorCode::kConflict;
  ASSERT_FALSE(conflict.ok());
  EXPECT_EQ(conflict.error().to_string(), "conflict");
  EXPECT_TRUE(conflict.error().message.empty());
}

TEST(Result, ClosedSaysWhat) {
  EXPECT_EQ(Error(ErrorCode::kClosed).to_string(),
            "closed: the database was closed, or is being closed");
  EXPECT_EQ(Error(ErrorCode::kClosed, "no").to_string(), "closed: no");
}

TEST(Result, MovesItsValueOut) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(7));
  const std::unique_ptr<int> value = *std::move(result);
  EXPECT_EQ(*value, 7);
}

TEST(Result, ContextStandsInFront) {
  const Error error(ErrorCode::kIo, "no such file");
  EXPECT_EQ(error.within("schema.sql").to_string(), "input/output error: schema.sql: no such file");
}

TEST(Result, EveryCodeHasANameOfItsOwn) {
  std::vector<std::string_view> names;
  for (int code = 0; code <= static_cast<int>(ErrorCode::kCancelled); ++code) {
    names.push_back(error_code_name(static_cast<ErrorCode>(code)));
    EXPECT_NE(names.back(), "unknown error");
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::unique(names.begin(), names.end()), names.end());
}

TEST(Result, ReadingTheValueOfAnErrorThrowsTheErrorsText) {
  try {
    (void)*half(3);
    FAIL();
  } catch (const std::logic_error& thrown) {
    EXPECT_NE(std::string_view(thrown.what()).find(half(3).error().to_string()), std::string::npos);
  }
}

TEST(Result, ATemporarysValueOutlivesIt) {
  const auto words = [] { return Result<std::vector<std::string>>({std::string(100, 'w')}); };
  for (const std::string& word : *words()) EXPECT_EQ(word, std::string(100, 'w'));
}

TEST(Result, ReadingTheErrorOfAValueThrows) {
  EXPECT_THROW((void)half(4).error(), std::logic_error);
  EXPECT_THROW((void)half(4).code(), std::logic_error);
  EXPECT_THROW((void)Result<void>().error(), std::logic_error);
}

TEST(CheckDeathTest, AFailedCheckNamesConditionReasonAndPlace) {
  const int pages = 3;
  DIPTYCH_CHECK(pages == 3, "a check that holds does nothing");
  EXPECT_DEATH(DIPTYCH_CHECK(pages == 4, "four pages make a block"),
               "diptych: check failed: pages == 4 \\(four pages make a block\\) at .*result_test");
}

}  // namespace
}  // namespace diptych::base
