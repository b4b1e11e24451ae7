// A CSV file's rows are taken or rejected with their line and a reason, every one, and the same
// however the file comes in pieces; what is taken is read again as it is. Input: how many bytes a
// piece has at most (0: all), and the file.

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/utf8.h"
#include "base/value.h"
#include "cli/csv_table.h"
#include "tests/storage/every_type_table.h"

namespace diptych::cli {
namespace {

// The columns without a null, and those with, can each be left out.
base::TableSchema schema_of_all_types() {
  base::TableSchema schema = storage::test::every_type_schema();
  for (size_t i = 2; i < schema.columns.size(); ++i) {
    if (i % 2 == 0) schema.columns[i].nullability = base::Nullability::kNullable;
  }
  return schema;
}

ByteSource source_of(std::string_view text, size_t piece_bytes_max) {
  return [text, piece_bytes_max](std::span<char> buffer) mutable -> base::Result<size_t> {
    const size_t bytes = std::min({text.size(), buffer.size(), piece_bytes_max});
    std::copy_n(text.data(), bytes, buffer.data());
    text.remove_prefix(bytes);
    return bytes;
  };
}

base::Result<CsvTable> read(const base::TableSchema& schema, std::string_view text,
                            size_t piece_bytes_max) {
  return CsvTable::read(schema, source_of(text, piece_bytes_max), [](uint64_t) { return true; });
}

// Records with fields, the header among them.
uint64_t count_records(std::string_view text) {
  CsvReader reader(source_of(text, text.size()));
  CsvRecord record;
  uint64_t count = 0;
  while (*reader.next(&record)) ++count;
  DIPTYCH_CHECK(reader.bytes_read() <= text.size(), "no byte is read twice");
  return count;
}

void check_rows(const base::TableSchema& schema, const CsvTable& table) {
  const base::RowLayout layout(schema);
  std::vector<std::byte> row(layout.bytes);
  for (uint64_t i = 0; i < table.row_count(); ++i) {
    DIPTYCH_CHECK(i == 0 || table.line(i - 1) < table.line(i), "rows stand in the file's order");
    for (const base::ColumnLayout& column : layout.columns) {
      const base::Value value = base::load_value(column, table.row(i));
      DIPTYCH_CHECK(base::store_value(column, value, row.data()).ok(), "a value fits its column");
      const std::string text = base::to_string(value);
      DIPTYCH_CHECK(base::is_valid_utf8(text), "texts are UTF-8");
      if (base::is_null(value)) continue;
      const auto again = base::parse_value(column.type, text);
      DIPTYCH_CHECK(again.ok() && base::to_string(*again) == text, "what is taken reads the same");
    }
  }
}

void check_rejections(std::string_view text, const CsvTable& table) {
  const auto lines = static_cast<uint64_t>(std::count(text.begin(), text.end(), '\n')) + 1;
  DIPTYCH_CHECK(
      table.rejections().size() == std::min<uint64_t>(table.rejected_count(), kRejectionsShown),
      "the first are kept, all are counted");
  for (const Rejection& rejection : table.rejections()) {
    DIPTYCH_CHECK(rejection.line >= 1 && rejection.line <= lines, "a fault's line is the file's");
    DIPTYCH_CHECK(!rejection.reason.empty(), "and words say why");
  }
}

void check_file(std::string_view text, size_t piece_bytes_max) {
  static const base::TableSchema schema = schema_of_all_types();
  const auto table = read(schema, text, SIZE_MAX);
  const auto in_pieces = read(schema, text, piece_bytes_max);
  DIPTYCH_CHECK(table.ok() == in_pieces.ok(), "pieces make no difference");
  if (!table) {
    DIPTYCH_CHECK(table.code() == base::ErrorCode::kInvalidArgument &&
                      table.error().message.starts_with("header: "),
                  "only a header refuses a file");
    DIPTYCH_CHECK(table.error().message == in_pieces.error().message, "nor to the words");
    return;
  }
  DIPTYCH_CHECK(table->row_count() == in_pieces->row_count() &&
                    table->rejections_to_string() == in_pieces->rejections_to_string(),
                "nor to rows and rejections");
  DIPTYCH_CHECK(table->row_count() + table->rejected_count() + 1 == count_records(text),
                "every record is taken or rejected");
  check_rows(schema, *table);
  check_rejections(text, *table);
}

// One of the file's lines comes so often that its faults may be more than are shown.
std::string with_repeated_line(std::string_view file, size_t bytes_max, unsigned int seed) {
  constexpr size_t kTimesMax = 2 * kRejectionsShown;
  std::minstd_rand random(seed);
  const size_t begin = file.rfind('\n', random() % (file.size() + 1)) + 1;  // npos + 1: 0
  const size_t end = std::min(file.find('\n', begin), file.size());
  const std::string line = '\n' + std::string(file.substr(begin, end - begin));
  std::string repeated(file.substr(0, end));
  size_t left = 1 + random() % kTimesMax;
  for (; left != 0 && file.size() + line.size() <= bytes_max; --left) {
    repeated += line;
    bytes_max -= line.size();
  }
  return repeated.append(file.substr(end));
}

}  // namespace
}  // namespace diptych::cli

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t size_max);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t size_max,
                                          unsigned int seed) {
  constexpr unsigned int kMutationsALine = 16;
  constexpr size_t kBytesMax = 2048;  // of what is made longer: long files take their time
  if (seed % kMutationsALine != 0 || size < 2 || size > kBytesMax || size_max < kBytesMax) {
    return LLVMFuzzerMutate(data, size, size_max);
  }
  const std::string file(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string repeated =
      diptych::cli::with_repeated_line(file, kBytesMax - 1, seed / kMutationsALine);
  std::copy(repeated.begin(), repeated.end(), data + 1);
  return 1 + repeated.size();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return -1;
  // A copy of exactly this size: a read behind it is seen.
  const std::string file(reinterpret_cast<const char*>(data) + 1, size - 1);
  diptych::cli::check_file(file, data[0] == 0 ? SIZE_MAX : data[0]);
  return 0;
}
