// StringRef: a string cell of the columnar replica and of query execution, 16 bytes.
//
//   0      4                          16
//   | size | the bytes                |     size <= 12
//   | size | first 4 | pointer        |     size  > 12
//
// Most comparisons end in the first 8 bytes. The unused tail of a short string is zero, so two
// short strings are equal if and only if their 16 bytes are. The pointed-at bytes belong to
// someone else.

#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace diptych::base {

class StringRef {
 public:
  static constexpr uint32_t kInlineBytes = 12;

  StringRef() = default;
  // Put together in registers, and inline: who reads 16 bytes just after stores of a few waits for
  // these.
  [[gnu::always_inline]] explicit StringRef(std::string_view text)
      : size_(static_cast<uint32_t>(text.size())) {
    const char* const data = text.data();
    if (size_ > kInlineBytes) {
      first_ = load<uint32_t>(data);
      rest_ = reinterpret_cast<uint64_t>(data);
    } else if (size_ >= 8) {
      first_ = load<uint32_t>(data);
      rest_ = load<uint64_t>(data + size_ - 8) >> (8 * (kInlineBytes - size_));
    } else if (size_ >= 4) {
      first_ = load<uint32_t>(data);
      rest_ = uint64_t{load<uint32_t>(data + size_ - 4)} >> (8 * (8 - size_));
    } else if (size_ != 0) {
      first_ = load<uint8_t>(data) |
               uint32_t{load<uint8_t>(data + size_ / 2)} << (8 * (size_ / 2)) |
               uint32_t{load<uint8_t>(data + size_ - 1)} << (8 * (size_ - 1));
    }
  }

  uint32_t size() const { return size_; }
  bool is_short() const { return size_ <= kInlineBytes; }
  const char* data() const {
    return is_short() ? first_bytes() : reinterpret_cast<const char*>(rest_);
  }
  // The first min(size(), 4) bytes, without going to where a long string lies.
  const char* first_bytes() const { return reinterpret_cast<const char*>(this) + sizeof size_; }
  // Valid while this StringRef (when short) or the pointed-at bytes (when long) stay.
  std::string_view view() const { return {data(), size_}; }

  bool operator==(const StringRef& other) const {
    if (size_ != other.size_ || first_ != other.first_) return false;
    if (is_short()) return rest_ == other.rest_;
    return std::memcmp(data(), other.data(), size_) == 0;
  }

 private:
  template <class Word>
  static Word load(const char* bytes) {
    Word word;
    std::memcpy(&word, bytes, sizeof word);
    return word;
  }

  uint32_t size_ = 0;
  uint32_t first_ = 0;  // bytes
  uint64_t rest_ = 0;   // bytes, or the pointer
};
static_assert(sizeof(StringRef) == 16);

// For a text whose bytes will be read soon.
inline void prefetch_text(const StringRef& text) {
  if (!text.is_short()) __builtin_prefetch(text.data());
}

}  // namespace diptych::base
