// CsvTable: the rows of a CSV file as a table's rows, all checked before any is loaded.
//
// The file   its first record names columns, in any order and as in SQL (identifier.h); columns
//            that it leaves out must be nullable and become NULL. A bare field that is CsvFormat's
//            null is NULL, an empty quoted one the empty string. Text must be valid UTF-8, without
//            bytes of 0.
// Rejection  a row with a fault is rejected: wrong syntax, wrong number of fields, a value that the
//            column cannot keep. The first kRejectionsShown are kept in words, all are counted; a
//            caller loads nothing if there is any.
// Memory     holds all rows (RowLayout bytes, and the bytes of long strings): a load is one
//            transaction, all or none.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
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

struct CsvFormat {
  char delimiter = ',';
  std::string null;  // how NULL is written, without quotes
};

class CsvTable {
 public:
  // Called once per some thousand records with the bytes read so far; false stops the reading.
  using Progress = std::function<bool(uint64_t bytes_read)>;

  // Fails with kInvalidArgument where the header does not fit the table, with kCancelled where
  // progress says so, and as the source fails.
  static base::Result<CsvTable> read(const base::TableSchema& schema, ByteSource source,
                                     const Progress& progress, CsvFormat format = {});

  uint64_t row_count() const { return lines_.size(); }
  uint64_t rejected_count() const { return rejected_count_; }
  // The first of them; for tests.
  const std::vector<Rejection>& rejections() const { return rejections_; }

  // A row, from 0, in the table's RowLayout; and the line that it begins on.
  const std::byte* row(uint64_t index) const;
  uint64_t line(uint64_t index) const { return lines_[index]; }

  // The rejections for a person, one per line, and how many more there are.
  std::string rejections_to_string() const;

 private:
  CsvTable(const base::TableSchema& schema, CsvFormat format);
  base::Result<void> read_header(CsvReader* reader);
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
  base::Arena long_strings_;
  std::vector<base::ColumnId> header_;          // the column of each field
  std::vector<std::vector<std::byte>> chunks_;  // of kChunkRows rows each
  std::vector<uint32_t> lines_;                 // one per row
  uint64_t rejected_count_ = 0;
  std::vector<Rejection> rejections_;
};

}  // namespace diptych::cli
