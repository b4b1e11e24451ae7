// Databases whose columns do not fit in the memory that the columnar replica may take, and ones
// whose block file is damaged.

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/split_mix.h"
#include "storage/block_file.h"
#include "storage/leaf_directory.h"
#include "storage/manifest.h"
#include "tests/dispatcher/bank_fixture.h"
#include "tests/temporary_directory.h"

namespace diptych::dispatcher {
namespace {

using base::ErrorCode;
using diptych::test::TemporaryDirectory;
using ::testing::HasSubstr;

constexpr int32_t kAccounts = 60'000;
constexpr size_t kMemory = 64 << 10;  // of a third of a megabyte

DatabaseOptions small_blocks(const std::string& path) {
  return {.path = path, .olap_memory_bytes_max = kMemory, .block_rows = storage::kBlockRowsMin};
}

void bump(Bank* bank, int32_t first, int32_t step) {
  for (int32_t id = first; id < kAccounts; id += step) {
    ASSERT_TRUE(bank->database->call(bank->bump, {.id = id, .balance = {}}).get().ok());
  }
}

TEST(DatabaseMemory, AnswersThoughItsColumnsDoNotFit) {
  TemporaryDirectory directory;
  const int64_t bumped = (kAccounts + 36) / 37;
  {
    auto bank = Bank::open(small_blocks(directory.path()));
    bank->fill(kAccounts);
    EXPECT_EQ(*bank->number("SELECT sum(id) FROM account"),
              int64_t{kAccounts} * (kAccounts - 1) / 2);
    bump(bank.get(), 0, 37);
    EXPECT_EQ(*bank->number("SELECT sum(version) FROM account"), bumped);
    EXPECT_EQ(bank->database->compare_replicas()->differences, 0U);
    const Metrics metrics = bank->database->metrics();
    EXPECT_GT(metrics.olap_chunks.evictions, 0U);
    EXPECT_GT(metrics.olap_chunks.loads, 0U);
    EXPECT_LE(metrics.olap_chunks.memory_bytes, 2 * kMemory);  // changed ones go between batches
    ASSERT_TRUE(bank->database->close().ok());
  }
  auto bank = Bank::open(small_blocks(directory.path()));
  EXPECT_EQ(*bank->number("SELECT sum(version) FROM account"), bumped);
  bump(bank.get(), 1, 41);
  EXPECT_EQ(bank->database->compare_replicas()->differences, 0U);
}

TEST(DatabaseMemory, IsRefusedWhereThereIsNoFile) {
  const auto database = Database::open({.olap_memory_bytes_max = kMemory});
  ASSERT_FALSE(database.ok());
  EXPECT_EQ(database.code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(database.error().message, HasSubstr("give a path"));
}

TEST(DatabaseMemory, TakesBlocksOfAPowerOfTwoOfRows) {
  for (const uint32_t rows : {0U, 512U, 65'535U, 1U << 19}) {
    const auto database = Database::open({.block_rows = rows});
    ASSERT_FALSE(database.ok()) << rows;
    EXPECT_THAT(database.error().message, HasSubstr("block_rows is " + std::to_string(rows)));
  }
}

// What a save left in the file of the table's first partition.
storage::SavedPartition saved_partition(const std::string& path, const base::TableSchema& schema) {
  const auto manifest = storage::read_manifest(path);
  const auto file = storage::BlockFile::open(path);
  const auto bytes = (*file)->read(manifest->tables[0].directory);
  return storage::read_directory(schema, bytes->bytes())->partitions[0];
}

TEST(DatabaseMemory, ALoadedAndAReopenedDatabaseHaveBlocksInPlaceOfPages) {
  constexpr size_t kBlocks = 3;
  TemporaryDirectory directory;
  base::TableSchema schema;
  const auto blocks = [&] {
    const storage::SavedPartition saved = saved_partition(directory.path(), schema);
    return std::ranges::count(saved, storage::SavedForm::kBlock, &storage::SavedLeaf::form);
  };
  {
    auto bank = Bank::open({.path = directory.path(), .partitions = 1});
    schema = *bank->database->catalog().find_table("account");
    bank->fill(kBlocks << 16);
  }
  EXPECT_EQ(blocks(), kBlocks);
  {
    auto bank = Bank::open({.path = directory.path()});
    ASSERT_TRUE(bank->database->call(bank->bump, {.id = 3, .balance = {}}).get().ok());
  }
  EXPECT_EQ(blocks(), kBlocks);
}

// A block has four morsels, which follow each other while its columns are pinned.
TEST(DatabaseMemory, AScanDoesNotReadABlockAgainForEachMorselThoughItsColumnsDoNotFit) {
  constexpr uint64_t kBlocks = 4;
  TemporaryDirectory directory;
  auto bank = Bank::open({.path = directory.path(),
                          .placement = {.olap_threads = 1},
                          .olap_memory_bytes_max = 1 << 20,
                          .partitions = 1});
  std::vector<Account> rows;
  for (uint64_t i = 0; i < kBlocks << 16; ++i) {
    const auto any = static_cast<int64_t>(base::split_mix(i));
    rows.push_back({static_cast<int32_t>(i), {any % 1'000'000'000}, any});
  }
  bank->load(rows);
  const auto loads = [&] { return bank->database->metrics().olap_chunks.loads; };
  const uint64_t before = loads();
  EXPECT_EQ(*bank->number("SELECT count(id + version) FROM account WHERE balance IS NOT NULL"),
            kBlocks << 16);
  EXPECT_LT(loads() - before, 2 * 3 * kBlocks);
}

// A byte of the balances of the first block is wrong.
class Damaged : public ::testing::Test {
 protected:
  void SetUp() override {
    auto bank = Bank::open(small_blocks(directory_.path()));
    bank->fill(kAccounts);
    close(bank.get());
  }
  void close(Bank* bank) {
    const base::TableSchema schema = *bank->database->catalog().find_table("account");
    ASSERT_TRUE(bank->database->close().ok());
    const auto saved = saved_partition(directory_.path(), schema);
    address_ = saved[0].columns[1].chunk.address;
  }
  void damage() {
    std::string bytes = diptych::test::read_bytes(file_);
    bytes[address_.offset() + address_.bytes / 2] ^= 1;
    diptych::test::write_bytes(file_, bytes);
  }

  TemporaryDirectory directory_;
  const std::string file_ = directory_.path() + "/blocks.dtb";
  storage::ChunkAddress address_;
};

TEST_F(Damaged, ADatabaseIsNotOpenedAndSaysWhere) {
  damage();
  const auto database = Database::open({.path = directory_.path()});
  ASSERT_FALSE(database.ok());
  EXPECT_EQ(database.code(), ErrorCode::kCorrupt);
  EXPECT_THAT(database.error().message, HasSubstr(file_));
  EXPECT_THAT(database.error().message, HasSubstr("account"));
  EXPECT_THAT(database.error().message, HasSubstr(std::to_string(address_.offset())));
}

// While it is open: the queries that read it fail, all others and transactions go on.
TEST_F(Damaged, AChunkFailsTheQueriesThatReadIt) {
  auto bank = Bank::open(small_blocks(directory_.path()));
  damage();
  // The other columns of all blocks drive the damaged one, if it is there, out of memory.
  EXPECT_EQ(*bank->number("SELECT sum(version) + min(id) FROM account"), 0);
  const auto sum = bank->database->query("SELECT sum(balance) FROM account");
  ASSERT_FALSE(sum.ok());
  EXPECT_EQ(sum.code(), ErrorCode::kCorrupt);
  EXPECT_THAT(sum.error().message, HasSubstr(file_));
  EXPECT_EQ(*bank->number("SELECT count(version) FROM account"), kAccounts);
  EXPECT_FALSE(bank->database->compare_replicas().ok());
  ASSERT_TRUE(bank->database->call(bank->bump, {.id = 3, .balance = {}}).get().ok());
  EXPECT_EQ(*bank->number("SELECT sum(version) FROM account"), 1);
  // An update of it cannot be applied: from then on the replica shows nothing, and says why.
  for (int32_t id = 0; id < kAccounts; id += 64) {
    const TransferArguments move{.from = id, .to = id + 1, .cents = 100 + id};
    const auto moved = bank->database->call(bank->transfer, move).get();
    ASSERT_TRUE(moved.ok() || moved.code() == ErrorCode::kAborted);
  }
  const auto count = bank->database->query("SELECT count(version) FROM account");
  ASSERT_FALSE(count.ok());
  EXPECT_THAT(count.error().message, HasSubstr("can no longer be applied"));
  EXPECT_THAT(count.error().message, HasSubstr(file_));
  EXPECT_TRUE(bank->database->call(bank->bump, {.id = 3, .balance = {}}).get().ok());
  EXPECT_FALSE(bank->database->save().ok());
  static_cast<void>(bank->database->discard());
}

// A load whose rows take the places of erased ones reads their block, which a restart has left as
// it was. The load has committed before the replica is lost, and nothing has its rows but memory:
// calls are refused, and the process goes on.
TEST_F(Damaged, ALoadThatMeetsAChunkRefusesCalls) {
  auto erasing = Bank::open(small_blocks(directory_.path()));
  const auto close_account =
      *erasing->database->register_procedure<AccountArguments, oltp::Nothing>(
          "close_account",
          [index = erasing->by_id](
              Transaction& txn, const AccountArguments& arguments) -> base::Result<oltp::Nothing> {
            auto row = txn.get_for_update<&Account::id>(index, arguments.id);
            if (!row) return row.error();
            txn.erase(*row);
            return oltp::Nothing{};
          });
  int64_t left = kAccounts;
  for (int32_t id = 0; id < kAccounts / 10; ++id) {
    if (id % 4 == 0) continue;
    ASSERT_TRUE(erasing->database->call(close_account, {.id = id, .balance = {}}).get().ok());
    --left;
  }
  close(erasing.get());
  erasing.reset();
  auto bank = Bank::open(small_blocks(directory_.path()));
  damage();
  EXPECT_EQ(*bank->number("SELECT count(version) + min(id) FROM account"), left);
  std::vector<Account> rows;
  for (int32_t id = kAccounts; id < 2 * kAccounts; ++id) rows.push_back({id, {1}, 0});
  const auto loaded = bank->database->load(bank->accounts.table, [&, given = false]() mutable {
    if (std::exchange(given, true)) return RowBatch{};
    return RowBatch{reinterpret_cast<const std::byte*>(rows.data()), rows.size()};
  });
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.code(), ErrorCode::kCorrupt);
  EXPECT_THAT(loaded.error().message, HasSubstr("can no longer be applied"));
  EXPECT_THAT(loaded.error().message, HasSubstr(file_));
  for (const int32_t id : {kAccounts, 0}) {
    const auto refused = bank->database->call(bank->bump, {.id = id, .balance = {}}).get();
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(refused.error().message, HasSubstr("until the database is opened anew"));
  }
  EXPECT_EQ(bank->database->execute_ddl("CREATE INDEX v ON account (version)").code(),
            ErrorCode::kCorrupt);
  static_cast<void>(bank->database->discard());
}

}  // namespace
}  // namespace diptych::dispatcher
