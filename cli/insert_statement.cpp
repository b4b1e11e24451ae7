#include "cli/insert_statement.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "cli/identifier.h"

namespace diptych::cli {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::Value;

enum class TokenKind : uint8_t { kEnd, kWord, kNumber, kText, kSign };

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text;  // a word folded, unless it was quoted; a text without its quotes
  size_t at = 0;
};

class InsertParser {
 public:
  explicit InsertParser(std::string_view sql) : sql_(sql) {}

  Result<InsertStatement> parse() {
    InsertStatement out;
    if (auto head = parse_head(&out); !head) return head.error();
    if (!out.query.empty()) return out;
    do {
      auto row = parse_row();
      if (!row && row.code() == ErrorCode::kUnsupported) {
        out.rows.clear();
        out.query = query_from(values_at_);
        return out;
      }
      if (!row) return row.error();
      out.rows.push_back(std::move(*row));
    } while (take_sign(","));
    static_cast<void>(take_sign(";"));
    if (token_.kind != TokenKind::kEnd) return wrong("the end of the statement");
    return out;
  }

 private:
  Result<void> parse_head(InsertStatement* out) {
    next();
    for (const char* const word : {"insert", "into"}) {
      if (!take_word(word)) return wrong(fmt::format("\"{}\"", word));
    }
    if (token_.kind != TokenKind::kWord) return wrong("a table");
    out->table = token_.text;
    next();
    if (take_sign("(")) {
      do {
        if (token_.kind != TokenKind::kWord) return wrong("a column");
        out->columns.push_back(token_.text);
        next();
      } while (take_sign(","));
      if (!take_sign(")")) return wrong("\")\"");
    }
    if (token_.kind == TokenKind::kWord && (token_.text == "select" || token_.text == "with")) {
      out->query = query_from(token_.at);
      return {};
    }
    values_at_ = token_.at;
    if (!take_word("values")) return wrong("\"values\"");
    return {};
  }

  // At its place in the statement, for errors that name one.
  std::string query_from(size_t at) const {
    std::string query(sql_);
    std::replace_if(
        query.begin(), query.begin() + static_cast<std::ptrdiff_t>(at),
        [](char c) { return c != '\n'; }, ' ');
    return query;
  }

  Result<std::vector<Value>> parse_row() {
    std::vector<Value> row;
    if (!take_sign("(")) return wrong("\"(\"");
    do {
      auto value = parse_constant();
      if (!value) return value.error();
      row.push_back(std::move(*value));
    } while (take_sign(","));
    if (token_.kind == TokenKind::kSign && token_.text != ")") {
      return Error(ErrorCode::kUnsupported);
    }
    if (!take_sign(")")) return wrong("\",\" or \")\"");
    return row;
  }

  Result<Value> parse_constant() {
    std::string sign;
    while (token_.kind == TokenKind::kSign && (token_.text == "-" || token_.text == "+")) {
      if (token_.text == "-") sign = sign.empty() ? "-" : "";
      next();
    }
    if (token_.kind == TokenKind::kNumber) return taken(sign + token_.text);
    if (!sign.empty()) return wrong("a number");
    if (token_.kind == TokenKind::kText) return taken(token_.text);
    if (token_.kind != TokenKind::kWord) return wrong("a constant");
    if (take_word("null")) return Value();
    if (take_word("true")) return Value(true);
    if (take_word("false")) return Value(false);
    if (take_word("date") || take_word("timestamp")) {
      if (token_.kind != TokenKind::kText) return wrong("a text in quotes");
      return taken(token_.text);
    }
    return Error(ErrorCode::kUnsupported);
  }

  Value taken(std::string text) {
    next();
    return Value(std::move(text));
  }

  bool take_word(std::string_view word) {
    if (token_.kind != TokenKind::kWord || token_.text != word) return false;
    next();
    return true;
  }

  bool take_sign(std::string_view sign) {
    if (token_.kind != TokenKind::kSign || token_.text != sign) return false;
    next();
    return true;
  }

  void next() {
    while (at_ < sql_.size() && std::isspace(byte(at_)) != 0) ++at_;
    token_ = {TokenKind::kEnd, {}, at_};
    if (at_ == sql_.size()) return;
    const char first = sql_[at_];
    if (first == '\'' || first == '"') {
      token_.kind = first == '"' ? TokenKind::kWord : TokenKind::kText;
      read_quoted(first);
    } else if (is_digit(at_) || (first == '.' && is_digit(at_ + 1))) {
      token_.kind = TokenKind::kNumber;
      read_number();
    } else if (std::isalpha(byte(at_)) != 0 || first == '_') {
      token_.kind = TokenKind::kWord;
      const size_t begin = at_;
      while (at_ < sql_.size() && (std::isalnum(byte(at_)) != 0 || sql_[at_] == '_')) ++at_;
      token_.text = folded(std::string(sql_.substr(begin, at_ - begin)));
    } else {
      token_.kind = TokenKind::kSign;
      token_.text = sql_[at_++];
    }
  }

  // A quote that is doubled stands for itself. A text without its end is a sign: refused anywhere.
  void read_quoted(char quote) {
    for (++at_; at_ < sql_.size(); ++at_) {
      if (sql_[at_] == quote) {
        if (at_ + 1 == sql_.size() || sql_[at_ + 1] != quote) {
          ++at_;
          return;
        }
        ++at_;
      }
      token_.text += sql_[at_];
    }
    token_.kind = TokenKind::kSign;
    token_.text = quote;
  }

  void read_number() {
    const size_t begin = at_;
    while (is_digit(at_) || (at_ < sql_.size() && sql_[at_] == '.')) ++at_;
    if (at_ < sql_.size() && (sql_[at_] == 'e' || sql_[at_] == 'E')) {
      ++at_;
      if (at_ < sql_.size() && (sql_[at_] == '-' || sql_[at_] == '+')) ++at_;
      while (is_digit(at_)) ++at_;
    }
    token_.text = sql_.substr(begin, at_ - begin);
  }

  unsigned char byte(size_t at) const { return static_cast<unsigned char>(sql_[at]); }
  bool is_digit(size_t at) const { return at < sql_.size() && std::isdigit(byte(at)) != 0; }

  std::string place() const {
    const std::string_view before = sql_.substr(0, token_.at);
    const size_t line = 1 + static_cast<size_t>(std::count(before.begin(), before.end(), '\n'));
    const size_t begin = before.rfind('\n');
    const size_t column = before.size() - (begin == std::string_view::npos ? 0 : begin + 1) + 1;
    return fmt::format("(line {}, column {})", line, column);
  }
  Error wrong(const std::string& expected) const {
    return {ErrorCode::kSyntaxError, fmt::format("{} is expected {}", expected, place())};
  }

  std::string_view sql_;
  size_t at_ = 0;
  size_t values_at_ = 0;
  Token token_;
};

}  // namespace

bool is_insert(std::string_view sql) {
  constexpr std::string_view kInsert = "insert";
  const size_t begin = std::min(sql.find_first_not_of(" \t\n"), sql.size());
  return folded(std::string(sql.substr(begin, kInsert.size()))) == kInsert;
}

Result<InsertStatement> parse_insert(std::string_view sql) {
  return InsertParser(sql).parse();
}

}  // namespace diptych::cli
