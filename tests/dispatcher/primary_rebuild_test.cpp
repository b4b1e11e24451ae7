// The OLTP replica built anew from the columnar one: at an opening, and when the primary is lost
// while transactions run.

#include <atomic>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/dispatcher/bank_fixture.h"

namespace diptych::dispatcher {
namespace {

using ::testing::HasSubstr;

struct Wide {
  int32_t number = 0;
  base::Nullable<int64_t> amount;
  base::Nullable<base::Text> story;
  base::Varchar<300> line;
  base::Varchar<40> word;
  base::Nullable<bool> flag;
  double weight = 0;
};
BOOST_DESCRIBE_STRUCT(Wide, (), (number, amount, story, line, word, flag, weight))

struct WideArguments {
  int32_t number = 0;
};
BOOST_DESCRIBE_STRUCT(WideArguments, (), (number))

struct WideReply {
  int64_t rows = 0;
};
BOOST_DESCRIBE_STRUCT(WideReply, (), (rows))

// A table with rows of all shapes, and an empty one.
constexpr const char* kWideDdl =
    "CREATE TABLE wide (number INT NOT NULL, amount BIGINT, story TEXT, line VARCHAR(300) NOT "
    "NULL, word VARCHAR(40) NOT NULL, flag BOOLEAN, weight DOUBLE PRECISION NOT NULL, "
    "PRIMARY KEY (number));"
    "CREATE INDEX by_word ON wide USING btree (word, amount);"
    "CREATE TABLE nothing (id BIGINT NOT NULL PRIMARY KEY);";

class WideDatabase {
 public:
  explicit WideDatabase(const DatabaseOptions& options) {
    auto opened = Database::open(options);
    EXPECT_TRUE(opened.ok()) << opened.error().to_string();
    database = std::move(*opened);
    if (database->catalog().find_table("wide") == nullptr) {
      auto created = database->execute_ddl(kWideDdl);
      EXPECT_TRUE(created.ok()) << created.error().to_string();
    }
    wide = *database->bind_table<Wide>("wide");
    by_number = *database->bind_index<&Wide::number>("wide_pkey");
    by_word = *database->bind_index<&Wide::word, &Wide::amount>("by_word");
    erase = *database->register_procedure<WideArguments, oltp::Nothing>(
        "erase", [this](Transaction& txn, const WideArguments& arguments) {
          return erase_row(txn, arguments.number);
        });
    insert = *database->register_procedure<WideArguments, oltp::Nothing>(
        "insert", [this](Transaction& txn, const WideArguments& arguments) {
          return insert_row(txn, arguments.number);
        });
    count = *database->register_procedure<WideArguments, WideReply>(
        "count", [this](Transaction& txn, const WideArguments& arguments) {
          return count_rows(txn, arguments.number);
        });
  }

  static std::string word_of(int32_t number) { return "word" + std::to_string(number % 37); }
  // Valid until the next call.
  Wide row_of(int32_t number) {
    const auto length = static_cast<size_t>(number % 11 == 0 ? 20'000 : number % 1'000);
    story_.assign(length, static_cast<char>('a' + number % 26));
    word_ = word_of(number);
    Wide row;
    row.number = number;
    if (number % 3 != 0) row.amount = number % 5;
    if (number % 4 != 0) row.story = base::Text(story_);
    row.line = std::string_view(story_).substr(0, std::min<size_t>(length, 300));
    row.word = std::string_view(word_);
    if (number % 2 == 0) row.flag = number % 4 == 0;
    row.weight = number / 8.0;
    return row;
  }

  void load(int32_t first, int32_t rows) {
    int32_t next = first;
    Wide row;
    auto loaded = database->load(wide.table, [&]() -> RowBatch {
      if (next == first + rows) return {};
      row = row_of(next++);
      return {reinterpret_cast<const std::byte*>(&row), 1};
    });
    ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
  }

  // Both replicas are equal, and the indexes lead to just the rows that should be there.
  void expect_whole(const std::set<int32_t>& numbers) {
    expect_equal_replicas(database.get());
    for (int32_t group = 0; group < 37; ++group) {
      int64_t expected = 0;
      for (const int32_t number : numbers) expected += number % 37 == group ? 1 : 0;
      const auto counted = database->call(count, {group}).get();
      ASSERT_TRUE(counted.ok()) << counted.error().to_string();
      EXPECT_EQ(counted->rows, expected);
    }
  }

  std::unique_ptr<Database> database;
  TableRef<Wide> wide;
  IndexRef<&Wide::number> by_number;
  IndexRef<&Wide::word, &Wide::amount> by_word;
  ProcedureRef<WideArguments, oltp::Nothing> erase;
  ProcedureRef<WideArguments, oltp::Nothing> insert;
  ProcedureRef<WideArguments, WideReply> count;

 private:
  base::Result<oltp::Nothing> erase_row(Transaction& txn, int32_t number) const {
    auto row = txn.get_for_update<&Wide::number>(by_number, number);
    if (!row) return row.error();
    txn.erase(*row);
    return oltp::Nothing{};
  }
  base::Result<oltp::Nothing> insert_row(Transaction& txn, int32_t number) {
    auto row = txn.insert(wide, row_of(number));
    if (!row) return row.error();
    return oltp::Nothing{};
  }
  // Of those with the group's word; each is looked up by its key, too, and the order checked.
  base::Result<WideReply> count_rows(Transaction& txn, int32_t group) const {
    WideReply reply;
    std::vector<int32_t> found;
    int64_t last_amount = -1;
    const std::string word = word_of(group);
    auto scanned = txn.scan(by_word, prefix(by_word, std::string_view(word)), {},
                            [&](const RowHandle&, const Wide& row) {
                              const int64_t amount = row.amount.is_null ? 100 : row.amount.value;
                              EXPECT_LE(last_amount, amount);
                              last_amount = amount;
                              found.push_back(row.number);
                              ++reply.rows;
                              return ScanStep::kContinue;
                            });
    if (!scanned) return scanned.error();
    for (const int32_t number : found) {
      auto row = txn.get<&Wide::word>(by_number, number);
      if (!row) return row.error();
    }
    return reply;
  }

  std::string story_;
  std::string word_;
};

class PrimaryRebuild : public DirectoryFixture {};

// Loaded rows in blocks and in pages, rows of transactions, and holes where rows were.
void change(WideDatabase* wide, int32_t rows, std::set<int32_t>* numbers) {
  std::mt19937 random(static_cast<uint32_t>(rows));
  wide->load(0, rows);
  for (int32_t number = 0; number < rows; ++number) numbers->insert(number);
  std::vector<Future<oltp::Nothing>> calls;
  for (int32_t number = 0; number < rows; number += 1 + static_cast<int32_t>(random() % 5)) {
    calls.push_back(wide->database->call(wide->erase, {number}));
    numbers->erase(number);
  }
  for (int32_t number = rows; number < rows + 200; ++number) {
    calls.push_back(wide->database->call(wide->insert, {number}));
    numbers->insert(number);
  }
  for (auto& call : calls) ASSERT_TRUE(call.get().ok());
}

TEST_F(PrimaryRebuild, RowsOfAllShapesAndTheirIndexesComeBack) {
  for (const int32_t rows : {0, 10, 4'000}) {
    SCOPED_TRACE(rows);
    const DatabaseOptions options{.path = path("wide" + std::to_string(rows)),
                                  .block_rows = 1024,
                                  .partitions = 3,
                                  .log = LogMode::kNone};
    std::set<int32_t> numbers;
    {
      WideDatabase wide(options);
      ASSERT_NO_FATAL_FAILURE(change(&wide, rows, &numbers));
      ASSERT_NO_FATAL_FAILURE(wide.expect_whole(numbers));
      const auto rebuilt = wide.database->rebuild_primary();
      ASSERT_TRUE(rebuilt.ok()) << rebuilt.error().to_string();
      EXPECT_EQ(rebuilt->rows, numbers.size());
      EXPECT_EQ(rebuilt->vid, wide.database->metrics().last_vid);
      EXPECT_EQ(wide.database->metrics().primary_rebuilds, 1u);
      EXPECT_GT(wide.database->metrics().primary_rebuild_ns, 0u);
      ASSERT_NO_FATAL_FAILURE(wide.expect_whole(numbers));
    }
    WideDatabase again(options);
    ASSERT_NO_FATAL_FAILURE(again.expect_whole(numbers));
    for (int32_t number = 0; number < rows + 200; number += 3) {
      const auto put = again.database->call(again.insert, {number}).get();
      EXPECT_EQ(put.ok(), numbers.insert(number).second) << number;
    }
    again.expect_whole(numbers);
  }
}

TEST_F(PrimaryRebuild, WithoutExportedUpdatesItIsRefused) {
  auto bank = Bank::open({.export_updates = false});
  bank->fill(1);
  EXPECT_EQ(bank->database->rebuild_primary().code(), base::ErrorCode::kUnsupported);
  EXPECT_TRUE(bank->database->call(bank->bump, {.id = 0, .balance = {}}).get().ok());
}

TEST_F(PrimaryRebuild, AClosedDatabaseIsNotRebuilt) {
  auto bank = Bank::open({});
  ASSERT_TRUE(bank->database->close().ok());
  EXPECT_EQ(bank->database->rebuild_primary().code(), base::ErrorCode::kClosed);
}

struct LossCase {
  uint32_t workers;
  bool at_a_path;
};

class PrimaryLossConcurrent : public DirectoryFixture,
                              public ::testing::WithParamInterface<LossCase> {
 protected:
  static constexpr int32_t kRebuildAccounts = 40;
  static constexpr uint32_t kClients = 3;

  // Counts what was acknowledged, by account.
  void run_client(Bank* bank, uint32_t client) {
    std::mt19937 random(client);
    std::vector<std::pair<int32_t, Future<oltp::Nothing>>> bumps;
    // relaxed: it only ends the loop.
    while (!stopping_.load(std::memory_order_relaxed)) {
      for (int i = 0; i < 16; ++i) {
        const auto id = static_cast<int32_t>(random() % kRebuildAccounts);
        bumps.emplace_back(id, bank->database->call(bank->bump, {.id = id, .balance = {}}));
      }
      const auto from = static_cast<int32_t>(random() % kRebuildAccounts);
      auto moved = bank->database->call(
          bank->transfer, {.from = from, .to = (from + 1) % kRebuildAccounts, .cents = 1});
      // relaxed: it only shares out numbers.
      const int32_t fresh = kRebuildAccounts + opened_.fetch_add(1, std::memory_order_relaxed);
      EXPECT_TRUE(bank->database->call(bank->open_account, {fresh, {0}}).get().ok());
      EXPECT_TRUE(moved.get().ok());
      for (auto& [id, bump] : bumps) {
        EXPECT_TRUE(bump.get().ok());
        ++acknowledged_[static_cast<size_t>(id)];
      }
      bumps.clear();
    }
  }

  void expect_all(Bank* bank) {
    expect_equal_replicas(bank->database.get());
    // relaxed: the clients have ended, here and below.
    const int64_t accounts = kRebuildAccounts + opened_.load(std::memory_order_relaxed);
    EXPECT_EQ(*bank->number("SELECT count(*) FROM account"), accounts);
    EXPECT_EQ(*bank->number("SELECT sum(balance) FROM account"), kRebuildAccounts * 10'000);
    for (size_t id = 0; id < acknowledged_.size(); ++id) {
      // relaxed: as above.
      const int64_t expected = acknowledged_[id].load(std::memory_order_relaxed);
      EXPECT_EQ(*bank->number("SELECT version FROM account WHERE id = " + std::to_string(id)),
                expected);
    }
  }

  // Whoever holds the gate meets an engine that is whole.
  void run_others(Bank* bank) {
    EXPECT_TRUE(
        bank->database->execute_ddl("CREATE TABLE pebble (id BIGINT NOT NULL PRIMARY KEY)").ok());
    const base::TableId pebble = bank->database->catalog().find_table("pebble")->id;
    int64_t next = 0;
    // relaxed: it only ends the loop.
    while (!stopping_.load(std::memory_order_relaxed)) {
      if (next % 8 == 0) expect_equal_replicas(bank->database.get());
      int64_t id = next;
      const auto loaded = bank->database->load(pebble, [&]() -> RowBatch {
        if (id == next + 2) return {};
        ++id;
        return {reinterpret_cast<const std::byte*>(&id), 1};
      });
      EXPECT_TRUE(loaded.ok()) << loaded.error().to_string();
      next = id;
    }
    EXPECT_EQ(*bank->number("SELECT count(*) FROM pebble"), next);
  }

  std::atomic<bool> stopping_{false};
  std::atomic<int32_t> opened_{0};
  std::array<std::atomic<int64_t>, kRebuildAccounts> acknowledged_{};
};

TEST_P(PrimaryLossConcurrent, NothingAcknowledgedIsLostOrDoneTwice) {
  DatabaseOptions options;
  if (GetParam().at_a_path) options.path = path();
  options.placement.oltp_workers = GetParam().workers;
  Bank::open(options)->fill(kRebuildAccounts);
  auto bank = Bank::open(options);
  if (!GetParam().at_a_path) bank->fill(kRebuildAccounts);
  std::vector<std::thread> clients;
  for (uint32_t i = 0; i < kClients; ++i) {
    clients.emplace_back([&, i] { run_client(bank.get(), i); });
  }
  clients.emplace_back([&] { run_others(bank.get()); });
  for (int i = 0; i < 12; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(i));
    const auto rebuilt = bank->database->rebuild_primary();
    ASSERT_TRUE(rebuilt.ok()) << rebuilt.error().to_string();
  }
  // relaxed: it only ends the loops.
  stopping_.store(true, std::memory_order_relaxed);
  for (std::thread& client : clients) client.join();
  ASSERT_NO_FATAL_FAILURE(expect_all(bank.get()));
  if (!GetParam().at_a_path) return;
  static_cast<void>(bank->database->discard());
  bank = Bank::open(options);
  expect_all(bank.get());
}

INSTANTIATE_TEST_SUITE_P(Workers, PrimaryLossConcurrent,
                         ::testing::Values(LossCase{1, false}, LossCase{1, true},
                                           LossCase{3, true}));

}  // namespace
}  // namespace diptych::dispatcher
