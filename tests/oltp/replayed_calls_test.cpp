// Replay of single calls as a log has them: what they meet, and which slots they take and free.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/oltp/engine_fixture.h"

namespace diptych::oltp::test {
namespace {

using base::ErrorCode;
using base::Result;
using namespace std::string_view_literals;

struct LoggedBody {
  const Bank::Body* body;
  uint64_t read_vid;
  std::vector<base::RowId> inserted;
};
// As one batch of calls that committed one after the other.
Result<void> replay_bodies(Bank* bank, const std::vector<LoggedBody>& bodies) {
  std::vector<Request> requests(bodies.size());
  std::vector<Request*> places;
  std::vector<std::span<const base::RowId>> inserted;
  for (size_t i = 0; i < bodies.size(); ++i) {
    requests[i].procedure = bank->script;
    requests[i].arguments = std::as_bytes(std::span(&bodies[i].body, 1));
    requests[i].read_vid = base::Vid(bodies[i].read_vid);
    requests[i].commit_vid = base::Vid(bank->engine->last_vid().value + 1 + i);
    places.push_back(&requests[i]);
    inserted.emplace_back(bodies[i].inserted);
  }
  const auto replayed = bank->engine->replay_batch(places, inserted);
  bank->replica.apply(&bank->queue);
  return replayed;
}

// More than a worker keeps to itself.
TEST(ReplayedCalls, SlotsThatItFreesAreGivenOutOnce) {
  constexpr int32_t kRows = 5000;
  const auto insert = [](const Bank& bank, int64_t account) -> Bank::Body {
    return [&bank, account](Transaction& txn) -> Result<void> {
      for (int32_t i = 0; i < kRows; ++i) {
        if (auto row = txn.insert(bank.entry, Entry{account, i, {}}); !row) return row.error();
      }
      return {};
    };
  };
  for (const uint32_t workers : {1U, 2U}) {
    Bank bank(workers);
    const Bank::Body come = insert(bank, 1);
    const Bank::Body go = [&](Transaction& txn) -> Result<void> {
      for (int32_t i = 0; i < kRows; ++i) {
        auto row = txn.get_for_update(bank.entry_pkey, 1, i);
        if (!row) return row.error();
        txn.erase(*row);
      }
      return {};
    };
    std::vector<base::RowId> slots;
    for (uint64_t id = 0; id < kRows; ++id) slots.emplace_back(id);
    ASSERT_TRUE(replay_bodies(&bank, {{&come, 0, slots}, {&go, 1, {}}}));
    bank.engine->release_free_slots();
    ASSERT_TRUE(bank.run(insert(bank, 2)));
    ASSERT_TRUE(bank.run(insert(bank, 3)));
    EXPECT_EQ(bank.engine->row_count(bank.entry.table), 2 * uint64_t{kRows});
    bank.expect_replica_agrees();
  }
}

TEST(ReplayedCalls, ACallWhoseSlotOrSnapshotCannotBeIsRefused) {
  const auto refused = [](std::vector<base::RowId> slots, uint64_t read_vid) {
    Bank bank;
    EXPECT_TRUE(bank.put(1, 7, "ann", 10));
    const Bank::Body insert = [&](Transaction& txn) -> Result<void> {
      auto row = txn.insert(bank.account, Account{2, 7, "bob"sv, 10, {}});
      return row ? Result<void>() : row.error();
    };
    const auto done = replay_bodies(&bank, {{&insert, read_vid, std::move(slots)}});
    EXPECT_EQ(bank.engine->row_count(bank.account.table), done.ok() ? 2u : 1u);
    EXPECT_TRUE(done.ok() || done.code() == ErrorCode::kCorrupt);
    return !done.ok();
  };
  EXPECT_FALSE(refused({base::RowId(1)}, 1));
  EXPECT_TRUE(refused({base::RowId(0)}, 1)) << "another row is there";
  EXPECT_TRUE(refused({base::RowId(RowTable::kSlotsMax)}, 1));
  EXPECT_TRUE(refused({base::RowId(1)}, 2)) << "nobody has committed VID 2";
}

// What stood in an insert's way, and what did not, was as its snapshot had it: rows that have
// changed since are no conflict, as they changed after the insert.
TEST(ReplayedCalls, AnInsertMeetsTheRowsAsItDidThen) {
  Bank bank(2);
  ASSERT_TRUE(bank.put(1, 7, "ann", 10));
  ASSERT_TRUE(bank.put(2, 7, "bob", 10));
  const auto add = [&](Transaction& txn, int64_t id, std::string_view name) {
    return txn.insert(bank.account, Account{id, 7, name, 10, {}});
  };
  const Bank::Body erase = [&](Transaction& txn) -> Result<void> {
    auto row = txn.get_for_update(bank.account_pkey, 1);
    if (!row) return row.error();
    txn.erase(*row);
    return {};
  };
  const Bank::Body meet_erased = [&](Transaction& txn) -> Result<void> {
    EXPECT_EQ(add(txn, 1, "cid").code(), ErrorCode::kAlreadyExists);
    const auto added = add(txn, 3, "cid");
    return added ? Result<void>() : added.error();
  };
  const auto change_bob = [&](auto value) -> Bank::Body {
    return [&, value](Transaction& txn) -> Result<void> {
      auto row = txn.get_for_update(bank.account_pkey, 2);
      if (!row) return row.error();
      txn.update(*row, value);
      return {};
    };
  };
  const Bank::Body rename = change_bob(set<&Account::name>("bea"sv));
  const Bank::Body pay = change_bob(set<&Account::balance>(11));
  const Bank::Body take_name = [&](Transaction& txn) -> Result<void> {
    const auto added = add(txn, 4, "bob");
    return added ? Result<void>() : added.error();
  };
  const auto replayed = replay_bodies(&bank, {{&erase, 2, {}},
                                              {&meet_erased, 2, {base::RowId(10), base::RowId(11)}},
                                              {&rename, 4, {}},
                                              {&pay, 5, {}},
                                              {&take_name, 5, {base::RowId(12)}}});
  ASSERT_TRUE(replayed.ok()) << replayed.error().to_string();
  EXPECT_EQ(bank.engine->row_count(bank.account.table), 3u);
  bank.expect_replica_agrees();
}

// Rows that have gone since, many of them, are there for who read the state before.
TEST(ReplayedCalls, ALateOneFindsWhatItReadThen) {
  constexpr int64_t kRows = 1000;
  Bank bank(2);
  for (int64_t id = 0; id < kRows; ++id) {
    ASSERT_TRUE(bank.put(id, 7, std::to_string(id), 10));
  }
  std::vector<Bank::Body> erasures;
  std::vector<LoggedBody> bodies;
  for (int64_t id = 0; id < kRows; ++id) {
    erasures.emplace_back([&bank, id](Transaction& txn) -> Result<void> {
      auto row = txn.get_for_update(bank.account_pkey, id);
      if (!row) return row.error();
      txn.erase(*row);
      return {};
    });
  }
  const Bank::Body late = [&](Transaction& txn) -> Result<void> {
    int64_t found = 0;
    for (int64_t id = 0; id < kRows; ++id) found += txn.get(bank.account_pkey, id).ok() ? 1 : 0;
    EXPECT_EQ(found, kRows / 2);
    const auto add = [&](int64_t id) {
      return txn.insert(bank.account, Account{id, 7, "bob"sv, 10, {}});
    };
    EXPECT_EQ(add(kRows - 1).code(), ErrorCode::kAlreadyExists);
    const auto added = add(kRows);
    return added ? Result<void>() : added.error();
  };
  const auto before = static_cast<uint64_t>(kRows);
  for (int64_t id = 0; id < kRows; ++id) {
    bodies.push_back({&erasures[static_cast<size_t>(id)], before + static_cast<uint64_t>(id), {}});
  }
  const base::RowId none(2 * before);  // of the insert that is refused
  bodies.push_back({&late, before + before / 2, {none, base::RowId(2 * before + 1)}});
  const auto replayed = replay_bodies(&bank, bodies);
  ASSERT_TRUE(replayed.ok()) << replayed.error().to_string();
  EXPECT_EQ(bank.engine->row_count(bank.account.table), 1u);
  bank.expect_replica_agrees();
}

}  // namespace
}  // namespace diptych::oltp::test
