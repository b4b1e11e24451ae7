// KeyPacker: turns the key columns of a join or a GROUP BY into fixed-width words, so that one
// hash table serves keys of any types.
//
// A key is `words()` 64-bit words, column by column:
//
//   INT, DATE, BOOLEAN       half a word; two of them share one
//   BIGINT, DECIMAL, TIMESTAMP, DOUBLE   one word (NaNs are one value, -0 is 0)
//   wide DECIMAL             two words
//   text                     two words: the StringRef; of at most 3 bytes half a word, of at most 7
//                            one, where the column's type says so
//   INTERVAL                 two words: its parts
//   null flags               half a word for each 32 columns, where nulls count as values
//
// Equal keys have equal words, but for texts of over 12 bytes, whose second word is an address, and
// for intervals, of which '1 mon' and '30 days' are equal and each stays what it is: unless
// words_decide(), keys are compared by equal_keys().
//
// Threads    immutable once built.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "olap/execution/limits/query_heap.h"
#include "olap/execution/vector/vector.h"

namespace diptych::olap {

enum class NullKeys : uint8_t {
  kNever,  // the caller leaves out rows with a null key (joins)
  kEqual,  // null is one more value (GROUP BY, DISTINCT)
};

struct KeyColumn {
  PhysicalType type;
  uint32_t text_bytes_max = UINT32_MAX;  // of a text; longer ones fail the query
};

class KeyPacker {
 public:
  KeyPacker(std::span<const KeyColumn> columns, NullKeys nulls);
  KeyPacker(std::span<const PhysicalType> types, NullKeys nulls);

  uint32_t words() const { return words_; }
  bool has_texts() const { return !text_words_.empty(); }
  bool words_decide() const { return text_words_.empty() && interval_words_.empty(); }

  // keys[k * words()...] and, unless it is nullptr, hashes[k] of the k-th selected row.
  // Benchmark: BM_PackKeys.
  void pack(std::span<const Vector> columns, const Selection& selection, uint64_t* keys,
            uint64_t* hashes) const;

  bool equal_keys(const uint64_t* a, const uint64_t* b) const;

  // Copies the key's long texts to the heap and points the key there.
  void keep_texts(uint64_t* key, QueryHeap* heap) const;

  // The inverse for column `column`: values of keys [first, first + count) of a dense key array.
  Vector unpack(size_t column, const uint64_t* keys, uint64_t first, uint32_t count,
                VectorBuffer* results) const;

 private:
  struct Place {
    PhysicalType type;
    uint32_t bytes;  // 4, 8 or 16
    uint32_t word;
    uint32_t shift;
    bool assigns = true;  // the first to write its word
    bool clears_null_word = false;
    uint32_t null_word = 0;
    uint32_t null_shift = 0;
  };

  template <class T>
  void pack_column(const Place& place, const Vector& vector, const Selection& selection,
                   uint64_t* keys) const;
  void pack_narrow_texts(const Place& place, const Vector& vector, const Selection& selection,
                         uint64_t* keys) const;
  template <uint32_t kBytes>
  void pack_nulls(const Place& place, const Vector& vector, const Selection& selection,
                  uint64_t* keys) const;
  void hash_keys(uint32_t count, const uint64_t* keys, uint64_t* hashes) const;
  bool words_decide(const uint64_t* key) const;  // of this key
  const uint64_t* make_decisive(const uint64_t* key, uint64_t* words) const;

  NullKeys nulls_;
  uint32_t words_ = 0;
  std::vector<Place> places_;
  std::vector<uint32_t> text_words_;      // first word of each text
  std::vector<uint32_t> interval_words_;  // likewise
};

}  // namespace diptych::olap
