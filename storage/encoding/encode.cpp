#include "storage/encoding/encode.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/check.h"
#include "storage/encoding/codec.h"
#include "storage/encoding/column_profile.h"
#include "storage/encoding/number_patch.h"

namespace diptych::storage::encoding {
namespace {

constexpr std::array kNumberForms = {Encoding::kConstant, Encoding::kPlain, Encoding::kFrame,
                                     Encoding::kPackedFrame, Encoding::kDictionary};
constexpr std::array kTextForms = {Encoding::kConstant,         Encoding::kDictionary,
                                   Encoding::kSymbolDictionary, Encoding::kPackedText,
                                   Encoding::kSymbolText,       Encoding::kPlain};

// Texts of a dictionary come so often, on average, that work by entry is far less than by row.
constexpr double kDictionaryRowsAnEntry = 4;

struct Form {
  Encoding encoding;
  uint64_t bytes;  // estimated
};

// True if `bytes` is not worth a slower form of `least` bytes.
bool nearly_as_small(uint64_t bytes, uint64_t least) {
  return bytes <= least + least / 20;
}

bool come_often(double entries, const ColumnProfile& profile) {
  return entries * kDictionaryRowsAnEntry <= profile.rows();
}

// True if the form's bytes are not worth another one of `least` bytes. By a dictionary of texts,
// conditions are evaluated and groups found on codes: it may take a quarter more.
bool will_do(const Form& form, uint64_t least, const ColumnProfile& profile) {
  const bool is_dictionary =
      form.encoding == Encoding::kDictionary || form.encoding == Encoding::kSymbolDictionary;
  const bool is_by_entry = is_dictionary && profile.kind() == ValueKind::kText &&
                           come_often(profile.distinct_estimate(), profile);
  return nearly_as_small(form.bytes, least) || (is_by_entry && form.bytes <= least + least / 4);
}

// True of a dictionary of symbol texts that come seldom and takes more than two thirds of what they
// take as symbol text: that is read faster, because a run's texts lie together.
bool is_too_various(const ChunkBytes& bytes, const ColumnProfile& profile) {
  const auto& header = *reinterpret_cast<const ChunkHeader*>(bytes.data());
  if (header.encoding != Encoding::kSymbolDictionary) return false;
  if (come_often(header.entries, profile)) return false;
  const auto as_symbols = codec_of(Encoding::kSymbolText, profile.kind())->estimate(profile);
  return as_symbols && bytes.size() * 3 > *as_symbols * 2;
}

base::Result<void> check_text_bytes(uint64_t bytes) {
  if (bytes <= kChunkTextBytesMax) return {};
  return base::Error(base::ErrorCode::kInvalidArgument,
                     "a chunk has at most " + std::to_string(kChunkTextBytesMax) +
                         " bytes of text, not " + std::to_string(bytes));
}

base::Result<void> check_size(const ColumnRun& column) {
  if (column.rows > kChunkRowsMax) {
    return base::Error(base::ErrorCode::kInvalidArgument,
                       "a chunk has at most " + std::to_string(kChunkRowsMax) + " rows, not " +
                           std::to_string(column.rows));
  }
  if (column.kind != ValueKind::kText) return {};
  uint64_t bytes = 0;
  const auto* const texts = column.as<base::StringRef>();
  for (uint32_t i = 0; i < column.rows; ++i) bytes += column.is_null(i) ? 0 : texts[i].size();
  return check_text_bytes(bytes);
}

void begin(Encoding encoding, ValueKind kind, uint32_t rows, uint32_t null_rows,
           ChunkWriter* writer) {
  ChunkHeader& fresh = writer->header();
  fresh.magic = kChunkMagic;
  fresh.rows = rows;
  fresh.encoding = encoding;
  fresh.kind = kind;
  fresh.null_rows = null_rows;
}

// `nulls`: a bitmap of the chunk's rows, or nullptr: none is null.
void add_null_map(const uint64_t* nulls, ChunkWriter* writer) {
  const uint32_t rows = writer->header().rows;
  const uint32_t words = bitmap_words(rows);
  const uint32_t part = writer->add_part(words * sizeof(uint64_t));
  auto* const map = writer->header().array<uint64_t>(part);
  if (nulls != nullptr) std::copy_n(nulls, words, map);
  if (rows % 64 != 0) map[words - 1] &= (uint64_t{1} << (rows % 64)) - 1;
  writer->header().nulls_offset = part;
}

// No bytes where the form cannot hold the column.
ChunkBytes write(const ColumnProfile& profile, Encoding encoding, uint64_t bytes) {
  const Codec* const codec = codec_of(encoding, profile.kind());
  ChunkWriter writer(bytes + bitmap_words(profile.rows()) * sizeof(uint64_t));
  begin(encoding, profile.kind(), profile.rows(), profile.null_rows(), &writer);
  if (codec == nullptr || !codec->encode(profile, &writer)) return {};
  const bool only_nulls = profile.all_null() && encoding == Encoding::kConstant;
  if (profile.null_rows() != 0 && !only_nulls) add_null_map(profile.nulls(), &writer);
  writer.header().min = profile.min();
  writer.header().max = profile.max();
  return writer.finish();
}

// In the order in which they are to be tried.
std::vector<Form> forms_of(const ColumnProfile& profile) {
  std::vector<Form> forms;
  const bool is_text = profile.kind() == ValueKind::kText;
  using Encodings = std::span<const Encoding>;
  for (const Encoding encoding : is_text ? Encodings(kTextForms) : Encodings(kNumberForms)) {
    const auto bytes = codec_of(encoding, profile.kind())->estimate(profile);
    if (bytes) forms.push_back({encoding, *bytes});
    if (bytes && encoding == Encoding::kConstant) return forms;
  }
  DIPTYCH_CHECK(!forms.empty(), "plain or a frame holds any column");
  const auto least = std::min_element(
      forms.begin(), forms.end(), [](const Form& a, const Form& b) { return a.bytes < b.bytes; });
  const uint64_t least_bytes = least->bytes;
  std::stable_sort(forms.begin(), forms.end(), [&](const Form& a, const Form& b) {
    const bool a_will_do = will_do(a, least_bytes, profile);
    const bool b_will_do = will_do(b, least_bytes, profile);
    if (a_will_do != b_will_do) return a_will_do;
    return !a_will_do && a.bytes < b.bytes;
  });
  return forms;
}

// Writes the chunk's numbers, as they are decoded, and then the cell to where `write` puts them; a
// null row's may stay zeroes. Run by run, so that nothing of a column's size lies between the
// chunks. False: there was no place for one.
template <class Write>
bool write_numbers(const Chunk& chunk, uint32_t row, const Cell& cell, uint64_t* null_map,
                   const Write& write) {
  bool all_written = true;
  RunBuffer buffer;
  for (uint32_t first = 0; first < chunk.rows(); first += kVectorRows) {
    const ColumnRun run = chunk.decode(first, std::min(kVectorRows, chunk.rows() - first), &buffer);
    with_keys(run, [&](const auto* values, const auto& to_key) {
      for (uint32_t i = 0; i < run.rows; ++i) {
        if (!write(first + i, to_key(values[i])) && !run.is_null(i)) all_written = false;
      }
    });
    if (run.nulls != nullptr) std::copy_n(run.nulls, bitmap_words(run.rows), null_map + first / 64);
  }
  const uint64_t bit = uint64_t{1} << (row % 64);
  if (cell.is_null) {
    null_map[row / 64] |= bit;
  } else {
    null_map[row / 64] &= ~bit;
    all_written &= write(row, cell.key);
  }
  return all_written;
}

base::Result<ChunkBytes> thaw_numbers(const Chunk& chunk, uint32_t row, const Cell& cell,
                                      NullRoom nulls) {
  const int64_t min = cell.is_null ? chunk.min() : std::min(chunk.min(), cell.key);
  const int64_t max = cell.is_null ? chunk.max() : std::max(chunk.max(), cell.key);
  const uint32_t null_rows =
      chunk.null_rows() - (chunk.is_null(row) ? 1 : 0) + (cell.is_null ? 1 : 0);
  const std::optional<RoomyFrame> frame = roomy_frame(chunk.kind(), min, max);
  const uint64_t codes_bytes = frame ? code_array_bytes(chunk.rows(), frame->bits)
                                     : chunk.rows() * value_bytes(chunk.kind());
  std::vector<uint64_t> null_map(bitmap_words(chunk.rows()));
  ChunkWriter writer(codes_bytes + null_map.size() * sizeof null_map[0]);
  begin(frame ? Encoding::kFrame : Encoding::kPlain, chunk.kind(), chunk.rows(), null_rows,
        &writer);
  const uint32_t codes = writer.add_part(codes_bytes);
  ChunkHeader& header = writer.header();
  header.codes_offset = codes;
  header.min = min;
  header.max = max;
  const auto write = [&](const auto& write_row) {
    return write_numbers(chunk, row, cell, null_map.data(), write_row);
  };
  if (frame) {
    header.base = frame->base;
    header.code_bits = static_cast<uint8_t>(frame->bits);
  }
  if (!(frame ? with_frame(&header, write) : with_plain(&header, write))) {
    return base::Error(base::ErrorCode::kCorrupt,
                       "the chunk is damaged: a value lies outside of its bounds");
  }
  if (null_rows != 0 || nulls == NullRoom::kMap) add_null_map(null_map.data(), &writer);
  return writer.finish();
}

// Adds what is the same in all forms: nulls and bounds as they are in the chunk that is thawed.
ChunkBytes finish_thawed(const Chunk& chunk, NullRoom nulls, ChunkWriter* writer) {
  if (chunk.null_rows() != 0 || nulls == NullRoom::kMap) {
    std::vector<uint64_t> null_map(bitmap_words(chunk.rows()));
    for (uint32_t row = 0; chunk.null_rows() != 0 && row < chunk.rows(); ++row) {
      null_map[row / 64] |= uint64_t{chunk.is_null(row)} << (row % 64);
    }
    add_null_map(null_map.data(), writer);
  }
  writer->header().min = chunk.min();
  writer->header().max = chunk.max();
  return writer->finish();
}

// With room for a text of so many bytes. No bytes where there is no dictionary, or one that is too
// large for that.
ChunkBytes space_dictionary(const Chunk& chunk, uint64_t text_bytes, NullRoom nulls) {
  if (chunk.encoding() != Encoding::kDictionary && chunk.encoding() != Encoding::kConstant &&
      chunk.encoding() != Encoding::kSpacedDictionary) {
    return {};
  }
  ChunkWriter writer(0);
  begin(Encoding::kSpacedDictionary, ValueKind::kText, chunk.rows(), chunk.null_rows(), &writer);
  const auto& header = *reinterpret_cast<const ChunkHeader*>(chunk.span().data());
  if (!space_texts(header, text_bytes, &writer)) return {};
  return finish_thawed(chunk, nulls, &writer);
}

// With room for a text of so many bytes. No bytes where patch_texts() is not for the chunk.
ChunkBytes patch_frozen_texts(const Chunk& chunk, uint64_t text_bytes, NullRoom nulls) {
  const auto& header = *reinterpret_cast<const ChunkHeader*>(chunk.span().data());
  // A copy, a quarter more for patches, and a place a row.
  ChunkWriter writer(chunk.bytes() + chunk.bytes() / 4 + 2 * text_bytes + 5 * chunk.rows());
  begin(Encoding::kPatchedText, ValueKind::kText, chunk.rows(), chunk.null_rows(), &writer);
  if (!patch_texts(header, text_bytes, &writer)) return {};
  return finish_thawed(chunk, nulls, &writer);
}

// Run by run, so that the texts pass through the cache: they may be tens of megabytes.
ChunkBytes write_plain_texts(const Chunk& chunk, uint64_t text_bytes, NullRoom nulls) {
  ChunkWriter writer(PlainTextsWriter::bytes(chunk.rows(), text_bytes) +
                     bitmap_words(chunk.rows()) * sizeof(uint64_t));
  begin(Encoding::kPlain, ValueKind::kText, chunk.rows(), chunk.null_rows(), &writer);
  PlainTextsWriter texts(chunk.rows(), text_bytes, &writer);
  RunBuffer buffer;
  for (uint32_t first = 0; first < chunk.rows(); first += kVectorRows) {
    const ColumnRun run = chunk.decode(first, std::min(kVectorRows, chunk.rows() - first), &buffer);
    for (uint32_t i = 0; i < run.rows; ++i) {
      texts.add(run.is_null(i) ? std::string_view() : run.as<base::StringRef>()[i].view());
    }
  }
  texts.finish();
  return finish_thawed(chunk, nulls, &writer);
}

base::Result<ChunkBytes> thaw_texts(const Chunk& chunk, uint32_t row, const Cell& cell,
                                    NullRoom nulls) {
  // Before any form makes room for it.
  if (auto checked = check_text_bytes(cell.text.size()); !checked) return checked.error();
  ChunkBytes bytes = space_dictionary(chunk, cell.text.size(), nulls);
  if (bytes.empty()) bytes = patch_frozen_texts(chunk, cell.text.size(), nulls);
  if (bytes.empty()) {
    const uint64_t text_bytes = chunk.text_bytes() + cell.text.size();
    if (auto checked = check_text_bytes(text_bytes); !checked) return checked.error();
    bytes = write_plain_texts(chunk, text_bytes, nulls);
  }
  DIPTYCH_CHECK(Chunk::patch(bytes, row, cell) == Patch::kDone, "there is room for the cell");
  return bytes;
}
}  // namespace

base::Result<ChunkBytes> encode(const ColumnRun& column, Choice choice) {
  if (auto checked = check_size(column); !checked) return checked.error();
  const ColumnProfile profile(column);
  ChunkBytes best;
  Encoding encoding = Encoding::kPlain;
  const auto best_will_do = [&](uint64_t least) {
    return !best.empty() && will_do({encoding, best.size()}, least, profile);
  };
  for (const Form& form : forms_of(profile)) {
    if (best_will_do(form.bytes)) break;
    ChunkBytes bytes = write(profile, form.encoding, form.bytes);
    if (bytes.empty() || is_too_various(bytes, profile) || best_will_do(bytes.size())) continue;
    if (best.empty() || bytes.size() < best.size()) {
      best = std::move(bytes);
      encoding = form.encoding;
    }
  }
  DIPTYCH_CHECK(!best.empty(), "plain or a frame holds any column");
  if (choice == Choice::kSettled) {
    ChunkBytes settled = write(profile, Encoding::kZstd, best.size());
    if (!nearly_as_small(best.size(), settled.size())) best = std::move(settled);
  }
  return best;
}

base::Result<ChunkBytes> encode(const ColumnRun& column, Encoding forced) {
  if (auto checked = check_size(column); !checked) return checked.error();
  const ColumnProfile profile(column);
  ChunkBytes bytes = write(profile, forced, 0);
  if (bytes.empty()) {
    return base::Error(base::ErrorCode::kInvalidArgument,
                       std::string(encoding_name(forced)) + " cannot hold these values");
  }
  return bytes;
}

base::Result<ChunkBytes> thaw(const Chunk& chunk, uint32_t row, const Cell& cell, NullRoom nulls) {
  DIPTYCH_CHECK(row < chunk.rows(), "a chunk is thawed for one of its rows");
  return chunk.kind() == ValueKind::kText ? thaw_texts(chunk, row, cell, nulls)
                                          : thaw_numbers(chunk, row, cell, nulls);
}

}  // namespace diptych::storage::encoding
