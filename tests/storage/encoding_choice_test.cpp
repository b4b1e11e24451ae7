// Which form encode() chooses, what it costs, and what it refuses.

#include <gtest/gtest.h>

#include "storage/encoding/encode.h"
#include "tests/storage/chunk_reads.h"
#include "tests/storage/encoding_columns.h"

namespace diptych::storage::encoding {
namespace {

using test::Random;
using test::TestColumn;

constexpr uint32_t kManyRows = 1U << 14;

template <class AddRow>
ChunkBytes encoded(ValueKind kind, AddRow&& add_row, Choice choice = Choice::kFast) {
  TestColumn column(kind);
  Random random(1);
  for (uint32_t row = 0; row < kManyRows; ++row) add_row(&column, &random, row);
  return *encode(column.run(), choice);
}

Encoding form(const ChunkBytes& bytes) {
  return Chunk::trusted(bytes).encoding();
}

TEST(EncodingChoice, NumbersTakeTheSmallestFormOrOneThatIsNearlyAsSmall) {
  const auto spread = [](uint64_t values) {
    return encoded(ValueKind::kInt32, [=](TestColumn* column, Random* random, uint32_t) {
      column->add(1'000'000 + static_cast<int64_t>((*random)() % values));
    });
  };
  EXPECT_EQ(form(spread(1)), Encoding::kConstant);
  EXPECT_EQ(form(spread(10)), Encoding::kPackedFrame);
  EXPECT_EQ(form(spread(256)), Encoding::kFrame);
  EXPECT_EQ(form(spread(257)), Encoding::kPackedFrame);
  EXPECT_EQ(form(spread(65'536)), Encoding::kFrame);
  EXPECT_EQ(form(spread(uint64_t{1} << 30)), Encoding::kPlain);
  const ChunkBytes four_bits = spread(10);
  EXPECT_LT(four_bits.size(), kManyRows / 2 + 200);
}

TEST(EncodingChoice, FewFarValuesTakeADictionary) {
  const ChunkBytes bytes =
      encoded(ValueKind::kInt64, [](TestColumn* column, Random* random, uint32_t) {
        column->add(static_cast<int64_t>((*random)() % 30) * 1'000'000'007);
      });
  EXPECT_EQ(form(bytes), Encoding::kDictionary);
  EXPECT_LT(bytes.size(), kManyRows * 5 / 8 + 30 * 8 + 200);
}

TEST(EncodingChoice, RandomTextOfSixtyTwoLettersTakesSixBitsALetter) {
  const ChunkBytes bytes =
      encoded(ValueKind::kText, [](TestColumn* column, Random* random, uint32_t) {
        column->add_text(test::random_text(random, 24, test::kAlphanumerics));
      });
  EXPECT_EQ(form(bytes), Encoding::kPackedText);
  EXPECT_LT(bytes.size(), kManyRows * 24 * 6 / 8 + 400);
}

TEST(EncodingChoice, TextsThatRepeatTakeADictionaryAndPartsThatRepeatTakeSymbols) {
  EXPECT_EQ(form(encoded(ValueKind::kText,
                         [](TestColumn* column, Random* random, uint32_t) {
                           column->add_text(test::last_name((*random)() % 300));
                         })),
            Encoding::kDictionary);
  const ChunkBytes names =
      encoded(ValueKind::kText, [](TestColumn* column, Random* random, uint32_t) {
        column->add_text(test::last_name((*random)()) + " " + test::last_name((*random)()));
      });
  EXPECT_EQ(form(names), Encoding::kSymbolText);
  EXPECT_LT(names.size(), kManyRows * 10) << "of 27 bytes on average";
}

TEST(EncodingChoice, LongTextsThatComeAFewTimesTakeADictionaryOfSymbols) {
  const auto page = [](uint64_t number) {
    return "https://www.example.org/articles/" + test::last_name(number / 3) + "/" +
           std::to_string(number * 7919 % 100'000) + ".html";
  };
  const auto pages = [&](uint64_t values) {
    return encoded(ValueKind::kText, [&](TestColumn* column, Random* random, uint32_t) {
      column->add_text(page((*random)() % values));
    });
  };
  const ChunkBytes repeated = pages(kManyRows / 8);
  EXPECT_EQ(form(repeated), Encoding::kSymbolDictionary);
  EXPECT_LT(repeated.size(), kManyRows * 4) << "of 50 bytes on average";
  EXPECT_EQ(form(pages(30)), Encoding::kDictionary) << "its texts take next to nothing";
  EXPECT_EQ(form(pages(kManyRows)), Encoding::kSymbolText) << "they come twice, if at all";
  EXPECT_EQ(form(pages(100 * kManyRows)), Encoding::kSymbolText);
}

TEST(EncodingChoice, AColumnOfNullsAloneHasNoNullMap) {
  for (int kind = 0; kind < kValueKinds; ++kind) {
    const ChunkBytes bytes =
        encoded(static_cast<ValueKind>(kind),
                [](TestColumn* column, Random*, uint32_t) { column->add_null(); });
    EXPECT_EQ(form(bytes), Encoding::kConstant);
    EXPECT_LE(bytes.size(), sizeof(ChunkHeader) + kChunkTailBytes);
  }
}

TEST(EncodingChoice, SettledDataTakesZstdOnlyWhereThatIsSmaller) {
  const auto phrase = [](TestColumn* column, Random* random, uint32_t row) {
    // The same long phrase in every text, which no symbol of 8 bytes holds.
    column->add_text("the order of customer " + std::to_string((*random)() % 100'000) +
                     " was delivered by carrier " + std::to_string(row % 10) + " on time");
  };
  const ChunkBytes fast = encoded(ValueKind::kText, phrase);
  const ChunkBytes settled = encoded(ValueKind::kText, phrase, Choice::kSettled);
  EXPECT_EQ(form(settled), Encoding::kZstd);
  EXPECT_LT(settled.size(), fast.size() * 19 / 20);
  const auto letters = [](TestColumn* column, Random* random, uint32_t) {
    column->add_text(test::random_text(random, 24, test::kAlphanumerics));
  };
  EXPECT_EQ(form(encoded(ValueKind::kText, letters, Choice::kSettled)), Encoding::kPackedText);
}

TEST(EncodingChoice, WhatNoChunkHoldsIsAnError) {
  std::vector<int32_t> values(kChunkRowsMax + 1);
  const ColumnRun run{ValueKind::kInt32, kChunkRowsMax + 1, values.data(), nullptr};
  EXPECT_EQ(encode(run).code(), base::ErrorCode::kInvalidArgument);
  EXPECT_TRUE(encode(ColumnRun{ValueKind::kInt32, kChunkRowsMax, values.data(), nullptr}));
  // Texts that share their bytes: more than kChunkTextBytesMax of them in all.
  const std::string wide(8 << 20, 'x');
  const std::vector<base::StringRef> texts(129, base::StringRef(wide));
  const ColumnRun wide_run{ValueKind::kText, 129, texts.data(), nullptr};
  EXPECT_EQ(encode(wide_run).code(), base::ErrorCode::kInvalidArgument);
  values = {1, 2};
  const ColumnRun two{ValueKind::kInt32, 2, values.data(), nullptr};
  const auto forced = encode(two, Encoding::kConstant);
  ASSERT_FALSE(forced);
  EXPECT_EQ(forced.code(), base::ErrorCode::kInvalidArgument);
  EXPECT_NE(forced.error().message.find("constant"), std::string::npos);
  EXPECT_EQ(encode(two, Encoding::kPackedText).code(), base::ErrorCode::kInvalidArgument);
}

// The SMA answers: the codes of this chunk are damaged after it was made, and nobody looks at them.
TEST(EncodingChoice, PredicatesOutsideTheBoundsReadNoCodes) {
  TestColumn column(ValueKind::kInt32);
  for (int64_t i = 0; i < 128; ++i) column.add(100 + i % 100);
  ChunkBytes bytes = *encode(column.run());
  ASSERT_EQ(form(bytes), Encoding::kPackedFrame);
  auto* const header = reinterpret_cast<ChunkHeader*>(bytes.data());
  std::fill_n(header->at(header->codes_offset), 128 * 7 / 8, std::byte{0xff});
  const Chunk chunk = Chunk::trusted(bytes);
  uint64_t words[2];
  const auto answer = [&](const Predicate& predicate) {
    test::select(chunk, predicate, words);
    return words[0] == words[1] && (words[0] == 0 || words[0] == ~uint64_t{0}) && words[0] != 0;
  };
  EXPECT_TRUE(answer(Predicate::between(int64_t{100}, int64_t{199})));
  EXPECT_TRUE(answer(Predicate::compare(Comparison::kNotEqual, int64_t{200})));
  EXPECT_FALSE(answer(Predicate::compare(Comparison::kEqual, int64_t{200})));
  EXPECT_FALSE(answer(Predicate::compare(Comparison::kLess, int64_t{100})));
  // All codes are seven ones now, which is 227: here they were looked at.
  EXPECT_FALSE(answer(Predicate::between(int64_t{100}, int64_t{198})));
}

}  // namespace
}  // namespace diptych::storage::encoding
