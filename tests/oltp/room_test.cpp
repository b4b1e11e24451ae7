// Engine::set_room: what is refused where rows, strings and indexes may take no more memory.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "oltp/row_batch.h"
#include "tests/oltp/engine_fixture.h"

namespace diptych::oltp::test {
namespace {

using base::ErrorCode;
using testing::HasSubstr;

class Room : public testing::TestWithParam<uint32_t> {
 protected:
  base::Result<void> put(int64_t id, std::string_view note = "") {
    return bank_.put(id, 1, "name " + std::to_string(id), 10, note);
  }
  base::Result<void> erase(int64_t id) {
    return bank_.run([&](Transaction& txn) -> base::Result<void> {
      auto row = txn.get_for_update(bank_.account_pkey, id);
      if (!row) return row.error();
      txn.erase(*row);
      return {};
    });
  }
  base::Result<void> set_note(int64_t id, std::string_view note) {
    return bank_.run([&](Transaction& txn) -> base::Result<void> {
      auto row = txn.get_for_update(bank_.account_pkey, id);
      if (!row) return row.error();
      txn.update(*row, set<&Account::note>(note));
      return {};
    });
  }
  // From `id` on until one is refused, which is soon; returns its id.
  int64_t fill(int64_t id) {
    while (id < 100'000 && put(id)) ++id;
    return id;
  }

  Bank bank_{GetParam()};
};

TEST_P(Room, WithoutRoomAnInsertThatFindsNoSlotIsRefusedAndChangesNothing) {
  bank_.engine->set_room(0);
  const auto refused = put(1);
  ASSERT_EQ(refused.code(), ErrorCode::kOutOfMemory);
  EXPECT_THAT(refused.error().message, HasSubstr("procedure \"script\""));
  EXPECT_THAT(refused.error().message, HasSubstr("data_memory_bytes_max"));
  EXPECT_EQ(bank_.engine->row_count(bank_.account.table), 0U);
  bank_.expect_replica_agrees();
  bank_.engine->set_room(SIZE_MAX);
  EXPECT_TRUE(put(1));
  bank_.expect_replica_agrees();
}

TEST_P(Room, ErasedRowsMakeRoomAndOthersAreReadAndUpdated) {
  ASSERT_TRUE(put(0));
  ASSERT_TRUE(erase(0));
  bank_.engine->set_room(0);
  const int64_t full = fill(0);  // the slots that workers have
  ASSERT_GT(full, 0);
  EXPECT_EQ(put(full).code(), ErrorCode::kOutOfMemory);
  EXPECT_TRUE(bank_.run([&](Transaction& txn) -> base::Result<void> {
    auto row = txn.get_for_update(bank_.account_pkey, int64_t{0});
    if (!row) return row.error();
    txn.update(*row, set<&Account::balance>(int64_t{77}));
    return {};
  }));
  for (int64_t id = 0; id < 10; ++id) ASSERT_TRUE(erase(id));
  for (int64_t id = 0; id < 10; ++id) ASSERT_TRUE(put(full + id));
  bank_.expect_replica_agrees();
}

TEST_P(Room, WhatOneWorkerErasesAnotherMayInsert) {
  ASSERT_TRUE(put(0));
  bank_.engine->set_room(0);
  const int64_t full = fill(1);
  ASSERT_GT(full, 100);
  std::vector<Bank::Body> bodies;  // which all workers share
  for (int64_t id = 0; id < 90; ++id) {
    bodies.push_back([&, id](Transaction& txn) -> base::Result<void> {
      auto row = txn.get_for_update(bank_.account_pkey, id);
      if (!row) return row.error();
      txn.erase(*row);
      return {};
    });
  }
  for (const Bank::Call& call : bank_.run_all(bodies)) ASSERT_TRUE(call.outcome());
  for (int64_t i = 0; i < 90; ++i) ASSERT_TRUE(put(full + i)) << i;  // by the leader alone
  EXPECT_EQ(put(full + 90).code(), ErrorCode::kOutOfMemory);
  bank_.expect_replica_agrees();
}

TEST_P(Room, WhatAProcedureDoesAfterARefusedInsertIsNotKept) {
  ASSERT_TRUE(put(0));
  bank_.engine->set_room(0);
  fill(1);
  const auto refused = bank_.run([&](Transaction& txn) -> base::Result<void> {
    auto row = txn.get_for_update(bank_.account_pkey, int64_t{0});
    if (!row) return row.error();
    txn.update(*row, set<&Account::balance>(int64_t{1234}));
    static_cast<void>(txn.insert(bank_.entry, Entry{0, 1, {}}));
    return {};
  });
  EXPECT_EQ(refused.code(), ErrorCode::kOutOfMemory);
  EXPECT_TRUE(bank_.run([&](Transaction& txn) -> base::Result<void> {
    auto row = txn.get(bank_.account_pkey, int64_t{0});
    if (!row) return row.error();
    return row->balance == 10 ? base::Result<void>() : base::ErrorCode::kAborted;
  }));
  bank_.expect_replica_agrees();
}

TEST_P(Room, TextsWithoutABlockAreRefusedAndErasedOnesMakeRoom) {
  const std::string note(90, 'a');
  for (int64_t id = 0; id < 10; ++id) ASSERT_TRUE(put(id));
  bank_.engine->set_room(0);
  const auto refused = set_note(0, note);
  ASSERT_EQ(refused.code(), ErrorCode::kOutOfMemory);
  EXPECT_THAT(refused.error().message, HasSubstr("data_memory_bytes_max"));
  bank_.expect_replica_agrees();
  bank_.engine->set_room(SIZE_MAX);
  ASSERT_TRUE(set_note(0, note));
  bank_.engine->set_room(0);
  EXPECT_TRUE(set_note(1, note));  // of the same span
  EXPECT_TRUE(erase(0));
  bank_.expect_replica_agrees();
}

TEST_P(Room, ALoadStopsWhereItHasTakenTheRoomAndLeavesNothing) {
  std::vector<Entry> rows(20'000);
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = {static_cast<int64_t>(i), 1, {}};
  const auto load = [&] {
    size_t next = 0;
    LoadIntoTextReplica sink(&bank_.replica, bank_.entry.table);
    return bank_.engine->load(
        bank_.entry.table,
        [&]() -> base::Result<RowBatch> {
          const size_t first = next;
          next = std::min(rows.size(), next + 1000);
          return RowBatch{reinterpret_cast<const std::byte*>(rows.data() + first), next - first};
        },
        &sink);
  };
  bank_.engine->set_room(size_t{256} << 10);
  const auto refused = load();
  ASSERT_EQ(refused.code(), ErrorCode::kOutOfMemory);
  EXPECT_THAT(refused.error().message, HasSubstr("table \"entry\", row "));
  EXPECT_EQ(bank_.engine->row_count(bank_.entry.table), 0U);
  bank_.engine->check_indexes();
  bank_.engine->set_room(size_t{16} << 20);
  EXPECT_TRUE(load());
  EXPECT_EQ(bank_.engine->row_count(bank_.entry.table), rows.size());
}

TEST_P(Room, ALoadOfTextsWithoutRoomSaysWhy) {
  const std::string note(90, 'a');
  const Account row{1, 1, "one", 10, std::string_view(note)};
  const auto load = [&] {
    size_t left = 1;
    LoadIntoTextReplica sink(&bank_.replica, bank_.account.table);
    return bank_.engine->load(
        bank_.account.table,
        [&]() -> base::Result<RowBatch> {
          return RowBatch{reinterpret_cast<const std::byte*>(&row), std::exchange(left, 0)};
        },
        &sink);
  };
  bank_.engine->set_room(0);
  const auto refused = load();
  ASSERT_EQ(refused.code(), ErrorCode::kOutOfMemory);
  EXPECT_THAT(refused.error().message, HasSubstr("data_memory_bytes_max"));
  EXPECT_EQ(bank_.engine->row_count(bank_.account.table), 0U);
  bank_.engine->set_room(size_t{64} << 20);
  EXPECT_TRUE(load());
}

TEST_P(Room, AnIndexThatIsLargerThanTheRoomIsRefused) {
  for (int64_t id = 0; id < 100; ++id) ASSERT_TRUE(put(id));
  const base::TableId table = bank_.account.table;
  const auto add = [&](const char* name) {
    const auto id = bank_.catalog.add_index(
        table, index(name, base::IndexKind::kOrdered, base::Uniqueness::kNonUnique, {3}));
    auto added = bank_.engine->add_index(table, *id);
    if (!added) bank_.catalog.remove_last_index(table);
    return added;
  };
  bank_.engine->set_room(1000);
  const auto refused = add("by_balance");
  ASSERT_EQ(refused.code(), ErrorCode::kOutOfMemory);
  EXPECT_THAT(refused.error().message, HasSubstr("index \"by_balance\""));
  bank_.engine->set_room(size_t{1} << 20);
  EXPECT_TRUE(add("by_balance"));
  ASSERT_TRUE(put(100));
  bank_.expect_replica_agrees();
}

TEST_P(Room, AClearedEngineHasRoom) {
  bank_.engine->set_room(0);
  EXPECT_EQ(put(1).code(), ErrorCode::kOutOfMemory);
  bank_.engine->clear();
  EXPECT_TRUE(put(1, std::string(90, 'x')));
}

INSTANTIATE_TEST_SUITE_P(Workers, Room, testing::Values(1, 3));

}  // namespace
}  // namespace diptych::oltp::test
