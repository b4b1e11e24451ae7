// SourceText: the SQL text of one statement, the time when it was given, and errors that point into
// the text.
//
// Offsets are bytes from the start of the text, as the parser gives them; a negative offset means
// "somewhere in the statement". Lines and columns count from 1, columns in characters of UTF-8.
//
// Every error of the front end has the form
//   <what is wrong> (line 3, column 12: "<the text there>")

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/types.h"

namespace diptych::olap {

class SourceText {
 public:
  explicit SourceText(std::string_view sql);
  // A text that is read for a statement of that moment.
  SourceText(std::string_view sql, base::Timestamp moment) : sql_(sql), moment_(moment) {}

  const std::string& sql() const { return sql_; }
  // The value of now() everywhere in the statement.
  base::Timestamp moment() const { return moment_; }

  // An error with the message, the position and the token there.
  base::Error error(base::ErrorCode code, int64_t offset, std::string_view message) const;

  // A kInvalidArgument error at the offset. The default SQLSTATE is 42601, for statements that
  // PostgreSQL also reports as syntax errors.
  base::Error wrong(int64_t offset, std::string_view message, base::SqlState state = "42601") const;

  // The error "<construct> is not supported yet", with a few words of text from the offset on.
  base::Error unsupported(int64_t offset, std::string_view construct) const;

  // The byte offset of the n-th character, from 0.
  int64_t offset_of_character(int64_t n) const;

 private:
  uint32_t character_at(size_t offset) const;  // from 1
  std::string place(int64_t offset, std::string_view excerpt) const;
  std::string_view token_at(size_t offset) const;
  std::string clause_at(size_t offset) const;

  std::string sql_;
  base::Timestamp moment_;
};

// `; did you mean "o_carrier_id"?`, or an empty text if no candidate is similar.
std::string suggestion(std::string_view name, std::vector<std::string> candidates);

}  // namespace diptych::olap
