#include "storage/encoding/chunk.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "storage/encoding/chunk_bounds.h"

namespace diptych::storage::encoding {
namespace {

base::Error corrupt(const char* what) {
  return {base::ErrorCode::kCorrupt, std::string("the chunk is damaged: ") + what};
}

const char* header_problem(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(ChunkHeader) + kChunkTailBytes) return "it is too short for a header";
  if (reinterpret_cast<uintptr_t>(bytes.data()) % 8 != 0) return "it does not start at a word";
  const auto& header = *reinterpret_cast<const ChunkHeader*>(bytes.data());
  if (header.magic != kChunkMagic) return "it does not start as a chunk";
  if (header.bytes != bytes.size()) return "it has another size than it says";
  if (header.rows > kChunkRowsMax) return "it has too many rows";
  if (header.null_rows > header.rows) return "more of its rows are null than it has";
  if (static_cast<uint8_t>(header.kind) >= kValueKinds) return "its values have no type";
  if (codec_of(header.encoding, header.kind) == nullptr) return "its encoding is not for its type";
  return nullptr;
}

const char* nulls_problem(const ChunkHeader& header) {
  if (header.nulls_offset == 0) {
    if (header.null_rows == 0 || header.all_null()) return nullptr;
    return "its null map is missing";
  }
  const uint32_t words = bitmap_words(header.rows);
  const uint64_t end = header.bytes - kChunkTailBytes;
  if (!header.holds_before(end, header.nulls_offset, words * sizeof(uint64_t))) {
    return "its null map ends outside it";
  }
  const auto* const nulls = header.array<uint64_t>(header.nulls_offset);
  uint32_t count = 0;
  for (uint32_t i = 0; i < words; ++i) count += static_cast<uint32_t>(std::popcount(nulls[i]));
  if (count != header.null_rows) return "its null map has another number of nulls";
  if (header.rows % 64 != 0 && (nulls[words - 1] >> (header.rows % 64)) != 0) {
    return "its null map goes on behind the last row";
  }
  return nullptr;
}

}  // namespace

std::string_view encoding_name(Encoding encoding) {
  switch (encoding) {
    case Encoding::kConstant: return "constant";
    case Encoding::kFrame: return "frame";
    case Encoding::kPackedFrame: return "packed frame";
    case Encoding::kPlain: return "plain";
    case Encoding::kDictionary: return "dictionary";
    case Encoding::kPackedText: return "packed text";
    case Encoding::kSymbolText: return "symbol text";
    case Encoding::kZstd: return "zstd";
    case Encoding::kSpacedDictionary: return "spaced dictionary";
    case Encoding::kPatchedText: return "patched text";
    case Encoding::kSymbolDictionary: return "symbol dictionary";
  }
  return "unknown";
}

base::Result<Chunk> Chunk::open(std::span<const std::byte> bytes) {
  if (const char* const what = header_problem(bytes)) return corrupt(what);
  const auto& header = *reinterpret_cast<const ChunkHeader*>(bytes.data());
  if (const char* const what = nulls_problem(header)) return corrupt(what);
  if (const char* const what = codec_of(header.encoding, header.kind)->problem(header)) {
    return corrupt(what);
  }
  if (const char* const what = bounds_problem(header)) return corrupt(what);
  return Chunk(&header);
}

Chunk Chunk::trusted(std::span<const std::byte> bytes) {
  DIPTYCH_DCHECK(header_problem(bytes) == nullptr, "only chunks are trusted");
  return Chunk(reinterpret_cast<const ChunkHeader*>(bytes.data()));
}

uint64_t Chunk::text_bytes() const {
  DIPTYCH_DCHECK(kind() == ValueKind::kText, "only texts have a length");
  return text_codec(encoding())->text_bytes(*header_);
}

const uint64_t* Chunk::run_nulls(uint32_t first, uint32_t count, RunBuffer* buffer) const {
  if (header_->null_rows == 0) return nullptr;
  if (header_->nulls_offset != 0) {
    return header_->array<uint64_t>(header_->nulls_offset) + first / 64;
  }
  buffer->nulls.assign(bitmap_words(count), ~uint64_t{0});
  return buffer->nulls.data();
}

// decode(values) writes keys of 4 or 8 bytes.
template <class Decode>
void Chunk::decode_numbers(uint32_t count, RunBuffer* buffer, const Decode& decode) const {
  switch (kind()) {
    case ValueKind::kInt32: return decode(buffer->room<uint32_t>(count));
    case ValueKind::kInt64: return decode(buffer->room<uint64_t>(count));
    case ValueKind::kDouble: {
      auto* const keys = buffer->room<uint64_t>(count);
      decode(keys);
      for (uint32_t i = 0; i < count; ++i) {
        keys[i] = static_cast<uint64_t>(turn_double_bits(static_cast<int64_t>(keys[i])));
      }
      return;
    }
    case ValueKind::kBoolean: {
      buffer->numbers.resize(count);
      decode(buffer->numbers.data());
      auto* const out = buffer->room<uint8_t>(count);
      for (uint32_t i = 0; i < count; ++i) out[i] = buffer->numbers[i] & 1;
      return;
    }
    case ValueKind::kText: break;
  }
  DIPTYCH_CHECK(false, "texts are not numbers");
}

// decode(codec, out), where the codec is of numbers or texts: into keys, or into the buffer.
template <class Decode>
ColumnRun Chunk::decode_run(uint32_t first, uint32_t count, RunBuffer* buffer,
                            const Decode& decode) const {
  DIPTYCH_DCHECK(first % 64 == 0, "a run starts at a word of the null map");
  DIPTYCH_DCHECK(uint64_t{first} + count <= rows(), "a run stays within its chunk");
  ColumnRun run{kind(), count, nullptr, run_nulls(first, count, buffer)};
  if (kind() == ValueKind::kText) {
    buffer->entries.clear();
    buffer->entry_count = 0;
    decode(*text_codec(encoding()), buffer);
    if (buffer->entry_count != 0) {
      const bool are_listed = !buffer->entries.empty();
      run.coded = {buffer->numbers.data(), are_listed ? buffer->entries.data() : nullptr,
                   buffer->entry_count, buffer->dictionary};
    }
  } else {
    const NumberCodec& codec = *number_codec(encoding());
    run.values = codec.view(*header_, first);
    if (run.values != nullptr) return run;
    decode_numbers(count, buffer, [&](auto* keys) { decode(codec, keys); });
  }
  run.values = buffer->values.data();
  return run;
}

ColumnRun Chunk::decode(uint32_t first, uint32_t count, RunBuffer* buffer) const {
  return decode_run(first, count, buffer, [&](const auto& codec, auto* out) {
    codec.decode(*header_, first, count, out);
  });
}

ColumnRun Chunk::decode_some(uint32_t first, uint32_t count, std::span<const uint16_t> slots,
                             RunBuffer* buffer) const {
  DIPTYCH_DCHECK(slots.empty() || slots.back() < count, "slots are rows of the run");
  return decode_run(first, count, buffer, [&](const auto& codec, auto* out) {
    codec.decode_some(*header_, first, count, slots, out);
  });
}

bool Chunk::decodes_some(uint32_t slots, uint32_t count) const {
  const uint32_t rows_a_slot = kind() == ValueKind::kText ? text_codec(encoding())->rows_a_slot()
                                                          : number_codec(encoding())->rows_a_slot();
  return rows_a_slot != 0 && slots * rows_a_slot <= count;
}

RowAnswer Chunk::filter_numbers(const Predicate& predicate) const {
  DIPTYCH_CHECK(predicate.question() == Predicate::Question::kKeys, "numbers compare as keys");
  const auto& ranges = predicate.keys();
  // The ranges that overlap [min, max]: sorted and disjoint, so they are neighbours.
  const auto from = std::partition_point(ranges.begin(), ranges.end(),
                                         [&](const KeyRange& range) { return range.last < min(); });
  const auto to = std::partition_point(from, ranges.end(),
                                       [&](const KeyRange& range) { return range.first <= max(); });
  if (from == to) return RowAnswer::all_or_none(false);
  if (from->first <= min() && max() <= from->last) return RowAnswer::all_or_none(true);
  return number_codec(encoding())->filter(*header_, {from, to});
}

RowAnswer Chunk::filter_texts(const Predicate& predicate) const {
  const TextCodec& codec = *text_codec(encoding());
  if (predicate.question() == Predicate::Question::kSuffix) {
    return codec.filter(*header_, predicate.suffix());
  }
  DIPTYCH_CHECK(predicate.question() == Predicate::Question::kTexts, "texts compare as texts");
  // Keys are of the first 8 bytes: only where they differ do they tell the order.
  const auto& ranges = predicate.texts();
  const auto from = std::partition_point(ranges.begin(), ranges.end(), [&](const TextRange& range) {
    return range.end && text_key(*range.end) < min();
  });
  const auto to = std::partition_point(
      from, ranges.end(), [&](const TextRange& range) { return text_key(range.first) <= max(); });
  if (from == to) return RowAnswer::all_or_none(false);
  const bool from_all_on = from->first.empty() || text_key(from->first) < min();
  if (from_all_on && (!from->end || max() < text_key(*from->end))) {
    return RowAnswer::all_or_none(true);
  }
  return codec.filter(*header_, {from, to});
}

std::optional<ChunkFilter> Chunk::filter(const Predicate& predicate) const {
  const uint64_t* const nulls =
      header_->nulls_offset == 0 ? nullptr : header_->array<uint64_t>(header_->nulls_offset);
  const bool all_null = header_->null_rows != 0 && header_->all_null();
  const bool wants_null = predicate.question() == Predicate::Question::kIsNull;
  if (wants_null || predicate.question() == Predicate::Question::kIsNotNull) {
    return ChunkFilter::of_nulls(wants_null, header_->null_rows == 0 ? nullptr : nulls, all_null);
  }
  if (all_null) return ChunkFilter(RowAnswer::all_or_none(false), nullptr);
  RowAnswer answer =
      kind() == ValueKind::kText ? filter_texts(predicate) : filter_numbers(predicate);
  if (answer.passes == Passes::kSome && answer.filter == nullptr) return std::nullopt;
  return ChunkFilter(std::move(answer), header_->null_rows == 0 ? nullptr : nulls);
}

void Chunk::prefetch_other(uint32_t row) const {
  prefetch_null(row);
  const bool is_text = kind() == ValueKind::kText;
  switch (encoding()) {
    case Encoding::kFrame:
    case Encoding::kPackedFrame:
    case Encoding::kDictionary:
    case Encoding::kSpacedDictionary:
    case Encoding::kSymbolDictionary: {
      const uint64_t bit = uint64_t{row} * header_->code_bits;
      return __builtin_prefetch(header_->at(header_->codes_offset) + bit / 8, 1);
    }
    case Encoding::kPlain: {
      const uint32_t part = is_text ? header_->table_offset : header_->codes_offset;
      const size_t bytes = is_text ? sizeof(uint64_t) : value_bytes(kind());
      return __builtin_prefetch(header_->at(part) + row * bytes, 1);
    }
    case Encoding::kPatchedText:
      return __builtin_prefetch(header_->at(header_->table_offset) + row * sizeof(uint32_t), 1);
    case Encoding::kConstant:
    case Encoding::kPackedText:
    case Encoding::kSymbolText:
    case Encoding::kZstd: return;  // nothing to write, or all of it
  }
}

Patch Chunk::patch(std::span<std::byte> bytes, uint32_t row, const Cell& cell) {
  auto* const header = reinterpret_cast<ChunkHeader*>(bytes.data());
  DIPTYCH_DCHECK(row < header->rows, "a patch stays within its chunk");
  const bool has_map = header->nulls_offset != 0;
  if (!has_map && (cell.is_null || header->null_rows != 0)) {
    return cell.is_null && header->null_rows != 0 ? Patch::kDone : Patch::kNeedsThaw;
  }
  const bool is_text = header->kind == ValueKind::kText;
  if (!cell.is_null) {
    const int64_t key = is_text ? text_key(cell.text) : cell.key;
    const bool taken = is_text ? text_codec(header->encoding)->patch(header, row, cell.text)
                               : number_codec(header->encoding)->patch(header, row, cell.key);
    if (!taken) return Patch::kNeedsThaw;
    header->min = std::min(header->min, key);
    header->max = std::max(header->max, key);
  }
  if (!has_map) return Patch::kDone;
  uint64_t& word = header->array<uint64_t>(header->nulls_offset)[row / 64];
  const uint64_t bit = uint64_t{1} << (row % 64);
  header->null_rows -= (word & bit) != 0 ? 1 : 0;
  header->null_rows += cell.is_null ? 1 : 0;
  word = cell.is_null ? word | bit : word & ~bit;
  return Patch::kDone;
}

}  // namespace diptych::storage::encoding
