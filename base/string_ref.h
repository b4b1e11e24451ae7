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
  explicit StringRef(std::string_view text) : size_(static_cast<uint32_t>(text.size())) {
    if (size_ <= kInlineBytes) {
      if (size_ != 0) std::memcpy(bytes_, text.data(), size_);
    } else {
      std::memcpy(bytes_, text.data(), 4);
      const char* const data = text.data();
      std::memcpy(bytes_ + 4, &data, sizeof data);
    }
  }

  uint32_t size() const { return size_; }
  bool is_short() const { return size_ <= kInlineBytes; }
  const char* data() const {
    if (is_short()) return bytes_;
    const char* pointer;
    std::memcpy(&pointer, bytes_ + 4, sizeof pointer);
    return pointer;
  }
  // The first min(size(), 4) bytes, without going to where a long string lies.
  const char* first_bytes() const { return bytes_; }
  // Valid while this StringRef (when short) or the pointed-at bytes (when long) stay.
  std::string_view view() const { return {data(), size_}; }

  bool operator==(const StringRef& other) const {
    if (std::memcmp(this, &other, 8) != 0) return false;
    if (is_short()) return std::memcmp(bytes_ + 4, other.bytes_ + 4, 8) == 0;
    return std::memcmp(data(), other.data(), size_) == 0;
  }

 private:
  uint32_t size_ = 0;
  char bytes_[kInlineBytes] = {};
};
static_assert(sizeof(StringRef) == 16);

}  // namespace diptych::base
