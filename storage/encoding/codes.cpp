#include "storage/encoding/codes.h"

#include <algorithm>

#include "storage/encoding/code_kernels.h"

namespace diptych::storage::encoding {
bool codes_within(Codes codes, uint32_t count, uint64_t end) {
  if (end > (uint64_t{1} << codes.bits) - 1) return true;
  uint64_t unpacked[kVectorRows];
  uint64_t code_max = 0;
  for (uint32_t first = 0; first < count; first += kVectorRows) {
    const uint32_t run = std::min(kVectorRows, count - first);
    decode_codes(codes, first, run, uint64_t{0}, unpacked);
    for (uint32_t i = 0; i < run; ++i) code_max = std::max(code_max, unpacked[i]);
  }
  return count == 0 || code_max < end;
}

}  // namespace diptych::storage::encoding
