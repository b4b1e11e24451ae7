#include "cli/test_runner.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <re2/re2.h>

#include "cli/csv_table.h"
#include "cli/file.h"
#include "cli/identifier.h"
#include "cli/insert_statement.h"
#include "cli/test_values.h"

namespace diptych::cli {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::Value;

constexpr std::string_view kRowColumn = "slt_rowid";
constexpr size_t kShownMax = 20;  // values of an expected or actual result

// The rows of an INSERT in the table's layout, one at a time. Values must outlive the use of a row.
class RowMaker {
 public:
  RowMaker(const base::TableSchema& schema, const InsertStatement& insert)
      : schema_(schema), layout_(schema), insert_(insert), row_(layout_.bytes) {}

  Result<void> find_columns(bool counted) {
    if (insert_.columns.empty()) {
      const size_t all = schema_.columns.size() - (counted ? 1 : 0);
      for (uint16_t i = 0; i < all; ++i) columns_.emplace_back(i);
      return {};
    }
    for (const std::string& name : insert_.columns) {
      const auto column = schema_.find_column(name);
      if (!column) {
        return Error(ErrorCode::kInvalidArgument,
                     fmt::format("table \"{}\" has no column \"{}\"", schema_.name, name));
      }
      if (std::find(columns_.begin(), columns_.end(), *column) != columns_.end()) {
        return Error(ErrorCode::kInvalidArgument,
                     fmt::format("column \"{}\" is named twice", name));
      }
      columns_.push_back(*column);
    }
    return {};
  }

  // `counter` is the row's number, where the table has a column for it.
  Result<const std::byte*> make(size_t index, const Value& counter) {
    const std::vector<Value>& values = insert_.rows[index];
    if (values.size() != columns_.size()) {
      return Error(ErrorCode::kInvalidArgument,
                   fmt::format("row {}: {} values for {} columns", index + 1, values.size(),
                               columns_.size()));
    }
    std::memset(row_.data(), 0, row_.size());
    for (const base::ColumnLayout& column : layout_.columns) {
      if (column.nullable) row_[column.null_offset] = std::byte{1};
    }
    std::vector<bool> given(schema_.columns.size());
    for (size_t i = 0; i < values.size(); ++i) {
      if (auto stored = store(columns_[i], values[i]); !stored) return stored.error();
      given[columns_[i].value] = true;
    }
    if (!base::is_null(counter)) {
      const base::ColumnId last(static_cast<uint16_t>(schema_.columns.size() - 1));
      if (auto stored = store(last, counter); !stored) return stored.error();
      given[last.value] = true;
    }
    for (uint16_t i = 0; i < given.size(); ++i) {
      if (given[i] || schema_.columns[i].nullability != base::Nullability::kNotNull) continue;
      if (auto stored = store(base::ColumnId(i), Value()); !stored) return stored.error();
    }
    return static_cast<const std::byte*>(row_.data());
  }

 private:
  Result<void> store(base::ColumnId column, const Value& value) {
    auto stored = base::store_value(layout_.column(column), value, row_.data());
    if (!stored) return stored.error().within("column " + schema_.column(column).name);
    return {};
  }

  const base::TableSchema& schema_;
  const base::RowLayout layout_;
  const InsertStatement& insert_;
  std::vector<base::ColumnId> columns_;  // of each value of a row
  std::vector<std::byte> row_;
};

bool begins_with_word(std::string_view sql, std::string_view word) {
  const size_t begin = std::min(sql.find_first_not_of(" \t\n("), sql.size());
  return folded(sql.substr(begin, word.size())) == word;
}

// The statement with a column more, which is its key; empty where it has no list of columns.
std::string with_row_column(const std::string& sql) {
  const size_t close = sql.rfind(')');
  if (close == std::string::npos) return {};
  return fmt::format("{0}, {1} BIGINT NOT NULL PRIMARY KEY) WITH (invisible = '({1})'){2}",
                     sql.substr(0, close), kRowColumn, sql.substr(close + 1));
}

std::string shown(const std::vector<std::string>& values, size_t columns) {
  std::string text;
  for (size_t i = 0; i < std::min(values.size(), kShownMax); ++i) {
    text += columns > 1 && i % columns != 0 ? "\t" : "\n    ";
    text += values[i];
  }
  if (values.size() > kShownMax) text += fmt::format("\n    ... {} values", values.size());
  return text.empty() ? "\n    no row" : text;
}

std::string error_fault(const TestRecord& record, const Error& error) {
  const std::string text = error.to_string();
  if (record.error_text.empty()) return {};
  if (!record.error_is_regex) {
    if (text.find(record.error_text) != std::string::npos) return {};
  } else {
    // Its time is linear in the text, and nesting has a limit, whatever a script says.
    const RE2 regex(record.error_text, RE2::Quiet);
    if (!regex.ok()) return fmt::format("the regular expression is wrong: {}", regex.error());
    if (RE2::PartialMatch(text, regex)) return {};
  }
  return fmt::format("  expected an error with: {}\n  actual: {}", record.error_text, text);
}

}  // namespace

Result<TestRunner> TestRunner::open(uint32_t threads, std::string folder) {
  dispatcher::DatabaseOptions options;
  options.placement.olap_threads = threads;
  auto database = dispatcher::Database::open(options);
  if (!database) return database.error();
  return TestRunner(std::move(*database), std::move(folder));
}

TestOutcome TestRunner::run(const std::vector<TestRecord>& records) {
  TestOutcome outcome;
  for (const TestRecord& record : records) {
    if (record.kind == TestRecordKind::kSkipped) {
      outcome.skipped.push_back({record.line, record.sql});
      continue;
    }
    ++outcome.records;
    std::string fault = run_record(record);
    if (!fault.empty()) outcome.failures.push_back({record.line, std::move(fault)});
  }
  return outcome;
}

std::string TestRunner::run_record(const TestRecord& record) {
  if (record.kind == TestRecordKind::kQuery) return run_query(record);
  const Result<uint64_t> ran =
      record.kind == TestRecordKind::kLoad ? load(record) : run_statement(record.sql);
  if (record.kind == TestRecordKind::kStatementError) {
    if (ran) return fmt::format("  expected an error, and there was none: {}", record.sql);
    return error_fault(record, ran.error());
  }
  if (!ran) return fmt::format("  {}\n  error: {}", record.sql, ran.error().to_string());
  if (!record.row_count || *record.row_count == *ran) return {};
  return fmt::format("  {}\n  expected {} rows\n  actual: {}", record.sql, *record.row_count, *ran);
}

Result<uint64_t> TestRunner::run_statement(const std::string& sql) {
  if (is_insert(sql)) return insert(sql);
  if (begins_with_word(sql, "create")) {
    if (auto created = create(sql); !created) return created.error();
    return uint64_t{0};
  }
  if (begins_with_word(sql, "drop") || begins_with_word(sql, "truncate")) {
    if (auto dropped = database_->execute_ddl(sql); !dropped) return dropped.error();
    std::erase_if(rows_counted_, [this](const auto& counted) {
      return database_->catalog().find_table(counted.first) == nullptr;
    });
    return uint64_t{0};
  }
  auto result = database_->query(sql);
  if (!result) return result.error();
  return result->rows.size();
}

Result<void> TestRunner::create(const std::string& sql) {
  const auto tables = static_cast<uint32_t>(database_->catalog().table_count());
  auto created = database_->execute_ddl(sql);
  if (created || created.error().message.find("needs a PRIMARY KEY") == std::string::npos) {
    return created;
  }
  const std::string with_key = with_row_column(sql);
  if (with_key.empty() || !database_->execute_ddl(with_key)) return created;
  rows_counted_[database_->catalog().table(base::TableId(tables)).name] = 0;
  return {};
}

Result<std::vector<std::vector<Value>>> TestRunner::rows_of(const std::string& query) {
  const auto result = database_->query(query);
  if (!result) return result.error();
  std::vector<std::vector<Value>> rows;
  for (const std::vector<Value>& values : result->rows) {
    std::vector<Value>& row = rows.emplace_back();
    for (const Value& value : values) {
      const bool as_it_is = base::is_null(value) || std::holds_alternative<bool>(value);
      row.push_back(as_it_is ? value : Value(base::to_string(value)));
    }
  }
  return rows;
}

Result<uint64_t> TestRunner::insert(const std::string& sql) {
  auto insert = parse_insert(sql);
  if (!insert) return insert.error();
  if (!insert->query.empty()) {
    auto rows = rows_of(insert->query);
    if (!rows) return rows.error();
    insert->rows = *std::move(rows);
  }
  const base::TableSchema* const schema = database_->catalog().find_table(insert->table);
  if (schema == nullptr) {
    return Error(ErrorCode::kNotFound, fmt::format("there is no table \"{}\"", insert->table));
  }
  const auto counter = rows_counted_.find(schema->name);
  const bool counted = counter != rows_counted_.end();
  RowMaker maker(*schema, *insert);
  if (auto found = maker.find_columns(counted); !found) return found.error();
  size_t given = 0;
  const uint64_t first = counted ? counter->second : 0;
  auto loaded = database_->load(schema->id, [&]() -> Result<dispatcher::RowBatch> {
    if (given == insert->rows.size()) return dispatcher::RowBatch{};
    const Value number = counted ? Value(static_cast<int64_t>(first + given)) : Value();
    auto row = maker.make(given++, number);
    if (!row) return row.error();
    return dispatcher::RowBatch{*row, 1};
  });
  if (!loaded) return loaded.error();
  if (counted) counter->second += insert->rows.size();
  return insert->rows.size();
}

Result<uint64_t> TestRunner::load(const TestRecord& record) {
  const base::TableSchema* const schema = database_->catalog().find_table(folded(record.table));
  if (schema == nullptr) {
    return Error(ErrorCode::kNotFound, fmt::format("there is no table \"{}\"", record.table));
  }
  const auto file = open_file(folder_ + record.file, [] { return false; });
  if (!file) return file.error();
  const auto rows = CsvTable::read(*schema, file->source, [](uint64_t) { return true; });
  if (!rows) return rows.error();
  if (rows->rejected_count() > 0) {
    return Error(ErrorCode::kInvalidArgument, rows->rejections_to_string());
  }
  uint64_t given = 0;
  auto loaded = database_->load(schema->id, [&]() -> Result<dispatcher::RowBatch> {
    if (given == rows->row_count()) return dispatcher::RowBatch{};
    return dispatcher::RowBatch{rows->row(given++), 1};
  });
  if (!loaded) return loaded.error();
  return given;
}

std::string TestRunner::run_query(const TestRecord& record) {
  const auto result = database_->query(record.sql);
  if (!result) return fmt::format("  {}\n  error: {}", record.sql, result.error().to_string());
  const size_t columns = result->columns.size();
  if (columns != record.types.size()) {
    return fmt::format("  {}\n  expected {} columns ({})\n  actual: {}", record.sql,
                       record.types.size(), record.types, columns);
  }
  const auto values_by = [&](const std::string& types) {
    TestRows rows;
    for (const std::vector<Value>& values : result->rows) {
      std::vector<std::string>& row = rows.emplace_back();
      for (size_t i = 0; i < columns; ++i) row.push_back(test_value(values[i], types[i]));
    }
    return sorted_values(std::move(rows), record.sort);
  };
  const std::vector<std::string> actual = values_by(record.types);
  if (std::string fault = check_label(record, actual); !fault.empty()) return fault;
  if (!record.expected) return {};
  if (record.expected->size() == 1 &&
      record.expected->front().find(" values hashing to ") != std::string::npos) {
    const std::string hash = hash_line(actual);
    if (hash == record.expected->front()) return {};
    return fmt::format("  {}\n  expected {}\n  actual   {}{}", record.sql, record.expected->front(),
                       hash, shown(actual, columns));
  }
  const auto expected = expected_values(*record.expected, columns, record.sort);
  if (actual == expected) return {};
  const auto is_as_shown = [&] {
    const std::vector<std::string> shown = values_by(std::string(columns, 'T'));
    if (shown.size() != expected.size()) return false;
    for (size_t i = 0; i < shown.size(); ++i) {
      const base::TypeKind kind = result->columns[i % columns].type.kind;
      const bool is_near = kind == base::TypeKind::kDouble && record.sort != TestSort::kValues;
      if (!is_expected(shown[i], expected[i], is_near ? Exactness::kNear : Exactness::kExact)) {
        return false;
      }
    }
    return true;
  };
  if (is_as_shown()) return {};
  return fmt::format("  {}\n  expected:{}\n  actual:{}", record.sql, shown(expected, columns),
                     shown(actual, columns));
}

std::string TestRunner::check_label(const TestRecord& record,
                                    const std::vector<std::string>& values) {
  if (record.label.empty()) return {};
  const std::string hash = hash_line(values);
  const auto [at, fresh] = hash_by_label_.try_emplace(record.label, hash);
  if (fresh || at->second == hash) return {};
  return fmt::format("  {}\n  another result than that of the query before with the label {}",
                     record.sql, record.label);
}

}  // namespace diptych::cli
