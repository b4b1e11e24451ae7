// A test script is read as records, or refused with the line of its fault; likewise the INSERT
// statements in it; what a query's record expects is as many values as stand there. Input: the
// text of a script.

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "cli/insert_statement.h"
#include "cli/test_script.h"
#include "cli/test_values.h"

namespace diptych::cli {
namespace {

// Loops repeat records: so many are looked at.
constexpr size_t kRecordsChecked = 100;

void check_insert(const std::string& sql) {
  const auto insert = parse_insert(sql);
  if (!insert) {
    DIPTYCH_CHECK(insert.error().message.find("(line ") != std::string::npos,
                  "words say where an INSERT is wrong");
    return;
  }
  DIPTYCH_CHECK(insert->query.empty() != insert->rows.empty(), "rows, or a query that makes them");
  for (const auto& row : insert->rows) {
    DIPTYCH_CHECK(!row.empty(), "a row has values");
    for (const base::Value& value : row) {
      for (const char type : {'T', 'I', 'R'}) {
        DIPTYCH_CHECK(!test_value(value, type).empty(), "each value has a text");
      }
    }
  }
}

void check_query(const TestRecord& record) {
  if (!record.expected) return;
  const std::vector<std::string>& lines = *record.expected;
  const size_t columns = record.types.size();
  const auto values = expected_values(lines, columns, record.sort);
  DIPTYCH_CHECK(values.size() == lines.size() || values.size() == lines.size() * columns,
                "lines are values or rows");
  DIPTYCH_CHECK(hash_line(values) == hash_line(values), "a hash is a function");
}

void check_script(std::string_view text) {
  const auto records = parse_test_script(text);
  if (!records) {
    DIPTYCH_CHECK(records.code() == base::ErrorCode::kSyntaxError &&
                      records.error().message.starts_with("line "),
                  "words say where a script is wrong");
    return;
  }
  const auto lines = static_cast<uint64_t>(std::count(text.begin(), text.end(), '\n')) + 1;
  for (size_t i = 0; i < std::min(records->size(), kRecordsChecked); ++i) {
    const TestRecord& record = (*records)[i];
    DIPTYCH_CHECK(record.line >= 1 && record.line <= record.sql_line && record.sql_line <= lines,
                  "a record has its place");
    const bool is_load = record.kind == TestRecordKind::kLoad;
    DIPTYCH_CHECK(is_load ? !record.table.empty() && !record.file.empty() : !record.sql.empty(),
                  "and something to run");
    if (is_insert(record.sql)) check_insert(record.sql);
    if (record.kind == TestRecordKind::kQuery) check_query(record);
  }
}

}  // namespace
}  // namespace diptych::cli

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // A copy of exactly this size: a read behind it is seen.
  const std::string script(reinterpret_cast<const char*>(data), size);
  diptych::cli::check_script(script);
  return 0;
}
