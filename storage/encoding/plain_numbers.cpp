// Plain numbers: values as they are in memory, INT, BIGINT and DOUBLE. Takes every patch.
//
//   codes_offset: | values: rows * value_bytes(kind) |
//
// This is the byte-aligned frame of the type's own width, with base 0: a run of it is a view.

#include <cstring>

#include "storage/encoding/code_kernels.h"
#include "storage/encoding/codec.h"
#include "storage/encoding/number_patch.h"

namespace diptych::storage::encoding {
namespace {

int64_t load_key(ValueKind kind, const std::byte* from) {
  if (kind == ValueKind::kInt32) {
    int32_t value;
    std::memcpy(&value, from, sizeof value);
    return value;
  }
  int64_t value;
  std::memcpy(&value, from, sizeof value);
  return kind == ValueKind::kDouble ? turn_double_bits(value) : value;
}

class PlainNumbers final : public NumberCodec {
 public:
  std::optional<uint64_t> estimate(const ColumnProfile& column) const override {
    if (column.kind() == ValueKind::kBoolean) return std::nullopt;
    return uint64_t{column.rows()} * value_bytes(column.kind());
  }
  bool encode(const ColumnProfile& column, ChunkWriter* writer) const override {
    if (column.kind() == ValueKind::kBoolean) return false;
    const uint32_t offset = writer->add_part(column.rows() * value_bytes(column.kind()));
    writer->header().codes_offset = offset;
    with_plain(&writer->header(), [&](const auto& write) {
      for (uint32_t i = 0; i < column.rows(); ++i) write(i, column.keys()[i]);
    });
    return true;
  }
  const char* problem(const ChunkHeader& chunk) const override {
    if (chunk.kind == ValueKind::kBoolean) return "booleans are not plain";
    const uint64_t bytes = uint64_t{chunk.rows} * value_bytes(chunk.kind);
    return chunk.holds(chunk.codes_offset, bytes) ? nullptr : "its values end outside it";
  }

  void decode(const ChunkHeader& chunk, uint32_t first, uint32_t count,
              uint32_t* out) const override {
    std::memcpy(out, place(chunk, first), count * sizeof *out);
  }
  void decode(const ChunkHeader& chunk, uint32_t first, uint32_t count,
              uint64_t* out) const override {
    for (uint32_t i = 0; i < count; ++i) {
      out[i] = static_cast<uint64_t>(load_key(chunk.kind, place(chunk, first + i)));
    }
  }
  const void* view(const ChunkHeader& chunk, uint32_t first) const override {
    return place(chunk, first);
  }

  RowAnswer filter(const ChunkHeader& chunk, std::span<const KeyRange> ranges) const override {
    const uint32_t at = chunk.codes_offset;
    switch (chunk.kind) {
      case ValueKind::kInt32: return filter_values(chunk.array<int32_t>(at), ranges);
      case ValueKind::kInt64: return filter_values(chunk.array<int64_t>(at), ranges);
      default: return filter_values(chunk.array<double>(at), ranges);
    }
  }

  bool patch(ChunkHeader* chunk, uint32_t row, int64_t key) const override {
    return with_plain(chunk, [&](const auto& write) { return write(row, key); });
  }

 private:
  static const std::byte* place(const ChunkHeader& chunk, uint32_t row) {
    return chunk.at(chunk.codes_offset) + row * value_bytes(chunk.kind);
  }
};

constexpr PlainNumbers kPlainNumbersCodec;

}  // namespace

const NumberCodec& plain_numbers() {
  return kPlainNumbersCodec;
}

}  // namespace diptych::storage::encoding
