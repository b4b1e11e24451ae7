#include "olap/sql/parse_tree.h"

#include <algorithm>
#include <cstring>
#include <span>

#include <fmt/format.h>
#include <pg_query.h>

#include "base/utf8.h"
#include "olap/name_length.h"

namespace diptych::olap {
namespace {

struct FreeScan {
  void operator()(PgQuery__ScanResult* scan) const {
    pg_query__scan_result__free_unpacked(scan, nullptr);
  }
};
using ScanPtr = std::unique_ptr<PgQuery__ScanResult, FreeScan>;

size_t field_bytes(ProtobufCType type) {
  switch (type) {
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_DOUBLE: return sizeof(int64_t);
    case PROTOBUF_C_TYPE_BOOL: return sizeof(protobuf_c_boolean);
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_MESSAGE: return sizeof(void*);
    case PROTOBUF_C_TYPE_BYTES: return sizeof(ProtobufCBinaryData);
    default: return sizeof(int32_t);
  }
}

template <class T>
const T& member(const ProtobufCMessage& message, size_t offset) {
  return *reinterpret_cast<const T*>(reinterpret_cast<const std::byte*>(&message) + offset);
}

bool same_message(const ProtobufCMessage& a, const ProtobufCMessage& b);

// One value of a field. The trees have no bytes.
bool same_value_of(ProtobufCType type, const std::byte* a, const std::byte* b) {
  if (type == PROTOBUF_C_TYPE_STRING) {
    return std::strcmp(*reinterpret_cast<const char* const*>(a),
                       *reinterpret_cast<const char* const*>(b)) == 0;
  }
  if (type != PROTOBUF_C_TYPE_MESSAGE) return std::memcmp(a, b, field_bytes(type)) == 0;
  const auto* const one = *reinterpret_cast<const ProtobufCMessage* const*>(a);
  const auto* const other = *reinterpret_cast<const ProtobufCMessage* const*>(b);
  if (one == nullptr || other == nullptr) return one == other;
  return same_message(*one, *other);
}

bool same_field(const ProtobufCFieldDescriptor& field, const ProtobufCMessage& a,
                const ProtobufCMessage& b) {
  if (std::string_view(field.name) == "location") return true;
  const bool repeated = field.label == PROTOBUF_C_LABEL_REPEATED;
  const bool one_of = (field.flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0;
  if (one_of) {
    const auto which = member<uint32_t>(a, field.quantifier_offset);
    if (which != member<uint32_t>(b, field.quantifier_offset)) return false;
    if (which != field.id) return true;
  }
  const size_t count = repeated ? member<size_t>(a, field.quantifier_offset) : 1;
  if (repeated && count != member<size_t>(b, field.quantifier_offset)) return false;
  const std::byte* one = &member<std::byte>(a, field.offset);
  const std::byte* other = &member<std::byte>(b, field.offset);
  if (repeated && count != 0) {
    one = member<const std::byte*>(a, field.offset);
    other = member<const std::byte*>(b, field.offset);
  }
  for (size_t i = 0; i < count; ++i) {
    const size_t at = i * field_bytes(field.type);
    if (!same_value_of(field.type, one + at, other + at)) return false;
  }
  return true;
}

bool same_message(const ProtobufCMessage& a, const ProtobufCMessage& b) {
  if (a.descriptor != b.descriptor) return false;
  const std::span fields(a.descriptor->fields, a.descriptor->n_fields);
  return std::all_of(fields.begin(), fields.end(), [&](const ProtobufCFieldDescriptor& field) {
    return same_field(field, a, b);
  });
}

// libpg_query's message without the text that our own error quotes anyway, and without the words
// that stand in front of each such error.
base::Error syntax_error(const SourceText& source, const PgQueryError& error) {
  std::string message = error.message == nullptr ? "syntax error" : error.message;
  const size_t near = message.find(" at or near ");
  if (near != std::string::npos) message.resize(near);
  if (message == "syntax error") message = "this is unexpected";
  if (message == "syntax error at end of input") message = "the statement ends too early";
  const int64_t offset = error.cursorpos > 0 ? source.offset_of_character(error.cursorpos - 1) : -1;
  if (message == "memory exhausted") {
    return source.unsupported(offset, "nesting as deep as here");
  }
  base::Error wrong = source.error(base::ErrorCode::kSyntaxError, offset, message);
  if (message.starts_with("frame ")) wrong.state = "42P20";  // that its ends make none
  return wrong;
}

bool is_comment(const PgQuery__ScanToken& token) {
  return token.token == PG_QUERY__TOKEN__SQL_COMMENT || token.token == PG_QUERY__TOKEN__C_COMMENT;
}

base::Result<ScanPtr> scan(const SourceText& source) {
  const PgQueryScanResult result = pg_query_scan(source.sql().c_str());
  base::Result<ScanPtr> tokens = base::Error(base::ErrorCode::kSyntaxError, "unreadable SQL text");
  if (result.error != nullptr) {
    tokens = syntax_error(source, *result.error);
  } else {
    const auto* bytes = reinterpret_cast<const uint8_t*>(result.pbuf.data);
    ScanPtr unpacked(pg_query__scan_result__unpack(nullptr, result.pbuf.len, bytes));
    if (unpacked != nullptr) tokens = std::move(unpacked);
  }
  pg_query_free_scan_result(result);
  return tokens;
}

// Whether the token is the name, in quotes or in letters of any case.
bool is_written_as(std::string_view token, std::string_view name) {
  const bool quoted = token.size() >= 2 && token.front() == '"';
  if (quoted) return token.substr(1, token.size() - 2) == name;
  return std::equal(token.begin(), token.end(), name.begin(), name.end(), [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
  });
}

// True for tokens that make the parse tree one level deeper each time they occur in a chain.
bool nests(PgQuery__Token token) {
  switch (token) {
    case PG_QUERY__TOKEN__ASCII_37:  // %
    case PG_QUERY__TOKEN__ASCII_42:  // *
    case PG_QUERY__TOKEN__ASCII_43:  // +
    case PG_QUERY__TOKEN__ASCII_45:  // -
    case PG_QUERY__TOKEN__ASCII_47:  // /
    case PG_QUERY__TOKEN__ASCII_94:  // ^
    case PG_QUERY__TOKEN__ASCII_91:  // [
    case PG_QUERY__TOKEN__Op:
    case PG_QUERY__TOKEN__TYPECAST:
    case PG_QUERY__TOKEN__NOT:
    case PG_QUERY__TOKEN__CASE:
    case PG_QUERY__TOKEN__JOIN:
    case PG_QUERY__TOKEN__UNION:
    case PG_QUERY__TOKEN__INTERSECT:
    case PG_QUERY__TOKEN__EXCEPT:
    case PG_QUERY__TOKEN__IS:
    case PG_QUERY__TOKEN__ISNULL:
    case PG_QUERY__TOKEN__NOTNULL:
    case PG_QUERY__TOKEN__COLLATE:
    case PG_QUERY__TOKEN__AT: return true;
    default: return false;
  }
}

// Of an identifier that begins there; "" within quotes is a quote.
size_t name_bytes(std::string_view sql, size_t begin, size_t end) {
  if (sql[begin] != '"') return end - begin;
  size_t bytes = 0;
  for (size_t at = begin + 1; at < sql.size(); ++at, ++bytes) {
    if (sql[at] == '"' && (at + 1 == sql.size() || sql[++at] != '"')) break;
  }
  return bytes;
}

base::Result<void> check_name(const SourceText& source, const PgQuery__ScanToken& token) {
  if (token.token != PG_QUERY__TOKEN__IDENT) return {};
  const size_t bytes =
      name_bytes(source.sql(), static_cast<size_t>(token.start), static_cast<size_t>(token.end));
  if (bytes <= kIdentifierBytesMax) return {};
  return source.wrong(
      token.start,
      fmt::format("the name is too long: it has {} bytes, and names have {} at most", bytes,
                  kIdentifierBytesMax),
      "42622");
}

base::Result<void> check_limits(const SourceText& source, LongNames long_names) {
  const std::string& sql = source.sql();
  if (sql.size() > kStatementBytesMax) {
    return base::Error(base::ErrorCode::kUnsupported,
                       fmt::format("the statement has {} bytes; at most {} are possible",
                                   sql.size(), kStatementBytesMax));
  }
  if (const size_t zero = sql.find('\0'); zero != std::string::npos) {
    return base::Error(base::ErrorCode::kSyntaxError,
                       fmt::format("the statement has a zero byte at offset {}", zero));
  }
  if (const size_t valid = base::valid_utf8_bytes(sql); valid != sql.size()) {
    return base::Error(base::ErrorCode::kSyntaxError,
                       fmt::format("the statement has a byte at offset {} (0x{:02x}) that is not "
                                   "UTF-8",
                                   valid, static_cast<unsigned char>(sql[valid])));
  }
  const auto tokens = scan(source);
  if (!tokens) return tokens.error();
  size_t operators = 0;
  size_t parentheses = 0;  // open at this point
  for (size_t i = 0; i < (*tokens)->n_tokens; ++i) {
    const PgQuery__ScanToken& token = *(*tokens)->tokens[i];
    if (long_names == LongNames::kRefuse) {
      if (auto checked = check_name(source, token); !checked) return checked;
    }
    if (nests(token.token)) ++operators;
    if (token.token == PG_QUERY__TOKEN__ASCII_40) ++parentheses;
    if (token.token == PG_QUERY__TOKEN__ASCII_41 && parentheses > 0) --parentheses;
    if (operators > kOperatorsMax) {
      return source.unsupported(token.start,
                                fmt::format("a statement of over {} operators", kOperatorsMax));
    }
    if (parentheses > kParenthesesMax) {
      return source.unsupported(token.start,
                                fmt::format("nesting over {} parentheses deep", kParenthesesMax));
    }
  }
  return {};
}

}  // namespace

void ParseTree::Free::operator()(PgQuery__ParseResult* result) const {
  pg_query__parse_result__free_unpacked(result, nullptr);
}

base::Result<void> check_name_lengths(std::string_view statement) {
  const SourceText source(statement);
  const auto tokens = scan(source);
  if (!tokens) return tokens.error();
  for (size_t i = 0; i < (*tokens)->n_tokens; ++i) {
    if (auto checked = check_name(source, *(*tokens)->tokens[i]); !checked) return checked;
  }
  return {};
}

base::Result<ParseTree> ParseTree::parse(const SourceText& source, LongNames long_names) {
  if (auto checked = check_limits(source, long_names); !checked) return checked.error();
  const PgQueryProtobufParseResult result = pg_query_parse_protobuf(source.sql().c_str());
  ParseTree tree;
  base::Result<ParseTree> parsed =
      base::Error(base::ErrorCode::kSyntaxError, "unreadable SQL text");
  if (result.error != nullptr) {
    parsed = syntax_error(source, *result.error);
  } else {
    const auto* bytes = reinterpret_cast<const uint8_t*>(result.parse_tree.data);
    tree.result_.reset(pg_query__parse_result__unpack(nullptr, result.parse_tree.len, bytes));
    const size_t statements = tree.result_ == nullptr ? 0 : tree.result_->n_stmts;
    if (statements == 1) {
      parsed = std::move(tree);
    } else if (statements == 0) {
      parsed = base::Error(base::ErrorCode::kSyntaxError, "there is no statement in the text");
    } else {
      const auto second = static_cast<size_t>(tree.result_->stmts[1]->stmt_location);
      const size_t text = source.sql().find_first_not_of(" \t\r\n", second);
      parsed = source.error(base::ErrorCode::kSyntaxError, static_cast<int64_t>(text),
                            "one statement at a time; another begins here");
    }
  }
  pg_query_free_protobuf_parse_result(result);
  return parsed;
}

const Node& ParseTree::statement() const {
  return *result_->stmts[0]->stmt;
}

namespace {
constexpr std::string_view kWhiteSpace = " \t\n\r\f\v";
}  // namespace

base::Result<std::vector<std::string_view>> split_script(std::string_view script) {
  if (const size_t zero = script.find('\0'); zero != std::string_view::npos) {
    return base::Error(base::ErrorCode::kSyntaxError,
                       fmt::format("the script has a zero byte at offset {}", zero));
  }
  const SourceText source(script);
  const auto tokens = scan(source);
  if (!tokens) return tokens.error();
  std::vector<std::string_view> statements;
  int32_t begin = -1;  // of the first token of the statement that is being read
  int32_t end = 0;
  for (size_t i = 0; i < (*tokens)->n_tokens; ++i) {
    const PgQuery__ScanToken& token = *(*tokens)->tokens[i];
    const bool semicolon = token.token == PG_QUERY__TOKEN__ASCII_59;
    if (semicolon) {
      if (begin >= 0) statements.push_back(script.substr(begin, end - begin));
      begin = -1;
    } else if (!is_comment(token)) {
      if (begin < 0) begin = token.start;
      // The lexer's end is wrong for U&'...' before a line's end: a token goes on to the white
      // space before the next.
      const PgQuery__ScanToken* const next =
          i + 1 < (*tokens)->n_tokens ? (*tokens)->tokens[i + 1] : nullptr;
      end = next == nullptr ? static_cast<int32_t>(script.size()) : next->start;
      while (end > token.start + 1 && kWhiteSpace.find(script[end - 1]) != kWhiteSpace.npos) --end;
    }
  }
  if (begin >= 0) statements.push_back(script.substr(begin, end - begin));
  return statements;
}

std::string_view string_of(const Node* node) {
  if (node == nullptr || node->node_case != PG_QUERY__NODE__NODE_STRING) return {};
  return node->string->sval;
}

std::vector<std::string> strings_of(NodeList nodes) {
  std::vector<std::string> names;
  for (const Node* node : nodes) {
    const std::string_view name = string_of(node);
    if (name != "pg_catalog" || nodes.size() == 1) names.emplace_back(name);
  }
  return names;
}

std::string joined(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, "."));
}

base::Result<SortKey> sort_key_of(const SourceText& source, const PgQuery__SortBy& item) {
  SortKey key;
  key.descending = item.sortby_dir == PG_QUERY__SORT_BY_DIR__SORTBY_DESC;
  if (item.sortby_dir == PG_QUERY__SORT_BY_DIR__SORTBY_USING) {
    const std::string name = joined(strings_of(NodeList(item.use_op, item.n_use_op)));
    key.descending = name == ">";
    if (name != "<" && name != ">") {
      return source.wrong(item.location,
                          fmt::format("operator {} orders nothing: USING takes < and >", name),
                          "42809");
    }
  }
  key.nulls_first = key.descending;
  if (item.sortby_nulls != PG_QUERY__SORT_BY_NULLS__SORTBY_NULLS_DEFAULT) {
    key.nulls_first = item.sortby_nulls == PG_QUERY__SORT_BY_NULLS__SORTBY_NULLS_FIRST;
  }
  return key;
}

int64_t start_of(const Node* node) {
  if (node == nullptr) return -1;
  switch (node->node_case) {
    case PG_QUERY__NODE__NODE_COLUMN_REF: return node->column_ref->location;
    case PG_QUERY__NODE__NODE_A_CONST: return node->a_const->location;
    case PG_QUERY__NODE__NODE_FUNC_CALL: return node->func_call->location;
    case PG_QUERY__NODE__NODE_A_EXPR:
      if (node->a_expr->lexpr == nullptr) return node->a_expr->location;
      return start_of(node->a_expr->lexpr);
    case PG_QUERY__NODE__NODE_BOOL_EXPR:
      if (node->bool_expr->boolop == PG_QUERY__BOOL_EXPR_TYPE__NOT_EXPR ||
          node->bool_expr->n_args == 0) {
        return node->bool_expr->location;
      }
      return start_of(node->bool_expr->args[0]);
    case PG_QUERY__NODE__NODE_SUB_LINK:
      if (node->sub_link->testexpr != nullptr) return start_of(node->sub_link->testexpr);
      return node->sub_link->location;
    case PG_QUERY__NODE__NODE_TYPE_CAST: {
      const int64_t argument = start_of(node->type_cast->arg);
      const int64_t type = node->type_cast->type_name->location;
      return argument < 0 ? type : std::min(argument, type);
    }
    case PG_QUERY__NODE__NODE_CASE_EXPR: return node->case_expr->location;
    case PG_QUERY__NODE__NODE_COALESCE_EXPR: return node->coalesce_expr->location;
    case PG_QUERY__NODE__NODE_MIN_MAX_EXPR: return node->min_max_expr->location;
    case PG_QUERY__NODE__NODE_NULL_TEST: return start_of(node->null_test->arg);
    case PG_QUERY__NODE__NODE_BOOLEAN_TEST: return start_of(node->boolean_test->arg);
    case PG_QUERY__NODE__NODE_SQLVALUE_FUNCTION: return node->sqlvalue_function->location;
    case PG_QUERY__NODE__NODE_PARAM_REF: return node->param_ref->location;
    case PG_QUERY__NODE__NODE_ROW_EXPR: return node->row_expr->location;
    case PG_QUERY__NODE__NODE_A_ARRAY_EXPR: return node->a_array_expr->location;
    case PG_QUERY__NODE__NODE_GROUPING_SET: return node->grouping_set->location;
    case PG_QUERY__NODE__NODE_RES_TARGET: return node->res_target->location;
    case PG_QUERY__NODE__NODE_RANGE_VAR: return node->range_var->location;
    case PG_QUERY__NODE__NODE_RANGE_TABLE_SAMPLE: return node->range_table_sample->location;
    case PG_QUERY__NODE__NODE_RANGE_FUNCTION:  // a list of (function, column definitions)
      return start_of(node->range_function->functions[0]->list->items[0]);
    case PG_QUERY__NODE__NODE_COLLATE_CLAUSE: return node->collate_clause->location;
    case PG_QUERY__NODE__NODE_A_INDIRECTION: return start_of(node->a_indirection->arg);
    case PG_QUERY__NODE__NODE_NAMED_ARG_EXPR: return node->named_arg_expr->location;
    case PG_QUERY__NODE__NODE_JOIN_EXPR: return start_of(node->join_expr->larg);
    case PG_QUERY__NODE__NODE_TABLE_LIKE_CLAUSE: return node->table_like_clause->relation->location;
    case PG_QUERY__NODE__NODE_COLUMN_DEF: return node->column_def->location;
    case PG_QUERY__NODE__NODE_CONSTRAINT: return node->constraint->location;
    default: return -1;
  }
}

bool same_expression(const Node& a, const Node& b) {
  return same_message(a.base, b.base);
}

int64_t set_operation_before(const SourceText& source, int64_t offset) {
  const auto tokens = scan(source);
  if (!tokens) return offset;
  int64_t found = offset;
  for (size_t i = 0; i < (*tokens)->n_tokens; ++i) {
    const PgQuery__ScanToken& token = *(*tokens)->tokens[i];
    if (token.start >= offset) break;
    if (token.token == PG_QUERY__TOKEN__UNION || token.token == PG_QUERY__TOKEN__INTERSECT ||
        token.token == PG_QUERY__TOKEN__EXCEPT) {
      found = token.start;
    }
  }
  return found;
}

int64_t place_in_using(const SourceText& source, int64_t offset, std::string_view name) {
  const auto scanned = scan(source);
  if (!scanned) return offset;
  const std::span tokens((*scanned)->tokens, (*scanned)->n_tokens);
  size_t join = tokens.size();
  for (size_t i = 0; i < tokens.size() && tokens[i]->start < offset; ++i) {
    if (tokens[i]->token == PG_QUERY__TOKEN__JOIN) join = i;
  }
  int depth = 0;
  bool in_using = false;
  for (size_t i = join + 1; i < tokens.size(); ++i) {
    const PgQuery__ScanToken& token = *tokens[i];
    if (token.token == PG_QUERY__TOKEN__ASCII_40) ++depth;
    if (token.token == PG_QUERY__TOKEN__ASCII_41) --depth;
    if (depth == 0 && (in_using ? token.token == PG_QUERY__TOKEN__ASCII_41
                                : token.token == PG_QUERY__TOKEN__JOIN)) {
      break;
    }
    in_using = in_using || (depth == 0 && token.token == PG_QUERY__TOKEN__USING);
    const auto length = static_cast<size_t>(token.end - token.start);
    if (in_using &&
        is_written_as(std::string_view(source.sql()).substr(token.start, length), name)) {
      return token.start;
    }
  }
  return offset;
}

int64_t place_of_word(const SourceText& source, std::string_view word) {
  const auto scanned = scan(source);
  if (!scanned) return 0;
  const std::span tokens((*scanned)->tokens, (*scanned)->n_tokens);
  for (size_t i = tokens.size(); i-- > 0;) {
    const auto length = static_cast<size_t>(tokens[i]->end - tokens[i]->start);
    if (is_written_as(std::string_view(source.sql()).substr(tokens[i]->start, length), word)) {
      return tokens[i]->start;
    }
  }
  return 0;
}

int64_t place_in_list(const SourceText& source, size_t first_token, size_t item) {
  const auto scanned = scan(source);
  if (!scanned) return 0;
  const std::span tokens((*scanned)->tokens, (*scanned)->n_tokens);
  for (const PgQuery__ScanToken* token : tokens) {
    if (is_comment(*token)) continue;
    if (first_token > 0) {
      --first_token;
      continue;
    }
    if (item == 0) return token->start;
    if (token->token == PG_QUERY__TOKEN__ASCII_44) --item;
  }
  return 0;
}

// AS is reserved: it is no name without quotes.
ViewWords words_of_view(const SourceText& source) {
  ViewWords words;
  const auto scanned = scan(source);
  if (!scanned) return words;
  bool is_named = false;
  for (const PgQuery__ScanToken* token : std::span((*scanned)->tokens, (*scanned)->n_tokens)) {
    is_named = is_named || token->token == PG_QUERY__TOKEN__VIEW;
    if (!is_named && token->token == PG_QUERY__TOKEN__RECURSIVE) words.is_recursive = true;
    if (token->token != PG_QUERY__TOKEN__AS) continue;
    words.query = static_cast<size_t>(token->end);
    break;
  }
  return words;
}

std::string construct_name(const Node& node) {
  switch (node.node_case) {
    case PG_QUERY__NODE__NODE_PARAM_REF: return "a parameter ($1)";
    case PG_QUERY__NODE__NODE_SQLVALUE_FUNCTION: return "the current date, time or user";
    case PG_QUERY__NODE__NODE_MIN_MAX_EXPR: return "GREATEST or LEAST";
    case PG_QUERY__NODE__NODE_ROW_EXPR: return "a row value";
    case PG_QUERY__NODE__NODE_A_ARRAY_EXPR: return "an array";
    case PG_QUERY__NODE__NODE_A_INDIRECTION: return "a subscript or field selection";
    case PG_QUERY__NODE__NODE_NAMED_ARG_EXPR: return "an argument with its name";
    case PG_QUERY__NODE__NODE_GROUPING_SET: return "GROUPING SETS, ROLLUP or CUBE";
    case PG_QUERY__NODE__NODE_GROUPING_FUNC: return "GROUPING";
    case PG_QUERY__NODE__NODE_COLLATE_CLAUSE: return "COLLATE";
    case PG_QUERY__NODE__NODE_SET_TO_DEFAULT: return "DEFAULT";
    case PG_QUERY__NODE__NODE_RANGE_FUNCTION: return "a function in FROM";
    case PG_QUERY__NODE__NODE_RANGE_TABLE_SAMPLE: return "TABLESAMPLE";
    case PG_QUERY__NODE__NODE_TABLE_LIKE_CLAUSE: return "LIKE in CREATE TABLE";
    default: break;
  }
  // The node's type name, e.g. "XmlExpr", read off the protobuf descriptor: rare constructs only.
  const ProtobufCMessageDescriptor& descriptor = pg_query__node__descriptor;
  for (unsigned i = 0; i < descriptor.n_fields; ++i) {
    const ProtobufCFieldDescriptor& field = descriptor.fields[i];
    if (field.id == static_cast<uint32_t>(node.node_case)) {
      return fmt::format("\"{}\"", field.name);
    }
  }
  return "this construct";
}

std::string_view statement_name(const Node& node) {
  switch (node.node_case) {
    case PG_QUERY__NODE__NODE_SELECT_STMT: return "SELECT";
    case PG_QUERY__NODE__NODE_INSERT_STMT: return "INSERT";
    case PG_QUERY__NODE__NODE_UPDATE_STMT: return "UPDATE";
    case PG_QUERY__NODE__NODE_DELETE_STMT: return "DELETE";
    case PG_QUERY__NODE__NODE_DROP_STMT: return "DROP";
    case PG_QUERY__NODE__NODE_ALTER_TABLE_STMT: return "ALTER TABLE";
    case PG_QUERY__NODE__NODE_TRUNCATE_STMT: return "TRUNCATE";
    case PG_QUERY__NODE__NODE_VIEW_STMT: return "CREATE VIEW";
    case PG_QUERY__NODE__NODE_CREATE_TABLE_AS_STMT:
      return node.create_table_as_stmt->objtype == PG_QUERY__OBJECT_TYPE__OBJECT_MATVIEW
                 ? "CREATE MATERIALIZED VIEW"
                 : "CREATE TABLE AS";
    case PG_QUERY__NODE__NODE_TRANSACTION_STMT: return "a statement that controls transactions";
    case PG_QUERY__NODE__NODE_VARIABLE_SET_STMT: return "SET";
    case PG_QUERY__NODE__NODE_EXPLAIN_STMT: return "EXPLAIN of EXPLAIN";
    default: return {};
  }
}

std::string_view sql_value_name(const PgQuery__SQLValueFunction& function) {
  switch (function.op) {
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_DATE: return "current_date";
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_TIME:
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_TIME_N: return "current_time";
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_LOCALTIME:
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_LOCALTIME_N: return "localtime";
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_LOCALTIMESTAMP:
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_LOCALTIMESTAMP_N: return "localtimestamp";
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_ROLE: return "current_role";
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_USER: return "current_user";
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_USER: return "user";
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_SESSION_USER: return "session_user";
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_CATALOG: return "current_catalog";
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_SCHEMA: return "current_schema";
    default: return "current_timestamp";
  }
}

bool is_star(const Node& node) {
  return node.node_case == PG_QUERY__NODE__NODE_COLUMN_REF && node.column_ref->n_fields > 0 &&
         node.column_ref->fields[node.column_ref->n_fields - 1]->node_case ==
             PG_QUERY__NODE__NODE_A_STAR;
}

}  // namespace diptych::olap
