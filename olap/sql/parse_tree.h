// ParseTree: what libpg_query makes of one statement, and small accessors for its nodes.
//
// The nodes are libpg_query's own protobuf structures (pg_query/pg_query.pb-c.h): typed, with a
// byte offset ("location") where the grammar keeps one.
//
// Limits     A statement has at most kStatementBytesMax bytes, kOperatorsMax operators, and nests
//            kParenthesesMax parentheses: the parser's and our own recursion is as deep as the
//            longest chain of operators, and libpg_query does not guard its stack.
// Threads    Any; libpg_query keeps its state per thread. pg_query_exit() is never called.

#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <pg_query/pg_query.pb-c.h>

#include "base/result.h"
#include "olap/plan.h"
#include "olap/sql/source_text.h"

namespace diptych::olap {

inline constexpr size_t kStatementBytesMax = 1 << 20;
inline constexpr size_t kOperatorsMax = 1000;
inline constexpr size_t kParenthesesMax = 200;

using Node = PgQuery__Node;
using NodeList = std::span<Node* const>;

class ParseTree {
 public:
  // Exactly one statement, in UTF-8. Fails with kSyntaxError, or kUnsupported past the limits.
  static base::Result<ParseTree> parse(const SourceText& source);

  const Node& statement() const;

 private:
  struct Free {
    void operator()(PgQuery__ParseResult* result) const;
  };
  std::unique_ptr<PgQuery__ParseResult, Free> result_;
};

// The statements of a script, as views of it, split at semicolons outside quotes and comments.
base::Result<std::vector<std::string_view>> split_script(std::string_view script);

// The text of a String node; empty for any other.
std::string_view string_of(const Node* node);

// The names of a list of String nodes, e.g. a qualified function name without "pg_catalog".
std::vector<std::string> strings_of(NodeList nodes);

// "a.b" for the error messages.
std::string joined(const std::vector<std::string>& names);

// Where PostgreSQL puts tables that are made without a schema: here all of them are.
inline constexpr std::string_view kPublicSchema = "public";

// Direction and place of NULLs of an ORDER BY item; its column is the caller's. 42809 for USING
// with an operator but < and >.
base::Result<SortKey> sort_key_of(const SourceText& source, const PgQuery__SortBy& item);

// Where the text of an expression or FROM item starts; -1 where the parser kept no place.
int64_t start_of(const Node* node);

// Whether the nodes say the same, wherever they were written.
bool same_expression(const Node& a, const Node& b);

// Where the last UNION, INTERSECT or EXCEPT before the offset stands, or the offset: the parse tree
// does not say.
int64_t set_operation_before(const SourceText& source, int64_t offset);

// What a person calls the construct, e.g. "window function"; for "... is not supported yet".
std::string construct_name(const Node& node);

// The words that a statement begins with, e.g. "CREATE VIEW"; empty for a rare one.
std::string_view statement_name(const Node& node);

}  // namespace diptych::olap
