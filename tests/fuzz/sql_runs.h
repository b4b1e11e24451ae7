// A statement's tokens, and the runs of them that may stand for each other: an atom, an operand, a
// condition, a source of FROM, a clause, a whole query. By words and parentheses, without a
// grammar: most runs are what they are called.
//
// Functions of values; any thread.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace diptych::olap::fuzz {

enum class TokenKind : uint8_t { kWord, kNumber, kText, kSign, kComma, kOpen, kClose, kSemicolon };

struct SqlToken {
  TokenKind kind;
  std::string text;  // words that are not quoted in lower case; "a.b" is one word
};
using SqlTokens = std::vector<SqlToken>;

enum class RunKind : uint8_t { kAtom, kOperand, kCondition, kSource, kClause, kQuery };
inline constexpr size_t kRunKinds = 6;

// Tokens [begin, end).
struct TokenRun {
  RunKind kind;
  size_t begin;
  size_t end;
};

// Comments and blanks are dropped; what never closes ends with the text.
SqlTokens tokens_of(std::string_view text);
// Runs of all kinds, those within others too.
std::vector<TokenRun> runs_of(const SqlTokens& tokens);
std::string text_of(const SqlTokens& tokens);

}  // namespace diptych::olap::fuzz
