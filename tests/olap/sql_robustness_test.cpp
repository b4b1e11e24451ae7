// Mutated statements never crash the front end: they plan or they give an error with a text.

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "tests/olap/sql_fixture.h"

namespace diptych::olap {
namespace {

const std::vector<std::string> kSeeds = {
    "select c_id, c_amount from child where c_id = 1 and c_day > '2001-01-01' order by c_id",
    "select a.p_name, b.c_text from parent a left join child b on a.p_id = b.c_p_id",
    "select p_kind, count(*) from parent group by p_kind",
    "select p_kind, count(*) n, sum(c_amount) + 1 from parent join child on p_id = c_p_id "
    "where c_at >= '2007-01-02' and (p_kind = 'a' or c_id in (1, 2, 3)) group by p_kind "
    "having count(*) > 1 order by n desc nulls last, 1 limit 5 offset 2",
    "with k (a, b) as (select p_kind, max(p_id) from parent group by 1) select distinct k.*, "
    "case a when 'x' then b else 0 end from k left join child c on c_id = b where exists (select * "
    "from child d where d.c_id = b and d.c_id > b) and c_id in (select p_id from parent)",
    "with recursive w (n, k) as (select p_id, 0 from parent union all select c_p_id, k + 1 from w "
    "join child on c_id = n where k < 3) select k, count(*) from w group by k",
    "select substring(c_text from 2 for 3), extract(year from c_at), c_day + interval '1' month, "
    "c_id::decimal(12,2), -c_big % 7, coalesce(c_p_id, 0), date_trunc('day', c_at), "
    "(select avg(c_id) from child) from child where c_flag is not true and c_text not like 'a%'",
    "create table t (a int, b decimal(12,2) not null, primary key (a), unique (b), "
    "foreign key (a) references parent (p_id)) with (primary_index = ordered, analytics = off)",
    "create unique index i on child using hash (c_p_id, c_big)",
};

const std::vector<std::string> kWords = {"select",    "from",
                                         "where",     "group by",
                                         "order by",  "(",
                                         ")",         ",",
                                         "*",         "'",
                                         "\"",        "and",
                                         "or",        "not",
                                         "in",        "like",
                                         "null",      "case",
                                         "when",      "end",
                                         "+",         "-",
                                         "/",         "%",
                                         "||",        "::",
                                         "int",       "date",
                                         "exists",    "join",
                                         "left",      "on",
                                         "using",     "distinct",
                                         "limit",     "1e9",
                                         "0",         "-1",
                                         "2.50",      "c_id",
                                         "p_id",      "child",
                                         "as",        "count(*)",
                                         "sum(",      ".",
                                         ";",         "$$",
                                         "--",        "union",
                                         "recursive", "c_at",
                                         "p_name",    "interval '1 day'",
                                         "true",      "99999999999999999999999999999999999999999"};

// The blank-separated word of the text around a place, as (start, size).
std::pair<size_t, size_t> word_at(const std::string& text, size_t at) {
  const size_t before = text.rfind(' ', at);
  const size_t start = before == std::string::npos ? 0 : before + 1;
  const size_t end = std::min(text.find(' ', start), text.size());
  return {start, end - start};
}

std::string mutated(std::string text, std::mt19937_64& random) {
  const auto below = [&](size_t limit) { return static_cast<size_t>(random() % limit); };
  for (size_t changes = 1 + below(3); changes > 0; --changes) {
    const size_t at = below(text.size() + 1);
    const std::string& other = kSeeds[below(kSeeds.size())];
    switch (below(16)) {
      case 0: text.insert(at, " " + kWords[below(kWords.size())] + " "); break;
      case 1: text.erase(at, 1 + below(12)); break;
      case 2: text.insert(at, text.substr(below(text.size() + 1), below(40))); break;
      case 3: text.insert(at, 1, static_cast<char>(1 + below(255))); break;
      case 4: text.replace(at, below(30), other.substr(below(other.size()), below(50))); break;
      default: {
        const auto [start, size] = word_at(text, at);
        const auto [other_start, other_size] = word_at(other, below(other.size()));
        text.replace(start, size, other.substr(other_start, other_size));
      }
    }
  }
  return text;
}

using SqlRobustnessTest = SqlTest;

TEST_F(SqlRobustnessTest, TheSeedsAreGood) {
  for (const std::string& sql : kSeeds) {
    if (sql.starts_with("create")) {
      EXPECT_TRUE(parse_ddl(sql, catalog_).ok()) << sql;
    } else {
      const auto query = prepare(sql, catalog_, rows_);
      EXPECT_TRUE(query.ok()) << query.error().to_string();
    }
  }
}

TEST_F(SqlRobustnessTest, MutatedStatementsPlanOrGiveAnErrorWithAText) {
  constexpr uint64_t kSeed = 20'260'114;
  constexpr int kStatements = 8'000;
  std::mt19937_64 random(kSeed);
  int planned = 0;
  for (int i = 0; i < kStatements; ++i) {
    const std::string sql = mutated(kSeeds[random() % kSeeds.size()], random);
    SCOPED_TRACE("seed " + std::to_string(kSeed) + ", statement " + std::to_string(i) + ": " + sql);
    const auto query = prepare(sql, catalog_, rows_);
    if (query) {
      ++planned;
      EXPECT_FALSE(explain(*query, catalog_).empty());
    } else {
      EXPECT_FALSE(query.error().message.empty());
    }
    const auto ddl = parse_ddl(sql, catalog_);
    EXPECT_TRUE(ddl.ok() || !ddl.error().message.empty());
    const auto statements = split_statements(sql);
    EXPECT_TRUE(statements.ok() || !statements.error().message.empty());
  }
  EXPECT_GT(planned, kStatements / 100) << "the mutations are too wild to reach the planner";
}

}  // namespace
}  // namespace diptych::olap
