#include "cli/csv_reader.h"

#include <algorithm>
#include <cstring>
#include <random>

#include <gtest/gtest.h>

namespace diptych::cli {
namespace {

// A source that gives at most `piece` bytes at a time.
ByteSource pieces(std::string text, size_t piece) {
  return [text = std::move(text), piece,
          at = size_t{0}](std::span<char> buffer) mutable -> base::Result<size_t> {
    const size_t bytes = std::min({piece, buffer.size(), text.size() - at});
    std::memcpy(buffer.data(), text.data() + at, bytes);
    at += bytes;
    return bytes;
  };
}

// Records as "field|'quoted field'", faults as "!line L field F: reason".
std::vector<std::string> read_all(const std::string& text, size_t piece = SIZE_MAX,
                                  CsvSyntax syntax = {}) {
  CsvReader reader(pieces(text, piece), syntax);
  CsvRecord record;
  std::vector<std::string> records;
  while (true) {
    const auto found = reader.next(&record);
    EXPECT_TRUE(found.ok());
    if (!found.ok() || !*found) return records;
    if (const auto& fault = record.fault()) {
      records.push_back("!line " + std::to_string(fault->line) + " field " +
                        std::to_string(fault->field) + ": " + fault->reason);
      continue;
    }
    std::string line;
    for (size_t i = 0; i < record.field_count(); ++i) {
      const bool quoted = record.quoting(i) == Quoting::kQuoted;
      line += (i == 0 ? "" : "|") + std::string(quoted ? "'" : "") + std::string(record.text(i)) +
              (quoted ? "'" : "");
    }
    records.push_back(line);
  }
}

using Records = std::vector<std::string>;

TEST(CsvReader, ReadsFieldsAndRecords) {
  EXPECT_EQ(read_all("a,b\n1,2\n"), (Records{"a|b", "1|2"}));
  EXPECT_EQ(read_all("a,b\r\n1,2"), (Records{"a|b", "1|2"}));
  EXPECT_EQ(read_all("a,,\n,,\n"), (Records{"a||", "||"}));
  EXPECT_EQ(read_all(" a ,b \n"), (Records{" a |b "}));
}

TEST(CsvReader, AnEmptyFileHasNoRecords) {
  EXPECT_EQ(read_all(""), Records{});
  EXPECT_EQ(read_all("\n\r\n\n"), Records{});
  EXPECT_EQ(read_all("\xef\xbb\xbf"), Records{});
}

TEST(CsvReader, QuotesHoldCommasLineEndsAndQuotes) {
  EXPECT_EQ(read_all("\"a,b\",\"c\"\"d\",\"e\r\nf\"\n"), (Records{"'a,b'|'c\"d'|'e\r\nf'"}));
  EXPECT_EQ(read_all("\"\",\"\"\"\"\n"), (Records{"''|'\"'"}));
  EXPECT_EQ(read_all("x,\"\""), (Records{"x|''"}));
}

TEST(CsvReader, WithoutAQuoteFieldsAreTheBytesThatStandThere) {
  const CsvSyntax syntax{.delimiter = '\t', .quote = std::nullopt};
  for (const size_t piece : {size_t{1}, SIZE_MAX}) {
    EXPECT_EQ(read_all("5\" disk\t\"5 disk\r\n\"\"\t'x'\\N\n", piece, syntax),
              (Records{"5\" disk|\"5 disk", "\"\"|'x'\\N"}));
  }
}

TEST(CsvReader, AnotherQuoteStandsInTheUsualOnesPlace) {
  EXPECT_EQ(read_all("'a,b','c''d',\"e\"\n", SIZE_MAX, {.quote = '\''}),
            (Records{"'a,b'|'c'd'|\"e\""}));
}

TEST(CsvReader, AByteOrderMarkIsSkippedInFrontOnly) {
  EXPECT_EQ(read_all("\xef\xbb\xbf"
                     "a\n\xef\xbb\xbf"
                     "b\n"),
            (Records{"a",
                     "\xef\xbb\xbf"
                     "b"}));
  EXPECT_EQ(read_all("\xef\xbb"), (Records{"\xef\xbb"}));
  // However few bytes a pipe gives at first.
  for (const size_t piece : {1, 2}) {
    EXPECT_EQ(read_all("\xef\xbb\xbf"
                       "a\n",
                       piece),
              Records{"a"});
    EXPECT_EQ(read_all("\xef\xbb", piece), (Records{"\xef\xbb"}));
    EXPECT_EQ(read_all("ab\nc", piece), (Records{"ab", "c"}));
  }
}

TEST(CsvReader, EmptyLinesAreSkippedAndCounted) {
  EXPECT_EQ(read_all("a\n\n\nb\"\n"),
            (Records{"a", "!line 4 field 0: a quote inside a field that does not begin with one"}));
}

TEST(CsvReader, ReadingGoesOnAfterAFault) {
  EXPECT_EQ(
      read_all("1,a\"b,2\n3,4\n"),
      (Records{"!line 1 field 1: a quote inside a field that does not begin with one", "3|4"}));
  EXPECT_EQ(read_all("\"a\"b,2\n3,4\n"),
            (Records{"!line 1 field 0: text after the closing quote", "3|4"}));
  EXPECT_EQ(read_all("a\rb\n3,4\n"),
            (Records{"!line 1 field 0: a carriage return without a line feed", "3|4"}));
  EXPECT_EQ(read_all("a\n\rb\nc\n"),
            (Records{"a", "!line 2 field 0: a carriage return without a line feed", "c"}));
}

TEST(CsvReader, AQuoteThatNeverClosesIsReportedWhereItOpens) {
  EXPECT_EQ(read_all("a\nb,\"c\nd\ne\n"),
            (Records{"a", "!line 2 field 1: the quote that opens on line 2 never closes"}));
  EXPECT_EQ(read_all("\""),
            (Records{"!line 1 field 0: the quote that opens on line 1 never closes"}));
}

// The limit is a field's, not a record's, and who meets it is told of it.
TEST(CsvReader, AQuotedFieldHasAMostOfBytesWhateverFieldsItsRecordHas) {
  const std::string wide(kFieldBytesMax / 2 + 1, 'x');
  const bool is_whole =
      read_all(wide + "," + wide + ",\"c\"\n") == Records{wide + "|" + wide + "|'c'"};
  EXPECT_TRUE(is_whole);  // no text of it in an error's message
  EXPECT_EQ(read_all("a,\"" + wide + wide + "\"\nb\n"),
            (Records{"!line 1 field 1: the quote that opens on line 1 does not close within "
                     "67108864 bytes"}));
}

// A file without line ends, which is no CSV, is not taken into memory.
TEST(CsvReader, ABareFieldHasAMostOfBytesAndARecordOfFields) {
  const std::string wide(kFieldBytesMax / 2 + 1, 'x');
  EXPECT_EQ(read_all("a," + wide + wide + "\nb\n"),
            (Records{"!line 1 field 1: a field of more than 67108864 bytes", "b"}));
  const std::string commas(kFieldsMax - 1, ',');
  const bool is_whole =
      read_all(commas + "\nb\n") == Records{std::string(kFieldsMax - 1, '|'), "b"};
  EXPECT_TRUE(is_whole);
  EXPECT_EQ(read_all(commas + ",\nb\n"),
            (Records{"!line 1 field 65535: more than 65536 fields", "b"}));
}

TEST(CsvReader, AFieldKnowsTheLineItBeginsOn) {
  CsvReader reader(pieces("\"a\nb\",\"c\n\",d\nnext\n", SIZE_MAX));
  CsvRecord record;
  ASSERT_TRUE(*reader.next(&record));
  EXPECT_EQ(record.line(), 1u);
  EXPECT_EQ(record.line_of(0), 1u);
  EXPECT_EQ(record.line_of(1), 2u);
  EXPECT_EQ(record.line_of(2), 3u);
  ASSERT_TRUE(*reader.next(&record));
  EXPECT_EQ(record.line(), 4u);
}

TEST(CsvReader, AFailingSourceFailsTheRead) {
  CsvReader reader([first = true](std::span<char> buffer) mutable -> base::Result<size_t> {
    if (!first) return base::Error(base::ErrorCode::kIo, "the disk is gone");
    first = false;
    buffer[0] = 'a';
    return size_t{1};
  });
  CsvRecord record;
  const auto found = reader.next(&record);
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().message, "the disk is gone");
}

TEST(CsvReader, WhatWasQuotedReadsBackInPiecesOfAnySize) {
  std::mt19937_64 random(6);
  constexpr char kBytes[] = {'a', ',', '"', '\n', '\r', ' ', '\0', '\xc3'};
  for (int round = 0; round < 500; ++round) {
    std::string text;
    Records expected;
    for (uint64_t r = 0; r < 1 + random() % 4; ++r) {
      std::string shown;
      const uint64_t fields = 1 + random() % 4;
      for (uint64_t f = 0; f < fields; ++f) {
        std::string field(random() % 6, ' ');
        for (char& c : field) c = kBytes[random() % std::size(kBytes)];
        text += f == 0 ? "\"" : ",\"";
        for (const char c : field) text += c == '"' ? std::string("\"\"") : std::string(1, c);
        text += '"';
        shown += (f == 0 ? "'" : "|'") + field + "'";
      }
      text += random() % 2 == 0 ? "\n" : "\r\n";
      expected.push_back(shown);
    }
    ASSERT_EQ(read_all(text, 1 + random() % 5), expected) << "round " << round;
  }
}

TEST(CsvReader, AnyBytesAreReadToTheEnd) {
  std::mt19937_64 random(7);
  constexpr char kBytes[] = {'a', ',', '"', '\n', '\r', ' '};
  for (int round = 0; round < 5000; ++round) {
    std::string text(random() % 30, ' ');
    for (char& c : text) c = kBytes[random() % std::size(kBytes)];
    EXPECT_EQ(read_all(text, 3), read_all(text)) << "round " << round;
  }
}

}  // namespace
}  // namespace diptych::cli
