// Result printer: query results as text for a person (table) or for a program (CSV, JSON).
//
//   table   aligned columns, numbers to the right, NULL as "NULL", control characters as escapes,
//           the number of rows below
//   CSV     header and rows; NULL is an empty field, an empty string is "", and so is NULL where it
//           would be an empty line, in a result of one column
//   JSON    {"columns": [{"name": ..., "type": ...}], "rows": [[...], ...], "execute_ms": ...};
//           numbers are exact: decimals are JSON numbers with all their digits; dates and
//           timestamps are strings
//
// Functions of values; any thread.

#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "dispatcher/database.h"

namespace diptych::cli {

enum class ResultFormat : uint8_t { kTable, kCsv, kJson };

// Is given the text in pieces of a row at most, so that nobody needs memory for all of it.
using TextSink = std::function<void(std::string_view)>;

void to_table(const dispatcher::QueryResult& result, const TextSink& sink);
void to_csv(const dispatcher::QueryResult& result, const TextSink& sink);
void to_json(const dispatcher::QueryResult& result, const TextSink& sink);

// All of the text that one of these makes.
using ToText = void (*)(const dispatcher::QueryResult&, const TextSink&);
std::string whole_text(ToText to_text, const dispatcher::QueryResult& result);

// {"error": "..."}: in the place of the result that there is not.
std::string json_error(const base::Error& error);

}  // namespace diptych::cli
