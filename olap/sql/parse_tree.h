// ParseTree: the tree that libpg_query makes of one statement, and small accessors for its nodes.
//
// The nodes are libpg_query's own protobuf structures (pg_query/pg_query.pb-c.h). They are typed,
// and have a byte offset ("location") if the grammar keeps one.
//
// Limits     a statement has at most kStatementBytesMax bytes and kOperatorsMax operators, and
//            nests at most kParenthesesMax parentheses. The recursion of the parser and of our code
//            is as deep as the longest chain of operators, and libpg_query does not guard its
//            stack.
// Threads    any; libpg_query keeps its state per thread. pg_query_exit() is never called.

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

// What becomes of a name of over kIdentifierBytesMax bytes (olap/name_length.h).
enum class LongNames : uint8_t { kRefuse, kCut };

class ParseTree {
 public:
  // Parses exactly one statement in UTF-8. Fails with kSyntaxError, with kUnsupported beyond the
  // limits, or with 42622 for a name that is too long.
  static base::Result<ParseTree> parse(const SourceText& source,
                                       LongNames long_names = LongNames::kRefuse);

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

// "current_date", "current_user" and so on, which is also the name of its column.
std::string_view sql_value_name(const PgQuery__SQLValueFunction& function);

// The schema in which PostgreSQL puts tables that name none; here it has all tables.
inline constexpr std::string_view kPublicSchema = "public";

// The direction and the place of NULLs of an ORDER BY item; the caller sets the column. Fails with
// 42809 for USING with an operator other than < and >.
base::Result<SortKey> sort_key_of(const SourceText& source, const PgQuery__SortBy& item);

// The offset at which an expression or FROM item starts; -1 if the parser kept none.
int64_t start_of(const Node* node);

// True if the nodes are equal except for their places.
bool same_expression(const Node& a, const Node& b);

// The place of the last UNION, INTERSECT or EXCEPT before the offset, or the offset itself. The
// parse tree does not have it.
int64_t set_operation_before(const SourceText& source, int64_t offset);

// The place of a column's name in the USING of a join, whose right side begins at the offset: the
// tree does not have it. The offset where it is not found, as of NATURAL.
int64_t place_in_using(const SourceText& source, int64_t offset, std::string_view name);

// The place of the word where it stands last; 0 where it is not found.
int64_t place_of_word(const SourceText& source, std::string_view word);

// The place of an item of a list with commas, from 0, whose first one begins with this token of the
// statement; 0 where it is not found. The tree has no places of names that are dropped.
int64_t place_in_list(const SourceText& source, size_t first_token, size_t item);

// What a CREATE VIEW says that its tree does not have.
struct ViewWords {
  bool is_recursive = false;
  size_t query = 0;  // the offset behind the AS before its SELECT
};
ViewWords words_of_view(const SourceText& source);

// The construct's name for people, e.g. "window function", for "... is not supported yet".
std::string construct_name(const Node& node);

// The words with which a statement begins, e.g. "CREATE VIEW"; empty for rare ones.
std::string_view statement_name(const Node& node);

// `*` or `t.*`.
bool is_star(const Node& node);

}  // namespace diptych::olap
