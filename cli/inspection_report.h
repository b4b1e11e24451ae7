// What `diptych inspect` prints: a table for people, JSON for scripts, and the damage in words.

#pragma once

#include <cstdint>
#include <string>

#include "dispatcher/database_inspection.h"

namespace diptych::cli {

// Tables, then each table's columns, then encodings and temperatures of all; at the end what was
// verified. `logged`: how many transactions the log has that were not replayed.
std::string to_table(const std::string& path, const dispatcher::DatabaseInspection& inspection,
                     uint64_t logged);

// "tables" and their "columns" are objects by name. "compressed_bytes", "uncompressed_bytes",
// "file_bytes", "chunks", "values" and "ratio" (compressed by uncompressed, null: of nothing) are
// on the top level, in each table and column, and in each one's "encodings" and "temperatures".
std::string to_json(const std::string& path, const dispatcher::DatabaseInspection& inspection,
                    uint64_t logged);

// A line per damaged chunk; empty: there is none.
std::string damage_text(const dispatcher::DatabaseInspection& inspection);

}  // namespace diptych::cli
