// Updates of a physical log that give two rows one unique key are refused by name; those in which a
// key changes hands within a transaction are not. Nor do too long texts pass.

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/oltp/engine_fixture.h"

namespace diptych::oltp::test {
namespace {

using namespace std::string_view_literals;

// Update records as a program with a bug would write them.
class WrittenUpdates {
 public:
  explicit WrittenUpdates(const base::TableSchema& table)
      : table_(table.id), layout_(table), set_(&memory_) {}

  template <class Row>
  WrittenUpdates& insert(uint64_t vid, uint64_t row_id, const Row& row) {
    last_ = base::Vid(vid);
    set_.append_insert(last_, base::RowId(row_id), layout_, bytes_of(row));
    return *this;
  }
  template <class Row>
  WrittenUpdates& update(uint64_t vid, uint64_t row_id, uint16_t column, const Row& row) {
    last_ = base::Vid(vid);
    const base::ColumnId changed(column);
    set_.append_update(last_, base::RowId(row_id), layout_, bytes_of(row),
                       {layout_, {&changed, 1}});
    return *this;
  }
  WrittenUpdates& erase(uint64_t vid, uint64_t row_id) {
    last_ = base::Vid(vid);
    set_.append_delete(last_, base::RowId(row_id));
    return *this;
  }
  // As one batch. The words of the error, or none.
  std::string replay_error(uint32_t workers) const {
    propagation::BatchRuns batch{last_, {}};
    for (const auto& chunk : set_.chunks()) {
      batch.runs.push_back({table_, {chunk.data, chunk.used}});
    }
    Bank bank(workers);
    const auto done = bank.engine->replay_updates(std::span(&batch, 1));
    if (done.ok()) {
      bank.replica.apply(&bank.queue);
      bank.expect_replica_agrees();
      return {};
    }
    EXPECT_EQ(done.code(), base::ErrorCode::kCorrupt);
    return done.error().message;
  }

 private:
  template <class Row>
  static const std::byte* bytes_of(const Row& row) {
    return reinterpret_cast<const std::byte*>(&row);
  }

  base::TableId table_;
  base::RowLayout layout_;
  propagation::UpdateChunks memory_;
  propagation::UpdateSet set_;
  base::Vid last_;
};

TEST(ReplayedKeys, AKeyThatAnotherRowHasIsRefused) {
  const base::Catalog catalog = bank_catalog();
  const base::TableSchema& accounts = *catalog.find_table("account");
  const base::TableSchema& entries = *catalog.find_table("entry");
  const auto account = [](int64_t id, std::string_view name) {
    return Account{id, 0, name, 0, std::string_view()};
  };
  constexpr uint16_t kId = 0;
  constexpr uint16_t kName = 2;
  for (const uint32_t workers : {1U, 2U}) {
    for (const uint64_t second : {1U, 2U}) {  // VID: in the same transaction, or in the next
      SCOPED_TRACE(testing::Message() << workers << " workers, second VID " << second);
      EXPECT_EQ(WrittenUpdates(accounts)
                    .insert(1, 0, account(7, "a"))
                    .insert(second, 1, account(7, "b"))
                    .replay_error(workers),
                "table \"account\", the update of row 1 under VID " + std::to_string(second) +
                    ": key (7) of index \"account_pkey\" is taken by row 0");
      EXPECT_THAT(WrittenUpdates(accounts)
                      .insert(1, 0, account(7, "a"))
                      .insert(second, 1, account(8, "a"))
                      .replay_error(workers),
                  testing::HasSubstr("account_name"));
      EXPECT_THAT(WrittenUpdates(accounts)
                      .insert(1, 0, account(7, "a"))
                      .insert(1, 1, account(8, "b"))
                      .update(second, 1, kId, account(7, ""))
                      .replay_error(workers),
                  testing::HasSubstr("row 1 under VID"));
      EXPECT_THAT(WrittenUpdates(entries)
                      .insert(1, 0, Entry{7, 3, int64_t{1}})
                      .insert(second, 1, Entry{7, 3, int64_t{2}})
                      .replay_error(workers),
                  testing::HasSubstr("key (7, 3) of index \"entry_pkey\" is taken by row 0"));
      // A row that has a key again in its batch, and whose entry has never gone.
      EXPECT_THAT(WrittenUpdates(accounts)
                      .insert(1, 0, account(7, "a"))
                      .update(2, 0, kName, account(7, "b"))
                      .insert(2, 1, account(8, "a"))
                      .update(2 + second, 0, kName, account(7, "a"))
                      .replay_error(workers),
                  testing::HasSubstr("is taken by row 1"));
    }
    // Who has the key may give it up later in the transaction, and not in a later one.
    for (const uint64_t second : {2U, 3U}) {
      SCOPED_TRACE(testing::Message() << workers << " workers, second VID " << second);
      const auto expect = [&](const WrittenUpdates& written) {
        EXPECT_EQ(written.replay_error(workers).empty(), second == 2);
      };
      expect(WrittenUpdates(accounts)
                 .insert(1, 0, account(7, "a"))
                 .insert(2, 1, account(7, "b"))
                 .erase(second, 0));
      expect(WrittenUpdates(accounts)
                 .insert(1, 0, account(7, "a"))
                 .insert(2, 1, account(8, "a"))
                 .update(second, 0, kName, account(0, "c")));
      expect(WrittenUpdates(accounts)
                 .insert(1, 0, account(7, "a"))
                 .insert(1, 1, account(8, "b"))
                 .update(2, 0, kName, account(0, "b"))
                 .update(second, 1, kName, account(0, "a")));
      expect(WrittenUpdates(entries)
                 .insert(1, 0, Entry{7, 3, int64_t{1}})
                 .insert(2, 1, Entry{7, 3, int64_t{2}})
                 .erase(second, 0));
    }
  }
}

TEST(ReplayedKeys, AKeyIsItsRowsAgainOnceTheOtherIsGoneInTheSameTransaction) {
  const base::Catalog catalog = bank_catalog();
  const auto taken_and_given_up = [&](uint64_t vid) {
    return WrittenUpdates(*catalog.find_table("account"))
        .insert(1, 0, Account{7, 0, "a"sv, 0, {}})
        .insert(2, 1, Account{7, 0, "b"sv, 0, {}})
        .erase(vid, 1)
        .replay_error(1);
  };
  EXPECT_EQ(taken_and_given_up(2), "");
  EXPECT_THAT(taken_and_given_up(3), testing::HasSubstr("is taken by row 0"));
}

TEST(ReplayedTexts, LongerThanTheirColumnsAreRefused) {
  const base::Catalog catalog = bank_catalog();
  const base::TableSchema& accounts = *catalog.find_table("account");
  struct WideAccount {
    int64_t id;
    int32_t branch;
    base::Varchar<16> name;
    int64_t balance;
    base::Text note;
  };
  const auto account = [](const std::string& note) {
    return WideAccount{7, 0, "a"sv, 0, std::string_view(note)};
  };
  static_assert(sizeof(WideAccount) == sizeof(Account));
  constexpr uint16_t kNote = 4;
  const std::string longest(100, 'n');
  const std::string longer(101, 'n');
  const auto insert = [&](const std::string& note) {
    return WrittenUpdates(accounts).insert(1, 0, account(note)).replay_error(1);
  };
  const auto update = [&](const std::string& note) {
    return WrittenUpdates(accounts)
        .insert(1, 0, account("short"))
        .update(2, 0, kNote, account(note))
        .replay_error(1);
  };
  EXPECT_EQ(insert(longest), "");
  EXPECT_THAT(insert(longer), testing::HasSubstr("row 0 under VID 1"));
  EXPECT_EQ(update(longest), "");
  EXPECT_THAT(update(longer), testing::HasSubstr("row 0 under VID 2"));
}

}  // namespace
}  // namespace diptych::oltp::test
