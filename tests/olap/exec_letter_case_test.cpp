// Letters in the other case: all of Unicode's, and texts of them.

#include <clocale>
#include <cwctype>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "olap/execution/vector/letter_case.h"
#include "olap/execution/vector/utf8_text.h"
#include "olap/execution/vector/vector_texts.h"

namespace diptych::olap {
namespace {

TEST(LetterCases, OfAsciiChangeWhateverTheLength) {
  for (size_t count = 0; count <= 80; ++count) {
    for (uint32_t first = 0; first < 256; ++first) {
      std::string text(count, ' ');
      for (size_t i = 0; i < count; ++i) text[i] = static_cast<char>(first + i);
      std::string lower = text;
      std::string upper = text;
      for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
      for (char& c : upper) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - ('a' - 'A') : c);
      std::string made(count + 1, '|');
      const bool ascii = is_ascii(text);
      ASSERT_EQ(copy_with_case<LetterCase::kLower>(text.data(), count, made.data()), ascii);
      ASSERT_EQ(made, lower + '|');
      ASSERT_EQ(copy_with_case<LetterCase::kUpper>(text.data(), count, made.data()), ascii);
      ASSERT_EQ(made, upper + '|');
    }
  }
}

TEST(LetterCases, OfEveryCharacterAreThoseOfTheCLibrary) {
  const locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  ASSERT_NE(utf8, locale_t{}) << "every Debian has this locale";
  for (uint32_t code = 0; code <= 0x10ffff; ++code) {
    ASSERT_EQ(code_point_with_case(LetterCase::kLower, code), towlower_l(code, utf8)) << code;
    ASSERT_EQ(code_point_with_case(LetterCase::kUpper, code), towupper_l(code, utf8)) << code;
  }
  freelocale(utf8);
}

// Of each size, of characters that keep theirs, grow (Ⱥ, ɐ) or shrink (the Kelvin sign, ı).
TEST(LetterCases, OfATextAreThoseOfItsCharacters) {
  static constexpr std::string_view kLetters[] = {"Q", "q", "Ä", "ä", "ß", "Ⱥ", "ɐ", "K", "ı", "𐐀"};
  std::mt19937_64 random(11);
  const StopFlag stopped{false};
  const StopSignal signal(&stopped);
  MemoryBudget budget{MemoryLimits{}};
  VectorTexts texts(QueryLimits{.memory = &budget, .stop = &signal});
  std::vector<std::pair<base::StringRef, std::string>> made;  // of one vector
  for (int i = 0; i < 20000; ++i) {
    if (i % 100 == 0) {
      for (const auto& [text, wanted] : made) ASSERT_EQ(text.view(), wanted);
      made.clear();
      texts.start();
    }
    std::string text, lower, upper;
    for (uint64_t characters = random() % 30; characters != 0; --characters) {
      const std::string_view letter = kLetters[random() % std::size(kLetters)];
      text += letter;
      const uint32_t code = first_code_point(letter);
      append_code_point(code_point_with_case(LetterCase::kLower, code), &lower);
      append_code_point(code_point_with_case(LetterCase::kUpper, code), &upper);
    }
    ASSERT_EQ(text_with_case(LetterCase::kLower, text), lower);
    ASSERT_EQ(text_with_case(LetterCase::kUpper, text), upper);
    const base::StringRef of(text);
    made.emplace_back(text_with_case<LetterCase::kLower>(of, &texts), std::move(lower));
    made.emplace_back(text_with_case<LetterCase::kUpper>(of, &texts), std::move(upper));
  }
}

}  // namespace
}  // namespace diptych::olap
