// SymbolTable: up to 255 symbols of 1 to 8 bytes for which a text is replaced by codes of one byte.
//
// The scheme of FSST (Boncz, Neumann, Leis, VLDB'20). A table is learned from a sample in up to
// five rounds: compress it with the table so far, count symbols and pairs of neighbours, keep the
// 255 symbols and joined pairs that save most. A round that saves next to nothing is the last one:
// of texts without repetition, for which other forms are better, an early one. Code 255 says that
// the next byte stands for itself.
//
// Compressing takes the longest symbol that one look-up by three bytes finds, else one of two bytes
// or one: at most one symbol of three bytes or more has the same first three. It depends on the
// text and the table alone, so equal texts have equal codes.
//
// Benchmarks: BM_Encode and BM_Decode of tests/storage/encoding_bench.cpp.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace diptych::storage::encoding {

inline constexpr uint32_t kSymbolsMax = 255;
inline constexpr uint8_t kEscape = 255;

// What decoding needs, as it lies in a chunk; the entry of kEscape is unused, as are those of
// codes that no text has: they have length 0.
struct SymbolBytes {
  uint64_t bytes[256];  // zero behind the length
  uint8_t lengths[256];
};
static_assert(sizeof(SymbolBytes) == 2304);

class SymbolTable {
 public:
  // `compressed`: the bytes that the sample takes.
  static SymbolTable learn(std::span<const std::string_view> sample, uint64_t* compressed);
  // The table that had these bytes; lengths are at most 8.
  static SymbolTable of(const SymbolBytes& symbols);

  static constexpr size_t compressed_max(size_t size) { return 2 * size; }
  // Writes the codes of a text that is readable for 7 bytes behind its end; returns their number.
  size_t compress_padded(const char* text, size_t size, uint8_t* out) const;
  // The same of any text.
  size_t compress(std::string_view text, uint8_t* out) const;

  const SymbolBytes& symbols() const { return symbols_; }

 private:
  struct Slot {
    uint64_t bytes = 0;
    uint8_t length = 0;  // 0: free
    uint8_t code = 0;
  };
  struct Match {
    uint32_t code;    // kEscape: none
    uint32_t length;  // of the text
  };
  static constexpr size_t kSlots = 2048;
  static size_t slot_of(uint64_t word);

  SymbolTable();
  // False where a symbol of three bytes or more is in its way.
  bool add(uint64_t bytes, uint32_t length);
  Match match(uint64_t word, size_t rest) const;
  // Calls fn(code, length) for each match; the code of an escaped byte is 256 + byte.
  template <class Function>
  void for_each_match(std::string_view text, Function&& fn) const;
  class UseCounts;
  // Returns the bytes that the sample takes.
  uint64_t count_uses(std::span<const std::string_view> sample, UseCounts* uses) const;
  // The table of the next round. Forgets the counts.
  SymbolTable improved(UseCounts* uses) const;

  SymbolBytes symbols_{};
  uint32_t count_ = 0;
  std::vector<Slot> slots_;
  std::vector<uint16_t> short_;         // by two bytes: code | length << 8
  std::array<uint16_t, 256> single_{};  // by one byte, where it is the last: code | length << 8
};

// Writes the texts of codes one behind the other, and up to 8 bytes more; returns their end. The
// codes are readable for a byte behind their end.
char* expand_symbols(const SymbolBytes& symbols, const uint8_t* codes, size_t count, char* out);

}  // namespace diptych::storage::encoding
