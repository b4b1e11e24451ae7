#include "olap/sql/information_schema.h"

#include <algorithm>
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

enum class Listed : uint8_t { kTables, kColumns, kViews };

class Lister {
 public:
  explicit Lister(Listed listed) : listed_(listed) {}

  void add_table(const base::TableSchema& table) {
    begin(kPublicSchema, table.name, "BASE TABLE");
    for (const base::ColumnSchema& column : table.columns) {
      add_column(column.name, column.type, column.nullability == base::Nullability::kNullable);
    }
  }
  // In PostgreSQL, any column of a view may be NULL.
  void add_view(const base::ViewSchema& view) {
    begin(kPublicSchema, view.name, "VIEW");
    add_definition(view.query);
    for (const base::ColumnSchema& column : view.columns) {
      add_column(column.name, column.type, true);
    }
  }
  void add_system_table(std::string_view schema, const SystemTable& table) {
    begin(schema, table.name, "VIEW");
    add_definition({});
    for (const SystemColumn& column : table.columns) {
      add_column(column.name, column.type, column.nullable);
    }
  }
  std::vector<Row> take() { return std::move(rows_); }

 private:
  void begin(std::string_view schema, std::string_view name, const char* kind) {
    schema_ = schema;
    table_ = name;
    position_ = 0;
    if (listed_ == Listed::kTables) add({std::string(kind)});
  }
  void add_definition(Value query) {
    const std::string no = "NO";
    if (listed_ == Listed::kViews) add({std::move(query), std::string("NONE"), no, no});
  }
  void add_column(const std::string& name, const DataType& type, bool nullable) {
    if (listed_ != Listed::kColumns) return;
    DeclaredType said = declared(type);
    add({name, int64_t{++position_}, std::string(nullable ? "YES" : "NO"), std::string(said.name),
         std::move(said.length), std::move(said.precision), std::move(said.scale)});
  }
  void add(Row further) {
    Row row = {std::string(kProduct), std::string(schema_), std::string(table_)};
    row.insert(row.end(), further.begin(), further.end());
    rows_.push_back(std::move(row));
  }

  const Listed listed_;
  std::string_view schema_;
  std::string_view table_;
  int64_t position_ = 0;
  std::vector<Row> rows_;
};

SystemTable without_rows(Listed listed) {
  SystemTable table;
  table.name = information_schema_names()[static_cast<size_t>(listed)];
  table.columns = {
      {"table_catalog", kTextType}, {"table_schema", kTextType}, {"table_name", kTextType}};
  if (listed == Listed::kTables) {
    table.columns.push_back({"table_type", kTextType});
    return table;
  }
  if (listed == Listed::kViews) {
    table.columns.push_back({"view_definition", kTextType, true});
    for (const char* const name : {"check_option", "is_updatable", "is_insertable_into"}) {
      table.columns.push_back({name, kTextType});
    }
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

std::vector<Row> rows_of(Listed listed, const base::Catalog& catalog,
                         std::span<const SystemTable> system_tables) {
  Lister lister(listed);
  for (const base::TableSchema& table : catalog.tables()) lister.add_table(table);
  for (const base::Catalog::ViewPtr& view : catalog.views()) lister.add_view(*view);
  for (const SystemTable& table : system_tables) {
    if (catalog.find_table(table.name) != nullptr) continue;  // it hides this one
    lister.add_system_table(kPublicSchema, table);
  }
  for (const Listed own : {Listed::kTables, Listed::kColumns, Listed::kViews}) {
    lister.add_system_table(kInformationSchema, without_rows(own));
  }
  return lister.take();
}

}  // namespace

std::vector<std::string> information_schema_names() {
  return {"tables", "columns", "views"};  // as Listed
}

std::optional<SystemTable> information_schema_table(std::string_view name,
                                                    const base::Catalog& catalog,
                                                    std::span<const SystemTable> system_tables) {
  const std::vector<std::string> names = information_schema_names();
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  const auto listed = static_cast<Listed>(found - names.begin());
  SystemTable table = without_rows(listed);
  table.rows = [listed, &catalog, system_tables] {
    return rows_of(listed, catalog, system_tables);
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
