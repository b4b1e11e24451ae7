#include "olap/execution/key_packer.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace diptych::olap {

namespace {

// Multiplies and folds: wyhash's mixing step. Every input bit reaches every output bit.
inline uint64_t mix(uint64_t a, uint64_t b) {
  __extension__ typedef unsigned __int128 uint128_t;
  const uint128_t product = static_cast<uint128_t>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}
constexpr uint64_t kSeed = 0xa0761d6478bd642f;
constexpr uint64_t kStep = 0xe7037ed1a0b428db;

inline uint64_t hash_words(const uint64_t* words, uint32_t count) {
  uint64_t hash = kSeed;
  for (uint32_t w = 0; w < count; ++w) hash = mix(hash ^ words[w], kStep);
  return hash;
}

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

}  // namespace

KeyPacker::KeyPacker(std::span<const PhysicalType> types, NullKeys nulls) : nulls_(nulls) {
  uint32_t half = 0;  // the word with a free upper half
  bool half_free = false;
  const auto take_half = [&](uint32_t* word, uint32_t* shift) {
    *word = half_free ? half : words_++;
    *shift = half_free ? 32 : 0;
    half = *word;
    half_free = !half_free;
  };
  for (const PhysicalType type : types) {
    Place place{type, 0, 0};
    if (type == PhysicalType::kInt32 || type == PhysicalType::kBool) {
      take_half(&place.word, &place.shift);
      place.assigns = place.shift == 0;
    } else {
      place.word = words_;
      words_ += static_cast<uint32_t>(physical_bytes(type) / sizeof(uint64_t));
      if (type == PhysicalType::kString) text_words_.push_back(place.word);
      if (type == PhysicalType::kInterval) interval_words_.push_back(place.word);
    }
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

// After all values, since a word's first value overwrites all of it.
template <class T>
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
    if constexpr (sizeof(T) == 16) {
      key[place.word] = 0;
      key[place.word + 1] = 0;
    } else if constexpr (sizeof(T) == 8) {
      key[place.word] = 0;
    } else {
      key[place.word] &= ~(uint64_t{UINT32_MAX} << place.shift);
    }
    key[place.null_word] |= uint64_t{1} << place.null_shift;
  });
}

void KeyPacker::pack(std::span<const Vector> columns, const Selection& selection, uint64_t* keys,
                     uint64_t* hashes) const {
  for (size_t c = 0; c < places_.size(); ++c) {
    with_physical_type(places_[c].type, [&](auto value) {
      pack_column<decltype(value)>(places_[c], columns[c], selection, keys);
    });
  }
  for (size_t c = 0; c < places_.size() && nulls_ == NullKeys::kEqual; ++c) {
    with_physical_type(places_[c].type, [&](auto value) {
      pack_nulls<decltype(value)>(places_[c], columns[c], selection, keys);
    });
  }
  if (hashes != nullptr) hash_keys(selection.count, keys, hashes);
}

void KeyPacker::hash_keys(uint32_t count, const uint64_t* keys, uint64_t* hashes) const {
  if (words_decide()) {
    if (words_ == 1) {
      for (uint32_t k = 0; k < count; ++k) hashes[k] = hash_words(keys + k, 1);
    } else if (words_ == 2) {
      for (uint32_t k = 0; k < count; ++k) hashes[k] = hash_words(keys + size_t{k} * 2, 2);
    } else {
      for (uint32_t k = 0; k < count; ++k) {
        hashes[k] = hash_words(keys + size_t{k} * words_, words_);
      }
    }
    return;
  }
  std::vector<uint64_t> words(words_);
  for (uint32_t k = 0; k < count; ++k) {
    const uint64_t* const key = keys + size_t{k} * words_;
    std::copy_n(key, words_, words.data());
    for (const uint32_t w : text_words_) {
      const base::StringRef text = text_at(key + w);
      if (!text.is_short()) words[w + 1] = XXH3_64bits(text.data(), text.size());
    }
    for (const uint32_t w : interval_words_) {
      const int128_t micros = interval_at(key + w).normalized();
      std::memcpy(&words[w], &micros, sizeof micros);
    }
    hashes[k] = hash_words(words.data(), words_);
  }
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
      if constexpr (sizeof(T) == 16) {
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
