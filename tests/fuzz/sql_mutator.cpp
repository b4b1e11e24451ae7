#include "tests/fuzz/sql_mutator.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <random>
#include <utility>

namespace diptych::olap::fuzz {
namespace {

using Words = std::vector<std::string_view>;

// A token may become another of its class.
const std::vector<Words> kClasses = {
    {"sum", "avg", "min", "max", "count", "stddev", "variance", "stddev_pop", "var_pop", "mode"},
    {"bool_and", "bool_or", "every"},
    {"row_number", "rank", "dense_rank", "percent_rank", "cume_dist"},
    {"lag", "lead", "first_value", "last_value"},
    {"upper", "lower", "trim", "reverse", "initcap", "ltrim", "rtrim", "md5"},
    {"length", "octet_length", "ascii", "char_length", "bit_length"},
    {"abs", "ceil", "floor", "round", "sign", "sqrt", "exp", "ln", "trunc", "cbrt"},
    {"coalesce", "greatest", "least", "concat"},
    {"left", "right", "repeat", "chr", "lpad", "rpad"},
    {"mod", "power", "div", "atan2", "nullif"},
    {"=", "<>", "<", "<=", ">", ">=", "is distinct from", "is not distinct from"},
    {"+", "-", "*", "/", "%", "||"},
    {"and", "or", "and not"},
    {"left join", "right join", "full join", "join"},
    {"left", "right", "full"},
    {"union", "except", "intersect", "union all", "except all", "intersect all"},
    {"asc", "desc", "desc nulls last", "asc nulls first"},
    {"rows", "range", "groups"},
    {"preceding", "following"},
    {"year", "month", "day", "hour", "second", "quarter", "week", "dow", "doy", "epoch", "century"},
    {"int", "bigint", "text", "numeric", "numeric(18,4)", "double precision", "date", "timestamp",
     "boolean", "interval", "varchar(3)", "char(2)", "smallint"},
    {"true", "false", "null"},
    {"exists", "not exists"},
    {"any", "all"},
    {"in", "not in"},
    {"like", "ilike", "not like", "similar to", "~", "!~*"},
    {"is null", "is not null", "is true", "is unknown"},
    {"num", "grade", "part", "empty"},
    {"sale", "many"},
};

const Words kNumbers = {"0",
                        "1",
                        "2",
                        "3",
                        "5",
                        "10",
                        "64",
                        "1000",
                        "65536",
                        "2147483647",
                        "2147483648",
                        "9223372036854775807",
                        "9223372036854775808",
                        "0.5",
                        "1.00",
                        "1e10",
                        "1e308",
                        "1e-300",
                        "0.000000000000000001",
                        "(-1)",
                        "(-2147483648)",
                        "99999999999999999999999999999999999999",
                        "null",
                        "'1'",
                        "0.0"};
const Words kTexts = {"''",
                      "'a'",
                      "'A%'",
                      "'_'",
                      "'north'",
                      "'2020-02-29'",
                      "'0001-01-01'",
                      "'1 month'",
                      "'-1 day 25:00:00'",
                      "'2024-01-01 23:59:59.999999'",
                      "'NaN'",
                      "'infinity'",
                      "'-1'",
                      "'\xc3\xa4'",
                      "'\xf0\x9f\x98\x80'",
                      "'1e400'",
                      "' '",
                      "'(a|b)*'",
                      "'\\'",
                      "'294276-12-31'",
                      "null",
                      "'%%'",
                      "'yyyy-mm-dd'"};

// What stands around a run: $1 is the run, $2 another operand of the text.
const Words kAroundOperand = {
    "( $1 )",
    "coalesce ( $1 , $2 )",
    "case when $2 is null then $1 else $2 end",
    "case when $1 = $2 then $2 end",
    "nullif ( $1 , $2 )",
    "- ( $1 )",
    "( $1 ) :: text",
    "( $1 ) :: double precision",
    "( $1 ) :: numeric ( 12 , 3 )",
    "( $1 ) :: date",
    "( $1 ) :: int",
    "( $1 ) :: timestamp",
    "( $1 ) :: interval",
    "( select $1 )",
    "( select max ( $1 ) from num )",
    "( select min ( x ) from num where x > $1 )",
    "( select count ( * ) from part where part.size = $1 )",
    "greatest ( $1 , $2 )",
    "( $1 ) + ( $2 )",
    "( $1 ) - ( $2 )",
    "( $1 ) * ( $2 )",
    "( $1 ) / ( $2 )",
    "( $1 ) || ( $2 )",
    "( $1 ) % ( $2 )",
    "sum ( $1 )",
    "count ( distinct $1 )",
    "string_agg ( $1 , $2 order by $1 )",
    "max ( $1 ) filter ( where $2 is not null )",
    "sum ( $1 ) over ( partition by $2 )",
    "lag ( $1 ) over ( order by $2 )",
    "rank ( ) over ( partition by $1 order by $2 )",
    "count ( $1 ) over ( order by $2 rows between 1 preceding and 2 following )",
    "percentile_cont ( 0.5 ) within group ( order by $1 )",
    "extract ( year from $1 )",
    "date_trunc ( 'month' , $1 )",
    "substring ( $1 from 2 for 3 )",
    "to_char ( $1 , '999' )",
    "( $1 ) + interval '1 month'",
    "length ( $1 )",
    "round ( $1 , 1 )",
    "abs ( $1 )",
    "repeat ( $1 , 3 )",
    "grouping ( $1 )",
    "lower ( $1 )",
    "concat ( $1 , $2 )"};
const Words kAroundCondition = {"not ( $1 )",
                                "( $1 ) or $2 is null",
                                "( $1 ) and $2 is not null",
                                "( $1 ) is not true",
                                "exists ( select 1 from num where $1 )",
                                "not exists ( select 1 from num where $1 )",
                                "( $1 ) = ( $2 is null )",
                                "case when $1 then $2 is null else true end",
                                "( $1 ) is unknown",
                                "$2 in ( select x from num where $1 )",
                                "$2 not in ( select x from num where $1 )",
                                "$2 = any ( select y from num where $1 )",
                                "$2 > all ( select y from num where $1 )",
                                "( $2 , 1 ) in ( select x , y from num where $1 )",
                                "coalesce ( $1 , $2 is null )"};
const Words kAroundQuery = {"select * from ( $1 ) as q",
                            "select count ( * ) from ( $1 ) as q",
                            "( $1 ) limit 3",
                            "with q as ( $1 ) select * from q as a , q as b",
                            "( $1 ) union all ( $1 )",
                            "( $1 ) union ( $1 )",
                            "( $1 ) except ( $1 )",
                            "( $1 ) intersect all ( $1 )",
                            "explain analyze $1",
                            "explain $1",
                            "select n from num where exists ( $1 )",
                            "select n , ( $1 ) from num",
                            "select n from num where x in ( $1 )",
                            "select * from num , lateral ( $1 ) as q",
                            "select * from num left join lateral ( $1 ) as q on true",
                            "with q as ( $1 ) select 1",
                            "select x , y from num where ( x , y ) in ( $1 )",
                            "( $1 ) order by 1 desc",
                            "with recursive q ( k ) as ( select 1 union select k + 1 from q where "
                            "k < 5 and exists ( $1 ) ) "
                            "select * from q"};
const Words kAroundSource = {"( select * from $1 ) as q",
                             "$1 left join num as j on j.n = 1",
                             "$1 cross join num as j",
                             "$1 join num as j on true",
                             "( $1 )",
                             "$1 full join num as j on j.x = 1",
                             "( select distinct * from $1 ) as q",
                             "$1 natural join num as j",
                             "$1 , lateral ( select 1 ) as j"};
const Words kClausesToAdd = {"where $2 is not null",
                             "where $2 = $2",
                             "group by $2",
                             "group by rollup ( $2 )",
                             "group by grouping sets ( ( $2 ) , ( ) )",
                             "having count ( * ) > 1",
                             "order by $2 , 1",
                             "order by 1 desc nulls last",
                             "limit 2",
                             "limit 1 offset 1",
                             "union all select 1",
                             "where exists ( select 1 from num where x = $2 )",
                             "where $2 in ( select y from num )",
                             "fetch first 1 rows with ties",
                             "where $2 between $2 and $2",
                             "group by cube ( $2 , 1 )"};

bool is_in(const Words& words, std::string_view text) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

// Where a clause stands in a query; those of the same place exclude each other.
size_t place_of_clause(std::string_view word) {
  constexpr std::string_view kInOrder[] = {"with",   "select", "from",  "where", "group", "having",
                                           "window", "union",  "order", "limit", "offset"};
  if (word == "except" || word == "intersect") word = "union";
  if (word == "fetch") word = "limit";
  return static_cast<size_t>(std::find(std::begin(kInOrder), std::end(kInOrder), word) -
                             std::begin(kInOrder));
}

SqlTokens slice(const SqlTokens& tokens, const TokenRun& run) {
  const auto first = tokens.begin() + static_cast<std::ptrdiff_t>(run.begin);
  return {first, first + static_cast<std::ptrdiff_t>(run.end - run.begin)};
}

void replace(SqlTokens* tokens, const TokenRun& run, const SqlTokens& by) {
  const auto first = tokens->begin() + static_cast<std::ptrdiff_t>(run.begin);
  const auto at = tokens->erase(first, first + static_cast<std::ptrdiff_t>(run.end - run.begin));
  tokens->insert(at, by.begin(), by.end());
}

// The template's $1 and $2 by runs.
SqlTokens filled(std::string_view words, const SqlTokens& first, const SqlTokens& second) {
  std::string text(words);
  for (const auto& [name, run] : {std::pair{"$1", &first}, {"$2", &second}}) {
    const std::string by = text_of(*run);
    for (size_t at = text.find(name); at != text.npos; at = text.find(name, at + by.size())) {
      text.replace(at, 2, by);
    }
  }
  return tokens_of(text);
}

const Words& around(RunKind kind) {
  switch (kind) {
    case RunKind::kCondition: return kAroundCondition;
    case RunKind::kSource: return kAroundSource;
    case RunKind::kQuery: return kAroundQuery;
    default: return kAroundOperand;
  }
}

bool has_word(const SqlTokens& tokens, std::string_view word) {
  return std::any_of(tokens.begin(), tokens.end(),
                     [&](const SqlToken& token) { return token.text == word; });
}

}  // namespace

struct SqlMutator::Random {
  std::minstd_rand engine;

  size_t below(size_t limit) { return limit == 0 ? 0 : engine() % limit; }
  template <class List>
  const auto& of(const List& list) {
    return list[below(list.size())];
  }
  // Each kind is as likely, though there are many atoms and few queries.
  std::optional<TokenRun> run_of(const SqlTokens& tokens, std::optional<RunKind> kind = {}) {
    const std::vector<TokenRun> all = runs_of(tokens);
    for (size_t tries = 0; tries < kRunKinds; ++tries) {
      const RunKind wanted = kind.value_or(static_cast<RunKind>(below(kRunKinds)));
      std::vector<TokenRun> runs;
      std::copy_if(all.begin(), all.end(), std::back_inserter(runs),
                   [&](const TokenRun& run) { return run.kind == wanted; });
      if (!runs.empty()) return of(runs);
    }
    return std::nullopt;
  }
};

SqlMutator::SqlMutator(const std::vector<std::string>& statements, const base::Catalog& catalog) {
  for (const std::string& statement : statements) statements_.push_back(tokens_of(statement));
  for (const base::TableSchema& table : catalog.tables()) {
    for (const base::ColumnSchema& column : table.columns) {
      columns_[column.name] = column.type.kind;
    }
  }
}

std::string SqlMutator::mutated(std::string_view text, uint64_t seed) const {
  Random random{std::minstd_rand(static_cast<uint32_t>(seed))};
  SqlTokens tokens = tokens_of(text);
  if (tokens.empty()) tokens = any_statement(&random);
  size_t changes = 1 + random.below(3);
  for (size_t tries = 0; changes > 0 && tries < 10; ++tries) {
    if (change(&tokens, &random)) --changes;
  }
  return text_of(tokens);
}

std::string SqlMutator::crossed(std::string_view text, std::string_view other,
                                uint64_t seed) const {
  Random random{std::minstd_rand(static_cast<uint32_t>(seed))};
  SqlTokens tokens = tokens_of(text);
  const SqlTokens from = tokens_of(other);
  for (size_t tries = 0; tries < 4; ++tries) {
    if (take_run(&tokens, from, &random)) break;
  }
  return text_of(tokens);
}

bool SqlMutator::change(SqlTokens* tokens, Random* random) const {
  switch (random->below(10)) {
    case 0:
    case 1:
    case 2: return take_run(tokens, any_statement(random), random);
    case 3: return take_run(tokens, SqlTokens(*tokens), random);
    case 4:
    case 5: return wrap_run(tokens, random);
    case 6: return add_clause(tokens, any_statement(random), random);
    case 7: return drop_run(tokens, random);
    default: return change_token(tokens, random);
  }
}

const SqlTokens& SqlMutator::any_statement(Random* random) const {
  return random->of(statements_);
}

bool SqlMutator::is_column(const SqlToken& token) const {
  if (token.kind != TokenKind::kWord) return false;
  const std::string_view text = token.text;
  return columns_.contains(text.substr(text.rfind('.') + 1));
}

void SqlMutator::adapt(SqlTokens* run, const SqlTokens& text, Random* random) const {
  if (has_word(*run, "from")) return;  // it has columns of its own
  std::vector<const SqlToken*> known;
  for (const SqlToken& token : text) {
    if (is_column(token)) known.push_back(&token);
  }
  if (known.empty()) return;
  const auto type_of = [&](const SqlToken& token) {
    return columns_.find(token.text.substr(token.text.rfind('.') + 1))->second;
  };
  for (SqlToken& token : *run) {
    if (!is_column(token)) continue;
    std::vector<const SqlToken*> alike;
    std::copy_if(known.begin(), known.end(), std::back_inserter(alike),
                 [&](const SqlToken* each) { return type_of(*each) == type_of(token); });
    token = *random->of(alike.empty() || random->below(8) == 0 ? known : alike);
  }
}

bool SqlMutator::take_run(SqlTokens* tokens, const SqlTokens& from, Random* random) const {
  const auto run = random->run_of(*tokens);
  if (!run) return false;
  // Atoms, operands and conditions are expressions, and may stand for each other.
  const bool is_expression = run->kind == RunKind::kAtom || run->kind == RunKind::kOperand;
  const RunKind kind = is_expression && random->below(3) == 0
                           ? random->of(std::array{RunKind::kAtom, RunKind::kOperand})
                           : run->kind;
  const auto other = random->run_of(from, kind);
  if (!other) return false;
  SqlTokens taken = slice(from, *other);
  if (kind == RunKind::kClause && taken.front().text != (*tokens)[run->begin].text) return false;
  adapt(&taken, *tokens, random);
  if (taken.size() > 1 && (is_expression || kind == RunKind::kCondition)) {
    taken.insert(taken.begin(), {TokenKind::kOpen, "("});
    taken.push_back({TokenKind::kClose, ")"});
  }
  replace(tokens, *run, taken);
  return true;
}

bool SqlMutator::wrap_run(SqlTokens* tokens, Random* random) const {
  const auto run = random->run_of(*tokens);
  if (!run || run->kind == RunKind::kClause) return false;
  const auto other = random->run_of(*tokens, RunKind::kAtom);
  SqlTokens second = other ? slice(*tokens, *other) : tokens_of("1");
  adapt(&second, *tokens, random);
  replace(tokens, *run, filled(random->of(around(run->kind)), slice(*tokens, *run), second));
  return true;
}

// In its place, or in that of another of its place.
bool SqlMutator::add_clause(SqlTokens* tokens, const SqlTokens& from, Random* random) const {
  const auto query = random->run_of(*tokens, RunKind::kQuery);
  if (!query) return false;
  const auto operand = random->run_of(*tokens, RunKind::kAtom);
  const SqlTokens second = operand ? slice(*tokens, *operand) : tokens_of("1");
  SqlTokens added = filled(random->of(kClausesToAdd), {}, second);
  if (random->below(2) == 0) {
    const auto other = random->run_of(from, RunKind::kClause);
    if (!other) return false;
    added = slice(from, *other);
  }
  adapt(&added, *tokens, random);
  const size_t place = place_of_clause(added.front().text);
  // The query's own clauses lie side by side.
  size_t at = query->begin;
  for (const TokenRun& run : runs_of(*tokens)) {
    if (run.kind != RunKind::kClause || run.begin != at || run.end > query->end) continue;
    const size_t other = place_of_clause((*tokens)[run.begin].text);
    if (other > place) break;
    if (other == place) {
      replace(tokens, run, added);
      return true;
    }
    at = run.end;
  }
  replace(tokens, {RunKind::kClause, at, at}, added);
  return true;
}

bool SqlMutator::drop_run(SqlTokens* tokens, Random* random) const {
  auto run = random->run_of(*tokens);
  if (!run || run->kind == RunKind::kQuery) return false;
  if (run->kind == RunKind::kClause && (*tokens)[run->begin].text == "select") return false;
  // With the comma, or the AND, in front of it.
  if (run->kind != RunKind::kClause) {
    if (run->begin == 0) return false;
    const SqlToken& before = (*tokens)[run->begin - 1];
    if (before.kind != TokenKind::kComma && before.text != "and" && before.text != "or")
      return false;
    --run->begin;
  }
  replace(tokens, *run, {});
  return !tokens->empty();
}

bool SqlMutator::change_token(SqlTokens* tokens, Random* random) const {
  SqlToken& token = (*tokens)[random->below(tokens->size())];
  const size_t at = static_cast<size_t>(&token - tokens->data());
  const auto become = [&](std::string_view text) {
    replace(tokens, {RunKind::kAtom, at, at + 1}, tokens_of(text));
    return true;
  };
  if (token.kind == TokenKind::kNumber) return become(random->of(kNumbers));
  if (token.kind == TokenKind::kText) return become(random->of(kTexts));
  if (is_column(token) && random->below(2) == 0) {
    SqlTokens one = {token};
    adapt(&one, *tokens, random);
    return become(one.front().text);
  }
  for (const Words& words : kClasses) {
    if (is_in(words, token.text)) return become(random->of(words));
  }
  return false;
}

}  // namespace diptych::olap::fuzz
