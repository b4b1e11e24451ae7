#include "storage/encoding/chunk_bounds.h"

#include <limits>

#include "storage/encoding/codec.h"
#include "storage/encoding/number_patch.h"

namespace diptych::storage::encoding {
namespace {

bool is_value(ValueKind kind, int64_t key) {
  switch (kind) {
    case ValueKind::kInt32:
      return key >= std::numeric_limits<int32_t>::min() &&
             key <= std::numeric_limits<int32_t>::max();
    case ValueKind::kBoolean: return key == 0 || key == 1;
    case ValueKind::kInt64:
    case ValueKind::kDouble:
    case ValueKind::kText: break;
  }
  return true;
}

const char* frame_problem(const ChunkHeader& chunk) {
  if (!is_code_width(chunk.code_bits, lanes_of(chunk.kind))) return "its codes have no width";
  const uint64_t code_max = frame_code_max(chunk);
  const bool is_inside =
      in_frame(chunk.min, chunk.base, code_max) && in_frame(chunk.max, chunk.base, code_max);
  return is_inside ? nullptr : "its bounds lie outside of its frame";
}

}  // namespace

const char* bounds_problem(const ChunkHeader& chunk) {
  if (chunk.min > chunk.max) {
    if (!chunk.all_null()) return "its values have no bounds";
    // As a profile has them: the first value to come makes both its own.
    return chunk.min == kKeyMax && chunk.max == kKeyMin ? nullptr : "it has bounds and no value";
  }
  if (!is_value(chunk.kind, chunk.min) || !is_value(chunk.kind, chunk.max)) {
    return "its bounds are no values of its type";
  }
  if (chunk.kind == ValueKind::kText) return nullptr;
  switch (chunk.encoding) {
    case Encoding::kConstant:
      return chunk.min == chunk.base && chunk.max == chunk.base ? nullptr
                                                                : "its bounds are not its value";
    case Encoding::kFrame:
    case Encoding::kPackedFrame: return frame_problem(chunk);
    default: return nullptr;
  }
}

}  // namespace diptych::storage::encoding
