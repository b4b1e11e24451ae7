// The parts that the encodings are made of: arrays of codes, their kernels, tables of symbols.

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <hwy/highway.h>

#include "storage/encoding/code_kernels.h"
#include "storage/encoding/codes.h"
#include "storage/encoding/column.h"
#include "storage/encoding/predicate.h"
#include "storage/encoding/symbol_table.h"
#include "storage/encoding/text_positions.h"
#include "tests/storage/encoding_columns.h"
#include "tests/storage/kernel_targets.h"

namespace diptych::storage::encoding {
namespace {

void expect_every_width() {
  std::mt19937_64 random(3);
  for (uint32_t bits = 0; bits <= 57; ++bits) {
    const Lanes lanes = bits <= 25 || bits == 32 ? Lanes::k4 : Lanes::k8;
    ASSERT_TRUE(is_code_width(bits, Lanes::k8));
    ASSERT_EQ(is_code_width(bits, Lanes::k4), lanes == Lanes::k4);
    const uint64_t mask = (uint64_t{1} << bits) - 1;
    for (const uint32_t count : {0U, 1U, 7U, 64U, 203U}) {
      std::vector<uint64_t> codes(count);
      for (uint64_t& code : codes) code = random() & mask;
      std::vector<std::byte> bytes(code_array_bytes(count, bits) + kReadableBehind);
      CodeWriter writer(bytes.data(), bits);
      for (const uint64_t code : codes) writer.add(code);
      writer.finish();
      if (count > 0) {
        codes[count / 2] ^= mask;
        set_code(bytes.data(), bits, count / 2, codes[count / 2]);
      }
      const Codes array{bytes.data(), bits};
      for (uint32_t i = 0; i < count; ++i) ASSERT_EQ(array[i], codes[i]) << bits << " bits, " << i;
      const uint32_t first = count > 64 ? 64 : 0;
      // One more, which stays as it is.
      std::vector<uint64_t> wide(count - first + 1, 0xabab);
      decode_codes(array, first, count - first, uint64_t{1000}, wide.data());
      std::vector<uint32_t> narrow(count - first + 1, 0xabab);
      if (lanes == Lanes::k4) decode_codes(array, first, count - first, 1000U, narrow.data());
      for (uint32_t i = first; i < count; ++i) {
        ASSERT_EQ(wide[i - first], codes[i] + 1000) << bits << " bits, " << i;
        if (lanes != Lanes::k4) continue;
        ASSERT_EQ(narrow[i - first], static_cast<uint32_t>(codes[i] + 1000))
            << bits << " bits, " << i;
      }
      ASSERT_EQ(wide.back(), 0xabab);
      ASSERT_EQ(narrow.back(), 0xabab);
    }
  }
}

TEST(EncodingCodes, EveryWidthIsWrittenReadReplacedAndDecoded) {
  for (const int64_t target : test::kernel_targets()) {
    SCOPED_TRACE(testing::Message() << "target " << target);
    hwy::SetSupportedTargetsForTest(target);
    ASSERT_NO_FATAL_FAILURE(expect_every_width());
  }
  hwy::SetSupportedTargetsForTest(0);
}

TEST(EncodingCodes, WidthsHoldTheirLargestCode) {
  EXPECT_EQ(code_bits(0, Lanes::k4), 0U);
  EXPECT_EQ(code_bits(1, Lanes::k4), 1U);
  EXPECT_EQ(code_bits((1U << 25) - 1, Lanes::k4), 25U);
  EXPECT_EQ(code_bits(1U << 25, Lanes::k4), 64U);
  EXPECT_EQ(code_bits((uint64_t{1} << 57) - 1, Lanes::k8), 57U);
  EXPECT_EQ(code_bits(uint64_t{1} << 57, Lanes::k8), 64U);
  EXPECT_EQ(aligned_code_bits(255, Lanes::k4), 8U);
  EXPECT_EQ(aligned_code_bits(256, Lanes::k4), 16U);
  EXPECT_EQ(aligned_code_bits(65'536, Lanes::k4), 64U);
  EXPECT_EQ(aligned_code_bits(65'536, Lanes::k8), 24U);
  EXPECT_EQ(aligned_code_bits((1U << 24) - 1, Lanes::k8), 24U);
  EXPECT_EQ(aligned_code_bits(1U << 24, Lanes::k8), 32U);
  EXPECT_EQ(aligned_code_bits(uint64_t{1} << 32, Lanes::k8), 64U);
}

TEST(EncodingColumn, DoublesAreOrderedByTheirKeys) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double values[] = {-infinity, -1e300, -1,    -5e-324,  -0.0,        0.0,
                           5e-324,    1,      1e300, infinity, std::nan("")};
  for (size_t i = 1; i < std::size(values); ++i) {
    EXPECT_LT(double_key(values[i - 1]), double_key(values[i])) << values[i];
    if (std::isnan(values[i])) continue;
    EXPECT_EQ(std::bit_cast<uint64_t>(key_double(double_key(values[i]))),
              std::bit_cast<uint64_t>(values[i]));
  }
  EXPECT_EQ(double_key(-std::nan("")), double_key(std::nan(""))) << "one NaN";
}

TEST(EncodingColumn, TextKeysAreOrderedAsTheirFirstBytes) {
  EXPECT_LT(text_key("a"), text_key("b"));
  EXPECT_LT(text_key(""), text_key("a"));
  EXPECT_LT(text_key("z"), text_key("\xff")) << "bytes are unsigned";
  EXPECT_EQ(text_key("12345678"), text_key("123456789"));
}

TEST(EncodingPredicate, RangesAreSortedDisjointAndJoined) {
  const int64_t constants[] = {7, 3, 4, 5, 3, 9};
  const Predicate in = Predicate::in(constants);
  ASSERT_EQ(in.keys().size(), 3U);
  EXPECT_EQ(in.keys()[0].first, 3);
  EXPECT_EQ(in.keys()[0].last, 5);
  EXPECT_EQ(in.complement().keys().size(), 4U);
  EXPECT_EQ(in.complement().complement().keys().size(), 3U);
  EXPECT_TRUE(Predicate::between(int64_t{5}, int64_t{4}).keys().empty());
  EXPECT_TRUE(Predicate::compare(Comparison::kLess, kKeyMin).keys().empty());
  EXPECT_TRUE(Predicate::compare(Comparison::kGreater, kKeyMax).keys().empty());
  const std::string_view texts[] = {"b", "a", "b"};
  EXPECT_EQ(Predicate::in(texts).texts().size(), 2U);
  EXPECT_TRUE(Predicate::in(texts).texts()[0].is_point());
  EXPECT_FALSE(Predicate::prefix("a").texts()[0].is_point());
  EXPECT_EQ(Predicate::prefix("a\xff").texts()[0].end, "b");
  EXPECT_FALSE(Predicate::prefix("\xff\xff").texts()[0].end.has_value());
}

std::string expanded(const SymbolTable& table, std::string_view text) {
  std::vector<uint8_t> codes(SymbolTable::compressed_max(text.size()) + 1);
  const size_t size = table.compress(text, codes.data());
  std::string out(8 * size + 8, '\0');
  const char* const end = expand_symbols(table.symbols(), codes.data(), size, out.data());
  out.resize(static_cast<size_t>(end - out.data()));
  return out;
}

TEST(EncodingSymbols, ATableGivesTextsBackThatItWasNotLearnedFrom) {
  std::mt19937_64 random(5);
  std::vector<std::string> names;
  names.reserve(300);
  for (int i = 0; i < 300; ++i) names.push_back(test::last_name(random()));
  const std::vector<std::string_view> sample(names.begin(), names.end());
  uint64_t of_sample = 0;
  const SymbolTable table = SymbolTable::learn(sample, &of_sample);
  size_t plain = 0;
  size_t compressed = 0;
  std::vector<uint8_t> codes(200);
  for (const std::string& name : names) {
    ASSERT_EQ(expanded(table, name), name);
    plain += name.size();
    compressed += table.compress(name, codes.data());
  }
  EXPECT_EQ(of_sample, compressed);
  EXPECT_LT(compressed * 3, plain) << "three syllables are three or four codes";
  for (const std::string_view other : {"", "x", "\xff\xff\xff", "no such name", "BARBARBARBA"}) {
    EXPECT_EQ(expanded(table, other), other);
  }
  // The same table from its bytes compresses in the same way: equality is told by codes.
  const SymbolTable again = SymbolTable::of(table.symbols());
  std::vector<uint8_t> others(200);
  for (const std::string& name : names) {
    const size_t size = table.compress(name, codes.data());
    ASSERT_EQ(again.compress(name, others.data()), size);
    ASSERT_TRUE(
        std::equal(codes.begin(), codes.begin() + static_cast<ptrdiff_t>(size), others.begin()));
    // And with bytes of other texts behind it.
    const std::string padded = name + "OUGHTABLE";
    ASSERT_EQ(table.compress_padded(padded.data(), name.size(), others.data()), size);
    ASSERT_TRUE(
        std::equal(codes.begin(), codes.begin() + static_cast<ptrdiff_t>(size), others.begin()));
  }
}

TEST(EncodingSymbols, ATableLearnedFromNothingEscapesAll) {
  uint64_t of_sample = 1;
  const SymbolTable table = SymbolTable::learn({}, &of_sample);
  EXPECT_EQ(of_sample, 0U);
  EXPECT_EQ(expanded(table, "anything"), "anything");
}

// Whoever compares or hashes them looks at their bytes, also at those behind a short text's end.
TEST(EncodingTexts, AreReferredToAsAnyOtherTextOfTheirBytes) {
  std::vector<uint32_t> lengths;
  for (uint32_t length = 0; length <= 40; ++length) lengths.push_back(length);
  for (uint32_t length = 40; length != 0; --length) lengths.push_back(length);
  std::string text;
  for (const uint32_t length : lengths)
    text += std::string(length, static_cast<char>('A' + length));
  text += std::string(12, 'z');
  std::vector<base::StringRef> refs(lengths.size());
  refer_to_texts(text.data(), lengths, refs.data());
  size_t at = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    const base::StringRef expected(std::string_view(text).substr(at, lengths[i]));
    EXPECT_EQ(std::memcmp(&refs[i], &expected, sizeof expected), 0) << lengths[i];
    at += lengths[i];
  }
}

}  // namespace
}  // namespace diptych::storage::encoding
