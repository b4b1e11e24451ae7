// Patches of encoded chunks, and thawing where they do not fit, against the plain cells.

#include <random>

#include <gtest/gtest.h>

#include "base/arena.h"
#include "storage/encoding/codec.h"
#include "storage/encoding/encode.h"
#include "tests/storage/chunk_reads.h"
#include "tests/storage/encoding_columns.h"

namespace diptych::storage::encoding {
namespace {

using test::adversarial_columns;
using test::NamedColumn;
using test::Random;
using test::TestColumn;

void expect_cells(const ChunkBytes& bytes, const TestColumn& column) {
  const auto chunk = Chunk::open(bytes);
  ASSERT_TRUE(chunk) << chunk.error().to_string();
  std::string scratch;
  uint32_t nulls = 0;
  for (uint32_t row = 0; row < column.rows(); ++row) {
    const Cell cell = column.cell(row);
    ASSERT_EQ(test::cell_at(*chunk, row, &scratch), cell) << "row " << row;
    nulls += cell.is_null ? 1 : 0;
    if (cell.is_null) continue;
    const int64_t key = column.kind() == ValueKind::kText ? text_key(cell.text) : cell.key;
    ASSERT_TRUE(chunk->min() <= key && key <= chunk->max()) << "the SMA covers row " << row;
  }
  ASSERT_EQ(chunk->null_rows(), nulls);
  // A predicate: patched values and bounds answer, too.
  const Cell& bound = column.cell(column.rows() / 2);
  if (bound.is_null) return;
  const bool is_text = column.kind() == ValueKind::kText;
  const Predicate predicate = is_text ? Predicate::compare(Comparison::kLessEqual, bound.text)
                                      : Predicate::between(kKeyMin, bound.key);
  std::vector<uint64_t> words(bitmap_words(column.rows()));
  test::select(*chunk, predicate, words.data());
  for (uint32_t row = 0; row < column.rows(); ++row) {
    const Cell& cell = column.cell(row);
    const bool below = is_text ? cell.text <= bound.text : cell.key <= bound.key;
    ASSERT_EQ(bit_is_set(words.data(), row), !cell.is_null && below) << "row " << row;
  }
}

// The row's cell is copied into `text` where it is a text.
Cell random_cell(const TestColumn& column, Random* random, std::string* text) {
  if ((*random)() % 5 == 0) return Cell::null();
  const Cell& other = column.cell(static_cast<uint32_t>((*random)() % column.rows()));
  if (column.kind() == ValueKind::kText) {
    *text = std::string(other.text);
    if ((*random)() % 2 == 0) *text += test::random_text(random, (*random)() % 9, "ab\0\xff");
    return Cell::of_text(*text);
  }
  // Mostly near what is there: some of it fits the form, some does not.
  if ((*random)() % 2 == 0) return Cell::number(other.key);
  return Cell::number(test::random_key(random, column.kind()));
}

// By patch_numbers(), which is for numbers that are stored.
bool patch_number(std::span<std::byte> bytes, uint32_t row, int64_t key) {
  return Chunk::patch_numbers(
             bytes, 1, [row](size_t) { return row; },
             [key](size_t, int64_t* to) {
               *to = key;
               return true;
             }) == 1;
}

TEST(EncodingPatchModel, PatchesAndThawsKeepWhatAnArrayWouldHave) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Random random(seed);
  uint64_t patched = 0;
  uint64_t thawed = 0;
  for (int kind = 0; kind < kValueKinds; ++kind) {
    for (NamedColumn& named : adversarial_columns(static_cast<ValueKind>(kind), seed)) {
      if (named.column.rows() == 0) continue;
      SCOPED_TRACE(testing::Message() << "kind " << kind << ", " << named.name);
      ChunkBytes bytes = *encode(named.column.run());
      std::string text;
      for (int i = 0; i < 200; ++i) {
        const auto row = static_cast<uint32_t>(random() % named.column.rows());
        const Cell cell = random_cell(named.column, &random, &text);
        const bool as_key =
            named.column.kind() != ValueKind::kText && !cell.is_null && random() % 2 == 0;
        const Patch patch = as_key && patch_number(bytes, row, cell.key)
                                ? Patch::kDone
                                : Chunk::patch(bytes, row, cell);
        if (patch == Patch::kDone) {
          ++patched;
        } else {
          ++thawed;
          bytes = *thaw(Chunk::trusted(bytes), row, cell, NullRoom::kMap);
        }
        named.column.set(row, cell);
        if (i % 40 == 0) expect_cells(bytes, named.column);
      }
      expect_cells(bytes, named.column);
      // Frozen again: decoded and encoded anew.
      RunBuffer buffer;
      const Chunk chunk = Chunk::trusted(bytes);
      const ChunkBytes frozen = *encode(chunk.decode(0, chunk.rows(), &buffer));
      expect_cells(frozen, named.column);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
  EXPECT_GT(patched, thawed) << "a thawed form has room";
  EXPECT_GT(thawed, 100U);
}

TEST(EncodingPatchModel, AThawedFrameTakesValuesOnBothSides) {
  TestColumn column(ValueKind::kInt64);
  for (int64_t i = 0; i < 100; ++i) column.add(1'000'000 + i);
  ChunkBytes bytes = *encode(column.run());
  EXPECT_EQ(Chunk::trusted(bytes).encoding(), Encoding::kPackedFrame);
  ASSERT_EQ(Chunk::patch(bytes, 3, Cell::number(1'000'127)), Patch::kDone);
  ASSERT_EQ(Chunk::patch(bytes, 3, Cell::number(999'999)), Patch::kNeedsThaw);
  bytes = *thaw(Chunk::trusted(bytes), 3, Cell::number(999'999), NullRoom::kNone);
  EXPECT_EQ(Chunk::trusted(bytes).encoding(), Encoding::kFrame);
  EXPECT_EQ(Chunk::patch(bytes, 4, Cell::number(999'950)), Patch::kDone);
  EXPECT_EQ(Chunk::patch(bytes, 5, Cell::number(1'000'150)), Patch::kDone);
  EXPECT_EQ(Chunk::patch(bytes, 6, Cell::null()), Patch::kNeedsThaw) << "it has no null map";
  EXPECT_EQ(Chunk::trusted(bytes).min(), 999'950);
  EXPECT_EQ(Chunk::trusted(bytes).max(), 1'000'150);
}

TEST(EncodingPatchModel, AFrameAtTheEndOfTheNumbersTakesNoneFromTheirStart) {
  TestColumn column(ValueKind::kInt64);
  for (int64_t i = 0; i < 100; ++i) column.add(kKeyMax - i);
  ChunkBytes bytes = *encode(column.run());
  ASSERT_EQ(Chunk::trusted(bytes).encoding(), Encoding::kPackedFrame);
  const ChunkBytes before = bytes;
  EXPECT_FALSE(patch_number(bytes, 3, kKeyMin));
  EXPECT_EQ(Chunk::patch(bytes, 3, Cell::number(kKeyMin)), Patch::kNeedsThaw);
  EXPECT_EQ(bytes, before);
}

// Runs of patches, in which nulls and values that the form does not take come at any place: each is
// written up to there, and nothing behind.
TEST(EncodingPatchModel, RunsOfNumbersAreWrittenUpToWhatNeedsMore) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Random random(seed);
  size_t whole_runs = 0;
  size_t stops = 0;
  for (const ValueKind kind :
       {ValueKind::kInt32, ValueKind::kInt64, ValueKind::kDouble, ValueKind::kBoolean}) {
    for (NamedColumn& named : adversarial_columns(kind, seed)) {
      if (named.column.rows() == 0) continue;
      SCOPED_TRACE(testing::Message() << "kind " << static_cast<int>(kind) << ", " << named.name);
      ChunkBytes bytes = *encode(named.column.run());
      std::string text;
      for (int i = 0; i < 60; ++i) {
        std::vector<uint32_t> rows;
        std::vector<Cell> cells;
        for (uint64_t n = 1 + random() % 30; n != 0; --n) {
          rows.push_back(static_cast<uint32_t>(random() % named.column.rows()));
          cells.push_back(random_cell(named.column, &random, &text));
        }
        size_t done = 0;
        while (done < rows.size()) {
          const size_t taken = Chunk::patch_numbers(
              bytes, rows.size() - done, [&](size_t k) { return rows[done + k]; },
              [&](size_t k, int64_t* key) {
                *key = cells[done + k].key;
                return !cells[done + k].is_null;
              });
          for (size_t k = 0; k < taken; ++k) named.column.set(rows[done + k], cells[done + k]);
          if (i % 20 == 0) expect_cells(bytes, named.column);
          whole_runs += taken == rows.size() ? 1 : 0;
          done += taken;
          if (done == rows.size()) break;
          ++stops;
          if (Chunk::patch(bytes, rows[done], cells[done]) == Patch::kNeedsThaw) {
            bytes = *thaw(Chunk::trusted(bytes), rows[done], cells[done], NullRoom::kMap);
          }
          named.column.set(rows[done], cells[done]);
          ++done;
        }
      }
      expect_cells(bytes, named.column);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
  EXPECT_GT(whole_runs, 100U);
  EXPECT_GT(stops, 100U);
}

TEST(EncodingPatchModel, ARefusedPatchChangesNothing) {
  TestColumn column(ValueKind::kText);
  for (int i = 0; i < 500; ++i) column.add_text("abc" + std::to_string(i % 7));
  ChunkBytes bytes = *encode(column.run());
  ASSERT_EQ(Chunk::trusted(bytes).encoding(), Encoding::kDictionary);
  const ChunkBytes before = bytes;
  EXPECT_EQ(Chunk::patch(bytes, 3, Cell::of_text("abc7")), Patch::kNeedsThaw);
  EXPECT_EQ(Chunk::patch(bytes, 3, Cell::null()), Patch::kNeedsThaw);
  EXPECT_EQ(bytes, before);
  EXPECT_EQ(Chunk::patch(bytes, 3, Cell::of_text("abc6")), Patch::kDone);
  EXPECT_NE(bytes, before);
}

// `texts_of(i)` are written to random rows. How often the chunk was thawed.
template <class TextOf>
uint32_t write_texts(uint32_t count, const TextOf& text_of, Random* random, TestColumn* column,
                     ChunkBytes* bytes) {
  uint32_t thawed = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const auto row = static_cast<uint32_t>((*random)() % column->rows());
    const std::string text = text_of(i);
    const Cell cell = Cell::of_text(text);
    if (Chunk::patch(*bytes, row, cell) == Patch::kNeedsThaw) {
      *bytes = *thaw(Chunk::trusted(*bytes), row, cell, NullRoom::kNone);
      ++thawed;
    }
    column->set(row, cell);
  }
  return thawed;
}

TEST(EncodingPatchModel, AThawedDictionaryTakesTextsThatItLackedInTheirOrder) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Random random(seed);
  TestColumn column(ValueKind::kText);
  for (int i = 0; i < 4000; ++i) column.add_text("name " + std::to_string(i % 100));
  ChunkBytes bytes = *encode(column.run());
  ASSERT_EQ(Chunk::trusted(bytes).encoding(), Encoding::kDictionary);
  // Each of them once and again: "name 7" and "name 7b", behind it and before "name 8".
  const uint32_t thawed = write_texts(
      2000, [](uint32_t i) { return "name " + std::to_string(i % 100) + "b"; }, &random, &column,
      &bytes);
  EXPECT_EQ(thawed, 1U);
  EXPECT_EQ(Chunk::trusted(bytes).encoding(), Encoding::kSpacedDictionary);
  expect_cells(bytes, column);
  const auto filter = Chunk::trusted(bytes).filter(Predicate::between("name 30", "name 50b"));
  ASSERT_TRUE(filter) << "it is asked by its codes";
  EXPECT_EQ(filter->passes(), Passes::kSome);
}

TEST(EncodingPatchModel, AConstantTextIsThawedToADictionary) {
  Random random(3);
  TestColumn column(ValueKind::kText);
  for (int i = 0; i < 500; ++i) column.add_text("OE");
  ChunkBytes bytes = *encode(column.run());
  ASSERT_EQ(Chunk::trusted(bytes).encoding(), Encoding::kConstant);
  const auto text_of = [](uint32_t i) { return i % 3 == 0 ? std::string() : std::string("OF"); };
  EXPECT_EQ(write_texts(300, text_of, &random, &column, &bytes), 1U);
  EXPECT_EQ(Chunk::trusted(bytes).encoding(), Encoding::kSpacedDictionary);
  expect_cells(bytes, column);
}

// However they come, also where all go between the same two: so often is it spaced anew at most.
TEST(EncodingPatchModel, ADictionaryOfTooManyTextsEndsAsPlainOnes) {
  for (const bool falling : {false, true}) {
    Random random(5);
    TestColumn column(ValueKind::kText);
    for (int i = 0; i < 3000; ++i) column.add_text(i % 2 == 0 ? "a" : "c");
    ChunkBytes bytes = *encode(column.run());
    ASSERT_EQ(Chunk::trusted(bytes).encoding(), Encoding::kDictionary);
    const auto text_of = [&](uint32_t i) {
      return "b" + std::to_string(falling ? 99'999 - i : 10'000 + i);
    };
    const uint32_t thawed = write_texts(2500, text_of, &random, &column, &bytes);
    EXPECT_EQ(Chunk::trusted(bytes).encoding(), Encoding::kPlain);
    EXPECT_GT(thawed, 4U);
    EXPECT_LT(thawed, 30U) << "8 to 11 bits, and then some heaps of plain texts";
    expect_cells(bytes, column);
  }
}

// Texts that no row has any more go when it is spaced anew.
TEST(EncodingPatchModel, ASpacedDictionaryForgetsWhatNoRowHas) {
  TestColumn column(ValueKind::kText);
  for (int i = 0; i < 2000; ++i) column.add_text("abc");
  ChunkBytes bytes = *encode(column.run(), Encoding::kDictionary);
  std::string text(1000, 'x');
  uint32_t thawed = 0;
  for (const char letter : std::string_view("pqrstuvw")) {
    text[0] = letter;
    const Cell cell = Cell::of_text(text);
    if (Chunk::patch(bytes, 1, cell) == Patch::kDone) continue;
    bytes = *thaw(Chunk::trusted(bytes), 1, cell, NullRoom::kNone);
    ++thawed;
  }
  EXPECT_EQ(thawed, 2U);
  ASSERT_EQ(Chunk::trusted(bytes).encoding(), Encoding::kSpacedDictionary);
  EXPECT_LT(bytes.size(), 512 * 8 + 2000 * 2 + 7 * text.size()) << "4 more were forgotten";
  std::string scratch;
  EXPECT_EQ(test::cell_at(*Chunk::open(bytes), 1, &scratch).text, text);
  EXPECT_EQ(test::cell_at(*Chunk::open(bytes), 0, &scratch).text, "abc");
  // Longer ones are for plain texts, which say how much they are together.
  text.resize(1025);
  ASSERT_EQ(Chunk::patch(bytes, 1, Cell::of_text(text)), Patch::kNeedsThaw);
  bytes = *thaw(Chunk::trusted(bytes), 1, Cell::of_text(text), NullRoom::kNone);
  EXPECT_EQ(Chunk::trusted(bytes).encoding(), Encoding::kPlain);
}

// Texts of letters and digits with now and then one that is longer and has others: packed or of
// symbols, and never a dictionary.
TestColumn column_of_different_texts(uint32_t rows, Random* random) {
  TestColumn column(ValueKind::kText);
  for (uint32_t i = 0; i < rows; ++i) {
    if (i % 50 == 7) {
      column.add_null();
    } else {
      column.add_text(test::random_text(random, 20 + i % 30, "abcdefghijklmnopqrstuvwxyz012345"));
    }
  }
  return column;
}

TEST(EncodingPatchModel, APackedTextIsThawedBesideItsPatches) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Random random(seed);
  for (const Encoding form :
       {Encoding::kPackedText, Encoding::kSymbolText, Encoding::kSymbolDictionary}) {
    TestColumn column = column_of_different_texts(4000, &random);
    ChunkBytes bytes = *encode(column.run(), form);
    const size_t frozen_bytes = bytes.size();
    // Rows change again and again, grow and shrink, and are null in between.
    uint32_t thawed = 0;
    for (uint32_t i = 0; i < 2000; ++i) {
      const auto row = static_cast<uint32_t>(random() % 300) * 13;
      const std::string text =
          test::random_text(&random, random() % 60, "0123456789 |.\xff") + std::to_string(i);
      const Cell cell = i % 7 == 3 ? Cell::null() : Cell::of_text(text);
      if (Chunk::patch(bytes, row, cell) == Patch::kNeedsThaw) {
        bytes = *thaw(Chunk::trusted(bytes), row, cell, NullRoom::kMap);
        ++thawed;
      }
      column.set(row, cell);
      if (i % 200 != 0) continue;
      ASSERT_NO_FATAL_FAILURE(expect_cells(bytes, column));
    }
    ASSERT_NO_FATAL_FAILURE(expect_cells(bytes, column));
    EXPECT_EQ(Chunk::trusted(bytes).encoding(), Encoding::kPatchedText);
    EXPECT_GT(thawed, 0U);
    EXPECT_LT(thawed, 5U) << "a heap that is full makes one with more room";
    EXPECT_LT(bytes.size(), 2 * frozen_bytes) << "what did not change stays as small as it was";
    uint64_t text_bytes = 0;
    for (uint32_t row = 0; row < column.rows(); ++row) {
      // A null keeps the text that the row had, so that a patch of it is a patch of the map.
      std::string scratch;
      const std::string_view text =
          text_codec(Encoding::kPatchedText)
              ->text_at(*reinterpret_cast<const ChunkHeader*>(bytes.data()), row, &scratch);
      text_bytes += text.size();
    }
    EXPECT_EQ(Chunk::trusted(bytes).text_bytes(), text_bytes);
    const auto filter = Chunk::trusted(bytes).filter(Predicate::prefix("ab"));
    if (form == Encoding::kPackedText) {
      ASSERT_TRUE(filter) << "it is asked by its letters";
      EXPECT_EQ(filter->passes(), Passes::kSome);
    }
  }
}

// Whatever the frozen texts answer together, patched ones answer for themselves.
TEST(EncodingPatchModel, PatchesAnswerWhereAllFrozenTextsDoOrNone) {
  Random random(11);
  TestColumn column(ValueKind::kText);
  for (int i = 0; i < 1000; ++i) {
    column.add_text("abcdefgh" + test::random_text(&random, 24, "abcdefghijklmnop"));
  }
  ChunkBytes bytes = *encode(column.run());
  ASSERT_EQ(Chunk::trusted(bytes).encoding(), Encoding::kPackedText);
  const Cell cell = Cell::of_text("zz%");
  bytes = *thaw(Chunk::trusted(bytes), 64, cell, NullRoom::kNone);
  ASSERT_EQ(Chunk::trusted(bytes).encoding(), Encoding::kPatchedText);
  column.set(64, cell);
  const auto expect_rows = [&](const Predicate& predicate, uint32_t count, bool patched) {
    std::vector<uint64_t> words(bitmap_words(1000));
    test::select(Chunk::trusted(bytes), predicate, words.data());
    EXPECT_EQ(bit_is_set(words.data(), 64), patched);
    uint32_t rows = 0;
    for (uint32_t row = 0; row < 1000; ++row) rows += bit_is_set(words.data(), row) ? 1 : 0;
    EXPECT_EQ(rows, count);
  };
  expect_rows(Predicate::suffix("%"), 1, true);  // a letter that no frozen text has
  expect_rows(Predicate::prefix("zz"), 1, true);
  expect_rows(Predicate::prefix("abcdefgh"), 999, false);
  expect_rows(Predicate::between(std::string_view("a"), "zzz"), 1000, true);
  expect_rows(Predicate::between(std::string_view("a"), "zz"), 999, false);
  expect_rows(Predicate::compare(Comparison::kNotEqual, std::string_view("zz%")), 999, false);
}

TEST(EncodingPatchModel, APackedTextWithManyPatchesEndsAsPlainTexts) {
  Random random(12);
  TestColumn column = column_of_different_texts(2000, &random);
  ChunkBytes bytes = *encode(column.run(), Encoding::kPackedText);
  const auto text_of = [](uint32_t i) { return "other text no. " + std::to_string(i); };
  const uint32_t thawed = write_texts(4000, text_of, &random, &column, &bytes);
  EXPECT_EQ(Chunk::trusted(bytes).encoding(), Encoding::kPlain);
  EXPECT_LT(thawed, 10U);
  expect_cells(bytes, column);
}

TEST(EncodingPatchModel, AFullHeapSaysSo) {
  TestColumn column(ValueKind::kText);
  for (int i = 0; i < 100; ++i) column.add_text(std::to_string(i));
  ChunkBytes bytes = *encode(column.run(), Encoding::kPlain);
  bytes = *thaw(Chunk::trusted(bytes), 0, Cell::null(), NullRoom::kMap);
  ASSERT_EQ(Chunk::trusted(bytes).encoding(), Encoding::kPlain);
  std::string longer;
  uint32_t taken = 0;
  while (Chunk::patch(bytes, 7, Cell::of_text(longer)) == Patch::kDone) {
    ++taken;
    longer += 'x';
    ASSERT_LT(taken, 10'000U);
  }
  EXPECT_GT(taken, 50U);
  bytes = *thaw(Chunk::trusted(bytes), 7, Cell::of_text(longer), NullRoom::kMap);
  std::string scratch;
  EXPECT_EQ(test::cell_at(*Chunk::open(bytes), 7, &scratch), Cell::of_text(longer));
}

// Of memory that nobody writes: a text is refused for its size before it is read.
TEST(EncodingPatchModel, ATextThatNoChunkHoldsIsAnErrorOfItsThaw) {
  Random random(9);
  TestColumn column(ValueKind::kText);
  for (int i = 0; i < 1000; ++i) {
    column.add_text(test::random_text(&random, 30, test::kAlphanumerics));
  }
  constexpr size_t kLargest = UINT32_MAX - 1;  // that a row may have
  const base::Region zeroes(kLargest, base::NumaNode(0));
  const char* const text = reinterpret_cast<const char*>(zeroes.data());
  for (const Encoding form : {Encoding::kPlain, Encoding::kDictionary, Encoding::kSymbolDictionary,
                              Encoding::kPackedText, Encoding::kSymbolText}) {
    SCOPED_TRACE(encoding_name(form));
    const ChunkBytes bytes = *encode(column.run(), form);
    for (const size_t size : {kLargest, size_t{kChunkTextBytesMax} + 1}) {
      const auto thawed =
          thaw(Chunk::trusted(bytes), 3, Cell::of_text({text, size}), NullRoom::kMap);
      ASSERT_FALSE(thawed);
      EXPECT_EQ(thawed.code(), base::ErrorCode::kInvalidArgument);
    }
  }
}

}  // namespace
}  // namespace diptych::storage::encoding
