// KeyPacker: packs the key columns of a join or a GROUP BY into fixed-width words, so that one
// hash table serves keys of any types.
//
// A key is `words()` 64-bit words, column by column:
//
//   INT, DATE, BOOLEAN       half a word; two columns share one word
//   BIGINT, DECIMAL, TIMESTAMP, DOUBLE   one word (NaNs are one value, -0 is 0)
//   wide DECIMAL             two words
//   text                     two words, the StringRef; if the column's type limits texts to 3
//                            bytes, half a word, to 7 bytes, one word
//   INTERVAL                 two words, its parts
//   null flags               half a word for each 32 columns, if nulls count as values
//
// Equal keys have equal words, with two exceptions: the second word of a text of over 12 bytes is
// an address, and equal intervals may differ ('1 mon' and '30 days'). Unless words_decide(), keys
// are compared by equal_keys().
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
  kEqual,  // null counts as a value (GROUP BY, DISTINCT)
};

struct KeyColumn {
  PhysicalType type;
  uint32_t text_bytes_max = UINT32_MAX;  // for texts; longer ones fail the query
};

class KeyPacker {
 public:
  KeyPacker(std::span<const KeyColumn> columns, NullKeys nulls);
  KeyPacker(std::span<const PhysicalType> types, NullKeys nulls);

  uint32_t words() const { return words_; }
  bool has_texts() const { return !text_words_.empty(); }
  bool words_decide() const { return text_words_.empty() && interval_words_.empty(); }

  // Writes the key of the k-th selected row to keys[k * words()...] and its hash to hashes[k],
  // unless `hashes` is nullptr. Benchmark: BM_PackKeys.
  void pack(std::span<const Vector> columns, const Selection& selection, uint64_t* keys,
            uint64_t* hashes) const;

  bool equal_keys(const uint64_t* a, const uint64_t* b) const;

  // Copies the key's long texts to the heap and makes the key refer to the copies.
  void keep_texts(uint64_t* key, QueryHeap* heap) const;

  // The inverse of pack(): the values of one column for keys [first, first + count) of a key array.
  Vector unpack(size_t column, const uint64_t* keys, uint64_t first, uint32_t count,
                VectorBuffer* results) const;

 private:
  struct Place {
    PhysicalType type;
    uint32_t bytes;  // 4, 8 or 16
    uint32_t word;
    uint32_t shift;
    bool assigns = true;  // this column is the first to write its word
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
  bool words_decide(const uint64_t* key) const;  // for this key
  const uint64_t* make_decisive(const uint64_t* key, uint64_t* words) const;

  NullKeys nulls_;
  uint32_t words_ = 0;
  std::vector<Place> places_;
  std::vector<uint32_t> text_words_;      // first word of each text
  std::vector<uint32_t> interval_words_;  // likewise
};

}  // namespace diptych::olap
