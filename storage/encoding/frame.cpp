// Frame of reference: a row is header.base plus a code of header.code_bits bits.
//
//   codes_offset: | codes: rows * code_bits bits (storage/encoding/codes.h) |
//
// kFrame has codes of whole bytes, kPackedFrame of as few bits as there may be. They are one layout
// with other widths, and both take patches: a value within [base, base + 2^code_bits).
// Differences are taken modulo 2^64: a column with both INT64_MIN and INT64_MAX overflows nothing.
// A frame of booleans starts at 0 and takes both.

#include <algorithm>

#include "storage/encoding/code_kernels.h"
#include "storage/encoding/codec.h"
#include "storage/encoding/number_patch.h"

namespace diptych::storage::encoding {
namespace {

struct Bounds {
  int64_t min;
  int64_t max;

  uint64_t span() const { return static_cast<uint64_t>(max) - static_cast<uint64_t>(min); }
};

// min > max: there is no number.
Bounds bounds_of(ValueKind kind, int64_t min, int64_t max) {
  if (kind == ValueKind::kBoolean) return {0, 1};
  return min <= max ? Bounds{min, max} : Bounds{0, 0};
}
Bounds bounds_of(const ColumnProfile& column) {
  return bounds_of(column.kind(), column.min(), column.max());
}

void write_codes(const ColumnProfile& column, int64_t base, uint32_t bits, ChunkWriter* writer) {
  const uint32_t offset = writer->add_part(code_array_bytes(column.rows(), bits));
  ChunkHeader& header = writer->header();
  header.codes_offset = offset;
  header.code_bits = static_cast<uint8_t>(bits);
  header.base = base;
  const auto code_of = [base](int64_t key) {
    return static_cast<uint64_t>(key) - static_cast<uint64_t>(base);
  };
  std::byte* const out = writer->at(offset);
  if (is_whole_width(bits)) {
    with_code_store(bits, [&](const auto& set) {
      for (uint32_t i = 0; i < column.rows(); ++i) set(out, i, code_of(column.keys()[i]));
    });
    return;
  }
  CodeWriter codes(out, bits);
  for (const int64_t key : column.keys()) codes.add(code_of(key));
  codes.finish();
}

class FrameCodec final : public NumberCodec {
 public:
  enum class Packing : uint8_t { kBytes, kBits };
  constexpr explicit FrameCodec(Packing packing) : packing_(packing) {}

  std::optional<uint64_t> estimate(const ColumnProfile& column) const override {
    const uint32_t bits = width(column);
    if (bits == kNone) return std::nullopt;
    return code_array_bytes(column.rows(), bits);
  }

  bool encode(const ColumnProfile& column, ChunkWriter* writer) const override {
    const uint32_t bits = width(column);
    if (bits == kNone) return false;
    write_codes(column, bounds_of(column).min, bits, writer);
    return true;
  }

  const char* problem(const ChunkHeader& chunk) const override {
    if (!is_code_width(chunk.code_bits, lanes_of(chunk.kind))) return "its codes have no width";
    const uint64_t bytes = code_array_bytes(chunk.rows, chunk.code_bits);
    return chunk.holds(chunk.codes_offset, bytes) ? nullptr : "its codes end outside it";
  }

  void decode(const ChunkHeader& chunk, uint32_t first, uint32_t count,
              uint32_t* out) const override {
    decode_codes(codes_of(chunk), first, count, static_cast<uint32_t>(chunk.base), out);
  }
  void decode(const ChunkHeader& chunk, uint32_t first, uint32_t count,
              uint64_t* out) const override {
    decode_codes(codes_of(chunk), first, count, static_cast<uint64_t>(chunk.base), out);
  }

  void decode_some(const ChunkHeader& chunk, uint32_t first, uint32_t /*count*/,
                   std::span<const uint16_t> slots, uint32_t* out) const override {
    decode_slots(chunk, first, slots, out);
  }
  void decode_some(const ChunkHeader& chunk, uint32_t first, uint32_t /*count*/,
                   std::span<const uint16_t> slots, uint64_t* out) const override {
    decode_slots(chunk, first, slots, out);
  }
  uint32_t rows_a_slot() const override { return packing_ == Packing::kBytes ? 32 : 16; }

  RowAnswer filter(const ChunkHeader& chunk, std::span<const KeyRange> ranges) const override {
    std::vector<CodeRange> code_ranges;
    const auto base = static_cast<uint64_t>(chunk.base);
    for (const KeyRange& range : ranges) {
      if (range.last < chunk.base) continue;
      const int64_t first = std::max(range.first, chunk.base);
      const uint64_t first_code = static_cast<uint64_t>(first) - base;
      if (first_code > frame_code_max(chunk)) break;
      const uint64_t last_code = static_cast<uint64_t>(range.last) - base;
      code_ranges.push_back({first_code, std::min(last_code, frame_code_max(chunk))});
    }
    return filter_codes(codes_of(chunk), frame_code_max(chunk), std::move(code_ranges));
  }

  bool patch(ChunkHeader* chunk, uint32_t row, int64_t key) const override {
    return with_frame(chunk, [&](const auto& write) { return write(row, key); });
  }

 private:
  static constexpr uint32_t kNone = 64;

  template <class Lane>
  static void decode_slots(const ChunkHeader& chunk, uint32_t first,
                           std::span<const uint16_t> slots, Lane* out) {
    const Codes codes = codes_of(chunk);
    const auto base = static_cast<Lane>(chunk.base);
    for (const uint16_t slot : slots) out[slot] = static_cast<Lane>(base + codes[first + slot]);
  }

  uint32_t width(const ColumnProfile& column) const {
    const uint64_t span = bounds_of(column).span();
    const Lanes lanes = lanes_of(column.kind());
    return packing_ == Packing::kBytes ? aligned_code_bits(span, lanes) : code_bits(span, lanes);
  }

  Packing packing_;
};

constexpr FrameCodec kByteFrameCodec(FrameCodec::Packing::kBytes);
constexpr FrameCodec kBitFrameCodec(FrameCodec::Packing::kBits);

}  // namespace

std::optional<RoomyFrame> roomy_frame(ValueKind kind, int64_t min, int64_t max) {
  const Bounds bounds = bounds_of(kind, min, max);
  if (bounds.span() > UINT32_MAX / 2) return std::nullopt;
  if (kind == ValueKind::kBoolean) return RoomyFrame{0, 8};
  const uint32_t bits = aligned_code_bits(2 * bounds.span(), lanes_of(kind));
  if (bits > 32) return std::nullopt;
  const uint64_t room = ((uint64_t{1} << bits) - 1 - bounds.span()) / 2;
  // Not below the type's least value, from which it is less than `room` then.
  const int64_t lowest = kind == ValueKind::kInt32 ? INT32_MIN : kKeyMin;
  const uint64_t below = static_cast<uint64_t>(bounds.min) - static_cast<uint64_t>(lowest);
  return RoomyFrame{below < room ? lowest : bounds.min - static_cast<int64_t>(room), bits};
}

const NumberCodec& frames() {
  return kByteFrameCodec;
}
const NumberCodec& packed_frames() {
  return kBitFrameCodec;
}

}  // namespace diptych::storage::encoding
