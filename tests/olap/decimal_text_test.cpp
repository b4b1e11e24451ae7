#include "olap/decimal_text.h"

#include <string>

#include <gtest/gtest.h>

namespace diptych::olap {
namespace {

TEST(DecimalText, WhatIsNoNumberIsQuotedOnOneLine) {
  const base::DataType type{base::TypeKind::kDecimal, 5, 2};
  const auto broken = cast_to_decimal(type, "1\n2");
  ASSERT_FALSE(broken.ok());
  EXPECT_EQ(broken.error().message, "\"1\\x0a2\" is not a decimal number");

  const auto longer = cast_to_decimal(type, std::string(39, 'a') + "\u00e4" + std::string(30, 'b'));
  ASSERT_FALSE(longer.ok());
  EXPECT_EQ(longer.error().message, "\"" + std::string(39, 'a') + "...\" is not a decimal number");
}

}  // namespace
}  // namespace diptych::olap
