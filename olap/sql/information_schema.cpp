#include "olap/sql/information_schema.h"

#include <string>
#include <utility>

#include "olap/sql/parse_tree.h"
#include "olap/sql/type_rules.h"

namespace diptych::olap {

namespace {

using base::DataType;
using base::TypeKind;
using base::Value;
using Row = std::vector<Value>;

constexpr const char* kProduct = "diptych";

// The type's name in the standard, and what its declaration says beyond it.
struct DeclaredType {
  const char* name;
  Value length = {};  // in bytes
  Value precision = {};
  Value scale = {};
};

DeclaredType declared(const DataType& type) {
  const auto number = [](auto value) { return Value(int64_t{value}); };
  const Value none;
  switch (type.kind) {
    case TypeKind::kInt: return {"integer", none, number(32), number(0)};
    case TypeKind::kBigInt: return {"bigint", none, number(64), number(0)};
    case TypeKind::kDecimal: return {"numeric", none, number(type.precision), number(type.scale)};
    case TypeKind::kDouble: return {"double precision", none, number(53), none};
    case TypeKind::kBoolean: return {"boolean"};
    case TypeKind::kDate: return {"date"};
    case TypeKind::kTimestamp: return {"timestamp without time zone"};
    case TypeKind::kInterval: return {"interval"};
    case TypeKind::kChar: return {"character", number(type.length)};
    case TypeKind::kVarchar: break;
  }
  if (type.length == 0) return {"text"};
  return {"character varying", number(type.length)};
}

class Lister {
 public:
  // Of every table, with one row or one for each column.
  explicit Lister(bool of_columns) : of_columns_(of_columns) {}

  void add_table(std::string_view schema, std::string_view name, const char* kind) {
    schema_ = schema;
    table_ = name;
    position_ = 0;
    if (!of_columns_) add({std::string(kind)});
  }
  void add_column(const std::string& name, const DataType& type, bool nullable) {
    if (!of_columns_) return;
    DeclaredType said = declared(type);
    add({name, int64_t{++position_}, std::string(nullable ? "YES" : "NO"), std::string(said.name),
         std::move(said.length), std::move(said.precision), std::move(said.scale)});
  }
  void add_system_table(std::string_view schema, const SystemTable& table) {
    add_table(schema, table.name, "VIEW");
    for (const SystemColumn& column : table.columns) {
      add_column(column.name, column.type, column.nullable);
    }
  }
  std::vector<Row> take() { return std::move(rows_); }

 private:
  void add(Row further) {
    Row row = {std::string(kProduct), std::string(schema_), std::string(table_)};
    row.insert(row.end(), further.begin(), further.end());
    rows_.push_back(std::move(row));
  }

  const bool of_columns_;
  std::string_view schema_;
  std::string_view table_;
  int64_t position_ = 0;
  std::vector<Row> rows_;
};

SystemTable without_rows(bool of_columns) {
  SystemTable table;
  table.name = of_columns ? "columns" : "tables";
  table.columns = {
      {"table_catalog", kTextType}, {"table_schema", kTextType}, {"table_name", kTextType}};
  if (!of_columns) {
    table.columns.push_back({"table_type", kTextType});
    return table;
  }
  for (const char* const name : {"column_name", "ordinal_position", "is_nullable", "data_type"}) {
    const bool is_number = std::string_view(name) == "ordinal_position";
    table.columns.push_back({name, is_number ? kIntType : kTextType});
  }
  for (const char* const name :
       {"character_maximum_length", "numeric_precision", "numeric_scale"}) {
    table.columns.push_back({name, kIntType, true});
  }
  return table;
}

std::vector<Row> rows_of(bool of_columns, const base::Catalog& catalog,
                         std::span<const SystemTable> system_tables) {
  Lister lister(of_columns);
  for (const base::TableSchema& table : catalog.tables()) {
    lister.add_table(kPublicSchema, table.name, "BASE TABLE");
    for (const base::ColumnSchema& column : table.columns) {
      lister.add_column(column.name, column.type,
                        column.nullability == base::Nullability::kNullable);
    }
  }
  for (const SystemTable& table : system_tables) {
    if (catalog.find_table(table.name) != nullptr) continue;  // it hides this one
    lister.add_system_table(kPublicSchema, table);
  }
  for (const bool columns : {false, true}) {
    lister.add_system_table(kInformationSchema, without_rows(columns));
  }
  return lister.take();
}

}  // namespace

std::vector<std::string> information_schema_names() {
  return {"tables", "columns"};
}

std::optional<SystemTable> information_schema_table(std::string_view name,
                                                    const base::Catalog& catalog,
                                                    std::span<const SystemTable> system_tables) {
  if (name != "tables" && name != "columns") return std::nullopt;
  const bool of_columns = name == "columns";
  SystemTable table = without_rows(of_columns);
  table.rows = [of_columns, &catalog, system_tables] {
    return rows_of(of_columns, catalog, system_tables);
  };
  return table;
}

std::optional<std::string_view> session_name(std::string_view function) {
  if (function == "current_schema") return kPublicSchema;
  for (const std::string_view name : {"current_catalog", "current_database", "current_role",
                                      "current_user", "session_user", "user"}) {
    if (function == name) return kProduct;
  }
  return std::nullopt;
}

}  // namespace diptych::olap
