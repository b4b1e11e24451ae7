// What a columnar replica has that no primary can be made of is said by name.

#include "dispatcher/primary_restore.h"

#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "propagation/export/update_queue.h"
#include "tests/storage/every_type_table.h"
#include "tests/storage/one_row.h"
#include "tests/storage/record_rows.h"

namespace diptych::dispatcher {
namespace {

using ::testing::HasSubstr;

// Updates of such a row go to its own partition, which does not have it.
TEST(PrimaryRestore, ARowOutsideOfItsPartitionIsRefused) {
  constexpr uint32_t kPartitions = 3;
  base::Catalog catalog;
  ASSERT_TRUE(catalog.add_table(storage::test::every_type_schema()));
  const base::TableSchema& schema = catalog.table(base::TableId(0));
  const base::RowLayout layout(schema);
  for (const uint32_t beside : {0U, 1U, 2U}) {
    storage::Replica replica({.partitions = kPartitions, .block_rows = storage::kBlockRowsMin});
    replica.add_table(schema);
    storage::Table& rows = replica.table(schema.id);
    auto random = storage::test::RandomRows::all_different(layout, 3);
    storage::test::RecordRow record(layout);
    constexpr uint64_t kRows = 4 * base::kRowIdRun;
    constexpr base::RowId kMoved(2 * base::kRowIdRun + 7);
    for (uint64_t id = 0; id < kRows; ++id) {
      const base::RowId row_id(id);
      const uint32_t moved_by = row_id == kMoved ? beside : 0;
      const base::PartitionId to((rows.partition_of(row_id).value + moved_by) % kPartitions);
      record.encode(random.row());
      storage::test::insert_row(rows.partition(to), row_id, record.row(), record.strings_base());
    }
    propagation::UpdateQueue updates;
    oltp::Engine engine(&catalog, oltp::EngineOptions{}, &updates);
    const auto restored = restore_primary(catalog, replica, &engine, {.cores = {}});
    if (beside == 0) {
      ASSERT_TRUE(restored.ok()) << restored.error().to_string();
      EXPECT_EQ(engine.row_count(schema.id), kRows);
      continue;
    }
    ASSERT_FALSE(restored.ok());
    EXPECT_EQ(restored.code(), base::ErrorCode::kCorrupt);
    EXPECT_THAT(restored.error().message, HasSubstr(schema.name));
    EXPECT_THAT(restored.error().message, HasSubstr("row " + std::to_string(kMoved.value)));
  }
}

}  // namespace
}  // namespace diptych::dispatcher
