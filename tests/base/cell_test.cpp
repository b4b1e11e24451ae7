// Cells of strings, and what they are made of: of what they copy without a word, of what they point
// at only where it says that it outlives them.

#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>

#include <gtest/gtest.h>

#include "base/types.h"

namespace diptych::base {
namespace {

template <class From, class To>
constexpr bool kBecomes = std::is_convertible_v<From, To>;

static_assert(kBecomes<std::string, Varchar<64>> && kBecomes<std::string, Char<1>>);
static_assert(kBecomes<std::string_view, Varchar<65>> && kBecomes<const char*, Text>);
static_assert(!kBecomes<std::string, Varchar<65>> && !kBecomes<std::string, Char<65>>);
static_assert(!kBecomes<std::string, Text> && !kBecomes<std::string, Nullable<Text>>);
static_assert(kBecomes<std::string, Nullable<Varchar<5>>>);
static_assert(kBecomes<std::string_view, Nullable<Text>> && kBecomes<const char*, Nullable<Text>>);
static_assert(!kBecomes<std::nullptr_t, Nullable<Varchar<5>>>, "kNull is NULL");
static_assert(!kBecomes<const char*, Nullable<int32_t>>);
static_assert(kBecomes<int, Nullable<int64_t>>);

struct Row {
  Varchar<8> name;
  Char<8> code;
  Nullable<Varchar<8>> label;
  Nullable<Char<8>> grade;
  Text note;
  Nullable<Varchar<100>> tag;
};

TEST(Cell, OfStringsIsMadeOfWhatProgramsHaveOfThem) {
  const std::string text = "ab  ";
  const Row row{.name = text, .code = text, .label = text, .grade = text, .note = "x", .tag = "yz"};
  EXPECT_EQ(row.name.view(), "ab  ");
  EXPECT_EQ(row.code.view(), "ab");
  EXPECT_EQ(row.label.value.view(), "ab  ");
  EXPECT_EQ(row.grade.value.view(), "ab");
  EXPECT_EQ(row.note.view(), "x");
  EXPECT_EQ(row.tag.value.view(), "yz");
  Row other{
      .name = {"ab  "}, .code = {"ab"}, .label = {"ab  "}, .grade = {}, .note = {}, .tag = {}};
  EXPECT_EQ(other.name, row.name);
  EXPECT_EQ(other.label, row.label);
  EXPECT_TRUE(other.grade.is_null);
  EXPECT_TRUE(other.tag.is_null);
  other.name = text + text + "c";
  EXPECT_FALSE(other.name.fits());
  other.label = text + text + "c";
  EXPECT_FALSE(other.label.value.fits());
}

}  // namespace
}  // namespace diptych::base
