// CsvReader: comma-separated records (RFC 4180) from a stream of bytes.
//
// Syntax     fields between commas, or another byte of ASCII (no quote, no line's end); a field in
//            double quotes, or in another byte's, may hold commas, line ends and doubled quotes.
//            Where the syntax has no quote, a field is the bytes that stand there. Records end with
//            LF or CRLF; the last may end with the file. A byte order mark in front is skipped, and
//            so are empty lines.
// Faults     a record that breaks the syntax is returned with its fault, and reading goes on with
//            the next line; so is one with a field of more than kFieldBytesMax, or of more than
//            kFieldsMax fields. Only a quote that never closes ends the file, or does not in time.
// Memory     one record at a time: a file of any size is read through a buffer of 64 KiB.
// Threads    one owner.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace diptych::cli {

// Fills the buffer from its start and gives the number of bytes; 0 is the end.
using ByteSource = std::function<base::Result<size_t>(std::span<char>)>;

inline constexpr size_t kFieldBytesMax = size_t{64} << 20;
inline constexpr size_t kFieldsMax = size_t{1} << 16;

struct CsvSyntax {
  char delimiter = ',';
  std::optional<char> quote = '"';  // none: every field is bare
};

enum class Quoting : uint8_t { kBare, kQuoted };

struct CsvFault {
  enum class Of : uint8_t { kQuote, kOther };
  uint64_t line = 0;
  size_t field = 0;  // in which it lies, from 0
  std::string reason;
  Of of = Of::kOther;
};

class CsvRecord {
 public:
  uint64_t line() const { return line_; }  // on which the record begins, from 1
  size_t field_count() const { return fields_.size(); }
  std::string_view text(size_t field) const {
    const size_t start = field == 0 ? 0 : fields_[field - 1].end;
    return std::string_view(bytes_).substr(start, fields_[field].end - start);
  }
  Quoting quoting(size_t field) const { return fields_[field].quoting; }
  uint64_t line_of(size_t field) const { return fields_[field].line; }
  const std::optional<CsvFault>& fault() const { return fault_; }

 private:
  friend class CsvReader;
  struct Field {
    size_t end;  // of its text in bytes_
    Quoting quoting;
    uint64_t line;
  };

  std::string bytes_;  // the texts of all fields, quotes resolved
  std::vector<Field> fields_;
  std::optional<CsvFault> fault_;
  uint64_t line_ = 0;
};

class CsvReader {
 public:
  explicit CsvReader(ByteSource source, CsvSyntax syntax = {});

  // Reads the next record; false at the end of the file. Fails only as the source fails.
  base::Result<bool> next(CsvRecord* record);

  uint64_t bytes_read() const { return bytes_before_ + position_; }

 private:
  static constexpr int kEnd = -1;
  static constexpr int kNoQuote = -2;
  enum class After : uint8_t { kField, kRecord };

  int peek();
  void advance();
  bool at_line_end();
  bool take_line_end();
  After take_bare_field(CsvRecord* record);
  // Up to a delimiter, a quote, a line's end or the file's.
  void take_bare_bytes(CsvRecord* record, size_t bytes_max);
  After take_quoted_field(CsvRecord* record);
  After end_field(CsvRecord* record, Quoting quoting, uint64_t line);
  After fail(CsvRecord* record, uint64_t line, std::string reason,
             CsvFault::Of of = CsvFault::Of::kOther);
  void skip_byte_order_mark();

  ByteSource source_;
  char delimiter_;
  int quote_;  // as peek() gives it; or kNoQuote
  std::vector<char> buffer_;
  size_t position_ = 0;
  size_t filled_ = 0;
  uint64_t bytes_before_ = 0;  // of the file, before the buffer
  uint64_t line_ = 1;
  bool started_ = false;
  bool ended_ = false;                // by a quote that never closes
  std::optional<base::Error> error_;  // of the source
};

}  // namespace diptych::cli
