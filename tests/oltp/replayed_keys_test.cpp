// Updates of a physical log that give two rows one unique key are refused by name; those in which a
// key changes hands within a transaction are not.

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/oltp/engine_fixture.h"

namespace diptych::oltp::test {
namespace {

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

}  // namespace
}  // namespace diptych::oltp::test
