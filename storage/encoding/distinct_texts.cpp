#include "storage/encoding/distinct_texts.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "storage/encoding/codec.h"

namespace diptych::storage::encoding {
namespace {

// Gives texts numbers in the order of their first use; open addressing, a hash beside each slot.
class TextNumbers {
 public:
  TextNumbers() : slots_(kSlots) {}
  std::optional<uint32_t> number(std::string_view text) {
    const auto hash = static_cast<uint32_t>(std::hash<std::string_view>()(text)) | 1;
    size_t slot = (hash >> 1) % kSlots;
    for (; slots_[slot].hash != 0; slot = (slot + 1) % kSlots) {
      const uint32_t found = slots_[slot].number;
      if (slots_[slot].hash == hash && texts_[found] == text) return found;
    }
    if (texts_.size() == kDictionaryEntriesMax) return std::nullopt;
    slots_[slot] = {hash, static_cast<uint32_t>(texts_.size())};
    texts_.push_back(text);
    return slots_[slot].number;
  }
  const std::vector<std::string_view>& texts() const { return texts_; }

 private:
  static constexpr size_t kSlots = 2 * kDictionaryEntriesMax;
  struct Slot {
    uint32_t hash = 0;  // 0: free
    uint32_t number = 0;
  };
  std::vector<Slot> slots_;
  std::vector<std::string_view> texts_;
};

}  // namespace

std::optional<DistinctTexts> distinct_texts(const ColumnProfile& column) {
  TextNumbers numbers;
  DistinctTexts distinct;
  distinct.codes.reserve(column.rows());
  for (const std::string_view text : column.texts()) {
    const std::optional<uint32_t> number = numbers.number(text);
    if (!number) return std::nullopt;
    distinct.codes.push_back(*number);
  }
  const std::vector<std::string_view>& texts = numbers.texts();
  if (texts.empty()) return std::nullopt;
  std::vector<uint32_t> order(texts.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, [&](uint32_t a, uint32_t b) { return texts[a] < texts[b]; });
  std::vector<uint32_t> places(texts.size());
  distinct.texts.reserve(texts.size());
  for (const uint32_t number : order) {
    places[number] = static_cast<uint32_t>(distinct.texts.size());
    distinct.texts.push_back(texts[number]);
  }
  for (uint32_t& code : distinct.codes) code = places[code];
  return distinct;
}

}  // namespace diptych::storage::encoding
