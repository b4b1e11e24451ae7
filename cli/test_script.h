// TestScript: a file in sqllogictest's format as records, in the order in which they run.
//
//   statement ok                         query III rowsort label
//   CREATE TABLE t (...)                 SELECT a, b, c FROM t
//                                        ----
//   statement error division             1   2   3    a row a line, tabs between values; or
//   SELECT 1 / 0 FROM t                  1            a value a line;
//                                        or: 9 values hashing to 3b3a...
//
// The format   sqlite.org/sqllogictest (doc/about.wiki) and DuckDB's: records end with an empty
//              line, `#` begins a comment line between them. `statement error` may have a regular
//              expression (RE2's) on its line, or, below a line of ----, text that the message must
//              contain (or <REGEX>: and an expression). `statement count N` is one that is ok and
//              inserts, or answers with, N rows. `skipif`, `onlyif` NAME hold for the next record;
//              this engine is called diptych. `halt` ends the file. A query without ---- must have
//              a label. `hash-threshold` is read and needs nothing. `loop VAR
//              FIRST END` (END excluded) and `foreach VAR WORD...` repeat what stands before their
//              `endloop`, with ${VAR} replaced: a limited number of rounds, and of bytes.
//              `concurrentloop` and `concurrentforeach` are such loops.
// Skipped      `require`, any `mode`, lines that only other programs understand (`restart`, `set`,
//              `load` of a database file), and the records between `mode skip` and `mode unskip`
//              (or the end), where anything may stand: they are about the engine that the file is
//              from, so they are records of their own, and the file goes on.
// Of our own   `load TABLE FILE.csv`, relative to the script.
// Errors       kSyntaxError with the line.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace diptych::cli {

enum class TestRecordKind : uint8_t { kStatementOk, kStatementError, kQuery, kLoad, kSkipped };
enum class TestSort : uint8_t { kNone, kRows, kValues };

struct TestRecord {
  TestRecordKind kind = TestRecordKind::kStatementOk;
  uint32_t line = 0;                  // of its first line, from 1
  uint32_t sql_line = 0;              // of the SQL's first line
  std::string sql;                    // kSkipped: its line
  std::optional<uint64_t> row_count;  // kStatementOk
  // kStatementError: what the message must hold; empty: anything.
  std::string error_text;
  bool error_is_regex = false;
  // kQuery
  std::string types;  // one of T, I, R for each column
  TestSort sort = TestSort::kNone;
  std::string label;
  std::optional<std::vector<std::string>> expected;  // none: there was no ----, but a label
  // kLoad
  std::string table;
  std::string file;
};

base::Result<std::vector<TestRecord>> parse_test_script(std::string_view text);

}  // namespace diptych::cli
