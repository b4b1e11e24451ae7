#include "cli/csv_table.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/counted.h"
#include "base/quoted.h"
#include "base/utf8.h"
#include "base/value.h"
#include "cli/identifier.h"

namespace diptych::cli {
namespace {

using base::ColumnId;
using base::Error;
using base::ErrorCode;
using base::is_valid_utf8;
using base::Nullability;
using base::quoted;
using base::Result;

constexpr size_t kChunkBytes = size_t{1} << 20;  // a row may be longer
const base::NumaNode kNode{0};
constexpr uint64_t kRecordsPerProgress = 8192;
constexpr size_t kColumnsShown = 8;

std::string some_columns(const base::TableSchema& schema) {
  std::string names;
  for (size_t i = 0; i < schema.columns.size(); ++i) {
    names += i == 0 ? "" : ", ";
    if (i == kColumnsShown) return names + "...";
    names += schema.columns[i].name;
  }
  return names;
}

std::string_view who_names(const CsvFormat& format) {
  if (!format.columns.empty()) return "--columns names";
  return format.header == HeaderLine::kPresent ? "the header names" : "the table has";
}

}  // namespace

std::string Rejection::to_string() const {
  if (column.empty()) return fmt::format("line {}: {}", line, reason);
  return fmt::format("line {}, column {}: {}", line, column, reason);
}

CsvTable::CsvTable(const base::TableSchema& schema, CsvFormat format)
    : schema_(&schema),
      format_(std::move(format)),
      layout_(schema),
      chunk_rows_(std::max<uint64_t>(kChunkBytes / layout_.bytes, 1)) {}

std::string CsvTable::unknown_column(std::string_view name, size_t field) const {
  std::string wrong = fmt::format("field {}: table \"{}\" has no column {}; its columns: {}",
                                  field + 1, schema_->name, quoted(name), some_columns(*schema_));
  constexpr std::string_view kDelimiters = ";\t|,";
  const size_t at = name.find_first_of(kDelimiters);
  if (at == std::string_view::npos || name[at] == format_.delimiter) return wrong;
  return wrong + (name[at] == '\t'
                      ? "; if its fields are between tabs, give --delimiter $'\\t'"
                      : fmt::format("; if its fields are between \"{0}\", give --delimiter '{0}'",
                                    name[at]));
}

Result<void> CsvTable::take_names(const std::vector<std::string_view>& names) {
  const auto wrong = [](std::string what) {
    return Error(ErrorCode::kInvalidArgument, std::move(what));
  };
  for (size_t field = 0; field < names.size(); ++field) {
    const std::string_view name = names[field];
    if (!is_valid_utf8(name)) return wrong(fmt::format("field {} is not UTF-8", field + 1));
    auto column = schema_->find_column(name);
    if (!column) column = schema_->find_column(folded(name));
    if (!column) return wrong(unknown_column(name, field));
    if (std::find(header_.begin(), header_.end(), *column) != header_.end()) {
      return wrong(fmt::format("field {}: column {} stands there twice", field + 1, quoted(name)));
    }
    header_.push_back(*column);
  }
  return check_missing_columns();
}

Result<void> CsvTable::check_missing_columns() const {
  for (uint16_t i = 0; i < schema_->columns.size(); ++i) {
    const bool named = std::find(header_.begin(), header_.end(), ColumnId(i)) != header_.end();
    if (!named && schema_->columns[i].nullability == Nullability::kNotNull) {
      return Error(
          ErrorCode::kInvalidArgument,
          fmt::format("column \"{}\" is missing, and it is NOT NULL", schema_->columns[i].name));
    }
  }
  return {};
}

Result<void> CsvTable::read_header(CsvReader* reader) {
  CsvRecord record;
  const auto found = reader->next(&record);
  if (!found) return found.error();
  const auto wrong = [](const std::string& what) {
    return Error(ErrorCode::kInvalidArgument, "header: " + what);
  };
  if (!*found) return wrong("the file is empty; its first line must name the columns");
  if (const auto& fault = record.fault()) {
    return wrong(fmt::format("line {}: {}", fault->line, fault->reason));
  }
  if (!format_.columns.empty()) return {};
  std::vector<std::string_view> names;
  for (size_t field = 0; field < record.field_count(); ++field) names.push_back(record.text(field));
  auto taken = take_names(names);
  if (!taken) return taken.error().within("header");
  return {};
}

Result<void> CsvTable::find_columns(CsvReader* reader) {
  if (!format_.columns.empty()) {
    const auto taken = take_names({format_.columns.begin(), format_.columns.end()});
    if (!taken) return taken.error().within("--columns");
  }
  if (format_.header == HeaderLine::kPresent) return read_header(reader);
  if (format_.columns.empty()) {
    for (uint16_t i = 0; i < schema_->columns.size(); ++i) header_.emplace_back(i);
  }
  return {};
}

Result<CsvTable> CsvTable::read(const base::TableSchema& schema, ByteSource source,
                                const Progress& progress, CsvFormat format) {
  CsvReader reader(std::move(source), {.delimiter = format.delimiter, .quote = format.quote});
  CsvTable table(schema, std::move(format));
  if (auto found = table.find_columns(&reader); !found) return found.error();
  CsvRecord record;
  for (uint64_t records = 1;; ++records) {
    const auto found = reader.next(&record);
    if (!found) return found.error();
    if (!*found) return table;
    table.take_record(record);
    if (records % kRecordsPerProgress == 0 && !progress(reader.bytes_read())) {
      return Error(ErrorCode::kCancelled, "stopped");
    }
  }
}

void CsvTable::reject(uint64_t line, std::string column, std::string reason) {
  ++rejected_count_;
  if (rejections_.size() < kRejectionsShown) {
    rejections_.push_back({line, std::move(column), std::move(reason)});
  }
}

const std::byte* CsvTable::row(uint64_t index) const {
  return chunks_[index / chunk_rows_].rows.data() + index % chunk_rows_ * layout_.bytes;
}

void CsvTable::forget_before(uint64_t index) {
  for (; (forgotten_chunks_ + 1) * chunk_rows_ <= index; ++forgotten_chunks_) {
    chunks_[forgotten_chunks_] = Chunk{{}, base::Arena(kNode)};
  }
}

size_t CsvTable::allocated_bytes() const {
  size_t bytes = 0;
  for (const Chunk& chunk : chunks_) {
    bytes += chunk.rows.size() + chunk.long_strings.allocated_bytes();
  }
  return bytes;
}

std::byte* CsvTable::new_row() {
  if (lines_.size() == chunks_.size() * chunk_rows_) {
    chunks_.push_back({base::Region(chunk_rows_ * layout_.bytes, kNode), base::Arena(kNode)});
  }
  return chunks_.back().rows.data() + lines_.size() % chunk_rows_ * layout_.bytes;
}

void CsvTable::take_record(const CsvRecord& record) {
  if (const auto& fault = record.fault()) {
    has_quote_fault_ = has_quote_fault_ || fault->of == CsvFault::Of::kQuote;
    const bool named = fault->field < header_.size();
    reject(fault->line, named ? schema_->column(header_[fault->field]).name : "", fault->reason);
    return;
  }
  if (record.field_count() != header_.size()) {
    reject(record.line(), "",
           fmt::format("{}; {} {}", base::counted(record.field_count(), "field"),
                       who_names(format_), base::counted(header_.size(), "column")));
    return;
  }
  // A rejected row's bytes are overwritten by the next.
  if (!store_record(record, new_row())) return;
  lines_.push_back(static_cast<uint32_t>(record.line()));
}

bool CsvTable::store_record(const CsvRecord& record, std::byte* row) {
  std::memset(row, 0, layout_.bytes);
  for (const base::ColumnLayout& column : layout_.columns) {
    // Columns that the header leaves out stay so.
    if (column.nullable) row[column.null_offset] = std::byte{1};
  }
  for (size_t field = 0; field < header_.size(); ++field) {
    if (!store_field(record, field, row)) return false;
  }
  return true;
}

bool CsvTable::store_field(const CsvRecord& record, size_t field, std::byte* row) {
  const base::ColumnLayout& column = layout_.column(header_[field]);
  const std::string_view text = record.text(field);
  const auto refuse = [&](std::string reason) {
    reject(record.line_of(field), schema_->column(header_[field]).name, std::move(reason));
    return false;
  };
  const bool null = text == format_.null && record.quoting(field) == Quoting::kBare;
  if (!null && !is_valid_utf8(text)) return refuse("the text is not valid UTF-8");
  if (text.find('\0') != std::string_view::npos) {  // nor can a query's text have one
    return refuse("the text has a byte of 0, which no text can have");
  }
  auto value = null ? Result<base::Value>(base::Value()) : base::parse_value(column.type, text);
  if (!value) return refuse(value.error().message);
  if (auto stored = base::store_value(column, *value, row); !stored) {
    return refuse(stored.error().message);
  }
  if (!null && !column.type.is_inline()) {
    const base::Text kept(chunks_.back().long_strings.copy(base::load_string(column, row)));
    std::memcpy(row + column.offset, &kept, sizeof kept);
  }
  return true;
}

std::string CsvTable::rejections_to_string() const {
  std::string text;
  for (const Rejection& rejection : rejections_) text += rejection.to_string() + '\n';
  if (const uint64_t more = rejected_count_ - rejections_.size(); more > 0) {
    text += fmt::format("... and {} more rows\n", more);
  }
  if (has_quote_fault_) text += "if quotes are part of the texts, give --quote none\n";
  return text;
}

}  // namespace diptych::cli
