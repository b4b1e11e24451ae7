// Zstd frames: plain values in independent zstd frames of 16 KiB in the mean at most, or of 64 rows
// where these have more, for settled data.
//
//   table_offset: | ends: u32 a frame, of the frames in the text part, ascending |
//   text_offset:  | the frames one behind the other |
//
//   frame of numbers   | keys: rows * 4 or 8 bytes (lanes_of) |
//   frame of texts     | lengths: u32 * rows | the texts one behind the other |
//
// A frame has `entries` rows, a power of two from 64 on, the last one fewer; `base` is the largest
// size of a frame's content. A row costs its frame. Only by request (Choice::kSettled): nothing is
// answered without decompressing. For the same reason problem() decompresses all: sizes that only a
// frame's content tells are checked before they are used.

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <new>

#include <zstd.h>

#include "base/check.h"
#include "storage/encoding/codec.h"
#include "storage/encoding/text_positions.h"

namespace diptych::storage::encoding {
namespace {

constexpr int kLevel = 3;
constexpr uint64_t kFrameBytes = 16 * 1024;      // where 64 rows take no more
constexpr uint32_t kFrameRowsMax = kVectorRows;  // that a scan decodes at a time
constexpr uint64_t kContentMax = 1U << 30;
constexpr uint64_t kRatioMax = 1U << 16;  // no zstd frame expands more

struct ContextDeleter {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};
using Compressor = std::unique_ptr<ZSTD_CCtx, ContextDeleter>;
using Decompressor = std::unique_ptr<ZSTD_DCtx, ContextDeleter>;

class Frames {
 public:
  explicit Frames(const ChunkHeader& chunk) : chunk_(chunk) {}

  uint32_t count() const { return (chunk_.rows + chunk_.entries - 1) / chunk_.entries; }
  uint32_t first_row(uint32_t frame) const { return frame * chunk_.entries; }
  uint32_t rows(uint32_t frame) const {
    return std::min(chunk_.entries, chunk_.rows - first_row(frame));
  }
  std::span<const std::byte> compressed(uint32_t frame) const {
    const auto* const ends = chunk_.array<uint32_t>(chunk_.table_offset);
    const uint32_t start = frame == 0 ? 0 : ends[frame - 1];
    return {chunk_.at(chunk_.text_offset) + start, ends[frame] - start};
  }
  // nothing: not a frame of ours.
  std::optional<uint64_t> content_bytes(uint32_t frame) const {
    const auto bytes = compressed(frame);
    const auto content = ZSTD_getFrameContentSize(bytes.data(), bytes.size());
    // Also above the limit: ZSTD_CONTENTSIZE_UNKNOWN, ZSTD_CONTENTSIZE_ERROR.
    if (content > static_cast<uint64_t>(chunk_.base)) return std::nullopt;
    if (content > bytes.size() * kRatioMax) return std::nullopt;
    return content;
  }
  bool decompress(uint32_t frame, ZSTD_DCtx* context, char* out, uint64_t size) const {
    const auto bytes = compressed(frame);
    return ZSTD_decompressDCtx(context, out, size, bytes.data(), bytes.size()) == size;
  }
  // Appends the content of a frame of a chunk that was checked.
  void append(uint32_t frame, ZSTD_DCtx* context, std::vector<char>* out) const {
    const auto size = content_bytes(frame);
    DIPTYCH_CHECK(size, "problem() saw this frame");
    const size_t before = out->size();
    out->resize(before + *size);
    DIPTYCH_CHECK(decompress(frame, context, out->data() + before, *size),
                  "problem() decompressed this frame");
  }

  const char* problem() const {
    if (!std::has_single_bit(chunk_.entries) || chunk_.entries < 64)
      return "its frames have no rows";
    if (chunk_.base < 0 || chunk_.base > static_cast<int64_t>(kContentMax)) {
      return "its frames have no size";
    }
    if (!chunk_.holds(chunk_.table_offset, uint64_t{count()} * sizeof(uint32_t))) {
      return "its table of frames ends outside it";
    }
    const auto* const ends = chunk_.array<uint32_t>(chunk_.table_offset);
    if (!std::is_sorted(ends, ends + count())) return "a frame ends before it starts";
    return chunk_.holds(chunk_.text_offset, count() == 0 ? 0 : ends[count() - 1])
               ? nullptr
               : "its frames end outside it";
  }

 private:
  const ChunkHeader& chunk_;
};

// Compresses what content(first_row, rows, &bytes) appends for each frame.
template <class Content>
void write_frames(uint32_t rows, uint64_t bytes, ChunkWriter* writer, Content&& content) {
  const uint64_t row_bytes = std::max<uint64_t>(1, bytes / std::max(1U, rows));
  const auto frame_rows = static_cast<uint32_t>(
      std::clamp<uint64_t>(std::bit_floor(kFrameBytes / row_bytes + 1), 64, kFrameRowsMax));
  const Compressor context(ZSTD_createCCtx());
  if (context == nullptr) throw std::bad_alloc();
  std::vector<uint32_t> ends;
  std::vector<char> frames;
  std::vector<char> plain;
  size_t content_max = 0;
  for (uint32_t first = 0; first < rows; first += frame_rows) {
    plain.clear();
    content(first, std::min(frame_rows, rows - first), &plain);
    content_max = std::max(content_max, plain.size());
    const size_t before = frames.size();
    frames.resize(before + ZSTD_compressBound(plain.size()));
    const size_t size =
        ZSTD_compressCCtx(context.get(), frames.data() + before, frames.size() - before,
                          plain.data(), plain.size(), kLevel);
    DIPTYCH_CHECK(ZSTD_isError(size) == 0, "ZSTD_compressBound bytes are enough for any content");
    frames.resize(before + size);
    ends.push_back(static_cast<uint32_t>(frames.size()));
  }
  const uint32_t table = writer->add_part(ends.size() * sizeof(uint32_t));
  const uint32_t part = writer->add_part(frames.size());
  std::copy(ends.begin(), ends.end(), writer->header().array<uint32_t>(table));
  std::copy(frames.begin(), frames.end(), writer->header().array<char>(part));
  ChunkHeader& header = writer->header();
  header.table_offset = table;
  header.text_offset = part;
  header.entries = frame_rows;
  header.base = static_cast<int64_t>(content_max);
}

Decompressor decompressor() {
  Decompressor context(ZSTD_createDCtx());
  DIPTYCH_CHECK(context != nullptr, "memory for a context of zstd");
  return context;
}

// What is wrong with any frame, or null. fits(rows, bytes): the content of so many rows may have as
// many bytes; it is asked before memory is taken for them.
template <class Fits, class ContentProblem>
const char* problem_of_frames(const ChunkHeader& chunk, const Fits& fits,
                              const ContentProblem& content_problem) {
  const Frames frames(chunk);
  if (const char* const what = frames.problem()) return what;
  const Decompressor context = decompressor();
  std::vector<char> content;
  for (uint32_t frame = 0; frame < frames.count(); ++frame) {
    const auto size = frames.content_bytes(frame);
    if (!size || !fits(frames.rows(frame), *size)) return "a frame has another number of rows";
    content.resize(*size);
    if (!frames.decompress(frame, context.get(), content.data(), *size)) {
      return "a frame is damaged";
    }
    if (const char* const what = content_problem(frames.rows(frame), content)) return what;
  }
  return nullptr;
}

class ZstdNumbers final : public NumberCodec {
 public:
  std::optional<uint64_t> estimate(const ColumnProfile& /*column*/) const override {
    return std::nullopt;  // never chosen by size
  }
  bool encode(const ColumnProfile& column, ChunkWriter* writer) const override {
    const auto size = static_cast<uint32_t>(lanes_of(column.kind()));
    write_frames(column.rows(), uint64_t{column.rows()} * size, writer,
                 [&](uint32_t first, uint32_t rows, std::vector<char>* plain) {
                   plain->resize(size_t{rows} * size);
                   for (uint32_t i = 0; i < rows; ++i) {
                     std::memcpy(plain->data() + size_t{i} * size, &column.keys()[first + i], size);
                   }
                 });
    return true;
  }
  const char* problem(const ChunkHeader& chunk) const override {
    const auto lane_bytes = static_cast<uint64_t>(lanes_of(chunk.kind));
    return problem_of_frames(
        chunk, [&](uint32_t rows, uint64_t size) { return size == rows * lane_bytes; },
        [](uint32_t /*rows*/, std::span<const char> /*content*/) -> const char* {
          return nullptr;
        });
  }

  void decode(const ChunkHeader& chunk, uint32_t first, uint32_t count,
              uint32_t* out) const override {
    decode_lanes(chunk, first, count, out);
  }
  void decode(const ChunkHeader& chunk, uint32_t first, uint32_t count,
              uint64_t* out) const override {
    decode_lanes(chunk, first, count, out);
  }
  RowAnswer filter(const ChunkHeader& /*chunk*/,
                   std::span<const KeyRange> /*ranges*/) const override {
    return RowAnswer::only_decoded();
  }
  bool patch(ChunkHeader* /*chunk*/, uint32_t /*row*/, int64_t /*key*/) const override {
    return false;
  }

 private:
  template <class Lane>
  static void decode_lanes(const ChunkHeader& chunk, uint32_t first, uint32_t count, Lane* out) {
    const Frames frames(chunk);
    const Decompressor context = decompressor();
    std::vector<char> content;
    for (uint32_t done = 0; done < count;) {
      const uint32_t frame = (first + done) / chunk.entries;
      const uint32_t in_frame = first + done - frames.first_row(frame);
      const uint32_t run = std::min(count - done, frames.rows(frame) - in_frame);
      content.clear();
      frames.append(frame, context.get(), &content);
      std::memcpy(out + done, content.data() + size_t{in_frame} * sizeof(Lane), run * sizeof(Lane));
      done += run;
    }
  }
};

class ZstdTexts final : public TextCodec {
 public:
  std::optional<uint64_t> estimate(const ColumnProfile& /*column*/) const override {
    return std::nullopt;  // never chosen by size
  }
  bool encode(const ColumnProfile& column, ChunkWriter* writer) const override {
    const uint64_t bytes = column.text_bytes() + uint64_t{column.rows()} * sizeof(uint32_t);
    write_frames(column.rows(), bytes, writer,
                 [&](uint32_t first, uint32_t rows, std::vector<char>* plain) {
                   for (uint32_t i = 0; i < rows; ++i) {
                     const auto size = static_cast<uint32_t>(column.texts()[first + i].size());
                     const auto* const from = reinterpret_cast<const char*>(&size);
                     plain->insert(plain->end(), from, from + sizeof size);
                   }
                   for (uint32_t i = 0; i < rows; ++i) {
                     const std::string_view text = column.texts()[first + i];
                     plain->insert(plain->end(), text.begin(), text.end());
                   }
                 });
    return true;
  }
  const char* problem(const ChunkHeader& chunk) const override {
    const auto lengths = [](uint32_t rows) { return uint64_t{rows} * sizeof(uint32_t); };
    return problem_of_frames(
        chunk, [&](uint32_t rows, uint64_t size) { return size >= lengths(rows); },
        [&](uint32_t rows, std::span<const char> content) -> const char* {
          uint64_t text_bytes = 0;
          for (uint32_t i = 0; i < rows; ++i) text_bytes += length(content.data(), i);
          if (text_bytes == content.size() - lengths(rows)) return nullptr;
          return "the texts of a frame have another size";
        });
  }

  std::string_view text_at(const ChunkHeader& chunk, uint32_t row,
                           std::string* scratch) const override {
    const Frames frames(chunk);
    const uint32_t frame = row / chunk.entries;
    std::vector<char> content;
    frames.append(frame, decompressor().get(), &content);
    const char* text = content.data() + size_t{frames.rows(frame)} * sizeof(uint32_t);
    for (uint32_t i = 0; i < row % chunk.entries; ++i) text += length(content.data(), i);
    scratch->assign(text, length(content.data(), row % chunk.entries));
    return *scratch;
  }

  void decode(const ChunkHeader& chunk, uint32_t first, uint32_t count,
              RunBuffer* buffer) const override {
    auto* const out = buffer->room<base::StringRef>(count);
    if (count == 0) return;
    const Frames frames(chunk);
    const Decompressor context = decompressor();
    const uint32_t first_frame = first / chunk.entries;
    const uint32_t last_frame = (first + count - 1) / chunk.entries;
    buffer->text.clear();
    std::vector<size_t> starts;
    for (uint32_t frame = first_frame; frame <= last_frame; ++frame) {
      starts.push_back(buffer->text.size());
      frames.append(frame, context.get(), &buffer->text);
    }
    // Only now does the text stay where it is.
    for (uint32_t frame = first_frame; frame <= last_frame; ++frame) {
      const char* const content = buffer->text.data() + starts[frame - first_frame];
      const char* text = content + size_t{frames.rows(frame)} * sizeof(uint32_t);
      for (uint32_t i = 0; i < frames.rows(frame); ++i) {
        const std::string_view each(text, length(content, i));
        const uint32_t row = frames.first_row(frame) + i;
        if (row >= first && row < first + count) out[row - first] = base::StringRef(each);
        text += each.size();
      }
    }
  }

  RowAnswer filter(const ChunkHeader& /*chunk*/,
                   std::span<const TextRange> /*ranges*/) const override {
    return RowAnswer::only_decoded();
  }
  RowAnswer filter(const ChunkHeader& /*chunk*/, const Suffix& /*suffix*/) const override {
    return RowAnswer::only_decoded();
  }

 private:
  static uint32_t length(const char* content, uint32_t i) {
    uint32_t size;
    std::memcpy(&size, content + size_t{i} * sizeof size, sizeof size);
    return size;
  }
};

constexpr ZstdNumbers kZstdNumberCodec;
constexpr ZstdTexts kZstdTextCodec;

}  // namespace

const NumberCodec& zstd_numbers() {
  return kZstdNumberCodec;
}
const TextCodec& zstd_texts() {
  return kZstdTextCodec;
}

}  // namespace diptych::storage::encoding
