// Values as sqllogictest compares them.

#include "cli/test_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace diptych::cli {
namespace {

using base::DecimalValue;
using base::Value;
using testing::ElementsAre;

TEST(TestValues, TextsAreShownByType) {
  EXPECT_EQ(test_value(Value(), 'I'), "NULL");
  EXPECT_EQ(test_value(Value(), 'T'), "NULL");
  EXPECT_EQ(test_value(Value(std::string()), 'T'), "(empty)");
  EXPECT_EQ(test_value(Value(std::string("a\tb\n\x7f")), 'T'), "a@b@@");
  EXPECT_EQ(test_value(Value(true), 'I'), "1");
  EXPECT_EQ(test_value(Value(false), 'T'), "false");
  EXPECT_EQ(test_value(Value(-2.9), 'I'), "-2");
  EXPECT_EQ(test_value(Value(-0.5), 'I'), "0");
  EXPECT_EQ(test_value(Value(DecimalValue{-299, 2}), 'I'), "-2");
  EXPECT_EQ(test_value(Value(DecimalValue{-299, 2}), 'T'), "-2.99");
}

TEST(TestValues, RealsHaveThreeDigits) {
  EXPECT_EQ(test_value(Value(1.0 / 3), 'R'), "0.333");
  EXPECT_EQ(test_value(Value(-0.00001), 'R'), "0.000");
  EXPECT_EQ(test_value(Value(int64_t{7}), 'R'), "7.000");
  EXPECT_EQ(test_value(Value(DecimalValue{15, 1}), 'R'), "1.500");
  EXPECT_EQ(test_value(Value(DecimalValue{-12, 0}), 'R'), "-12.000");
  constexpr base::int128_t kNines = base::power_of_ten(38) - 1;
  EXPECT_EQ(test_value(Value(DecimalValue{kNines, 0}), 'R'), std::string(38, '9') + ".000");
  EXPECT_EQ(test_value(Value(DecimalValue{12345, 4}), 'R'), "1.235");
  EXPECT_EQ(test_value(Value(DecimalValue{-12345, 4}), 'R'), "-1.235");
  EXPECT_EQ(test_value(Value(DecimalValue{12344999, 7}), 'R'), "1.234");
  EXPECT_EQ(test_value(Value(DecimalValue{9999999, 4}), 'R'), "1000.000");
}

TEST(TestValues, RowsAndValuesAreSorted) {
  const TestRows rows = {{"b", "1"}, {"a", "2"}};
  EXPECT_THAT(sorted_values(rows, TestSort::kNone), ElementsAre("b", "1", "a", "2"));
  EXPECT_THAT(sorted_values(rows, TestSort::kRows), ElementsAre("a", "2", "b", "1"));
  EXPECT_THAT(sorted_values(rows, TestSort::kValues), ElementsAre("1", "2", "a", "b"));
}

// The digest of "1\n2\n3\n" as md5sum has it.
TEST(TestValues, HashesAreMd5OfLines) {
  EXPECT_EQ(hash_line({"1", "2", "3"}), "3 values hashing to c0710d6b4f15dfa88f600b0e6b624077");
  // A block of the hash that lies within a value, at no multiple of a word.
  const std::string text =
      "a text of more than two blocks of the hash, which have 64 bytes, so that one of them lies "
      "within it: ";
  EXPECT_EQ(hash_line({"short", text + std::string(60, 'x')}),
            "2 values hashing to 9dce71ae2b0cc864ae10275348fe01f7");
}

TEST(TestValues, InDuckDbsFormatTheLettersSayNothing) {
  const auto is_exactly = [](const char* shown, const char* expected) {
    return is_expected(shown, expected, Exactness::kExact);
  };
  EXPECT_TRUE(is_exactly("1.5", "1.5"));
  EXPECT_TRUE(is_exactly("1.50", "1.5"));
  EXPECT_FALSE(is_exactly("1.5", "1"));
  EXPECT_FALSE(is_exactly("1.5", "1.5x"));
  EXPECT_FALSE(is_exactly("1.5", ""));
  EXPECT_TRUE(is_exactly("true", "1"));
  EXPECT_TRUE(is_exactly("false", "0"));
  EXPECT_FALSE(is_exactly("false", "1"));
  EXPECT_FALSE(is_exactly("NULL", "0"));
  EXPECT_FALSE(is_exactly("0.3333333", "0.333"));
  EXPECT_TRUE(is_expected("0.3333333", "0.333", Exactness::kNear));
  EXPECT_FALSE(is_expected("0.3333333", "0.34", Exactness::kNear));
  EXPECT_TRUE(is_exactly("a\nb", "<REGEX>:a.b"));
  EXPECT_FALSE(is_exactly("a\nb", "<REGEX>:a"));
  EXPECT_TRUE(is_exactly("a\nb", "<!REGEX>:a"));
  EXPECT_FALSE(is_exactly("a", "<REGEX>:("));
  EXPECT_FALSE(is_exactly("a", "<!REGEX>:("));
}

TEST(TestValues, ExpectedAreRowsWithTabsOrAValueALine) {
  EXPECT_THAT(expected_values({"b\t1", "a\t2"}, 2, TestSort::kRows),
              ElementsAre("a", "2", "b", "1"));
  EXPECT_THAT(expected_values({"b", "1", "a", "2"}, 2, TestSort::kRows),
              ElementsAre("a", "2", "b", "1"));
  EXPECT_THAT(expected_values({"b", "a"}, 1, TestSort::kNone), ElementsAre("b", "a"));
  EXPECT_THAT(expected_values({"b", "1", "a"}, 2, TestSort::kNone), ElementsAre("b", "1", "a"));
  EXPECT_THAT(expected_values({}, 2, TestSort::kRows), ElementsAre());
  EXPECT_THAT(expected_values({"\t", "x\t"}, 2, TestSort::kNone), ElementsAre("", "", "x", ""));
}

}  // namespace
}  // namespace diptych::cli
