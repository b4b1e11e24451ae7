#include "tests/fuzz/sql_runs.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace diptych::olap::fuzz {
namespace {

using Words = std::vector<std::string_view>;

// Words that begin a clause, and those that stand between operands or conditions.
const Words kClauses = {"select", "from",  "where",  "group",  "having",    "order", "limit",
                        "offset", "union", "except", "window", "intersect", "with",  "fetch"};
const Words kJoins = {"join", "left", "right", "full", "inner", "cross", "natural", "lateral"};
const Words kSeparators = {
    "distinct", "by",  "on",    "using", "when",      "then",      "else",      "case",  "end",
    "as",       "asc", "desc",  "nulls", "over",      "partition", "rows",      "range", "filter",
    "within",   "all", "first", "last",  "preceding", "following", "recursive", "groups"};
const Words kLogic = {"and", "or", "not"};
const Words kComparisons = {"=",  "<>", "!=",      "<",    "<=",    ">",
                            ">=", "in", "between", "like", "ilike", "similar"};
// These, too, are no names; what stands in parentheses behind them is no call.
const Words kOthers = {"is",    "any",     "some",     "values",    "interval",   "date", "time",
                       "array", "escape",  "sets",     "both",      "leading",    "to",   "exists",
                       "for",   "current", "trailing", "position",  "timestamp",  "cast", "ties",
                       "cube",  "rollup",  "grouping", "unbounded", "row",        "only", "at",
                       "next",  "zone",    "using",    "collate",   "ordinality", "::"};
// Nor is it an expression behind these.
const Words kBeforeLists = {"over", "group", "filter", "using", "values", "::",     "as",
                            "sets", "cube",  "rollup", "with",  "array",  "window", "materialized"};

bool is_in(const Words& words, std::string_view text) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

bool is_keyword(std::string_view text) {
  return is_in(kClauses, text) || is_in(kSeparators, text) || is_in(kLogic, text) ||
         is_in(kComparisons, text) || is_in(kJoins, text) || is_in(kOthers, text);
}

bool is_word_byte(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

// Behind the quote that closes the one at `at`.
size_t end_of_quoted(std::string_view text, size_t at) {
  for (const char quote = text[at++]; at < text.size(); ++at) {
    if (text[at] != quote) continue;
    if (at + 1 == text.size() || text[at + 1] != quote) return at + 1;
    ++at;
  }
  return text.size();
}

// A word, qualified or not: a, "a", a.b, a.*.
size_t end_of_word(std::string_view text, size_t at) {
  while (true) {
    if (text[at] == '"') {
      at = end_of_quoted(text, at);
    } else if (text[at] == '*') {
      return at + 1;
    } else {
      while (at < text.size() && is_word_byte(text[at])) ++at;
    }
    const bool goes_on = at + 1 < text.size() && text[at] == '.' &&
                         (is_word_byte(text[at + 1]) || text[at + 1] == '"' || text[at + 1] == '*');
    if (!goes_on) return at;
    ++at;
  }
}

size_t end_of_number(std::string_view text, size_t at) {
  while (at < text.size() && (is_word_byte(text[at]) || text[at] == '.')) {
    const bool exponent = text[at] == 'e' || text[at] == 'E';
    ++at;
    if (exponent && at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
  }
  return at;
}

size_t end_of_sign(std::string_view text, size_t at) {
  constexpr std::string_view kSigns = "<>=!|:~*+-/%^&#@";
  const size_t begin = at++;
  // Multiplication and signs of numbers stand alone.
  constexpr std::string_view kAlone = "*+-/%";
  if (kAlone.find(text[begin]) != kAlone.npos) return at;
  while (at < text.size() && kSigns.find(text[at]) != kSigns.npos && text[at] != '-' &&
         text[at] != '+') {
    ++at;
  }
  return at;
}

std::string lowered(std::string_view text) {
  std::string lower(text);
  if (lower.find('"') != lower.npos) return lower;
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

SqlToken token_at(std::string_view text, size_t at, size_t* end) {
  const auto cut = [&](TokenKind kind, size_t to) {
    *end = to;
    return SqlToken{kind, std::string(text.substr(at, to - at))};
  };
  const char c = text[at];
  if (c == ',') return cut(TokenKind::kComma, at + 1);
  if (c == '(') return cut(TokenKind::kOpen, at + 1);
  if (c == ')') return cut(TokenKind::kClose, at + 1);
  if (c == ';') return cut(TokenKind::kSemicolon, at + 1);
  if (c == '\'') return cut(TokenKind::kText, end_of_quoted(text, at));
  if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
    return cut(TokenKind::kNumber, end_of_number(text, at));
  }
  if (is_word_byte(c) || c == '"') {
    SqlToken word = cut(TokenKind::kWord, end_of_word(text, at));
    word.text = lowered(word.text);
    return word;
  }
  return cut(TokenKind::kSign, end_of_sign(text, at));
}

// What is open while runs are found: a parenthesis, or the text.
struct Level {
  size_t begin;
  bool is_query = false;
  std::string_view clause = {};
  size_t clause_begin = 0;
  size_t operand_begin = 0;
  size_t condition_begin = 0;
  bool has_comparison = false;
  bool is_behind_on = false;  // in FROM
};

class RunFinder {
 public:
  explicit RunFinder(const SqlTokens& tokens) : tokens_(tokens) {}

  std::vector<TokenRun> find() {
    open(0);
    for (size_t at = 0; at < tokens_.size(); ++at) visit(at);
    while (!levels_.empty()) close(tokens_.size());
    return std::move(runs_);
  }

 private:
  void visit(size_t at) {
    const SqlToken& token = tokens_[at];
    const std::string_view word = token.text;
    const bool is_call = at + 1 < tokens_.size() && tokens_[at + 1].kind == TokenKind::kOpen;
    switch (token.kind) {
      case TokenKind::kOpen: return open(at + 1);
      case TokenKind::kClose: return close_parenthesis(at);
      case TokenKind::kSemicolon:
        while (!levels_.empty()) close(at);
        return open(at + 1);
      case TokenKind::kComma: levels_.back().is_behind_on = false; return end_condition(at);
      case TokenKind::kNumber:
      case TokenKind::kText: return add_atom(at, at + 1);
      default: break;
    }
    Level& level = levels_.back();
    if (is_in(kClauses, word) && !is_in_brackets_of_call()) return begin_clause(at, word);
    if (is_in(kComparisons, word)) {
      end_operand(at);
      level.has_comparison = true;
    } else if (is_in(kLogic, word) || (is_in(kSeparators, word) && !is_call) ||
               (level.clause == "from" && is_in(kJoins, word)) || word == "on") {
      end_condition(at);
      level.is_behind_on = word == "on";
    } else if (token.kind == TokenKind::kWord && !is_call && !is_keyword(word)) {
      add_atom(at, at + 1);
    }
  }

  void close_parenthesis(size_t at) {
    if (levels_.size() == 1) return end_condition(at);
    const size_t begin = levels_.back().begin - 1;
    close(at);
    const bool named = begin > 0 && tokens_[begin - 1].kind == TokenKind::kWord &&
                       !is_keyword(tokens_[begin - 1].text);
    if (begin > 0 && is_in(kBeforeLists, tokens_[begin - 1].text)) return;
    add_atom(named ? begin - 1 : begin, at + 1);
  }

  // No types, no names that are given, no tables.
  void add_atom(size_t begin, size_t end) {
    const Level& level = levels_.back();
    if (level.clause == "from" && !level.is_behind_on) return;
    const Words kBeforeNames = {"as", "::", "date", "interval", "timestamp", "time", "escape"};
    if (begin > 0 && is_in(kBeforeNames, tokens_[begin - 1].text)) return;
    add(RunKind::kAtom, begin, end);
  }

  // extract (year from x), substring (x from 2): no clauses.
  bool is_in_brackets_of_call() const { return levels_.size() > 1 && !levels_.back().is_query; }

  void open(size_t at) {
    Level level{.begin = at};
    level.clause_begin = level.operand_begin = level.condition_begin = at;
    const std::string_view first = at < tokens_.size() ? tokens_[at].text : std::string_view();
    level.is_query = first == "select" || first == "with" || first == "values" || levels_.empty();
    levels_.push_back(level);
  }

  void close(size_t at) {
    end_condition(at);
    const Level level = levels_.back();
    if (!level.clause.empty()) add(RunKind::kClause, level.clause_begin, at);
    if (level.is_query) add(RunKind::kQuery, level.begin, at);
    levels_.pop_back();
  }

  void begin_clause(size_t at, std::string_view word) {
    end_condition(at);
    Level& level = levels_.back();
    if (!level.clause.empty()) add(RunKind::kClause, level.clause_begin, at);
    level.clause = word;
    level.clause_begin = at;
    level.is_behind_on = false;
  }

  void end_operand(size_t at) {
    Level& level = levels_.back();
    const size_t begin = std::exchange(level.operand_begin, at + 1);
    const bool is_name = begin > 0 && (tokens_[begin - 1].text == "as" || at - begin == 0);
    const bool is_source = level.clause == "from" && !level.is_behind_on;
    if (!is_name) add(is_source ? RunKind::kSource : RunKind::kOperand, begin, at);
  }

  void end_condition(size_t at) {
    end_operand(at);
    Level& level = levels_.back();
    if (level.has_comparison) add(RunKind::kCondition, level.condition_begin, at);
    level.condition_begin = at + 1;
    level.has_comparison = false;
  }

  void add(RunKind kind, size_t begin, size_t end) {
    if (begin < end) runs_.push_back({kind, begin, end});
  }

  const SqlTokens& tokens_;
  std::vector<Level> levels_;
  std::vector<TokenRun> runs_;
};

}  // namespace

SqlTokens tokens_of(std::string_view text) {
  SqlTokens tokens;
  for (size_t at = 0; at < text.size();) {
    if (std::isspace(static_cast<unsigned char>(text[at])) != 0) {
      ++at;
    } else if (text.substr(at, 2) == "--") {
      at = std::min(text.find('\n', at), text.size());
    } else {
      tokens.push_back(token_at(text, at, &at));
    }
  }
  return tokens;
}

std::vector<TokenRun> runs_of(const SqlTokens& tokens) {
  return RunFinder(tokens).find();
}

std::string text_of(const SqlTokens& tokens) {
  std::string text;
  for (const SqlToken& token : tokens) {
    if (!text.empty()) text += ' ';
    text += token.text;
  }
  return text;
}

}  // namespace diptych::olap::fuzz
