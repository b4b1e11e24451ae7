// Which tables a boundary looks at.

#include "oltp/worker_tables.h"

#include <deque>

#include <gtest/gtest.h>

#include "propagation/export/update_queue.h"
#include "tests/oltp/engine_fixture.h"

namespace diptych::oltp::test {
namespace {

class WorkerTablesTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kTables = 1'000;

  WorkerTablesTest() {
    for (uint32_t i = 0; i < kTables; ++i) {
      base::TableSchema& schema = schemas_.emplace_back(schema_of<Entry>("entry"));
      schema.id = base::TableId(i);
      rows_.emplace_back(schema, base::NumaNode(0));
      tables_.resize(i + 1);
    }
  }
  std::vector<uint32_t> touched() const {
    std::vector<uint32_t> ids;
    for (const base::TableId id : tables_.touched()) ids.push_back(id.value);
    return ids;
  }

  std::deque<base::TableSchema> schemas_;
  std::deque<Table> rows_;  // [TableId]
  propagation::UpdateQueue queue_;
  WorkerTables tables_;
};

TEST_F(WorkerTablesTest, ABoundaryLooksAtEachTableThatWasTouchedOnce) {
  EXPECT_TRUE(touched().empty());
  for (const uint32_t id : {7u, 999u, 7u, 0u, 999u}) tables_.touch(rows_[id]);
  EXPECT_EQ(touched(), (std::vector<uint32_t>{7, 999, 0}));
  tables_.forget_touched();
  EXPECT_TRUE(touched().empty());
  tables_.touch(rows_[7]);
  EXPECT_EQ(touched(), std::vector<uint32_t>{7});
}

TEST_F(WorkerTablesTest, ATableWhoseUpdateSetWasNotTakenStaysTouched) {
  tables_.touch(rows_[3]).updates = queue_.take_empty();
  tables_.touch(rows_[4]);
  tables_.forget_touched();
  EXPECT_EQ(touched(), std::vector<uint32_t>{3});
  tables_[rows_[3]].updates = nullptr;
  tables_.forget_touched();
  EXPECT_TRUE(touched().empty());
}

}  // namespace
}  // namespace diptych::oltp::test
