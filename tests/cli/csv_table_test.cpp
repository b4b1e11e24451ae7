#include "cli/csv_table.h"

#include <algorithm>
#include <cstring>

#include <gtest/gtest.h>

#include "base/value.h"

namespace diptych::cli {
namespace {

using base::Nullability;
using base::TypeKind;

base::TableSchema orders() {
  base::TableSchema schema;
  schema.name = "orders";
  schema.columns = {
      {"o_id", {.kind = TypeKind::kInt}, Nullability::kNotNull},
      {"o_note", {.kind = TypeKind::kVarchar, .length = 8}, Nullability::kNullable},
      {"o_total", {.kind = TypeKind::kDecimal, .precision = 6, .scale = 2}, Nullability::kNullable},
      {"o_text", {.kind = TypeKind::kVarchar}, Nullability::kNullable}};
  return schema;
}

ByteSource source_of(std::string text) {
  return [text = std::move(text),
          at = size_t{0}](std::span<char> buffer) mutable -> base::Result<size_t> {
    const size_t bytes = std::min(buffer.size(), text.size() - at);
    std::memcpy(buffer.data(), text.data() + at, bytes);
    at += bytes;
    return bytes;
  };
}

base::Result<CsvTable> read(const std::string& text, CsvFormat format = {}) {
  return CsvTable::read(
      orders(), source_of(text), [](uint64_t) { return true; }, std::move(format));
}

// Rows as "1|note|2.50|NULL".
std::vector<std::string> rows_of(const CsvTable& table) {
  const base::RowLayout layout(orders());
  std::vector<std::string> rows;
  for (uint64_t i = 0; i < table.row_count(); ++i) {
    std::string line;
    for (const base::ColumnLayout& column : layout.columns) {
      line += (line.empty() ? "" : "|") + to_string(base::load_value(column, table.row(i)));
    }
    rows.push_back(line);
  }
  return rows;
}

std::vector<std::string> good_rows(const std::string& text, CsvFormat format = {}) {
  const auto table = read(text, std::move(format));
  EXPECT_TRUE(table.ok()) << (table.ok() ? "" : table.error().message);
  if (!table.ok()) return {};
  EXPECT_EQ(table->rejections_to_string(), "");
  return rows_of(*table);
}

std::string rejections(const std::string& text) {
  const auto table = read(text);
  EXPECT_TRUE(table.ok()) << (table.ok() ? "" : table.error().message);
  return table.ok() ? table->rejections_to_string() : "";
}

std::string header_error(const std::string& text, CsvFormat format = {}) {
  const auto table = read(text, std::move(format));
  return table.ok() ? "no error" : table.error().message;
}

using RowTexts = std::vector<std::string>;

TEST(CsvTable, ColumnsMayStandInAnyOrder) {
  EXPECT_EQ(good_rows("o_text,o_total,o_id,o_note\nlong,2.5,1,n\n"), (RowTexts{"1|n|2.50|long"}));
}

TEST(CsvTable, MissingNullableColumnsAreNull) {
  EXPECT_EQ(good_rows("o_id\n1\n2\n"), (RowTexts{"1|NULL|NULL|NULL", "2|NULL|NULL|NULL"}));
}

TEST(CsvTable, AnEmptyFieldIsNullAndAnEmptyQuotedOneAnEmptyString) {
  const auto table = read("o_id,o_note,o_text\n1,,\n2,\"\",\"\"\n");
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(rows_of(*table), (RowTexts{"1|NULL|NULL|NULL", "2||NULL|"}));
}

TEST(CsvTable, LongStringsOutliveTheFile) {
  std::string text = "o_id,o_text\n";
  RowTexts expected;
  for (int i = 0; i < 10'000; ++i) {
    const std::string body(static_cast<size_t>(i % 200), static_cast<char>('a' + i % 26));
    text += std::to_string(i) + ",\"" + body + "\"\n";
    expected.push_back(std::to_string(i) + "|NULL|NULL|" + body);
  }
  EXPECT_EQ(good_rows(text), expected);
}

TEST(CsvTable, HeaderErrorsNameTheColumn) {
  EXPECT_EQ(header_error(""), "header: the file is empty; its first line must name the columns");
  EXPECT_EQ(header_error("o_id,o_date\n"),
            "header: field 2: table \"orders\" has no column \"o_date\"; its columns: o_id, "
            "o_note, o_total, o_text");
  EXPECT_EQ(header_error("o_id,o_id\n"), "header: field 2: column \"o_id\" stands there twice");
  EXPECT_EQ(header_error("o_note\nx\n"), "header: column \"o_id\" is missing, and it is NOT NULL");
  EXPECT_EQ(header_error("\"o_id\nx"),
            "header: line 1: the quote that opens on line 1 never closes");
}

// As programs write them that put quotes around everything.
TEST(CsvTable, NamesInTheHeaderFoldToLowerCaseWithQuotesOrWithout) {
  EXPECT_EQ(good_rows("O_Id,o_note\n1,n\n"), (RowTexts{"1|n|NULL|NULL"}));
  EXPECT_EQ(good_rows("\"O_Id\",\"O_NOTE\"\n\"1\",\"n\"\n"), (RowTexts{"1|n|NULL|NULL"}));
}

TEST(CsvTable, ANameAsTheTableHasItGoesBeforeTheFoldedOne) {
  base::TableSchema schema = orders();
  schema.columns[1].name = "O_ID";
  for (const char* const header : {"O_ID,o_id\n", "\"O_ID\",\"o_id\"\n"}) {
    const auto table = CsvTable::read(schema, source_of(header + std::string("n,1\n")),
                                      [](uint64_t) { return true; });
    ASSERT_TRUE(table.ok()) << table.error().message;
    EXPECT_EQ(rows_of(*table), (RowTexts{"1|n|NULL|NULL"}));
  }
}

TEST(CsvTable, WithoutAHeaderFieldsAreTheTablesColumnsInOrder) {
  const CsvFormat format{.header = HeaderLine::kAbsent};
  EXPECT_EQ(good_rows("1,n,2.5,t\n2,,,\n", format), (RowTexts{"1|n|2.50|t", "2|NULL|NULL|NULL"}));
  EXPECT_EQ(good_rows("", format), RowTexts{});
  const auto short_row = read("1,n\n", format);
  ASSERT_TRUE(short_row.ok());
  EXPECT_EQ(short_row->rejections_to_string(), "line 1: 2 fields; the table has 4 columns\n");
  const auto shortest_row = read("1\n", format);
  ASSERT_TRUE(shortest_row.ok());
  EXPECT_EQ(shortest_row->rejections_to_string(), "line 1: 1 field; the table has 4 columns\n");
}

TEST(CsvTable, ColumnsThatAreGivenStandInTheHeadersPlace) {
  CsvFormat format{.columns = {"O_Total", "o_id"}};
  EXPECT_EQ(good_rows("price,number\n2.5,1\n", format), (RowTexts{"1|NULL|2.50|NULL"}));
  format.header = HeaderLine::kAbsent;
  EXPECT_EQ(good_rows("2.5,1\n", format), (RowTexts{"1|NULL|2.50|NULL"}));
  const auto long_row = read("2.5,1,x\n", format);
  ASSERT_TRUE(long_row.ok());
  EXPECT_EQ(long_row->rejections_to_string(), "line 1: 3 fields; --columns names 2 columns\n");
  const CsvFormat one{.header = HeaderLine::kAbsent, .columns = {"o_id"}};
  const auto wide_row = read("1,x\n", one);
  ASSERT_TRUE(wide_row.ok());
  EXPECT_EQ(wide_row->rejections_to_string(), "line 1: 2 fields; --columns names 1 column\n");
  EXPECT_EQ(header_error("1\n", {.columns = {"o_date"}}),
            "--columns: field 1: table \"orders\" has no column \"o_date\"; its columns: o_id, "
            "o_note, o_total, o_text");
  EXPECT_EQ(header_error("1\n", {.columns = {"o_note"}}),
            "--columns: column \"o_id\" is missing, and it is NOT NULL");
}

TEST(CsvTable, WithoutAQuoteQuotesAreText) {
  const CsvFormat format{.delimiter = '\t', .null = "\\N", .quote = std::nullopt};
  EXPECT_EQ(
      good_rows("o_id\to_note\to_text\n1\t5\" disk\t\"5 disk\n2\t\\N\t\"\"\n3\t\t\\N\n", format),
      (RowTexts{"1|5\" disk|NULL|\"5 disk", "2|NULL|NULL|\"\"", "3||NULL|NULL"}));
}

// In several chunks, the long texts of each of which go with its rows.
TEST(CsvTable, RowsThatAreForgottenGiveTheirMemoryBackAndLeaveTheOthers) {
  std::string text = "o_id,o_text\n";
  constexpr uint64_t kRows = 100'000;
  for (uint64_t i = 0; i < kRows; ++i) {
    text += std::to_string(i) + ",text of " + std::to_string(i) + "\n";
  }
  auto table = read(text);
  ASSERT_TRUE(table.ok());
  const base::RowLayout layout(orders());
  const size_t allocated = table->allocated_bytes();
  for (uint64_t i = 0; i < kRows; ++i) {
    table->forget_before(i);
    ASSERT_EQ(to_string(base::load_value(layout.columns[3], table->row(i))),
              "text of " + std::to_string(i));
  }
  table->forget_before(kRows);
  EXPECT_LT(table->allocated_bytes(), allocated / 2);
  EXPECT_EQ(table->line(kRows - 1), kRows + 1);
}

TEST(CsvTable, ANameInTheHeaderIsCutAndAnotherDelimiterIsSeen) {
  const std::string columns = "; its columns: o_id, o_note, o_total, o_text";
  EXPECT_EQ(header_error(std::string(50, 'x') + "\n"),
            "header: field 1: table \"orders\" has no column \"" + std::string(40, 'x') + "...\"" +
                columns);
  EXPECT_EQ(header_error("o_id;o_note\n1;a\n"),
            "header: field 1: table \"orders\" has no column \"o_id;o_note\"" + columns +
                "; if its fields are between \";\", give --delimiter ';'");
  EXPECT_EQ(header_error("o_id\to_note\n1\ta\n"),
            "header: field 1: table \"orders\" has no column \"o_id\\x09o_note\"" + columns +
                "; if its fields are between tabs, give --delimiter $'\\t'");
}

TEST(CsvTable, ADelimiterAndATextOfNullAreThoseOfTheFormat) {
  const auto table = CsvTable::read(
      orders(),
      source_of("o_id;o_note;o_total;o_text\n1;a,b;1.50;NA\n2;\"NA\";NA;\"x;y\"\n3;;NA;\n"),
      [](uint64_t) { return true; }, {.delimiter = ';', .null = "NA"});
  ASSERT_TRUE(table.ok()) << table.error().message;
  EXPECT_EQ(table->rejections_to_string(), "");
  EXPECT_EQ(rows_of(*table), (RowTexts{"1|a,b|1.50|NULL", "2|NA|NULL|x;y", "3||NULL|"}));
}

TEST(CsvTable, AByteOfZeroIsRefusedWithItsLineAndColumn) {
  const std::string zero(1, '\0');
  EXPECT_EQ(rejections("o_id,o_note,o_text\n1,a" + zero + ",b\n2,a,b\n3,a,\"b\n" + zero + "\"\n"),
            "line 2, column o_note: the text has a byte of 0, which no text can have\n"
            "line 4, column o_text: the text has a byte of 0, which no text can have\n");
}

TEST(CsvTable, EachRowKnowsItsLine) {
  const auto table = read("o_id,o_note\n1,\"a\nb\"\n\nx,\n2,\n");
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(table->line(0), 2u);
  EXPECT_EQ(table->line(1), 6u);
}

TEST(CsvTable, RejectionsNameLineColumnAndReason) {
  EXPECT_EQ(rejections("o_id,o_note,o_total\n"
                       "x,a,1\n"
                       "2,much too long,1\n"
                       "3,a,1.234\n"
                       ",a,1\n"
                       "5,a\n"
                       "6,a,1,2\n"
                       "7,\xff,1\n"
                       "8,a\"b,1\n"
                       "9,fine,1\n"
                       "10,\"open,1\n"),
            "line 2, column o_id: \"x\" is not a whole number\n"
            "line 3, column o_note: \"much too long\" has 13 bytes; VARCHAR(8) keeps 8\n"
            "line 4, column o_total: \"1.234\" has 3 digits after the point; DECIMAL(6,2) keeps 2\n"
            "line 5, column o_id: NULL, and the column is INT NOT NULL\n"
            "line 6: 2 fields; the header names 3 columns\n"
            "line 7: 4 fields; the header names 3 columns\n"
            "line 8, column o_note: the text is not valid UTF-8\n"
            "line 9, column o_note: a quote inside a field that does not begin with one\n"
            "line 11, column o_note: the quote that opens on line 11 never closes\n"
            "if quotes are part of the texts, give --quote none\n");
}

TEST(CsvTable, AFaultIsPlacedOnTheLineOfItsField) {
  EXPECT_EQ(rejections("o_note,o_id\n\"a\nb\",x\n"),
            "line 3, column o_id: \"x\" is not a whole number\n");
}

TEST(CsvTable, TwentyRejectionsAreShownAndAllCounted) {
  std::string text = "o_id\n";
  for (int i = 0; i < 50; ++i) text += "x\n";
  const auto table = read(text + "7\n");
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(table->rejections().size(), kRejectionsShown);
  EXPECT_EQ(table->rejected_count(), 50u);
  EXPECT_EQ(table->row_count(), 1u);
  EXPECT_TRUE(table->rejections_to_string().ends_with("... and 30 more rows\n"));
}

TEST(CsvTable, StopsWhenAsked) {
  std::string text = "o_id\n";
  for (int i = 0; i < 10'000; ++i) text += "1\n";
  const auto table = CsvTable::read(orders(), source_of(text), [](uint64_t) { return false; });
  ASSERT_FALSE(table.ok());
  EXPECT_EQ(table.code(), base::ErrorCode::kCancelled);
}

}  // namespace
}  // namespace diptych::cli
