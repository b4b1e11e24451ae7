#include "storage/encoding/text_set.h"

#include <bit>
#include <utility>

#include <xxhash.h>

namespace diptych::storage::encoding {
namespace {

uint64_t hash_of_text(std::string_view text) {
  return XXH3_64bits(text.data(), text.size());
}

}  // namespace

TextSet::TextSet(std::vector<std::string> texts) : texts_(std::move(texts)) {
  constexpr size_t kSlotsAText = 4;
  slots_.resize(std::bit_ceil(kSlotsAText * texts_.size() + 1));
  for (uint32_t number = 0; number < texts_.size(); ++number) {
    const uint64_t hash = hash_of_text(texts_[number]);
    size_t at = hash & (slots_.size() - 1);
    while (slots_[at].number != kFree) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = {static_cast<uint32_t>(hash >> 32), number};
  }
}

bool TextSet::finds(std::string_view text) const {
  const uint64_t hash = hash_of_text(text);
  size_t at = hash & (slots_.size() - 1);
  for (; slots_[at].number != kFree; at = (at + 1) & (slots_.size() - 1)) {
    if (slots_[at].tag == hash >> 32 && texts_[slots_[at].number] == text) return true;
  }
  return false;
}

}  // namespace diptych::storage::encoding
