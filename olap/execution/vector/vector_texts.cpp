#include "olap/execution/vector/vector_texts.h"

#include "base/utf8.h"
#include "olap/execution/limits/query_failure.h"
#include "olap/execution/vector/utf8_text.h"

namespace diptych::olap {

namespace {

// Pieces of whole characters.
template <class Use>
void for_character_pieces(std::string_view text, const StopSignal& stop, const Use& use) {
  while (!text.empty()) {
    const std::string_view piece = base::utf8_prefix(text, kTextPieceBytes);
    use(piece);
    text.remove_prefix(piece.size());
    if (!text.empty()) stop.check();
  }
}

}  // namespace

base::StringRef characters_with_case(LetterCase to, const base::StringRef& text,
                                     VectorTexts* made) {
  size_t size = 0;
  for_character_pieces(text.view(), made->stop(),
                       [&](std::string_view piece) { size += bytes_with_case(to, piece); });
  if (size > UINT32_MAX) fail_value("text too long", "54000");
  char inlined[base::StringRef::kInlineBytes];
  char* const bytes = size <= sizeof inlined ? inlined : made->allocate(size);
  char* end = bytes;
  for_character_pieces(text.view(), made->stop(), [&](std::string_view piece) {
    end = copy_characters_with_case(to, piece, end);
  });
  return base::StringRef(std::string_view(bytes, size));
}

}  // namespace diptych::olap
