#include "olap/execution/key/key_packer.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "olap/execution/key/key_equality.h"
#include "olap/execution/key/word_hash.h"
#include "olap/execution/limits/query_failure.h"

namespace diptych::olap {

namespace {

constexpr uint32_t kTextsAhead = 8;

base::StringRef text_at(const uint64_t* words) {
  base::StringRef text;
  std::memcpy(static_cast<void*>(&text), words, sizeof text);
  return text;
}

base::Interval interval_at(const uint64_t* words) {
  base::Interval interval;
  std::memcpy(static_cast<void*>(&interval), words, sizeof interval);
  return interval;
}

uint64_t double_word(double value) {
  if (std::isnan(value)) value = std::numeric_limits<double>::quiet_NaN();
  if (value == 0) value = 0;  // -0
  return std::bit_cast<uint64_t>(value);
}

// A value of at most 8 bytes as the bits of a word.
template <class T>
inline uint64_t word_of(const T& value) {
  if constexpr (std::is_same_v<T, double>) {
    return double_word(value);
  } else if constexpr (sizeof(T) == 8) {
    return static_cast<uint64_t>(value);
  } else if constexpr (sizeof(T) < 8) {
    return static_cast<uint32_t>(value);
  } else {
    return 0;  // wider ones are copied
  }
}

uint32_t packed_bytes(const KeyColumn& column) {
  if (column.type == PhysicalType::kString) {
    return column.text_bytes_max <= 3 ? 4 : column.text_bytes_max <= 7 ? 8 : 16;
  }
  return std::max<uint32_t>(static_cast<uint32_t>(physical_bytes(column.type)), 4);
}

std::vector<KeyColumn> columns_of(std::span<const PhysicalType> types) {
  std::vector<KeyColumn> columns;
  for (const PhysicalType type : types) columns.push_back({type});
  return columns;
}

// A text of at most 7 bytes: size, then bytes. Its unused bytes are zero.
uint64_t narrow_word(const base::StringRef& text) {
  uint64_t words[2];
  std::memcpy(words, &text, sizeof words);
  return (words[0] & 0xff) | (words[0] >> 32 << 8) | words[1] << 40;
}
base::StringRef text_of(uint64_t narrow) {
  const uint64_t words[2] = {(narrow & 0xff) | (narrow << 24 >> 32 << 32), narrow >> 40};
  return text_at(words);
}

// Of those that are not null, whose bytes mean nothing.
uint32_t longest_text(const Vector& vector, const Selection& selection) {
  uint32_t longest = 0;
  for_selected(selection, [&](uint32_t slot) {
    if (!vector.is_null(slot))
      longest = std::max(longest, vector.as<base::StringRef>()[slot].size());
  });
  return longest;
}

}  // namespace

KeyPacker::KeyPacker(std::span<const KeyColumn> columns, NullKeys nulls) : nulls_(nulls) {
  uint32_t half = 0;  // the word with a free upper half
  bool half_free = false;
  const auto take_half = [&](uint32_t* word, uint32_t* shift) {
    *word = half_free ? half : words_++;
    *shift = half_free ? 32 : 0;
    half = *word;
    half_free = !half_free;
  };
  for (const KeyColumn& column : columns) {
    Place place{column.type, packed_bytes(column), 0, 0};
    if (place.bytes == 4) {
      take_half(&place.word, &place.shift);
      place.assigns = place.shift == 0;
    } else {
      place.word = words_;
      words_ += place.bytes / static_cast<uint32_t>(sizeof(uint64_t));
    }
    if (place.bytes == 16 && column.type == PhysicalType::kString)
      text_words_.push_back(place.word);
    if (column.type == PhysicalType::kInterval) interval_words_.push_back(place.word);
    places_.push_back(place);
  }
  if (nulls == NullKeys::kNever) return;
  for (size_t c = 0; c < places_.size(); ++c) {
    if (c % 32 == 0) {
      take_half(&places_[c].null_word, &places_[c].null_shift);
      places_[c].clears_null_word = places_[c].null_shift == 0;
    } else {
      places_[c].null_word = places_[c - 1].null_word;
      places_[c].null_shift = places_[c - 1].null_shift + 1;
    }
  }
}

KeyPacker::KeyPacker(std::span<const PhysicalType> types, NullKeys nulls)
    : KeyPacker(columns_of(types), nulls) {}

template <class T>
void KeyPacker::pack_column(const Place& place, const Vector& vector, const Selection& selection,
                            uint64_t* keys) const {
  const T* const values = vector.as<T>();
  uint64_t* const out = keys + place.word;
  const uint32_t stride = words_;
  const uint32_t shift = place.shift;
  if (sizeof(T) <= 8 && place.assigns && stride == 1) {
    for_numbered(selection, [&](uint32_t k, uint32_t slot) { out[k] = word_of(values[slot]); });
  } else {
    for_numbered(selection, [&](uint32_t k, uint32_t slot) {
      uint64_t* const word = out + size_t{k} * stride;
      if constexpr (sizeof(T) == 16) {
        std::memcpy(word, &values[slot], 16);
      } else if (place.assigns) {
        *word = word_of(values[slot]);
      } else {
        *word |= word_of(values[slot]) << shift;
      }
    });
  }
}

void KeyPacker::pack_narrow_texts(const Place& place, const Vector& vector,
                                  const Selection& selection, uint64_t* keys) const {
  const auto* const texts = vector.as<base::StringRef>();
  uint64_t* const out = keys + place.word;
  const uint32_t stride = words_;
  const uint32_t shift = place.shift;
  const uint64_t kept = place.assigns ? 0 : UINT32_MAX;  // of the word
  const uint64_t own = place.bytes == 4 ? UINT32_MAX : UINT64_MAX;
  uint32_t longest = 0;
  for_numbered(selection, [&](uint32_t k, uint32_t slot) {
    uint64_t* const word = out + size_t{k} * stride;
    longest = std::max(longest, texts[slot].size());
    *word = (*word & kept) | (narrow_word(texts[slot]) & own) << shift;
  });
  if (longest >= place.bytes && longest_text(vector, selection) >= place.bytes) {
    fail_query(base::ErrorCode::kUnsupported, "a plan's text is longer than its type");
  }
}

// After all values, since a word's first value overwrites all of it.
template <uint32_t kBytes>
void KeyPacker::pack_nulls(const Place& place, const Vector& vector, const Selection& selection,
                           uint64_t* keys) const {
  const uint32_t stride = words_;
  if (place.clears_null_word) {
    for (uint32_t k = 0; k < selection.count; ++k) {
      keys[size_t{k} * stride + place.null_word] = 0;
    }
  }
  if (vector.nulls == nullptr) return;
  for_numbered(selection, [&](uint32_t k, uint32_t slot) {
    if (!vector.is_null(slot)) return;
    uint64_t* const key = keys + size_t{k} * stride;
    if constexpr (kBytes == 4) {
      key[place.word] &= ~(uint64_t{UINT32_MAX} << place.shift);
    } else {
      for (uint32_t w = 0; w < kBytes / 8; ++w) key[place.word + w] = 0;
    }
    key[place.null_word] |= uint64_t{1} << place.null_shift;
  });
}

void KeyPacker::pack(std::span<const Vector> columns, const Selection& selection, uint64_t* keys,
                     uint64_t* hashes) const {
  for (size_t c = 0; c < places_.size(); ++c) {
    const Place& place = places_[c];
    if (place.type == PhysicalType::kString && place.bytes < sizeof(base::StringRef)) {
      pack_narrow_texts(place, columns[c], selection, keys);
      continue;
    }
    with_physical_type(place.type, [&](auto value) {
      pack_column<decltype(value)>(place, columns[c], selection, keys);
    });
  }
  for (size_t c = 0; c < places_.size() && nulls_ == NullKeys::kEqual; ++c) {
    const Place& place = places_[c];
    if (place.bytes == 4) pack_nulls<4>(place, columns[c], selection, keys);
    if (place.bytes == 8) pack_nulls<8>(place, columns[c], selection, keys);
    if (place.bytes == 16) pack_nulls<16>(place, columns[c], selection, keys);
  }
  if (hashes != nullptr) hash_keys(selection.count, keys, hashes);
}

void KeyPacker::hash_keys(uint32_t count, const uint64_t* keys, uint64_t* hashes) const {
  with_width(words_, [&](auto words) {
    if (words_decide()) {
      for (uint32_t k = 0; k < count; ++k) hashes[k] = hash_words(keys + size_t{k} * words, words);
      return;
    }
    std::vector<uint64_t> decisive(words);
    for (uint32_t k = 0; k < count; ++k) {
      if (k + kTextsAhead < count) {
        const uint64_t* const ahead = keys + size_t{k + kTextsAhead} * words;
        for (const uint32_t w : text_words_) base::prefetch_text(text_at(ahead + w));
      }
      const uint64_t* key = keys + size_t{k} * words;
      if (!words_decide(key)) key = make_decisive(key, decisive.data());
      hashes[k] = hash_words(key, words);
    }
  });
}

bool KeyPacker::words_decide(const uint64_t* key) const {
  if (!interval_words_.empty()) return false;
  for (const uint32_t w : text_words_) {
    if (!text_at(key + w).is_short()) return false;
  }
  return true;
}

// Equal keys have equal words here, and different ones hardly ever.
const uint64_t* KeyPacker::make_decisive(const uint64_t* key, uint64_t* words) const {
  std::copy_n(key, words_, words);
  for (const uint32_t w : text_words_) {
    const base::StringRef text = text_at(key + w);
    if (!text.is_short()) {
      words[w + 1] = XXH3_64bits_withSeed(text.data(), text.size(), kHashSeed.start);
    }
  }
  for (const uint32_t w : interval_words_) {
    const int128_t micros = interval_at(key + w).normalized();
    std::memcpy(&words[w], &micros, sizeof micros);
  }
  return words;
}

bool KeyPacker::equal_keys(const uint64_t* a, const uint64_t* b) const {
  size_t next_text = 0;
  size_t next_interval = 0;
  for (uint32_t w = 0; w < words_; ++w) {
    if (next_text < text_words_.size() && text_words_[next_text] == w) {
      if (!(text_at(a + w) == text_at(b + w))) return false;
      ++w;
      ++next_text;
    } else if (next_interval < interval_words_.size() && interval_words_[next_interval] == w) {
      if (interval_at(a + w).normalized() != interval_at(b + w).normalized()) return false;
      ++w;
      ++next_interval;
    } else if (a[w] != b[w]) {
      return false;
    }
  }
  return true;
}

void KeyPacker::keep_texts(uint64_t* key, QueryHeap* heap) const {
  for (const uint32_t w : text_words_) {
    const base::StringRef kept = heap->keep(text_at(key + w));
    std::memcpy(key + w, &kept, sizeof kept);
  }
}

Vector KeyPacker::unpack(size_t column, const uint64_t* keys, uint64_t first, uint32_t count,
                         VectorBuffer* results) const {
  const Place& place = places_[column];
  bool has_nulls = false;
  results->clear_nulls();
  with_physical_type(place.type, [&](auto value) {
    using T = decltype(value);
    T* const out = results->values<T>();
    for (uint32_t i = 0; i < count; ++i) {
      const uint64_t* const key = keys + (first + i) * words_;
      if (std::is_same_v<T, base::StringRef> && place.bytes < sizeof(T)) {
        const uint64_t narrow = key[place.word] >> place.shift;
        const base::StringRef text = text_of(place.bytes == 4 ? narrow & UINT32_MAX : narrow);
        std::memcpy(static_cast<void*>(&out[i]), &text, sizeof text);
      } else if constexpr (sizeof(T) == 16) {
        std::memcpy(static_cast<void*>(&out[i]), key + place.word, 16);
      } else if constexpr (sizeof(T) == 8) {
        out[i] = std::bit_cast<T>(key[place.word]);
      } else {
        out[i] = static_cast<T>(key[place.word] >> place.shift);
      }
      if (nulls_ == NullKeys::kEqual && ((key[place.null_word] >> place.null_shift) & 1) != 0) {
        has_nulls = true;
        set_bit(results->nulls(), i);
      }
    }
  });
  return has_nulls ? results->view_with_nulls() : results->view();
}

}  // namespace diptych::olap
