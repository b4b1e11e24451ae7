// Replica::live_tables: what goes over all tables goes over those that were not dropped.

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/schema.h"
#include "storage/table.h"

namespace diptych::storage {
namespace {

base::TableSchema named(std::string name) {
  base::TableSchema schema;
  schema.columns = {{"a", base::DataType{.kind = base::TypeKind::kInt}, base::Nullability::kNotNull,
                     base::Visibility::kVisible}};
  base::IndexSchema key;
  key.name = name + "_pkey";
  key.uniqueness = base::Uniqueness::kUnique;
  key.columns = {base::ColumnId(0)};
  schema.indexes = {key};
  schema.name = std::move(name);
  return schema;
}

std::vector<uint32_t> live(const Replica& replica) {
  std::vector<uint32_t> ids;
  for (const base::TableId id : replica.live_tables()) ids.push_back(id.value);
  return ids;
}

TEST(LiveTables, AreThoseThatWereNotDroppedInTheirOrder) {
  base::Catalog catalog;
  Replica replica{StorageOptions{.partitions = 2}};
  for (const char* const name : {"a", "b", "c"}) {
    replica.add_table(catalog.table(*catalog.add_table(named(name))));
  }
  const std::vector<std::string> second = {"b"};
  const auto dropped = catalog.drop_tables(second);
  ASSERT_TRUE(dropped.ok());
  replica.drop_table(dropped->front());
  EXPECT_EQ(live(replica), (std::vector<uint32_t>{0, 2}));
  replica.clear_table(base::TableId(0));
  replica.add_dropped_table();
  catalog.pass_table_id();
  replica.add_table(catalog.table(*catalog.add_table(named("b"))));
  EXPECT_EQ(live(replica), (std::vector<uint32_t>{0, 2, 4}));
  EXPECT_EQ(replica.table_count(), 5U);
  EXPECT_FALSE(replica.wants_compaction());
}

}  // namespace
}  // namespace diptych::storage
