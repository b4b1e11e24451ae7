// CsvTable: the rows of a CSV file as a table's rows, all checked before any is loaded.
//
// The file   its first record names columns, in any order: each as the table has it, else folded to
//            lower case, for a quote of CSV says nothing about a name. CsvFormat may name them in
//            its place. Columns that are left out must be nullable and become NULL. A bare field
//            that is CsvFormat's null is NULL, an empty quoted one the empty string. Text must be
//            valid UTF-8, without bytes of 0.
// Rejection  a row with a fault is rejected: wrong syntax, wrong number of fields, a value that the
//            column cannot keep. The first kRejectionsShown are kept in words, all are counted; a
//            caller loads nothing if there is any.
// Memory     holds all rows (RowLayout bytes, and the bytes of long strings): a load is one
//            transaction, all or none. forget_before() gives back those that have been loaded.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/arena.h"
#include "base/result.h"
#include "base/row_layout.h"
#include "base/schema.h"
#include "cli/csv_reader.h"

namespace diptych::cli {

inline constexpr size_t kRejectionsShown = 20;

struct Rejection {
  uint64_t line = 0;
  std::string column;  // empty where the fault is not in one column
  std::string reason;

  // "line 7, column c_id: ..."
  std::string to_string() const;
};

enum class HeaderLine : uint8_t { kPresent, kAbsent };

struct CsvFormat {
  char delimiter = ',';
  std::string null;                 // how NULL is written, without quotes
  std::optional<char> quote = '"';  // none: quotes are text
  HeaderLine header = HeaderLine::kPresent;
  // Of the fields; a header is passed over then. Empty: those that the header names, or all.
  std::vector<std::string> columns;
};

class CsvTable {
 public:
  // Called once per some thousand records with the bytes read so far; false stops the reading.
  using Progress = std::function<bool(uint64_t bytes_read)>;

  // Fails with kInvalidArgument where header or columns do not fit the table, with kCancelled where
  // progress says so, and as the source fails.
  static base::Result<CsvTable> read(const base::TableSchema& schema, ByteSource source,
                                     const Progress& progress, CsvFormat format = {});

  uint64_t row_count() const { return lines_.size(); }
  uint64_t rejected_count() const { return rejected_count_; }
  // The first of them; for tests.
  const std::vector<Rejection>& rejections() const { return rejections_; }

  // A row, from 0, in the table's RowLayout; and the line that it begins on.
  const std::byte* row(uint64_t index) const;
  // The rows before it are not asked for again: their memory is given back, whole chunks of it.
  void forget_before(uint64_t index);
  // Of its rows and their long strings; for tests.
  size_t allocated_bytes() const;
  uint64_t line(uint64_t index) const { return lines_[index]; }

  // The rejections for a person, one per line, and how many more there are.
  std::string rejections_to_string() const;

 private:
  struct Chunk {
    base::Region rows;
    base::Arena long_strings;
  };

  CsvTable(const base::TableSchema& schema, CsvFormat format);
  base::Result<void> find_columns(CsvReader* reader);
  base::Result<void> read_header(CsvReader* reader);
  base::Result<void> take_names(const std::vector<std::string_view>& names);
  base::Result<void> check_missing_columns() const;
  // What is wrong with a name that is no column's.
  std::string unknown_column(std::string_view name, size_t field) const;
  void take_record(const CsvRecord& record);
  bool store_record(const CsvRecord& record, std::byte* row);
  bool store_field(const CsvRecord& record, size_t field, std::byte* row);
  std::byte* new_row();
  void reject(uint64_t line, std::string column, std::string reason);

  const base::TableSchema* schema_;
  CsvFormat format_;
  base::RowLayout layout_;
  uint64_t chunk_rows_;                 // of each chunk
  std::vector<base::ColumnId> header_;  // the column of each field
  std::vector<Chunk> chunks_;
  size_t forgotten_chunks_ = 0;  // at the beginning, without memory
  std::vector<uint32_t> lines_;  // one per row
  uint64_t rejected_count_ = 0;
  bool has_quote_fault_ = false;
  std::vector<Rejection> rejections_;
};

}  // namespace diptych::cli
