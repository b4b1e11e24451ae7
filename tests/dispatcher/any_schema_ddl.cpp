#include "tests/dispatcher/any_schema_ddl.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace diptych::dispatcher::any_schema {
namespace {

// Of a length that is about what a key pads, or a row keeps inline.
std::string short_text_type(const char* name, const Below& below) {
  static constexpr int kLengths[] = {1, 3, 5, 8, 31, 32, 33, 63, 64};
  return fmt::format("{}({})", name, kLengths[below(std::size(kLengths))]);
}

std::string decimal_type(const Below& below) {
  const uint64_t precision = 1 + below(18);
  return fmt::format("DECIMAL({},{})", precision, below(precision + 1));
}

std::string key_type(const Below& below) {
  switch (below(9)) {
    case 0: return "INT";
    case 1: return "BIGINT";
    case 2: return decimal_type(below);
    case 3: return "DATE";
    case 4: return "TIMESTAMP";
    case 5: return "DOUBLE PRECISION";
    case 6: return "BOOLEAN";
    case 7: return short_text_type("VARCHAR", below);
    default: return short_text_type("CHAR", below);
  }
}

std::string column_type(const Below& below) {
  switch (below(6)) {
    case 0: return fmt::format("VARCHAR({})", 65 + below(200));
    case 1: return "TEXT";
    default: return key_type(below);
  }
}

// Aligned to a word, where a column group begins.
std::string word_type(const Below& below) {
  switch (below(5)) {
    case 0: return "BIGINT";
    case 1: return "DOUBLE PRECISION";
    case 2: return decimal_type(below);
    case 3: return "TIMESTAMP";
    default: return "TEXT";
  }
}

class TableText {
 public:
  TableText(TableWidth width, uint64_t keys_min, const Below& below)
      : wide_(width == TableWidth::kWide), keys_min_(keys_min), below_(below) {}

  std::string create(const std::string& name) {
    if (below_(2) == 0) add(column_type(below_));
    add_key();
    for (uint64_t n = below_(6); n != 0; --n) add(column_type(below_));
    if (wide_ && below_(2) == 0) {
      for (uint64_t n = 20 + below_(230); n != 0; --n) add(column_type(below_));
    }
    if (below_(2) == 0) add_groups();
    // The parts of the key come in any order.
    for (size_t i = 1; i < key_.size(); ++i) std::swap(key_[i], key_[below_(i + 1)]);
    std::vector<std::string> with{
        fmt::format("primary_index = {}", below_(2) == 0 ? "hash" : "ordered")};
    if (!groups_.empty())
      with.push_back(fmt::format("column_groups = '{}'", fmt::join(groups_, " ")));
    if (below_(4) == 0) with.emplace_back("settled = on");
    return fmt::format("CREATE TABLE {} ({}, PRIMARY KEY ({})) WITH ({});", name,
                       fmt::join(columns_, ", "), fmt::join(key_, ", "), fmt::join(with, ", "));
  }

 private:
  std::string add(const std::string& type, bool not_null) {
    std::string name = fmt::format("c{}", columns_.size());
    columns_.push_back(fmt::format("{} {}{}", name, type, not_null ? " NOT NULL" : ""));
    return name;
  }
  std::string add(const std::string& type) { return add(type, below_(2) == 0); }

  // Of one to four columns.
  void add_key() {
    uint64_t values = 1;
    while (key_.size() < 4 && (values < keys_min_ || below_(4) == 0)) {
      const bool integer = below_(3) != 0;
      const std::string type = integer ? (below_(2) == 0 ? "INT" : "BIGINT") : key_type(below_);
      key_.push_back(add(type, true));
      const bool short_one = type.find("(1") != std::string::npos;
      values *= type == "BOOLEAN" ? 2 : short_one ? 10 : 40;
      if (below_(4) == 0) add(column_type(below_));
    }
  }

  void add_groups() {
    for (uint64_t n = 1 + below_(wide_ ? base::kColumnGroupsMax : 3); n != 0; --n) {
      std::vector<std::string> group{add(word_type(below_))};
      for (uint64_t more = below_(3); more != 0; --more) group.push_back(add(column_type(below_)));
      groups_.push_back(fmt::format("({})", fmt::join(group, ", ")));
    }
    // What follows a group is again at a word of its own.
    if (below_(2) == 0) add("BIGINT");
  }

  const bool wide_;
  const uint64_t keys_min_;
  const Below& below_;
  std::vector<std::string> columns_;
  std::vector<std::string> key_;
  std::vector<std::string> groups_;
};

}  // namespace

std::string random_table_ddl(const std::string& name, TableWidth width, uint64_t keys_min,
                             const Below& below) {
  return TableText(width, keys_min, below).create(name);
}

std::optional<IndexSchema> random_index(const base::TableSchema& table, const std::string& name,
                                        const Below& below) {
  IndexSchema index;
  index.name = name;
  index.kind = below(2) == 0 ? base::IndexKind::kHash : base::IndexKind::kOrdered;
  index.uniqueness = below(2) == 0 ? base::Uniqueness::kUnique : base::Uniqueness::kNonUnique;
  const base::RowLayout layout(table);
  for (uint64_t tries = 1 + below(3); tries != 0; --tries) {
    const ColumnId id(static_cast<uint16_t>(below(table.columns.size())));
    const bool nullable = table.column(id).nullability == base::Nullability::kNullable;
    if (layout.column(id).group != 0 || (nullable && is_unique(index))) continue;
    if (std::find(index.columns.begin(), index.columns.end(), id) != index.columns.end()) continue;
    index.columns.push_back(id);
  }
  if (index.columns.empty()) return std::nullopt;
  return index;
}

std::string ddl_of(const base::TableSchema& table, const IndexSchema& index) {
  std::vector<std::string> names;
  for (const ColumnId id : index.columns) names.push_back(table.column(id).name);
  return fmt::format("CREATE {}INDEX {} ON {} USING {} ({});", is_unique(index) ? "UNIQUE " : "",
                     index.name, table.name, is_hash(index) ? "hash" : "btree",
                     fmt::join(names, ", "));
}

}  // namespace diptych::dispatcher::any_schema
