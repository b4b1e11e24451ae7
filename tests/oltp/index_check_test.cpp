// What it takes to check an index against its table.

#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "oltp/index_build.h"
#include "oltp/table.h"
#include "tests/oltp/engine_fixture.h"

namespace diptych::oltp::test {
namespace {

// Counts the candidates that the index below it gives.
class WatchedIndex final : public Index {
 public:
  WatchedIndex(std::unique_ptr<Index> index, uint64_t* candidates)
      : index_(std::move(index)), candidates_(candidates) {}

  IndexInsert insert(std::string_view key, base::RowId row_id,
                     const UniquenessCheck* check) override {
    return index_->insert(key, row_id, check);
  }
  bool erase(std::string_view key, base::RowId row_id) override {
    return index_->erase(key, row_id);
  }
  void find(std::string_view key, const CandidateVisitor& visit) const override {
    const auto count = [&](base::RowId row_id) {
      ++*candidates_;
      return visit(row_id);
    };
    index_->find(key, CandidateVisitor(count));
  }
  void next_group(IndexCursor* cursor) const override {
    index_->next_group(cursor);
    *candidates_ += cursor->count;
  }
  std::unique_ptr<IndexBuild> begin_build(uint64_t entries_max, uint32_t lanes) override {
    return index_->begin_build(entries_max, lanes);
  }
  uint64_t entry_count() const override { return index_->entry_count(); }
  uint64_t check() const override { return index_->check(); }
  size_t memory_bytes() const override { return index_->memory_bytes(); }

 private:
  std::unique_ptr<Index> index_;
  uint64_t* candidates_;
};

class IndexCheck : public ::testing::Test {
 protected:
  // Entry i has account i % accounts.
  void fill(int32_t rows, int32_t accounts) {
    index_.index = std::make_unique<WatchedIndex>(std::move(index_.index), &candidates_);
    std::vector<base::RowId> ids;
    for (int32_t i = 0; i < rows; ++i) ids.push_back(base::RowId(static_cast<uint64_t>(i)));
    table_.rows.cover(ids);
    for (const base::RowId id : ids) {
      RowSlot& slot = table_.rows.slot(id);
      const auto number = static_cast<int32_t>(id.value);
      const Entry entry{number % accounts, number, {}};
      std::memcpy(slot.row(), &entry, sizeof entry);
      slot.set_words(1, live_word(base::Vid(1)));
      index_.index->insert(key_of(id).bytes(), id, nullptr);
    }
    table_.row_count = ids.size();
  }
  base::Key key_of(base::RowId id) {
    base::Key key;
    index_.encoder.encode(table_.rows.slot(id).row(), &key);
    return key;
  }

  base::TableSchema schema_ = schema_of<Entry>("entry");
  Table table_{schema_, base::NumaNode(0)};
  TableIndex index_{
      &table_, index("entry_account", base::IndexKind::kOrdered, base::Uniqueness::kNonUnique, {0}),
      false, Concurrency::kSingle, base::NumaNode(0)};
  uint64_t candidates_ = 0;
};

TEST_F(IndexCheck, LooksAtEachEntryOnceHoweverManyRowsShareAKey) {
  fill(20'000, 2);
  index_.check();
  EXPECT_LE(candidates_, 20'000u);
}

using IndexCheckDeathTest = IndexCheck;

TEST_F(IndexCheckDeathTest, AnEntryOfAnotherKeyIsNoRowsEntry) {
  fill(10, 2);
  index_.check();
  const base::RowId row(4);
  EXPECT_TRUE(index_.index->erase(key_of(row).bytes(), row));
  index_.index->insert(key_of(base::RowId(5)).bytes(), row, nullptr);
  EXPECT_DEATH(index_.check(), "found by its key");
}

}  // namespace
}  // namespace diptych::oltp::test
