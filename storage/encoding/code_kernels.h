// The loops over codes and values that SIMD makes fast, through Highway: each is compiled for
// AVX2, for AVX-512 and as scalar code, and the best that the machine has is taken at run time
// (hwy::SetSupportedTargetsForTest chooses another in tests).
//
// `out` has room for `count` values and is not written behind them. `first` is a multiple of 64.
// Benchmarks: BM_Decode and BM_Select of tests/storage/encoding_bench.cpp.

#pragma once

#include <cstddef>
#include <cstdint>

#include "storage/encoding/codes.h"

namespace diptych::storage::encoding {

// out[i] = base + codes[first + i], modulo 2^32 or 2^64.
void decode_codes(Codes codes, uint32_t first, uint32_t count, uint32_t base, uint32_t* out);
void decode_codes(Codes codes, uint32_t first, uint32_t count, uint64_t base, uint64_t* out);

// words |= bit i where values[i] - first <= last - first, as unsigned: for unsigned first <= last
// and for signed ones alike, that is first <= values[i] <= last.
void select_range(const uint8_t* values, uint32_t count, uint8_t first, uint8_t last,
                  uint64_t* words);
void select_range(const uint16_t* values, uint32_t count, uint16_t first, uint16_t last,
                  uint64_t* words);
void select_range(const uint32_t* values, uint32_t count, uint32_t first, uint32_t last,
                  uint64_t* words);
void select_range(const uint64_t* values, uint32_t count, uint64_t first, uint64_t last,
                  uint64_t* words);

// bytes[i] = table[bytes[i]]; every byte is below 16 * table_blocks; the table has that many bytes.
void translate_bytes(const uint8_t* table, uint32_t table_blocks, uint8_t* bytes, size_t count);

}  // namespace diptych::storage::encoding
