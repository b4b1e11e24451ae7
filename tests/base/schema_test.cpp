#include "base/schema.h"

#include <gtest/gtest.h>

#include "base/row_layout.h"

namespace diptych::base {
namespace {

constexpr DataType kInt{.kind = TypeKind::kInt};
constexpr DataType kBigInt{.kind = TypeKind::kBigInt};

IndexSchema unique_index(std::string name, std::vector<uint16_t> columns) {
  IndexSchema index;
  index.name = std::move(name);
  index.uniqueness = Uniqueness::kUnique;
  for (const uint16_t column : columns) index.columns.push_back(ColumnId(column));
  return index;
}

TableSchema orders() {
  TableSchema schema;
  schema.name = "orders";
  schema.columns = {{"o_id", kInt, Nullability::kNotNull},
                    {"o_c_id", kInt, Nullability::kNotNull},
                    {"o_note", {.kind = TypeKind::kVarchar, .length = 20}}};
  schema.indexes = {unique_index("orders_pkey", {0})};
  return schema;
}

class Refused : public testing::Test {
 protected:
  Catalog catalog_;
  TableSchema schema_ = orders();

  std::string message(ErrorCode code = ErrorCode::kInvalidArgument) {
    const size_t tables_before = catalog_.table_count();
    const auto id = catalog_.add_table(schema_);
    if (id.ok()) return "no error";
    EXPECT_EQ(id.code(), code);
    EXPECT_EQ(catalog_.table_count(), tables_before);
    return id.error().message;
  }
};

TEST_F(Refused, NamesAreQuotedOnOneLine) {
  schema_.name = "two\nlines";
  schema_.indexes.clear();
  EXPECT_EQ(message(), "table \"two\\x0alines\": a table needs a primary key");
}

TEST(Catalog, IdsArePositionsAndIndexIdsAreUniqueOverTables) {
  Catalog catalog;
  TableSchema first = orders();
  first.indexes.push_back({"orders_by_customer",
                           {},
                           IndexKind::kOrdered,
                           Uniqueness::kNonUnique,
                           {ColumnId(1), ColumnId(2)}});
  TableSchema second = orders();
  second.name = "older";
  second.indexes[0].name = "older_pkey";
  EXPECT_EQ(*catalog.add_table(first), TableId(0));
  EXPECT_EQ(*catalog.add_table(second), TableId(1));
  EXPECT_EQ(catalog.table(TableId(0)).indexes[1].id, IndexId(1));
  EXPECT_EQ(catalog.table(TableId(1)).primary_key().id, IndexId(2));
  EXPECT_EQ(*catalog.add_index(TableId(0), unique_index("late", {1})), IndexId(3));
  EXPECT_EQ(catalog.find_table("older"), &catalog.table(TableId(1)));
  EXPECT_EQ(catalog.find_table("absent"), nullptr);
}

TEST(Catalog, ReferencesStayValidWhenTablesAreAdded) {
  Catalog catalog;
  ASSERT_TRUE(catalog.add_table(orders()).ok());
  const TableSchema* first = catalog.find_table("orders");
  for (int i = 0; i < 200; ++i) {
    TableSchema more = orders();
    more.name = "t" + std::to_string(i);
    more.indexes[0].name = more.name + "_pkey";
    ASSERT_TRUE(catalog.add_table(more).ok());
  }
  EXPECT_EQ(catalog.find_table("orders"), first);
  EXPECT_EQ(first->find_column("o_c_id"), ColumnId(1));
  EXPECT_EQ(first->find_column("absent"), std::nullopt);
}

TEST(Catalog, DroppedTablesAndIndexesAreNotFoundAndKeepTheirIds) {
  Catalog catalog;
  ASSERT_TRUE(catalog.add_table(orders()).ok());
  ASSERT_TRUE(catalog.add_index(TableId(0), unique_index("by_customer", {1})).ok());
  const Catalog before(catalog);
  const std::string index = "by_customer";
  const auto dropped_indexes = catalog.drop_indexes({&index, 1});
  ASSERT_TRUE(dropped_indexes.ok());
  EXPECT_EQ((*dropped_indexes)[0].index, IndexId(1));
  EXPECT_FALSE(catalog.has_index("by_customer"));
  EXPECT_EQ(*catalog.add_index(TableId(0), unique_index("by_customer", {1})), IndexId(2));
  // As many indexes as before, and not the same.
  const Catalog after(catalog, before);
  EXPECT_EQ(after.table(TableId(0)).indexes[1].id, IndexId(2));
  const std::string table = "orders";
  ASSERT_TRUE(catalog.drop_tables({&table, 1}).ok());
  EXPECT_EQ(catalog.find_table("orders"), nullptr);
  EXPECT_FALSE(catalog.has_index("orders_pkey"));
  EXPECT_EQ(catalog.tables().begin(), catalog.tables().end());
  EXPECT_EQ(Catalog(catalog, after).find_table("orders"), nullptr);
  EXPECT_EQ(*catalog.add_table(orders()), TableId(1));
  EXPECT_EQ((*catalog.tables().begin()).id, TableId(1));
  EXPECT_NE(after.find_table("orders"), nullptr) << "a copy stays as it is";
  EXPECT_EQ(catalog.find_table(TableId(0)), nullptr);
  catalog.pass_table_id();
  EXPECT_EQ(catalog.table_count(), 3U);
  EXPECT_EQ(catalog.find_table(TableId(2)), nullptr);
  EXPECT_EQ(Catalog(catalog, after).table_count(), 3U);
}

// In an order in which each can be made, whatever is replaced.
TEST(Catalog, ViewsStandBehindWhatTheyUse) {
  Catalog catalog;
  ASSERT_TRUE(catalog.add_table(orders()).ok());
  const auto view = [](const char* name, std::vector<std::string> uses) {
    return ViewSchema{name, "", {{"c", {}}}, std::move(uses)};
  };
  const auto names = [](const Catalog& of) {
    std::string all;
    for (const Catalog::ViewPtr& each : of.views()) all += each->name;
    return all;
  };
  ASSERT_TRUE(catalog.add_view(view("a", {"orders"})).ok());
  ASSERT_TRUE(catalog.add_view(view("b", {"a"})).ok());
  ASSERT_TRUE(catalog.add_view(view("c", {"b", "orders"})).ok());
  ASSERT_TRUE(catalog.add_view(view("d", {"orders"})).ok());
  ASSERT_TRUE(catalog.add_view(view("e", {"d"})).ok());
  const Catalog before(catalog);
  ASSERT_TRUE(catalog.replace_view(view("a", {"e"})).ok());
  EXPECT_EQ(names(catalog), "deabc");
  EXPECT_EQ(names(before), "abcde") << "a copy stays as it is";
  EXPECT_EQ(names(Catalog(catalog, before)), "deabc");
  EXPECT_EQ(Catalog(catalog, before).find_view("b"), before.find_view("b"));
  for (const char* of_itself : {"a", "c"}) {
    EXPECT_EQ(catalog.replace_view(view("a", {of_itself})).error().sqlstate(), "42P17");
  }
  EXPECT_EQ(catalog.add_view(view("orders", {})).error().sqlstate(), "42P07");
  EXPECT_EQ(catalog.add_view(view("a", {})).error().sqlstate(), "42P07");
  const std::vector<std::string> used = {"c", "e"};
  EXPECT_EQ(catalog.drop_views(used).error().sqlstate(), "2BP01");
  const std::vector<std::string> absent = {"c", "f"};
  EXPECT_EQ(catalog.drop_views(absent).error().sqlstate(), "42P01");
  EXPECT_EQ(names(catalog), "deabc");
  const std::vector<std::string> tables = {"orders"};
  EXPECT_EQ(catalog.drop_tables(tables).error().sqlstate(), "2BP01");
  const std::vector<std::string> free = {"a", "c", "b"};
  ASSERT_TRUE(catalog.drop_views(free).ok());
  EXPECT_EQ(names(catalog), "de");
}

TEST(Catalog, AForeignKeyMayNameItsOwnTable) {
  Catalog catalog;
  TableSchema schema = orders();
  schema.foreign_keys = {{{ColumnId(1)}, "orders", {"o_id"}}};
  EXPECT_TRUE(catalog.add_table(schema).ok());
}

TEST_F(Refused, ATakenName) {
  ASSERT_TRUE(catalog_.add_table(orders()).ok());
  EXPECT_EQ(message(ErrorCode::kAlreadyExists), "table \"orders\" exists");
  schema_.name = "other";
  EXPECT_EQ(message(ErrorCode::kAlreadyExists), "index \"orders_pkey\" exists");
}

TEST_F(Refused, ATableWithoutNameColumnsOrKey) {
  schema_.indexes.clear();
  EXPECT_EQ(message(), "table \"orders\": a table needs a primary key");
  schema_.columns.clear();
  EXPECT_EQ(message(), "table \"orders\": a table needs at least one column");
  schema_.name.clear();
  EXPECT_EQ(message(), "table \"\": a table needs a name");
}

TEST_F(Refused, AColumnDeclaredTwice) {
  schema_.columns[2].name = "o_id";
  EXPECT_EQ(message(), "table \"orders\": column \"o_id\" is declared twice");
}

TEST_F(Refused, TooManyColumns) {
  for (size_t i = schema_.columns.size(); i <= kTableColumnsMax; ++i) {
    schema_.columns.push_back({"c" + std::to_string(i), kInt});
  }
  EXPECT_EQ(message(), "table \"orders\": 1025 columns; at most 1024 are possible");
}

TEST_F(Refused, ARowThatIsTooWide) {
  for (int i = 0; i < 1000; ++i) {
    schema_.columns.push_back({"c" + std::to_string(i), {.kind = TypeKind::kChar, .length = 64}});
  }
  EXPECT_EQ(message(), "table \"orders\": a row takes 66032 bytes; at most 32768 are possible");
}

TEST_F(Refused, ADecimalOutOfRange) {
  schema_.columns[1].type = {.kind = TypeKind::kDecimal, .precision = 19, .scale = 2};
  EXPECT_EQ(
      message(),
      "table \"orders\": column \"o_c_id\": DECIMAL(19,2) is out of range; at most 18 digits");
  schema_.columns[1].type = {.kind = TypeKind::kDecimal, .precision = 2, .scale = 3};
  EXPECT_EQ(message(),
            "table \"orders\": column \"o_c_id\": DECIMAL(2,3) is out of range; at most 18 digits");
}

TEST_F(Refused, ANullableColumnInAUniqueKey) {
  schema_.indexes[0] = unique_index("orders_pkey", {0, 2});
  EXPECT_EQ(message(),
            "table \"orders\": column \"o_note\" of the unique index \"orders_pkey\" must be NOT "
            "NULL");
}

TEST(Catalog, ColumnsHaveTheirGroups) {
  Catalog catalog;
  TableSchema schema = orders();
  schema.columns = {{"o_id", kInt, Nullability::kNotNull},
                    {"o_total", kBigInt},
                    {"o_paid", kBigInt},
                    {"o_c_id", kInt}};
  schema.column_groups = {{ColumnId(2), ColumnId(1)}, {ColumnId(3)}};
  ASSERT_TRUE(catalog.add_table(schema).ok());
  const RowLayout layout(*catalog.find_table("orders"));
  EXPECT_EQ(layout.group_count, 3u);
  EXPECT_EQ(layout.columns[0].group, 0);
  EXPECT_EQ(layout.columns[1].group, 1);
  EXPECT_EQ(layout.columns[2].group, 1);
  EXPECT_EQ(layout.columns[3].group, 2);
  EXPECT_EQ(RowLayout(orders()).group_count, 1u);
}

TEST_F(Refused, WrongColumnGroups) {
  schema_.columns.push_back({"o_total", kBigInt});
  schema_.column_groups = {{ColumnId(3)}, {ColumnId(2), ColumnId(3)}};
  EXPECT_EQ(message(), "table \"orders\": column \"o_total\" is named twice in the column groups");
  schema_.column_groups = {{ColumnId(3)}, {}};
  EXPECT_EQ(message(), "table \"orders\": a column group needs at least one column");
  schema_.column_groups = {{ColumnId(4)}};
  EXPECT_EQ(message(), "table \"orders\": a column group names no column");
  schema_.column_groups.assign(8, {ColumnId(3)});
  EXPECT_EQ(message(), "table \"orders\": 8 column groups; at most 7 are possible");
  schema_.column_groups = {{ColumnId(0)}};
  EXPECT_EQ(message(),
            "table \"orders\": column \"o_id\" of index \"orders_pkey\" cannot be in a column "
            "group: keys belong to the row itself");
  schema_.column_groups = {{ColumnId(1)}};
  EXPECT_EQ(message(),
            "table \"orders\": columns \"o_id\" and \"o_c_id\" are of different column groups and "
            "share 8 bytes of the row, which are written at once: declare the columns of a group "
            "together, at the row's end or before a column of 8 bytes (BIGINT, DECIMAL, DOUBLE, "
            "TIMESTAMP), and begin with such a one");
  // It begins where the word is its own, but the next column is in the same word.
  schema_.columns = {{"o_id", kBigInt, Nullability::kNotNull}, {"o_a", kInt}, {"o_b", kInt}};
  schema_.columns[1].nullability = schema_.columns[2].nullability = Nullability::kNotNull;
  schema_.column_groups = {{ColumnId(1)}};
  EXPECT_NE(message().find("\"o_a\" and \"o_b\""), std::string::npos);
}

TEST(Catalog, AnIndexOfAGroupedColumnIsRefused) {
  Catalog catalog;
  TableSchema schema = orders();
  schema.columns.push_back({"o_total", kBigInt, Nullability::kNotNull});
  schema.column_groups = {{ColumnId(3)}};
  ASSERT_TRUE(catalog.add_table(schema).ok());
  const auto index = catalog.add_index(TableId(0), unique_index("by_total", {3}));
  ASSERT_FALSE(index.ok());
  EXPECT_EQ(index.error().message,
            "table \"orders\": column \"o_total\" of index \"by_total\" cannot be in a column "
            "group: keys belong to the row itself");
}

TEST_F(Refused, AnIndexWithoutColumnsOrDeclaredTwice) {
  schema_.indexes.push_back(unique_index("empty", {}));
  EXPECT_EQ(message(), "table \"orders\": index \"empty\" has no columns");
  schema_.indexes.back() = unique_index("orders_pkey", {1});
  EXPECT_EQ(message(), "table \"orders\": index \"orders_pkey\" is declared twice");
  schema_.indexes.back() = unique_index("beyond", {9});
  EXPECT_EQ(message(), "table \"orders\": index \"beyond\" names no column");
}

TEST_F(Refused, AForeignKeyToNothing) {
  schema_.foreign_keys = {{{ColumnId(1)}, "customer", {"c_id"}}};
  EXPECT_EQ(message(), "table \"orders\": foreign key to \"customer\": no such table");
}

TEST_F(Refused, AForeignKeyThatDoesNotMatchItsParent) {
  TableSchema customer = orders();
  customer.name = "customer";
  customer.columns[0] = {"c_id", kBigInt, Nullability::kNotNull};
  customer.indexes[0].name = "customer_pkey";
  ASSERT_TRUE(catalog_.add_table(customer).ok());
  schema_.foreign_keys = {{{ColumnId(1)}, "customer", {"absent"}}};
  EXPECT_EQ(message(),
            "table \"orders\": foreign key to \"customer\": it has no column \"absent\"");
  schema_.foreign_keys = {{{ColumnId(1)}, "customer", {"c_id", "o_c_id"}}};
  EXPECT_EQ(message(), "table \"orders\": foreign key to \"customer\": 1 columns refer to 2");
  schema_.foreign_keys = {{{ColumnId(1)}, "customer", {"c_id"}}};
  EXPECT_EQ(message(),
            "table \"orders\": foreign key column \"o_c_id\" is INT, but \"customer.c_id\" is "
            "BIGINT");
  schema_.foreign_keys = {{{ColumnId(1)}, "customer", {"o_c_id"}}};
  EXPECT_EQ(message(),
            "table \"orders\": foreign key to \"customer\": (o_c_id) is no PRIMARY KEY or UNIQUE "
            "of it");
}

TEST(DataType, PrintsAsInDdl) {
  EXPECT_EQ((DataType{.kind = TypeKind::kDecimal, .precision = 12, .scale = 2}).to_string(),
            "DECIMAL(12,2)");
  EXPECT_EQ((DataType{.kind = TypeKind::kVarchar}).to_string(), "TEXT");
  EXPECT_EQ((DataType{.kind = TypeKind::kChar, .length = 9}).to_string(), "CHAR(9)");
  EXPECT_EQ(kInt.to_string(), "INT");
}

}  // namespace
}  // namespace diptych::base
