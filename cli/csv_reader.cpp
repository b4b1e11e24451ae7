#include "cli/csv_reader.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace diptych::cli {
namespace {

constexpr size_t kBufferBytes = size_t{64} * 1024;
constexpr std::string_view kLoneReturn = "a carriage return without a line feed";

}  // namespace

CsvReader::CsvReader(ByteSource source, CsvSyntax syntax)
    : source_(std::move(source)),
      delimiter_(syntax.delimiter),
      quote_(syntax.quote ? static_cast<unsigned char>(*syntax.quote) : kNoQuote),
      buffer_(kBufferBytes) {}

int CsvReader::peek() {
  if (position_ == filled_) {
    bytes_before_ += filled_;
    position_ = 0;
    filled_ = 0;
    if (error_) return kEnd;
    auto bytes = source_(buffer_);
    if (!bytes) {
      error_ = bytes.error();
      return kEnd;
    }
    filled_ = *bytes;
    if (filled_ == 0) return kEnd;
  }
  return static_cast<unsigned char>(buffer_[position_]);
}

void CsvReader::advance() {
  if (buffer_[position_] == '\n') ++line_;
  ++position_;
}

bool CsvReader::at_line_end() {
  const int c = peek();
  return c == '\n' || c == '\r' || c == kEnd;
}

// False, with nothing behind it taken, where a carriage return stands alone.
bool CsvReader::take_line_end() {
  if (peek() == '\r') {
    advance();
    if (peek() != '\n') return false;
  }
  if (peek() == '\n') advance();
  return true;
}

void CsvReader::skip_byte_order_mark() {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  const auto found = [this] { return std::string_view(buffer_.data(), filled_); };
  // A pipe may give it in pieces.
  while (filled_ < kMark.size() && kMark.starts_with(found())) {
    const auto bytes = source_(std::span(buffer_).subspan(filled_));
    if (!bytes) error_ = bytes.error();
    if (!bytes || *bytes == 0) return;
    filled_ += *bytes;
  }
  if (found().starts_with(kMark)) position_ = kMark.size();
}

CsvReader::After CsvReader::end_field(CsvRecord* record, Quoting quoting, uint64_t line) {
  record->fields_.push_back({record->bytes_.size(), quoting, line});
  if (peek() == delimiter_) {
    advance();
    return After::kField;
  }
  if (at_line_end()) {
    if (take_line_end()) return After::kRecord;
    return fail(record, line_, std::string(kLoneReturn));
  }
  return fail(record, line_, "text after the closing quote", CsvFault::Of::kQuote);
}

// Notes the fault and skips the rest of the line.
CsvReader::After CsvReader::fail(CsvRecord* record, uint64_t line, std::string reason,
                                 CsvFault::Of of) {
  const size_t field = record->fields_.empty() ? 0 : record->fields_.size() - 1;
  record->fault_ = {line, field, std::move(reason), of};
  while (peek() != '\n' && peek() != kEnd) advance();
  take_line_end();
  return After::kRecord;
}

// A run of the buffer at a time: most of a file is bytes of bare fields, and none is a line's end.
void CsvReader::take_bare_bytes(CsvRecord* record, size_t bytes_max) {
  const char quote = quote_ == kNoQuote ? '\n' : static_cast<char>(quote_);
  while (peek() != kEnd && record->bytes_.size() <= bytes_max) {
    const auto first = buffer_.cbegin() + static_cast<std::ptrdiff_t>(position_);
    const auto end = buffer_.cbegin() + static_cast<std::ptrdiff_t>(filled_);
    const auto special = std::find_if(first, end, [delimiter = delimiter_, quote](char c) {
      return c == delimiter || c == '\n' || c == '\r' || c == quote;
    });
    record->bytes_.append(first, special);
    position_ += static_cast<size_t>(special - first);
    if (special != end) return;
  }
}

CsvReader::After CsvReader::take_bare_field(CsvRecord* record) {
  const uint64_t line = line_;
  const size_t bytes_max = record->bytes_.size() + kFieldBytesMax;
  take_bare_bytes(record, bytes_max);
  if (record->bytes_.size() > bytes_max) {
    record->fields_.push_back({record->bytes_.size(), Quoting::kBare, line});
    return fail(record, line, fmt::format("a field of more than {} bytes", kFieldBytesMax));
  }
  if (peek() == quote_) {
    record->fields_.push_back({record->bytes_.size(), Quoting::kBare, line});
    return fail(record, line, "a quote inside a field that does not begin with one",
                CsvFault::Of::kQuote);
  }
  return end_field(record, Quoting::kBare, line);
}

CsvReader::After CsvReader::take_quoted_field(CsvRecord* record) {
  const uint64_t line = line_;
  const size_t start = record->bytes_.size();
  advance();
  while (true) {
    const int c = peek();
    const bool is_too_long = record->bytes_.size() - start > kFieldBytesMax;
    if (c == kEnd || is_too_long) {
      ended_ = true;
      record->fields_.push_back({record->bytes_.size(), Quoting::kQuoted, line});
      return fail(
          record, line,
          fmt::format("the quote that opens on line {} {}", line,
                      is_too_long ? fmt::format("does not close within {} bytes", kFieldBytesMax)
                                  : "never closes"),
          CsvFault::Of::kQuote);
    }
    advance();
    if (c == quote_) {
      if (peek() != quote_) return end_field(record, Quoting::kQuoted, line);
      advance();
    }
    record->bytes_.push_back(static_cast<char>(c));
  }
}

base::Result<bool> CsvReader::next(CsvRecord* record) {
  if (!std::exchange(started_, true)) skip_byte_order_mark();
  record->bytes_.clear();
  record->fields_.clear();
  record->fault_.reset();
  record->line_ = line_;
  if (ended_) return false;
  while (peek() == '\n' || peek() == '\r') {
    if (!take_line_end()) {
      record->fields_.push_back({0, Quoting::kBare, line_});
      fail(record, line_, std::string(kLoneReturn));
      return true;
    }
  }
  record->line_ = line_;
  After after = peek() == kEnd ? After::kRecord : After::kField;
  while (after == After::kField) {
    after = peek() == quote_ ? take_quoted_field(record) : take_bare_field(record);
    if (after == After::kField && record->fields_.size() == kFieldsMax) {
      after = fail(record, line_, fmt::format("more than {} fields", kFieldsMax));
    }
  }
  if (error_) return *error_;
  return !record->fields_.empty();
}

}  // namespace diptych::cli
