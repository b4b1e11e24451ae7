// TextSet: some texts, of which one is looked for by its hash.
//
// Threads   immutable: any number.
// Memory    copies of the texts.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace diptych::storage::encoding {

class TextSet {
 public:
  explicit TextSet(std::vector<std::string> texts);

  bool holds(std::string_view text) const {
    if (texts_.size() == 1) return text == texts_[0];
    return finds(text);
  }

 private:
  static constexpr uint32_t kFree = UINT32_MAX;

  struct Slot {
    uint32_t tag = 0;  // the hash's upper half
    uint32_t number = kFree;
  };

  bool finds(std::string_view text) const;

  std::vector<std::string> texts_;
  std::vector<Slot> slots_;  // by hash
};

}  // namespace diptych::storage::encoding
