// kVectorRows: how many rows a scan handles at a time.

#pragma once

#include <cstdint>

namespace diptych::storage {

// Loops of the encodings decode as many, and olap's vectors have room for them.
inline constexpr uint32_t kVectorRows = 1024;

}  // namespace diptych::storage
