#include "olap/sql/source_text.h"

#include <algorithm>
#include <chrono>
#include <numeric>

#include <fmt/format.h>

#include "base/check.h"
#include "base/utf8.h"
#include "olap/query.h"

namespace diptych::olap {
namespace {

constexpr size_t kTokenBytesMax = 40;
constexpr size_t kClauseBytesMax = 24;

bool is_word_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         (static_cast<unsigned char>(c) & 0x80) != 0;
}

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

bool is_operator_byte(char c) {
  return std::string_view("+-*/<>=~!@#%^&|`?:").find(c) != std::string_view::npos;
}

// Edits (insert, delete, replace, swap two neighbours, each 1) that turn one text into the other.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before_last(b.size() + 1);
  std::vector<size_t> last(b.size() + 1);
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    before_last.swap(last);
    last.swap(row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::string_view first_characters(std::string_view text, size_t count) {
  size_t bytes = 0;
  while (bytes < text.size() && (count != 0 || base::is_utf8_continuation(text[bytes]))) {
    if (!base::is_utf8_continuation(text[bytes++])) --count;
  }
  return text.substr(0, bytes);
}

std::string line_and_column(const ScriptPlace& place) {
  return fmt::format("line {}, column {}:", place.lines + 1, place.characters_in_line + 1);
}

}  // namespace

ScriptPlace place_after(std::string_view text, ScriptPlace place) {
  for (const char c : text) {
    if (base::is_utf8_continuation(c)) continue;
    ++place.characters;
    ++place.characters_in_line;
    if (c == '\n') {
      ++place.lines;
      place.characters_in_line = 0;
    }
  }
  return place;
}

base::Error error_in_script(base::Error error, std::string_view statement,
                            const ScriptPlace& place) {
  if (error.position == 0) return error;
  const std::string_view before = first_characters(statement, error.position - 1);
  const std::string own = line_and_column(place_after(before));
  const size_t at = error.message.rfind(own);
  DIPTYCH_CHECK(at != std::string::npos, "an error that has a position says it");
  error.message.replace(at, own.size(), line_and_column(place_after(before, place)));
  error.position += static_cast<uint32_t>(place.characters);
  return error;
}

SourceText::SourceText(std::string_view sql) : sql_(sql) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  moment_.micros = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

base::Error SourceText::error(base::ErrorCode code, int64_t offset,
                              std::string_view message) const {
  if (offset < 0) return {code, std::string(message)};
  const auto at = std::min(static_cast<size_t>(offset), sql_.size());
  base::Error error(code, fmt::format("{} ({})", message, place(offset, token_at(at))));
  error.position = character_at(at);
  return error;
}

base::Error SourceText::wrong(int64_t offset, std::string_view message,
                              base::SqlState state) const {
  base::Error wrong = error(base::ErrorCode::kInvalidArgument, offset, message);
  wrong.state = state;
  return wrong;
}

base::Error SourceText::unsupported(int64_t offset, std::string_view construct) const {
  const std::string message = fmt::format("{} is not supported yet", construct);
  if (offset < 0) return {base::ErrorCode::kUnsupported, message};
  const auto at = std::min(static_cast<size_t>(offset), sql_.size());
  base::Error error(base::ErrorCode::kUnsupported,
                    fmt::format("{} ({})", message, place(offset, clause_at(at))));
  error.position = character_at(at);
  return error;
}

uint32_t SourceText::character_at(size_t offset) const {
  const auto before = std::string_view(sql_).substr(0, offset);
  return 1 + static_cast<uint32_t>(std::count_if(before.begin(), before.end(), [](char c) {
           return !base::is_utf8_continuation(c);
         }));
}

int64_t SourceText::offset_of_character(int64_t n) const {
  size_t offset = 0;
  while (offset < sql_.size() && n > 0) {
    ++offset;
    while (offset < sql_.size() && base::is_utf8_continuation(sql_[offset])) ++offset;
    --n;
  }
  return static_cast<int64_t>(offset);
}

std::string SourceText::place(int64_t offset, std::string_view excerpt) const {
  const size_t bytes = std::min(static_cast<size_t>(offset), sql_.size());
  const std::string own = line_and_column(place_after(std::string_view(sql_).substr(0, bytes)));
  if (excerpt.empty()) return own + " end of text";
  return fmt::format("{} \"{}\"", own, excerpt);
}

std::string_view SourceText::token_at(size_t offset) const {
  const std::string_view rest = std::string_view(sql_).substr(offset);
  if (rest.empty()) return rest;
  size_t end = 1;
  if (rest[0] == '\'' || rest[0] == '"') {
    while (end < rest.size() && rest[end] != rest[0]) ++end;
    end = std::min(end + 1, rest.size());
  } else if (is_word_byte(rest[0]) || rest[0] == '$') {  // $1 is a parameter
    while (end < rest.size() && (is_word_byte(rest[end]) || rest[end] == '.')) ++end;
  } else if (is_operator_byte(rest[0])) {
    while (end < rest.size() && is_operator_byte(rest[end])) ++end;
  }
  return base::utf8_prefix(rest.substr(0, end), kTokenBytesMax);
}

std::string SourceText::clause_at(size_t offset) const {
  std::string clause;
  for (size_t i = offset; i < sql_.size() && sql_[i] != ';'; ++i) {
    const char c = is_blank(sql_[i]) ? ' ' : sql_[i];
    if (c == ' ' && (clause.empty() || clause.back() == ' ')) continue;
    if (clause.size() >= kClauseBytesMax && !is_word_byte(c)) {
      while (clause.back() == ' ') clause.pop_back();
      return clause + " ...";
    }
    if (clause.size() >= kTokenBytesMax && !base::is_utf8_continuation(c)) return clause + "...";
    clause.push_back(c);
  }
  while (!clause.empty() && clause.back() == ' ') clause.pop_back();
  return clause;
}

std::string suggestion(std::string_view name, std::vector<std::string> candidates) {
  constexpr size_t kNameBytesMax = 128;  // bounds the time that a hostile name takes
  if (name.size() > kNameBytesMax) return {};
  std::sort(candidates.begin(), candidates.end());  // of several that are as near, always the same
  const std::string* nearest = nullptr;
  size_t nearest_distance = std::max<size_t>(1, name.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    if (candidate.empty() || candidate.size() > kNameBytesMax) continue;
    const size_t distance = edit_distance(name, candidate);
    if (distance < nearest_distance) {
      nearest = &candidate;
      nearest_distance = distance;
    }
  }
  if (nearest == nullptr) return {};
  return fmt::format("; did you mean \"{}\"?", *nearest);
}

}  // namespace diptych::olap
