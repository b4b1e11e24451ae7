// What is computed once for several: expressions with one key.

#include "olap/execution/expression/expression_key.h"

#include <set>

#include <gtest/gtest.h>

#include "tests/olap/exec_table.h"

namespace diptych::olap::test {
namespace {

ExpressionPtr as_type(const DataType& type) {
  return make(ExpressionKind::kCast, type, column(0, kTextType));
}

TEST(ExpressionKey, TypesThatDifferInOneNumberAreNotOne) {
  std::set<std::string> keys;
  const std::vector<DataType> types = {
      kTextType,
      {.kind = base::TypeKind::kVarchar, .length = 3},
      {.kind = base::TypeKind::kVarchar, .length = 5},
      {.kind = base::TypeKind::kChar, .length = 3},
      {.kind = base::TypeKind::kDecimal, .precision = 9, .scale = 2},
      {.kind = base::TypeKind::kDecimal, .precision = 9, .scale = 3},
      {.kind = base::TypeKind::kDecimal, .precision = 8, .scale = 3},
  };
  for (const DataType& type : types) {
    EXPECT_TRUE(keys.insert(expression_key(*as_type(type))).second) << type.to_string();
    EXPECT_EQ(expression_key(*as_type(type)), expression_key(*as_type(type)));
  }
}

}  // namespace
}  // namespace diptych::olap::test
