// Damaged chunks: every byte of small ones is changed, and every length of them is cut. Either
// open() says what is wrong, or all reads stay within the bytes (AddressSanitizer looks on).

#include <map>
#include <memory>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "storage/encoding/encode.h"
#include "storage/encoding/number_patch.h"
#include "tests/sanitizers.h"
#include "tests/storage/chunk_reads.h"
#include "tests/storage/encoding_columns.h"

namespace diptych::storage::encoding {
namespace {

using test::NamedColumn;
using test::TestColumn;

// Reads all that there is to read. Returns the rows that the chunk says it has.
uint32_t read_everything(const Chunk& chunk) {
  RunBuffer buffer;
  std::string scratch;
  const ColumnRun run = chunk.decode(0, chunk.rows(), &buffer);
  size_t bytes = 0;
  if (chunk.kind() == ValueKind::kText) {
    for (uint32_t i = 0; i < run.rows; ++i) {
      for (const char c : run.as<base::StringRef>()[i].view()) bytes += static_cast<uint8_t>(c);
    }
  }
  std::vector<uint16_t> slots;
  for (uint32_t row = 0; row < chunk.rows(); row += 7) {
    bytes += test::cell_at(chunk, row, &scratch).text.size();
    slots.push_back(static_cast<uint16_t>(row));
  }
  EXPECT_EQ(chunk.decode_some(0, chunk.rows(), slots, &buffer).rows, chunk.rows());
  std::vector<uint64_t> words(bitmap_words(chunk.rows()));
  if (chunk.kind() == ValueKind::kText) {
    test::select(chunk, Predicate::compare(Comparison::kEqual, std::string_view("abc")),
                 words.data());
    test::select(chunk, Predicate::between(std::string_view("a"), "q"), words.data());
    test::select(chunk, Predicate::prefix("a"), words.data());
    test::select(chunk, Predicate::suffix("abcdefghi"), words.data());
  } else {
    test::select(chunk, Predicate::between(int64_t{3}, int64_t{70}), words.data());
    const int64_t constants[] = {1, 3, 5, 7, 9, 11};
    test::select(chunk, Predicate::in(constants), words.data());
  }
  test::select(chunk, Predicate::is_null(), words.data());
  return run.rows + (bytes == SIZE_MAX ? 1 : 0);
}

// A chunk in memory that ends where its bytes end.
struct Exact {
  explicit Exact(std::span<const std::byte> bytes)
      : words(new uint64_t[(bytes.size() + 7) / 8]), size(bytes.size()) {
    std::memcpy(words.get(), bytes.data(), size);
  }
  std::span<std::byte> bytes() const { return {reinterpret_cast<std::byte*>(words.get()), size}; }
  std::unique_ptr<uint64_t[]> words;
  size_t size;
};

std::vector<ChunkBytes> small_chunks() {
  std::vector<ChunkBytes> chunks;
  test::Random random(7);
  for (const ValueKind kind : {ValueKind::kInt32, ValueKind::kInt64, ValueKind::kText}) {
    TestColumn column(kind);
    for (int i = 0; i < 70; ++i) {
      if (i % 9 == 4) {
        column.add_null();
      } else if (kind == ValueKind::kText) {
        column.add_text(test::random_text(&random, random() % 14, "abcdefg"));
      } else {
        column.add(static_cast<int64_t>(random() % 90));
      }
    }
    for (const Encoding encoding : test::kAllEncodings) {
      auto bytes = encode(column.run(), encoding);
      if (!bytes) continue;
      if (kind == ValueKind::kText && encoding == Encoding::kDictionary) {
        chunks.push_back(*thaw(Chunk::trusted(*bytes), 1, Cell::of_text("abc"), NullRoom::kMap));
        EXPECT_EQ(Chunk::trusted(chunks.back()).encoding(), Encoding::kSpacedDictionary);
      }
      if (encoding == Encoding::kPackedText || encoding == Encoding::kSymbolText ||
          encoding == Encoding::kSymbolDictionary) {
        chunks.push_back(*thaw(Chunk::trusted(*bytes), 1, Cell::of_text("abc"), NullRoom::kMap));
        EXPECT_EQ(Chunk::trusted(chunks.back()).encoding(), Encoding::kPatchedText);
      }
      chunks.push_back(std::move(*bytes));
    }
    TestColumn constant(kind);
    for (int i = 0; i < 70; ++i)
      kind == ValueKind::kText ? constant.add_text("x") : constant.add(5);
    chunks.push_back(*encode(constant.run()));
  }
  return chunks;
}

// Each byte in three ways. Under a sanitizer of those behind the header every second, in one way,
// each in its turn.
TEST(EncodingDamage, AnyChangedByteIsAnErrorOrReadsWithinTheChunk) {
  constexpr uint8_t kFlips[] = {0x01, 0x80, 0xff};
  uint64_t errors = 0;
  uint64_t read = 0;
  for (const ChunkBytes& chunk : small_chunks()) {
    for (size_t at = 0; at < chunk.size(); ++at) {
      for (size_t which = 0; which < std::size(kFlips); ++which) {
        if (diptych::test::kSanitized && at >= sizeof(ChunkHeader) && at % 6 != 2 * which) continue;
        const Exact damaged(chunk);
        damaged.bytes()[at] ^= static_cast<std::byte>(kFlips[which]);
        const auto opened = Chunk::open(damaged.bytes());
        if (!opened) {
          ASSERT_EQ(opened.code(), base::ErrorCode::kCorrupt);
          ASSERT_FALSE(opened.error().message.empty());
          ++errors;
          continue;
        }
        read_everything(*opened);
        ++read;
      }
    }
  }
  EXPECT_GT(errors, 1000U);
  EXPECT_GT(read, 1000U) << "damage to values alone is the checksum's matter";
}

TEST(EncodingDamage, AChunkThatIsCutShortIsAnError) {
  for (const ChunkBytes& chunk : small_chunks()) {
    for (size_t size = 0; size < chunk.size(); ++size) {
      const Exact cut(std::span<const std::byte>(chunk).first(size));
      ASSERT_FALSE(Chunk::open(cut.bytes())) << size << " of " << chunk.size();
      // Also where the header has been told the new size.
      if (size < sizeof(ChunkHeader) + kChunkTailBytes) continue;
      reinterpret_cast<ChunkHeader*>(cut.bytes().data())->bytes = static_cast<uint32_t>(size);
      if (const auto opened = Chunk::open(cut.bytes())) read_everything(*opened);
    }
  }
}

TEST(EncodingDamage, RandomHeadersNeverLeadOutOfTheChunk) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  test::Random random(seed);
  const std::vector<ChunkBytes> chunks = small_chunks();
  uint32_t opened_chunks = 0;
  for (int i = 0; i < 20'000; ++i) {
    const Exact damaged(chunks[random() % chunks.size()]);
    // Fields of the header, or words of the rest, get values that lengths and offsets may have.
    for (uint64_t changes = 1 + random() % 3; changes > 0; --changes) {
      const size_t words = damaged.size / 4;
      const size_t at = 4 * (random() % 2 == 0 ? 2 + random() % 14 : random() % words);
      const auto value = static_cast<uint32_t>(random() >> (32 + random() % 32));
      std::memcpy(damaged.bytes().data() + at, &value, sizeof value);
    }
    const auto opened = Chunk::open(damaged.bytes());
    if (!opened) continue;
    ++opened_chunks;
    read_everything(*opened);
  }
  EXPECT_GT(opened_chunks, 100U);
}

// Patched rows would then change others' texts.
TEST(EncodingDamage, ASpacedCodeInsideAnothersRunIsAnError) {
  TestColumn column(ValueKind::kText);
  for (int i = 0; i < 70; ++i) column.add_text(i % 2 == 0 ? "a" : "c");
  ChunkBytes bytes = *thaw(Chunk::trusted(*encode(column.run(), Encoding::kDictionary)), 1,
                           Cell::of_text("b"), NullRoom::kNone);
  auto& header = *reinterpret_cast<ChunkHeader*>(bytes.data());
  ASSERT_EQ(header.encoding, Encoding::kSpacedDictionary);
  ASSERT_EQ(header.code_bits, 8);
  ++header.array<uint8_t>(header.codes_offset)[4];
  EXPECT_EQ(Chunk::open(bytes).code(), base::ErrorCode::kCorrupt);
  --header.array<uint8_t>(header.codes_offset)[4];
  EXPECT_TRUE(Chunk::open(bytes));
  header.entries = header.array<uint8_t>(header.codes_offset)[3];
  EXPECT_EQ(Chunk::open(bytes).code(), base::ErrorCode::kCorrupt) << "a code behind the table";
}

// A patch of one text would change the size of the other, and lead reads out of the chunk.
TEST(EncodingDamage, APatchedTextInsideAnothersRoomIsAnError) {
  TestColumn column(ValueKind::kText);
  for (int i = 0; i < 70; ++i) column.add_text("abcdef" + std::to_string(i));
  ChunkBytes bytes = *thaw(Chunk::trusted(*encode(column.run(), Encoding::kPackedText)), 1,
                           Cell::of_text("a text of thirty characters..."), NullRoom::kNone);
  auto& header = *reinterpret_cast<ChunkHeader*>(bytes.data());
  ASSERT_EQ(header.encoding, Encoding::kPatchedText);
  auto* const places = header.array<uint32_t>(header.table_offset);
  ASSERT_EQ(places[1], 8U);
  for (const uint32_t place : {8U, 24U, 32U}) {
    const Exact damaged(bytes);
    auto& other = *reinterpret_cast<ChunkHeader*>(damaged.bytes().data());
    other.array<uint32_t>(other.table_offset)[2] = place;
    const uint32_t slot[] = {4, 4};  // size, room
    if (place != 8) std::memcpy(other.at(other.text_offset + place), slot, sizeof slot);
    EXPECT_EQ(Chunk::open(damaged.bytes()).code(), base::ErrorCode::kCorrupt) << place;
  }
  // Behind the room it is one.
  EXPECT_EQ(Chunk::patch(bytes, 2, Cell::of_text("b")), Patch::kDone);
  EXPECT_TRUE(Chunk::open(bytes));
  ++header.base;
  EXPECT_EQ(Chunk::open(bytes).code(), base::ErrorCode::kCorrupt) << "the next slot is not aligned";
}

// A patch would write a code that none of them can be. Found by chunk_fuzz.
TEST(EncodingDamage, CodesThatAreTooNarrowForTheirDictionaryAreAnError) {
  std::set<Encoding> narrowed;
  for (const ChunkBytes& chunk : small_chunks()) {
    const Exact damaged(chunk);
    auto& header = *reinterpret_cast<ChunkHeader*>(damaged.bytes().data());
    const bool is_dictionary =
        header.encoding == Encoding::kDictionary || header.encoding == Encoding::kSymbolDictionary;
    if (!is_dictionary || header.code_bits == 0) continue;
    --header.code_bits;
    EXPECT_FALSE(Chunk::open(damaged.bytes())) << encoding_name(header.encoding);
    narrowed.insert(header.encoding);
  }
  EXPECT_EQ(narrowed.size(), 2U);
}

TEST(EncodingDamage, ADictionaryOfOtherSymbolTextsIsAnError) {
  TestColumn column(ValueKind::kText);
  TestColumn descending(ValueKind::kText);
  for (int i = 0; i < 90; ++i) column.add_text("number " + std::to_string(10 + i));
  for (int i = 0; i < 90; ++i) descending.add_text("number " + std::to_string(99 - i));
  ChunkBytes bytes = *encode(column.run(), Encoding::kSymbolDictionary);
  auto& header = *reinterpret_cast<ChunkHeader*>(bytes.data());
  auto& texts = *header.array<ChunkHeader>(header.table_offset);
  ASSERT_TRUE(Chunk::open(bytes));
  const auto expect_error = [&](const char* what) {
    const auto opened = Chunk::open(bytes);
    ASSERT_FALSE(opened) << what;
    EXPECT_NE(opened.error().message.find(what), std::string::npos) << opened.error().message;
  };
  const ChunkHeader intact = texts;
  --texts.rows;
  expect_error("another form");
  texts = intact;
  texts.encoding = Encoding::kPackedText;
  expect_error("another form");
  texts = intact;
  texts.table_offset = texts.bytes;
  expect_error("its dictionary is damaged");
  texts = intact;
  const ChunkBytes others = *encode(descending.run(), Encoding::kSymbolText);
  ASSERT_EQ(others.size(), texts.bytes);
  std::copy(others.begin(), others.end(), reinterpret_cast<std::byte*>(&texts));
  expect_error("not in order");
}

// A patch of one part would change the other, and lead reads out of the chunk. Found by chunk_fuzz.
TEST(EncodingDamage, PartsThatOverlapAreAnError) {
  uint32_t moved = 0;
  for (const ChunkBytes& chunk : small_chunks()) {
    const auto& header = *reinterpret_cast<const ChunkHeader*>(chunk.data());
    const bool is_dictionary = header.encoding == Encoding::kDictionary ||
                               header.encoding == Encoding::kSpacedDictionary ||
                               header.encoding == Encoding::kSymbolDictionary;
    const bool is_plain_text =
        header.encoding == Encoding::kPlain && header.kind == ValueKind::kText;
    const auto expect_error = [&](uint32_t ChunkHeader::*offset, uint32_t to) {
      const Exact damaged(chunk);
      auto& changed = *reinterpret_cast<ChunkHeader*>(damaged.bytes().data());
      changed.*offset = to;
      // Not for the reason that the bits are no null map.
      if (offset == &ChunkHeader::nulls_offset) {
        const auto* const words = changed.array<uint64_t>(to);
        std::copy_n(header.array<uint64_t>(header.nulls_offset), bitmap_words(header.rows),
                    const_cast<uint64_t*>(words));
      }
      EXPECT_FALSE(Chunk::open(damaged.bytes()))
          << encoding_name(header.encoding) << " " << to << " of " << chunk.size();
      ++moved;
    };
    const uint32_t last_part =
        std::max({header.codes_offset, header.table_offset, header.text_offset});
    if (header.nulls_offset > last_part && last_part != 0) {
      expect_error(&ChunkHeader::nulls_offset, last_part);
      expect_error(&ChunkHeader::nulls_offset, header.nulls_offset - 8);
    }
    if (is_dictionary) {
      expect_error(&ChunkHeader::codes_offset, header.table_offset);
      expect_error(&ChunkHeader::table_offset, header.codes_offset);
    }
    if (is_plain_text) expect_error(&ChunkHeader::table_offset, header.text_offset);
    if (header.encoding == Encoding::kPatchedText) {
      expect_error(&ChunkHeader::table_offset, header.text_offset);
      expect_error(&ChunkHeader::text_offset, header.codes_offset);
      expect_error(&ChunkHeader::codes_offset, header.text_offset);
    }
    if (header.encoding == Encoding::kSpacedDictionary) {
      expect_error(&ChunkHeader::table_offset, header.text_offset);
      expect_error(&ChunkHeader::text_offset, header.codes_offset);
    }
  }
  EXPECT_GT(moved, 20U);
}

// Bounds that leave a value out hide its row from who asks: where the form tells, they are refused.
TEST(EncodingDamage, BoundsThatTheFormCannotHaveAreAnError) {
  std::map<Encoding, uint32_t> moved;
  for (const ChunkBytes& chunk : small_chunks()) {
    const auto& header = *reinterpret_cast<const ChunkHeader*>(chunk.data());
    const bool is_text = header.kind == ValueKind::kText;
    const auto opens = [&](int64_t min, int64_t max) {
      const Exact changed(chunk);
      reinterpret_cast<ChunkHeader*>(changed.bytes().data())->min = min;
      reinterpret_cast<ChunkHeader*>(changed.bytes().data())->max = max;
      return Chunk::open(changed.bytes()).ok();
    };
    SCOPED_TRACE(encoding_name(header.encoding));
    const int64_t min = header.min;
    const int64_t max = header.max;
    EXPECT_TRUE(opens(min, max));
    EXPECT_FALSE(opens(max + 1, max)) << "there are values";
    if (header.kind == ValueKind::kInt32) {
      EXPECT_FALSE(opens(min, int64_t{INT32_MAX} + 1));
      EXPECT_FALSE(opens(int64_t{INT32_MIN} - 1, max));
    }
    switch (header.encoding) {
      case Encoding::kFrame:
      case Encoding::kPackedFrame: {
        const auto code_max = static_cast<int64_t>(frame_code_max(header));
        EXPECT_TRUE(opens(header.base, header.base + code_max));
        EXPECT_FALSE(opens(header.base - 1, max));
        EXPECT_FALSE(opens(min, header.base + code_max + 1));
        break;
      }
      case Encoding::kConstant:
        EXPECT_FALSE(opens(min - 1, max));
        EXPECT_FALSE(opens(min, max + 1));
        break;
      case Encoding::kDictionary:
      case Encoding::kSpacedDictionary:
      case Encoding::kSymbolDictionary:
        // The least text is the empty one, of null rows.
        EXPECT_FALSE(opens(is_text ? text_key("b") : min + 1, max));
        EXPECT_FALSE(opens(min, max - 1));
        break;
      case Encoding::kPlain:
      case Encoding::kPackedText:
      case Encoding::kSymbolText:
      case Encoding::kZstd:
      case Encoding::kPatchedText: continue;  // only the values tell
    }
    ++moved[header.encoding];
  }
  EXPECT_EQ(moved.size(), 6U);
}

TEST(EncodingDamage, WithoutAValueThereAreNoBounds) {
  for (const ValueKind kind : {ValueKind::kInt32, ValueKind::kInt64, ValueKind::kText}) {
    TestColumn column(kind);
    for (int i = 0; i < 70; ++i) column.add_null();
    for (const Encoding encoding : test::kAllEncodings) {
      auto bytes = encode(column.run(), encoding);
      if (!bytes) continue;
      EXPECT_GT(Chunk::trusted(*bytes).min(), Chunk::trusted(*bytes).max());
      EXPECT_TRUE(Chunk::open(*bytes)) << encoding_name(encoding);
      const Cell cell = kind == ValueKind::kText ? Cell::of_text("abc") : Cell::number(5);
      const auto thawed = thaw(Chunk::trusted(*bytes), 3, cell, NullRoom::kMap);
      ASSERT_TRUE(thawed);
      EXPECT_TRUE(Chunk::open(*thawed)) << encoding_name(encoding);
      // Others would be those of the first value that comes.
      reinterpret_cast<ChunkHeader*>(bytes->data())->max = 0;
      EXPECT_FALSE(Chunk::open(*bytes)) << encoding_name(encoding);
    }
  }
}

// The frame that they are thawed to is as wide as the bounds say.
TEST(EncodingDamage, ValuesOutsideOfTheirBoundsAreNotThawed) {
  for (const ValueKind kind : {ValueKind::kInt32, ValueKind::kInt64}) {
    TestColumn column(kind);
    for (int i = 0; i < 70; ++i) i % 9 == 4 ? column.add_null() : column.add(i * 1000);
    ChunkBytes bytes = *encode(column.run(), Encoding::kPackedFrame);
    const Cell cell = Cell::number(3);
    EXPECT_TRUE(thaw(Chunk::trusted(bytes), 1, cell, NullRoom::kMap));
    reinterpret_cast<ChunkHeader*>(bytes.data())->max = 2000;
    ASSERT_TRUE(Chunk::open(bytes)) << "the frame has room for these bounds";
    const auto thawed = thaw(Chunk::trusted(bytes), 1, cell, NullRoom::kMap);
    ASSERT_FALSE(thawed.ok());
    EXPECT_EQ(thawed.code(), base::ErrorCode::kCorrupt);
  }
}

}  // namespace
}  // namespace diptych::storage::encoding
