#include "cli/result_printer.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "base/utf8.h"
#include "base/value.h"
#include "cli/one_line.h"

namespace diptych::cli {
namespace {

using base::TypeKind;
using dispatcher::QueryResult;
using dispatcher::ResultArray;
using dispatcher::ResultChunk;

// Characters, not bytes: what a terminal shows of UTF-8 text (wide characters count as one).
size_t width_of(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(),
                                           [](char c) { return !base::is_utf8_continuation(c); }));
}

bool is_number(TypeKind kind) {
  return kind == TypeKind::kInt || kind == TypeKind::kBigInt || kind == TypeKind::kDecimal ||
         kind == TypeKind::kDouble;
}

enum class Side : uint8_t { kLeft, kRight };

std::string padded(const std::string& text, size_t width, Side side) {
  const std::string blanks(width - std::min(width, width_of(text)), ' ');
  return side == Side::kLeft ? text + blanks : blanks + text;
}

std::string trimmed_line(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + '\n';
}

std::string text_of(const ResultArray& array, uint64_t row) {
  if (array.type().is_string() && !array.is_null(row)) return std::string(array.text(row));
  return base::to_string(array.value(row));
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted.push_back('"');
    quoted.push_back(c);
  }
  return quoted + '"';
}

// `null`: how a NULL is written.
std::string csv_value(const ResultArray& array, uint64_t row, std::string_view null) {
  if (array.is_null(row)) return std::string(null);
  const std::string text = text_of(array, row);
  return text.empty() ? "\"\"" : csv_field(text);
}

std::string json_string(std::string_view text) {
  constexpr int kNoIndent = -1;
  return nlohmann::json(std::string(text))
      .dump(kNoIndent, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string json_value(const ResultArray& array, uint64_t row) {
  if (array.is_null(row)) return "null";
  const TypeKind kind = array.type().kind;
  bool bare = kind == TypeKind::kBoolean || is_number(kind);
  if (kind == TypeKind::kDouble) bare = std::isfinite(std::get<double>(array.value(row)));
  const std::string text = text_of(array, row);
  return bare ? text : json_string(text);
}

// f(chunk, row of it) for all rows of the result.
template <class F>
void for_rows(const QueryResult& result, F&& f) {
  if (result.rows.table() == nullptr) return;
  for (const ResultChunk& chunk : result.rows.table()->chunks()) {
    for (uint64_t row = 0; row < chunk.rows; ++row) f(chunk, row);
  }
}

}  // namespace

void to_table(const QueryResult& result, const TextSink& sink) {
  const size_t columns = result.columns.size();
  std::vector<size_t> widths;
  for (const auto& column : result.columns) widths.push_back(width_of(on_one_line(column.name)));
  for_rows(result, [&](const ResultChunk& chunk, uint64_t row) {
    for (size_t i = 0; i < columns; ++i) {
      widths[i] = std::max(widths[i], width_of(on_one_line(text_of(chunk.columns[i], row))));
    }
  });
  // cell(i): the text of column i.
  const auto line_of = [&](auto&& cell) {
    std::string line;
    for (size_t i = 0; i < columns; ++i) {
      const Side side = is_number(result.columns[i].type.kind) ? Side::kRight : Side::kLeft;
      line += (i == 0 ? " " : " | ") + padded(on_one_line(cell(i)), widths[i], side);
    }
    return trimmed_line(std::move(line));
  };
  sink(line_of([&](size_t i) { return result.columns[i].name; }));
  std::string rule;
  for (size_t i = 0; i < columns; ++i) {
    rule += (i == 0 ? "" : "+") + std::string(widths[i] + 2, '-');
  }
  sink(rule + '\n');
  for_rows(result, [&](const ResultChunk& chunk, uint64_t row) {
    sink(line_of([&](size_t i) { return text_of(chunk.columns[i], row); }));
  });
  const size_t rows = result.rows.size();
  sink(fmt::format("({})\n", base::counted(rows, "row")));
}

void to_csv(const QueryResult& result, const TextSink& sink) {
  std::string line;
  for (size_t i = 0; i < result.columns.size(); ++i) {
    line += (i == 0 ? "" : ",") + csv_field(result.columns[i].name);
  }
  sink(line + '\n');
  // No row is an empty line, which ends a CSV.
  const std::string_view null = result.columns.size() == 1 ? "\"\"" : "";
  for_rows(result, [&](const ResultChunk& chunk, uint64_t row) {
    line.clear();
    for (size_t i = 0; i < chunk.columns.size(); ++i) {
      line += (i == 0 ? "" : ",") + csv_value(chunk.columns[i], row, null);
    }
    line += '\n';
    sink(line);
  });
}

void to_json(const QueryResult& result, const TextSink& sink) {
  std::string text = "{\"columns\": [";
  for (size_t i = 0; i < result.columns.size(); ++i) {
    text += fmt::format("{}{{\"name\": {}, \"type\": {}}}", i == 0 ? "" : ", ",
                        json_string(result.columns[i].name),
                        json_string(result.columns[i].type.to_string()));
  }
  sink(text + "], \"rows\": [");
  bool first = true;
  for_rows(result, [&](const ResultChunk& chunk, uint64_t row) {
    text = std::exchange(first, false) ? "\n  [" : ",\n  [";
    for (size_t i = 0; i < chunk.columns.size(); ++i) {
      text += (i == 0 ? "" : ", ") + json_value(chunk.columns[i], row);
    }
    text += ']';
    sink(text);
  });
  sink(fmt::format("], \"execute_ms\": {:.3f}}}", static_cast<double>(result.execute_ns) / 1e6));
}

std::string whole_text(ToText to_text, const QueryResult& result) {
  std::string text;
  to_text(result, [&text](std::string_view piece) { text += piece; });
  return text;
}

std::string json_error(const base::Error& error) {
  return fmt::format("{{\"error\": {}, \"sqlstate\": {}, \"position\": {}}}",
                     json_string(error.to_string()), json_string(std::string(error.sqlstate())),
                     error.position);
}

}  // namespace diptych::cli
