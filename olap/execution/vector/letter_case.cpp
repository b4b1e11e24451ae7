#include "olap/execution/vector/letter_case.h"

#include <utf8proc.h>

#include "olap/execution/vector/utf8_text.h"

namespace diptych::olap {

namespace {

template <class Use>
void for_changed_characters(LetterCase to, std::string_view text, const Use& use) {
  for (size_t at = 0; at < text.size(); at += character_bytes(text, at)) {
    use(code_point_with_case(to, first_code_point(text.substr(at))));
  }
}

}  // namespace

uint32_t code_point_with_case(LetterCase to, uint32_t code) {
  constexpr uint32_t kSharpS = 0xdf;  // which utf8proc, but not Unicode's table, maps to U+1E9E
  if (code == kSharpS) return code;
  const auto known = static_cast<utf8proc_int32_t>(code);
  return static_cast<uint32_t>(to == LetterCase::kLower ? utf8proc_tolower(known)
                                                        : utf8proc_toupper(known));
}

bool is_word_character(uint32_t code) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(code))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL: return true;
    default:  // circled letters, which are symbols
      return code_point_with_case(LetterCase::kLower, code) !=
             code_point_with_case(LetterCase::kUpper, code);
  }
}

size_t bytes_with_case(LetterCase to, std::string_view text) {
  size_t bytes = 0;
  for_changed_characters(to, text, [&](uint32_t code) { bytes += code_point_bytes(code); });
  return bytes;
}

char* copy_characters_with_case(LetterCase to, std::string_view text, char* made) {
  for_changed_characters(to, text, [&](uint32_t code) { made = write_code_point(code, made); });
  return made;
}

std::string text_with_case(LetterCase to, std::string_view text) {
  std::string made(bytes_with_case(to, text), ' ');
  copy_characters_with_case(to, text, made.data());
  return made;
}

}  // namespace diptych::olap
