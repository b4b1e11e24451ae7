// CREATE TABLE, CREATE INDEX, and scripts of them.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "olap/name_length.h"
#include "tests/olap/sql_fixture.h"

namespace diptych::olap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string error_of(std::string_view statement) {
  base::Catalog catalog;
  define(&catalog, "create table p (a int primary key, b int not null)");
  const auto change = parse_ddl(statement, catalog);
  return change ? "" : change.error().to_string();
}

TEST(SqlDdlTest, NamesHaveALimitAndAreNotCut) {
  const std::string longest(kIdentifierBytesMax, 'n');
  EXPECT_TRUE(check_name_lengths("create table " + longest + " (\"a\"\"b\" int primary key)"));
  EXPECT_TRUE(check_name_lengths("create table \"" + longest + "\" (a int primary key)"));
  for (const std::string& name : {longest + "n", "\"" + longest.substr(1) + "\"\"n\"",
                                  "\"" + longest.substr(1) + "\u00fc\""}) {
    const auto checked =
        check_name_lengths("create table t (a int primary key,\n" + name + " int)");
    ASSERT_FALSE(checked) << name;
    EXPECT_EQ(checked.error().sqlstate(), "42622");
    EXPECT_THAT(checked.error().message, HasSubstr("has 64 bytes"));
    EXPECT_THAT(checked.error().message, HasSubstr("line 2, column 1"));
  }
  // As a database of an older program may have it.
  EXPECT_EQ(error_of("create table " + longest + "n (a int primary key)"), "");
}

TEST(SqlDdlTest, TablesHaveTheirColumnsKeysAndIndexes) {
  base::Catalog catalog;
  ASSERT_EQ(define(&catalog, "create table P (X int, primary key (x))"), "");
  ASSERT_EQ(define(&catalog, R"(
      CREATE TABLE t (
        a INT, B INTEGER NOT NULL, c BIGINT, d DECIMAL(12,2), e NUMERIC(5), f DOUBLE PRECISION,
        g FLOAT8, h BOOLEAN, i DATE, j TIMESTAMP, k CHAR(3), l VARCHAR(9), m TEXT,
        n INT REFERENCES p, o INT NOT NULL UNIQUE, "Mixed" INT,
        PRIMARY KEY (a, b), UNIQUE (b, o), FOREIGN KEY (n) REFERENCES p (x))
      WITH (primary_index = ordered, analytics = off, settled = on);
      CREATE INDEX by_c ON t (c, d);
      CREATE UNIQUE INDEX by_o ON t USING hash (o);)"),
            "");
  const base::TableSchema& t = *catalog.find_table("t");
  std::vector<std::string> types;
  for (const base::ColumnSchema& column : t.columns) types.push_back(column.type.to_string());
  EXPECT_THAT(types, ElementsAre("INT", "INT", "BIGINT", "DECIMAL(12,2)", "DECIMAL(5,0)", "DOUBLE",
                                 "DOUBLE", "BOOLEAN", "DATE", "TIMESTAMP", "CHAR(3)", "VARCHAR(9)",
                                 "TEXT", "INT", "INT", "INT"));
  EXPECT_EQ(t.columns[0].nullability, base::Nullability::kNotNull) << "part of the primary key";
  EXPECT_EQ(t.columns[1].name, "b");
  EXPECT_EQ(t.columns[2].nullability, base::Nullability::kNullable);
  EXPECT_EQ(t.columns[15].name, "Mixed");
  EXPECT_EQ(t.analytics, base::Analytics::kStoredOnly);
  EXPECT_EQ(t.settled, base::Settled::kOn);
  std::vector<std::string> indexes;
  for (const base::IndexSchema& index : t.indexes) indexes.push_back(index.name);
  EXPECT_THAT(indexes, ElementsAre("t_pkey", "t_o_key", "t_b_o_key", "by_c", "by_o"));
  EXPECT_EQ(t.indexes[0].kind, base::IndexKind::kOrdered);
  EXPECT_THAT(t.indexes[0].columns, ElementsAre(base::ColumnId(0), base::ColumnId(1)));
  EXPECT_EQ(t.indexes[1].kind, base::IndexKind::kHash);
  EXPECT_EQ(t.indexes[1].uniqueness, base::Uniqueness::kUnique);
  EXPECT_EQ(t.indexes[3].kind, base::IndexKind::kOrdered);
  EXPECT_EQ(t.indexes[3].uniqueness, base::Uniqueness::kNonUnique);
  EXPECT_EQ(t.indexes[4].kind, base::IndexKind::kHash);
  ASSERT_EQ(t.foreign_keys.size(), 2U);
  EXPECT_THAT(t.foreign_keys[0].parent_columns, ElementsAre("x"));
}

TEST(SqlDdlTest, DefaultsAreAHashPrimaryKeyAndAnalytics) {
  base::Catalog catalog;
  ASSERT_EQ(define(&catalog, "create table t (a int primary key)"), "");
  EXPECT_EQ(catalog.find_table("t")->indexes[0].kind, base::IndexKind::kHash);
  EXPECT_EQ(catalog.find_table("t")->analytics, base::Analytics::kScanned);
  EXPECT_EQ(catalog.find_table("t")->settled, base::Settled::kOff);
}

TEST(SqlDdlTest, AColumnOfOneByteMayBeWrittenInEachWay) {
  base::Catalog catalog;
  ASSERT_EQ(define(&catalog, "create table t (a char primary key, b bpchar, c nchar, d char(1))"),
            "");
  for (const base::ColumnSchema& column : catalog.find_table("t")->columns) {
    EXPECT_EQ(column.type.to_string(), "CHAR(1)") << column.name;
  }
}

TEST(SqlDdlTest, RefusalsNameTheirReasonAndPlace) {
  EXPECT_EQ(error_of("create table t (a smallint primary key)"),
            "unsupported: SMALLINT is not supported; use INT (line 1, column 19: \"smallint\")");
  EXPECT_EQ(error_of("create table t (a int primary key, b decimal)"),
            "invalid argument: DECIMAL needs its digits, as in DECIMAL(12,2) (line 1, column 38: "
            "\"decimal\")");
  EXPECT_EQ(error_of("create table t (a int primary key, b decimal(19,2))"),
            "invalid argument: DECIMAL(19,2) is out of range: 1 to 18 digits, of which the second "
            "number are after the point (line 1, column 38: \"decimal\")");
  EXPECT_EQ(error_of("create table t (a int)"),
            "invalid argument: table \"t\" needs a PRIMARY KEY (line 1, column 14: \"t\")");
  EXPECT_EQ(error_of("create table t (a int, a int, primary key (a))"),
            "invalid argument: column \"a\" is declared twice (line 1, column 24: \"a\")");
  EXPECT_EQ(error_of("create table t (abc int, primary key (abd))"),
            "invalid argument: table \"t\" has no column \"abd\"; did you mean \"abc\"? (line 1, "
            "column 26: \"primary\")");
  EXPECT_EQ(error_of("create table t (a int primary key) with (primary_idx = hash)"),
            "invalid argument: no such table option \"primary_idx\"; did you mean "
            "\"primary_index\"? (line 1, column 42: \"primary_idx\")");
  EXPECT_EQ(error_of("create table t (a int primary key) with (settled = yes)"),
            "invalid argument: settled is on or off (line 1, column 42: \"settled\")");
  EXPECT_EQ(error_of("create table t (a int primary key) with (analytics = maybe)"),
            "invalid argument: analytics is on or off (line 1, column 42: \"analytics\")");
  EXPECT_THAT(error_of("create table t (a int primary key references q)"),
              HasSubstr("no such table \"q\""));
  EXPECT_THAT(error_of("create table t (a int primary key default 3)"),
              HasSubstr("DEFAULT is not supported yet (line 1, column 35"));
  EXPECT_THAT(error_of("create table t (a int primary key, b interval)"),
              HasSubstr("a column cannot be an INTERVAL"));
  EXPECT_THAT(error_of("create table t (a int primary key, b json)"),
              HasSubstr("type \"json\" is not supported"));
  EXPECT_THAT(error_of("create index i on p using gin (b)"), HasSubstr("index method \"gin\""));
  EXPECT_THAT(error_of("create index i on p (c)"), HasSubstr("has no column \"c\""));
  EXPECT_EQ(error_of("create table t (a int primary key) with (bogus = 1)"),
            "invalid argument: no such table option \"bogus\"; there are primary_index, analytics, "
            "settled, column_groups and invisible (line 1, column 42: \"bogus\")");
  EXPECT_THAT(error_of("create table t (a int generated always as identity primary key)"),
              HasSubstr("IDENTITY is not supported yet"));
  constexpr std::string_view kOthers[][2] = {{"select 1", "SELECT"},
                                             {"insert into p values (1)", "INSERT"},
                                             {"comment on table p is 'x'", "this statement"}};
  for (const auto& [statement, name] : kOthers) {
    EXPECT_THAT(error_of(statement),
                HasSubstr(fmt::format("{} cannot stand here: DDL is CREATE and DROP of tables, "
                                      "indexes and views, and TRUNCATE",
                                      name)));
  }
}

TEST(SqlDdlTest, ErrorsOfDropStandAtTheirPlace) {
  EXPECT_EQ(error_of("drop table nowhere"),
            "invalid argument: no such table \"nowhere\" (line 1, column 12: \"nowhere\")");
  EXPECT_EQ(error_of("drop table p,\n  public.\"Nowhere\", x"),
            "invalid argument: no such table \"Nowhere\" (line 2, column 3: \"public.\")");
  EXPECT_EQ(error_of("drop index i"),
            "invalid argument: no such index \"i\" (line 1, column 12: \"i\")");
  EXPECT_THAT(error_of("drop table if exists a, other.b"),
              HasSubstr("a schema but \"public\" is not supported yet (line 1, column 25"));
  EXPECT_THAT(error_of("drop /* c */ table nowhere"), HasSubstr("column 20: \"nowhere\""));
  EXPECT_THAT(error_of("drop table -- x, y\n nowhere"), HasSubstr("line 2, column 2: \"nowhere"));
  EXPECT_THAT(error_of("drop table p /* , */, /* c */ nowhere"), HasSubstr("column 31: \"now"));
  EXPECT_THAT(error_of("truncate /* c */ table -- x\n nowhere"), HasSubstr("line 2, column 2"));
  EXPECT_THAT(error_of("drop index /* cascade */ concurrently i -- concurrently"),
              HasSubstr("CONCURRENTLY is not supported yet (line 1, column 26"));
  EXPECT_THAT(error_of("drop table p cascade"),
              HasSubstr("CASCADE is not supported yet (line 1, column 14"));
  EXPECT_THAT(error_of("drop index concurrently i"),
              HasSubstr("CONCURRENTLY is not supported yet (line 1, column 12"));
  EXPECT_THAT(error_of("truncate p restart identity"),
              HasSubstr("RESTART IDENTITY is not supported yet (line 1, column 12"));
}

TEST(SqlDdlTest, TooManyColumnsAreRefusedBeforeTheyAreLookedAt) {
  std::string sql = "create table t (a int primary key";
  for (int i = 1; i <= 1100; ++i) sql += ", c" + std::to_string(i) + " no_type";
  EXPECT_EQ(error_of(sql + ")"),
            "invalid argument: table \"t\": 1101 columns; at most 1024 are possible (line 1, "
            "column 14: \"t\")");
}

TEST(SqlDdlTest, DropsNameWhatIsThereOnce) {
  base::Catalog catalog;
  ASSERT_EQ(define(&catalog,
                   "create table a (x int primary key); create table \"B\" (x int "
                   "primary key, y int); create index by_y on \"B\" (y)"),
            "");
  const auto dropped = [&](std::string_view statement) {
    const auto change = parse_ddl(statement, catalog);
    if (!change) return change.error().to_string();
    if (const auto* const tables = std::get_if<DropTables>(&*change)) {
      return fmt::format("tables {}", fmt::join(tables->tables, " "));
    }
    if (const auto* const indexes = std::get_if<DropIndexes>(&*change)) {
      return fmt::format("indexes {}", fmt::join(indexes->indexes, " "));
    }
    if (const auto* const tables = std::get_if<TruncateTables>(&*change)) {
      return fmt::format("rows of {}", fmt::join(tables->tables, " "));
    }
    return std::string(std::holds_alternative<NoChange>(*change) ? "nothing" : "more");
  };
  EXPECT_EQ(dropped("drop table a"), "tables a");
  EXPECT_EQ(dropped("drop table public.a, \"B\", a restrict"), "tables a B");
  EXPECT_EQ(dropped("drop table if exists b, a"), "tables a");
  EXPECT_EQ(dropped("drop table if exists b, c"), "nothing");
  EXPECT_EQ(dropped("drop index by_y"), "indexes by_y");
  EXPECT_EQ(dropped("drop index if exists by_x"), "nothing");
  EXPECT_EQ(dropped("truncate a"), "rows of a");
  EXPECT_EQ(dropped("truncate table \"B\", public.a, a continue identity"), "rows of B a");
  EXPECT_EQ(dropped("create table if not exists a (y text)"), "nothing");
  EXPECT_EQ(dropped("create table if not exists c (y text primary key)"), "more");
  EXPECT_EQ(dropped("create index if not exists by_y on a (x)"), "nothing");
  EXPECT_THAT(dropped("drop table \"b\""), HasSubstr("no such table \"b\""));
  EXPECT_THAT(dropped("drop index a"), HasSubstr("no such index \"a\""));
  EXPECT_THAT(dropped("drop table a cascade"), HasSubstr("CASCADE is not supported"));
  EXPECT_THAT(dropped("drop table other.a"), HasSubstr("a schema but \"public\""));
  EXPECT_THAT(dropped("create table if not exists other.a (x int primary key)"),
              HasSubstr("a schema but \"public\""));
  EXPECT_THAT(dropped("drop index concurrently by_y"), HasSubstr("CONCURRENTLY"));
  EXPECT_THAT(dropped("drop sequence a"), HasSubstr("other things than tables, indexes and views"));
  EXPECT_THAT(dropped("truncate a restart identity"), HasSubstr("RESTART IDENTITY"));
  EXPECT_THAT(dropped("truncate only a"), HasSubstr("ONLY"));
}

TEST(SqlDdlTest, ColumnGroupsAreListsOfColumns) {
  base::Catalog catalog;
  ASSERT_EQ(define(&catalog, R"(
      CREATE TABLE t (a INT PRIMARY KEY, b BIGINT, c BIGINT, "D ""d" BIGINT, e INT)
      WITH (column_groups = ' ( B,c)("D ""d" ) (e) ');)"),
            "");
  const auto& groups = catalog.find_table("t")->column_groups;
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_THAT(groups[0], ElementsAre(base::ColumnId(1), base::ColumnId(2)));
  EXPECT_THAT(groups[1], ElementsAre(base::ColumnId(3)));
  EXPECT_THAT(groups[2], ElementsAre(base::ColumnId(4)));
  EXPECT_THAT(parse_ddl("create index i on t (e)", catalog).ok(), true) << "the catalog refuses it";
  EXPECT_THAT(define(&catalog, "create index i on t (e)"),
              HasSubstr("column \"e\" of index \"i\" cannot be in a column group"));
}

TEST(SqlDdlTest, InvisibleColumnsAreAList) {
  base::Catalog catalog;
  ASSERT_EQ(define(&catalog, R"(CREATE TABLE t (a INT PRIMARY KEY, b INT, "C" INT)
                                WITH (invisible = '(A, "C")');)"),
            "");
  std::vector<base::Visibility> columns;
  for (const base::ColumnSchema& column : catalog.find_table("t")->columns) {
    columns.push_back(column.visibility);
  }
  using enum base::Visibility;
  EXPECT_THAT(columns, ElementsAre(kInvisible, kVisible, kInvisible));
  const auto error_with = [](std::string_view list) {
    return error_of(
        fmt::format("create table t (a int primary key, b int) with (invisible = '{}')", list));
  };
  for (const char* list : {"", "a", "(a", "()", "(a) (b)"}) {
    EXPECT_THAT(error_with(list), HasSubstr("a list of columns, as in '(a, b)'")) << list;
  }
  EXPECT_THAT(error_with("(c)"), HasSubstr("has no column \"c\""));
  EXPECT_THAT(define(&catalog, "create table u (a int primary key) with (invisible = '(a)')"),
              HasSubstr("a table needs at least one visible column"));
}

TEST(SqlDdlTest, WrongColumnGroupsAreRefusedWithTheReason) {
  const auto error_with = [](std::string_view groups) {
    return error_of(
        fmt::format("create table t (a int primary key, bcd bigint, e int not null, "
                    "f int not null, g int unique) with (column_groups = '{}')",
                    groups));
  };
  EXPECT_EQ(
      error_with("(bcd) (e)"),
      "invalid argument: table \"t\": columns \"e\" and \"f\" are of different column groups "
      "and share 8 bytes of the row, which are written at once: declare the columns of a "
      "group together, at the row's end or before a column of 8 bytes (BIGINT, DECIMAL, "
      "DOUBLE, TIMESTAMP), and begin with such a one (line 1, column 100: \"column_groups\")");
  EXPECT_THAT(error_with("(bce)"),
              HasSubstr("has no column \"bce\"; did you mean \"bcd\"? (line 1, "
                        "column 100"));
  EXPECT_THAT(error_with("(bcd) (bcd)"), HasSubstr("column \"bcd\" is named twice in the column "));
  EXPECT_THAT(error_with("(a)"), HasSubstr("column \"a\" of index \"t_pkey\" cannot be in"));
  EXPECT_THAT(error_with("(g)"), HasSubstr("column \"g\" of index \"t_g_key\" cannot be in"));
  EXPECT_THAT(error_with("(bcd)(bcd)(bcd)(bcd)(bcd)(bcd)(bcd)(bcd)"),
              HasSubstr("8 column groups; at most 7 are possible"));
  for (const char* groups : {"", "bcd", "()", "(bcd", "(bcd,)", "(bcd) e", "(\"bcd)", "(,bcd)"}) {
    EXPECT_THAT(error_with(groups), HasSubstr("lists of columns, as in '(a, b) (c)'")) << groups;
  }
  EXPECT_THAT(error_of("create table t (a int primary key, b bigint) "
                       "with (column_groups = '(b)', column_groups = '(b)')"),
              HasSubstr("column_groups is given twice"));
}

TEST(SqlDdlTest, ClausesThatWouldBeIgnoredAreNamed) {
  constexpr std::string_view kClauses[][2] = {
      {"create table t (a timestamp(3) primary key)",
       "this number after a type is not supported yet (line 1, column 29: \"3) primary key)\")"},
      {"create table t (a numeric(9,2,1) primary key)",
       "this number after a type is not supported yet (line 1, column 31: \"1) primary key)\")"},
      {"create table t (a int primary key) tablespace fast", "TABLESPACE is"},
      {"create table t (a int primary key) using heap", "USING (a table access method) is"},
      {"create temp table t (a int primary key) on commit drop", "a temporary or unlogged table"},
      {"create table t (a int primary key) on commit drop",
       "ON COMMIT is not supported yet (line 1, column 14: \"t (a int primary key) on ...\")"},
      {"create table t of p", "a table OF a type"},
      {"create table t (like p)",
       "LIKE in CREATE TABLE is not supported yet (line 1, column 22: \"p)\")"},
      {"create table t (a int, b text compression lz4, primary key (a))",
       "COMPRESSION is not supported yet (line 1, column 24"},
      {"create table t (a int, primary key (a) include (a))", "INCLUDE is"},
      {"create table t (a int, primary key (a) with (fillfactor = 70))", "WITH of a key is"},
      {"create table t (a int, primary key (a) using index tablespace x)", "TABLESPACE is"},
      {"create table t (a int, primary key (a) deferrable)", "DEFERRABLE is"},
      {"create table t (a int primary key deferrable)", "this constraint is"},
      {"create table t (a int primary key references p on delete cascade)",
       "ON DELETE is not supported yet (line 1, column 35: \"references p on delete cascade "
       "...\")"},
      {"create table t (a int primary key, foreign key (a) references p on update set null)",
       "ON UPDATE is not supported yet (line 1, column 36"},
      {"create table t (a int primary key references p match full)", "MATCH FULL is"},
      {"create index i on p (b nulls first)",
       "NULLS FIRST is not supported yet (line 1, column 19"},
      {"create index i on p (b) tablespace fast", "TABLESPACE is"},
      {"create index i on p (b) with (fillfactor = 70)", "WITH of an index is"},
      {"create index concurrently i on p (b)", "CONCURRENTLY is"},
      {"create index i on p (b collate \"C\")", "COLLATE is"},
      {"create index i on p (b int4_ops)", "an operator class is"},
      {"create index i on only p (b)", "ONLY is"},
      {"create index i on s.p (b)", "a schema but \"public\" is"},
      {"create table s.t (a int primary key)", "a schema but \"public\" is"},
      {"create table d.public.t (a int primary key)", "a database in front of a schema is"},
      {"create table t (a int primary key references s.p)", "a schema but \"public\" is"},
  };
  for (const auto& [statement, error] : kClauses) {
    EXPECT_THAT(error_of(statement), HasSubstr(error)) << statement;
  }
  EXPECT_EQ(error_of("create index i on p (b asc nulls last)"), "");
  EXPECT_EQ(error_of("create index i on public.p (b)"), "");
  EXPECT_EQ(error_of("create table public.t (a int primary key references public.p)"), "");
  EXPECT_EQ(error_of("create table t (a int primary key references p on delete no action)"), "");
}

TEST(SqlDdlTest, AForeignKeyThatDoesNotFitItsParentIsRefusedWhereTheParentStands) {
  EXPECT_EQ(error_of("create table t (a int primary key references p (b))"),
            "invalid argument: table \"t\": foreign key to \"p\": (b) is no PRIMARY KEY or UNIQUE "
            "of it (line 1, column 46: \"p\")");
  EXPECT_EQ(error_of("create table t (a bigint primary key references p)"),
            "invalid argument: table \"t\": foreign key column \"a\" is BIGINT, but \"p.a\" is INT "
            "(line 1, column 49: \"p\")");
  EXPECT_EQ(error_of("create table t (x int references t, y int, primary key (y))"), "")
      << "its own key, declared further on";
}

TEST(SqlDdlTest, ScriptsAreSplitAtSemicolonsOutsideQuotesAndComments) {
  const std::string_view script =
      "select ';' -- not; here\n; ;\n/* nor; here */ select $$;$$; select \";\"  ";
  const auto statements = split_statements(script);
  ASSERT_TRUE(statements.ok());
  EXPECT_EQ((*statements)[1].data() - script.data(), 44);
  EXPECT_THAT(*statements, ElementsAre("select ';'", "select $$;$$", "select \";\""));
  EXPECT_FALSE(split_statements("select 'open").ok());
  EXPECT_TRUE(split_statements("")->empty());
  // A token whose end the lexer tells wrong.
  EXPECT_EQ((*split_statements("select U&'x'\n; select 2"))[0], "select U&'x'");
}

}  // namespace
}  // namespace diptych::olap
