// What callers read without a lock while DDL and registration go on: CatalogHistory and
// ProcedureDirectory, under readers. And with their orders dropped: ThreadSanitizer must find that.

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "dispatcher/catalog_history.h"
#include "dispatcher/procedure_directory.h"
#include "tests/mutant.h"
#include "tests/relaxed_atomic.h"

namespace diptych::dispatcher {
namespace {

constexpr int kDirectoryReaders = 3;

base::TableSchema numbered_table(size_t number) {
  base::TableSchema schema;
  schema.name = "table" + std::to_string(number);
  schema.columns = {{"id", {base::TypeKind::kBigInt}, base::Nullability::kNotNull}};
  schema.indexes = {{.name = schema.name + "_pkey",
                     .id = {},
                     .uniqueness = base::Uniqueness::kUnique,
                     .columns = {base::ColumnId(0)}}};
  return schema;
}

// Each catalog that a reader meets is whole, and none is older than the last one.
template <template <class> class Atomic>
void read_catalogs_while_tables_are_added() {
  constexpr size_t kTables = 60;
  BasicCatalogHistory<Atomic> history;
  std::vector<std::jthread> readers;
  for (int reader = 0; reader < kDirectoryReaders; ++reader) {
    readers.emplace_back([&history] {
      for (size_t last = 0; last < kTables;) {
        const base::Catalog& catalog = history.current();
        const size_t tables = catalog.table_count();
        EXPECT_GE(tables, last);
        for (uint32_t i = 0; i < tables; ++i) {
          EXPECT_EQ(catalog.table(base::TableId(i)).name, "table" + std::to_string(i));
        }
        last = tables;
        std::this_thread::yield();
      }
    });
  }
  base::Catalog live;
  for (size_t i = 0; i < kTables; ++i) {
    const auto added = live.add_table(numbered_table(i));
    ASSERT_TRUE(added.ok()) << added.error().to_string();
    history.publish(live);
    std::this_thread::yield();
  }
}

// A signature below the count is there, whole, and found by its name.
template <template <class> class Atomic>
void look_up_while_procedures_are_added() {
  constexpr uint32_t kProcedures = 300;
  BasicProcedureDirectory<Atomic> directory;
  const auto name_of = [](uint32_t id) { return "a procedure with number " + std::to_string(id); };
  std::vector<std::jthread> readers;
  for (int reader = 0; reader < kDirectoryReaders; ++reader) {
    readers.emplace_back([&] {
      for (uint32_t count = 0; count < kProcedures;) {
        count = directory.count();
        EXPECT_EQ(directory.find(base::ProcedureId(kProcedures)), nullptr);
        if (count == 0) continue;
        const ProcedureSignature* const newest = directory.find(base::ProcedureId(count - 1));
        ASSERT_NE(newest, nullptr);
        EXPECT_EQ(newest->name, name_of(count - 1));
        EXPECT_EQ(directory.find(newest->name), newest);
        std::this_thread::yield();
      }
    });
  }
  for (uint32_t id = 0; id < kProcedures; ++id) {
    ASSERT_FALSE(directory.full());
    directory.add(
        std::make_unique<ProcedureSignature>(ProcedureSignature{.name = name_of(id),
                                                                .id = base::ProcedureId(id),
                                                                .argument_columns = {},
                                                                .reply_columns = {}}));
    std::this_thread::yield();
  }
}

TEST(DirectoryStress, ACatalogThatIsMetIsWholeAndNoneIsOlder) {
  for (int round = 0; round < 5; ++round) read_catalogs_while_tables_are_added<std::atomic>();
}

TEST(DirectoryStress, AProcedureBelowTheCountIsFound) {
  for (int round = 0; round < 5; ++round) look_up_while_procedures_are_added<std::atomic>();
}

#ifdef DIPTYCH_TSAN
TEST(DirectoryStressDeathTest, ThreadSanitizerFindsTheMutantThatPublishesNoCatalog) {
  EXPECT_RACE_FOUND(read_catalogs_while_tables_are_added<diptych::test::RelaxedAtomic>());
}

TEST(DirectoryStressDeathTest, ThreadSanitizerFindsTheMutantThatPublishesNoSignature) {
  EXPECT_RACE_FOUND(look_up_while_procedures_are_added<diptych::test::RelaxedAtomic>());
}
#endif

}  // namespace
}  // namespace diptych::dispatcher
