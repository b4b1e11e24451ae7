// SymbolReader: a chunk of symbol text (symbol_texts.cpp), read text by text.

#pragma once

#include <cstddef>
#include <cstdint>

#include "storage/encoding/chunk_header.h"
#include "storage/encoding/symbol_table.h"
#include "storage/encoding/text_positions.h"

namespace diptych::storage::encoding {

class SymbolReader {
 public:
  explicit SymbolReader(const ChunkHeader& chunk);

  // The bytes that expand() may write.
  size_t room(uint32_t row) const { return size_t{positions_.length(row)} * 8 + 8; }
  // Writes the row's text, and returns its end.
  char* expand(uint32_t row, char* to) const {
    return expand_symbols(symbols_, codes_ + positions_.start(row), positions_.length(row), to);
  }

 private:
  const SymbolBytes& symbols_;
  const uint8_t* codes_;
  TextPositions positions_;
};

}  // namespace diptych::storage::encoding
