// Engine: batches and their limits, memory over long runs, loading, restoring, indexes added later.

#include <chrono>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "oltp/row_table.h"
#include "tests/oltp/engine_fixture.h"

namespace diptych::oltp::test {
namespace {

using base::ErrorCode;
using base::Result;
using namespace std::string_view_literals;

TEST(Engine, ABatchEndsAtItsTimeLimitAndTheRestComesBack) {
  Bank bank(1, 1000, 1'000'000);
  int runs = 0;
  const Bank::Body slow = [&](Transaction&) -> Result<void> {
    ++runs;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return {};
  };
  for (const auto& call : bank.run_all(std::vector<Bank::Body>(5, slow))) {
    EXPECT_TRUE(call.outcome());
  }
  EXPECT_EQ(runs, 5);
  EXPECT_EQ(bank.engine->metrics().batches, 5u);
  EXPECT_EQ(bank.engine->metrics().committed, 5u);
}

// Workers insert, others erase, all update: memory stays what it was, and slots come back.
void run_constant_size(uint32_t workers) {
  Bank bank(workers, 1'000'000);
  constexpr int64_t kRows = 400;
  int64_t next = 0;
  const std::string note(100, 'n');
  const auto insert = [&](int64_t id) -> Bank::Body {
    return [&, id](Transaction& txn) -> Result<void> {
      auto done = txn.insert(bank.account, Account{id, 7, std::string_view(std::to_string(id)), id,
                                                   std::string_view(note).substr(0, id % 100)});
      if (!done) return done.error();
      return {};
    };
  };
  const auto replace = [&](int64_t id, bool erases) -> Bank::Body {
    return [&, id, erases](Transaction& txn) -> Result<void> {
      auto row = txn.get_for_update(bank.account_pkey, id);
      if (!row) return row.error();
      txn.update(*row, set<&Account::note>(std::string_view(note)), set<&Account::balance>(-id));
      if (erases) txn.erase(*row);
      return {};
    };
  };
  // Their strings go, too: what an insert brings that is refused, or rolled back, and an update.
  const auto meet_taken_key = [&](int64_t id) -> Bank::Body {
    return [&, id](Transaction& txn) -> Result<void> {
      const auto refused =
          txn.insert(bank.account, Account{id, 7, "x"sv, id, std::string_view(note)});
      return refused.code() == ErrorCode::kAlreadyExists ? Result<void>() : refused.error();
    };
  };
  const auto roll_back = [&](int64_t id) -> Bank::Body {
    return [&, id](Transaction& txn) -> Result<void> {
      auto row = txn.get_for_update(bank.account_pkey, id);
      if (!row) return row.error();
      txn.update(*row, set<&Account::note>(std::string_view(note)));
      auto added = txn.insert(bank.account, Account{-id, 7, std::string_view(std::to_string(-id)),
                                                    id, std::string_view(note)});
      return added ? txn.abort("never mind") : added.error();
    };
  };
  std::vector<Bank::Body> bodies;
  for (; next < kRows; ++next) bodies.push_back(insert(next));
  static_cast<void>(bank.run_all(bodies));
  size_t settled = 0;
  for (int batch = 0; batch < 1200; ++batch) {
    bodies.clear();
    for (int i = 0; i < 20; ++i, ++next) {
      bodies.push_back(insert(next));
      bodies.push_back(replace(next - kRows, true));
      bodies.push_back(replace(next - kRows / 2, false));
    }
    for (const auto& call : bank.run_all(bodies)) ASSERT_TRUE(call.outcome());
    for (int i = 0; i < 20; ++i) {
      ASSERT_TRUE(bank.run(meet_taken_key(next - kRows / 4)));
      ASSERT_EQ(bank.run(roll_back(next - kRows / 3)).code(), ErrorCode::kAborted);
    }
    if (batch == 300) settled = bank.engine->metrics().memory_bytes();
  }
  EXPECT_EQ(bank.engine->row_count(bank.account.table), static_cast<uint64_t>(kRows));
  EXPECT_LE(bank.engine->metrics().memory_bytes(), settled);
  bank.engine->for_each_row(bank.account.table, [&](base::RowId row_id, const std::byte*) {
    EXPECT_LT(row_id.value, 4 * workers * RowTable::kSlotsTaken);
  });
  bank.expect_replica_agrees();
}

TEST(Engine, AConstantSizeRunKeepsTheMemoryFlatWithOneWorker) {
  run_constant_size(1);
}
TEST(EngineStress, AConstantSizeRunKeepsTheMemoryFlatWithThreeWorkers) {
  run_constant_size(3);
}

std::function<RowBatch()> batches_of(const std::vector<Account>& rows, size_t* at) {
  return [&rows, at] {
    const size_t count = std::min<size_t>(3, rows.size() - *at);
    const RowBatch batch{reinterpret_cast<const std::byte*>(rows.data() + *at), count};
    *at += count;
    return batch;
  };
}

// Each takes the first row, and one puts it to the end: in one batch, and few looks each.
TEST(Engine, WithOneWorkerTheFirstOfAQueueIsFoundAtOnceHoweverManyWentBefore) {
  constexpr int kRows = 500;
  Bank bank(1, 0, 10'000'000'000, IsolationLevel::kSnapshot, kParcelGroups, 2 * kRows);
  ASSERT_TRUE(bank.run([&](Transaction& txn) -> Result<void> {
    for (int i = 0; i < kRows; ++i) {
      if (auto in = txn.insert(bank.parcel, Parcel{i, i, 0, 0, ""sv, {}}); !in) return in.error();
    }
    return {};
  }));
  int64_t end = kRows;
  const auto take_first = [&](Transaction& txn, bool erases) -> Result<void> {
    Result<void> taken(ErrorCode::kNotFound);
    auto scanned = txn.scan<&Parcel::id>(
        bank.parcel_shelf, KeyRange{}, {.limit = 1}, [&](const RowHandle& handle, int64_t) {
          auto row = txn.claim<Parcel>(handle);
          if (!row) return ScanStep::kStop;
          erases ? txn.erase(*row) : txn.update(*row, set<&Parcel::shelf>(end++));
          taken = {};
          return ScanStep::kContinue;
        });
    return scanned ? taken : scanned.error();
  };
  std::vector<Bank::Body> bodies(3000, [&](Transaction& txn) { return take_first(txn, false); });
  bodies.resize(3000 + kRows, [&](Transaction& txn) { return take_first(txn, true); });
  for (const auto& call : bank.run_all(bodies)) {
    ASSERT_TRUE(call.outcome()) << call.outcome().error().to_string();
  }
  EXPECT_EQ(bank.engine->row_count(bank.parcel.table), 0u);
  bank.expect_replica_agrees();
}

// The least time of some batches of one insert, with so many tables.
uint64_t least_batch_ns(int tables) {
  base::Catalog catalog;
  for (int i = 0; i < tables; ++i) {
    const std::string name = "entry" + std::to_string(i);
    base::TableSchema entry = schema_of<Entry>(name);
    entry.indexes = {
        index(name + "_pkey", base::IndexKind::kOrdered, base::Uniqueness::kUnique, {0, 1}),
        index(name + "_number", base::IndexKind::kOrdered, base::Uniqueness::kNonUnique, {1})};
    EXPECT_TRUE(catalog.add_table(std::move(entry)));
  }
  const auto entry = *bind_table<Entry>(catalog, "entry0");
  EngineOptions options;
  options.placement.threads = 1;
  options.export_updates = false;
  Engine engine(&catalog, options, nullptr);
  int32_t number = 0;
  Request request;
  const Nothing nothing;
  request.arguments = std::as_bytes(std::span(&nothing, 1));
  request.procedure = engine.register_procedure(define_procedure<Nothing, Nothing>(
      "insert", [&](Transaction& txn, const Nothing&) -> Result<Nothing> {
        auto inserted = txn.insert(entry, Entry{1, ++number, {}});
        if (!inserted) return inserted.error();
        return Nothing{};
      }));
  uint64_t least_ns = UINT64_MAX;
  Request* const batch[] = {&request};
  for (int i = 0; i < 300; ++i) {
    const uint64_t begin_ns = base::steady_ns();
    EXPECT_EQ(engine.run_batch(batch).committed, 1u);
    least_ns = std::min(least_ns, base::steady_ns() - begin_ns);
  }
  EXPECT_GT(engine.metrics().index_bytes, 0u);
  return least_ns;
}

TEST(Engine, SpendsLittleOfABatchOnMeasuringManyTables) {
  EXPECT_LT(least_batch_ns(1000), 350 * least_batch_ns(1));
}

TEST(EngineLoad, TheSinkGetsEachRowWithItsStringsAndNoRecordIsExported) {
  Bank bank;
  std::string note(80, 'x');
  std::vector<Account> rows;
  std::vector<std::string> names;
  for (int64_t i = 0; i < 10; ++i) {
    rows.push_back({i, 7, std::string_view(std::to_string(i)), i, std::string_view(note)});
  }
  size_t at = 0;
  LoadIntoTextReplica sink(&bank.replica, bank.account.table);
  const auto vid = bank.engine->load(bank.account.table, batches_of(rows, &at), &sink);
  ASSERT_TRUE(vid);
  EXPECT_EQ(*vid, base::Vid(1));
  EXPECT_EQ(bank.queue.pending_bytes(), 0u);
  bank.replica.apply(&bank.queue);
  EXPECT_EQ(bank.replica.snapshot(), base::Vid(1));
  note.assign(80, 'y');  // the rows were copied
  bank.expect_replica_agrees();
  EXPECT_EQ(bank.engine->row_count(bank.account.table), 10u);
  EXPECT_EQ(bank.replica.table(0).begin()->second[4], std::string(80, 'x'));
}

TEST(EngineLoad, AnErrorOfTheSourceLeavesNothing) {
  Bank bank;
  ASSERT_TRUE(bank.put(5, 7, "ann", 1));
  const std::vector<Account> rows = {{1, 7, "a"sv, 1, {}}, {2, 7, "b"sv, 1, {}}};
  bool given = false;
  LoadIntoTextReplica sink(&bank.replica, bank.account.table);
  const auto next = [&]() -> Result<RowBatch> {
    if (std::exchange(given, true)) return base::Error(ErrorCode::kCancelled, "enough");
    return RowBatch{reinterpret_cast<const std::byte*>(rows.data()), rows.size()};
  };
  const auto vid = bank.engine->load(bank.account.table, next, &sink);
  EXPECT_EQ(sink.taken(), 2u);
  EXPECT_TRUE(sink.discarded());
  ASSERT_EQ(vid.code(), ErrorCode::kCancelled);
  EXPECT_EQ(vid.error().message, "enough");
  bank.replica.apply(&bank.queue);
  EXPECT_EQ(bank.engine->row_count(bank.account.table), 1u);
  bank.expect_replica_agrees();
  ASSERT_TRUE(bank.put(1, 7, "a", 1));
  bank.expect_replica_agrees();
}

TEST(EngineLoad, ATakenKeyLeavesNothingAndIsNamed) {
  Bank bank;
  ASSERT_TRUE(bank.put(5, 7, "ann", 1));
  const std::vector<Account> rows = {{1, 7, "a"sv, 1, {}},
                                     {2, 7, "b"sv, 1, {}},
                                     {3, 7, "c"sv, 1, {}},
                                     {4, 7, "ann"sv, 1, {}},
                                     {6, 7, "d"sv, 1, {}}};
  size_t at = 0;
  LoadIntoTextReplica sink(&bank.replica, bank.account.table);
  const auto vid = bank.engine->load(bank.account.table, batches_of(rows, &at), &sink);
  ASSERT_EQ(vid.code(), ErrorCode::kAlreadyExists);
  EXPECT_TRUE(sink.discarded());
  EXPECT_EQ(sink.taken(), 3u);  // the batch that was whole
  EXPECT_NE(vid.error().message.find("row 4"), std::string::npos) << vid.error().message;
  EXPECT_NE(vid.error().message.find("(\"ann\")"), std::string::npos) << vid.error().message;
  bank.replica.apply(&bank.queue);
  EXPECT_EQ(bank.engine->row_count(bank.account.table), 1u);
  bank.expect_replica_agrees();
  ASSERT_TRUE(bank.put(1, 7, "a", 1));
  bank.expect_replica_agrees();
}

TEST(EngineLoad, LoadsThatAreRefusedTakeNeitherMemoryNorSlots) {
  Bank bank;
  ASSERT_TRUE(bank.put(5, 7, "ann", 1));
  const std::string note(100, 'n');
  const std::vector<Account> rows = {{1, 7, "a"sv, 1, std::string_view(note)},
                                     {4, 7, "ann"sv, 1, std::string_view(note)}};
  size_t bytes = 0;
  for (int i = 0; i < 20'000; ++i) {
    size_t at = 0;
    LoadIntoTextReplica sink(&bank.replica, bank.account.table);
    const auto vid = bank.engine->load(bank.account.table, batches_of(rows, &at), &sink);
    ASSERT_EQ(vid.code(), ErrorCode::kAlreadyExists);
    if (i == 10) bytes = bank.engine->metrics().memory_bytes();
  }
  EXPECT_EQ(bank.engine->metrics().memory_bytes(), bytes);
  ASSERT_TRUE(bank.put(6, 7, "ben", 1));
  bank.engine->for_each_row(bank.account.table, [&](base::RowId row_id, const std::byte*) {
    EXPECT_LT(row_id.value, 5u);
  });
  bank.expect_replica_agrees();
}

// Each row after the second would look at all before it.
TEST(EngineIndex, OfManyRowsWithOneKeyTheFirstTwoAreEnough) {
  Bank bank;
  constexpr int64_t kEqual = 100'000;
  for (int64_t id = 0; id < kEqual; ++id) {
    ASSERT_TRUE(bank.put(id, 7, std::to_string(id), 5));
  }
  auto wrong = bank.catalog.add_index(bank.account.table, index("by_money", base::IndexKind::kHash,
                                                                base::Uniqueness::kUnique, {3}));
  ASSERT_TRUE(wrong);
  const uint64_t begin_ns = base::steady_ns();
  EXPECT_EQ(bank.engine->add_index(bank.account.table, *wrong).code(), ErrorCode::kAlreadyExists);
  EXPECT_LT(static_cast<double>(base::steady_ns() - begin_ns) * 1e-9, 5.0);
  ASSERT_TRUE(bank.put(kEqual, 7, "one more", 5));
}

TEST(EngineIndex, AnIndexAddedLaterFindsTheRowsOrNamesEqualKeys) {
  Bank bank;
  for (int64_t id = 0; id < 20; ++id) ASSERT_TRUE(bank.put(id, 7, std::to_string(id), id / 2));
  auto wrong = bank.catalog.add_index(bank.account.table, index("by_money", base::IndexKind::kHash,
                                                                base::Uniqueness::kUnique, {3}));
  ASSERT_TRUE(wrong);
  const auto added = bank.engine->add_index(bank.account.table, *wrong);
  ASSERT_EQ(added.code(), ErrorCode::kAlreadyExists);
  EXPECT_NE(added.error().message.find("by_money"), std::string::npos);
  auto right = bank.catalog.add_index(
      bank.account.table,
      index("by_name", base::IndexKind::kOrdered, base::Uniqueness::kUnique, {2}));
  ASSERT_TRUE(right);
  ASSERT_TRUE(bank.engine->add_index(bank.account.table, *right));
  const auto by_name = *bind_index<&Account::name>(bank.catalog, "by_name");
  ASSERT_TRUE(bank.run([&](Transaction& txn) -> Result<void> {
    EXPECT_EQ(txn.get(by_name, "13"sv)->id, 13);
    auto all = txn.scan(by_name, KeyRange(), {},
                        [](const RowHandle&, const Account&) { return ScanStep::kContinue; });
    EXPECT_EQ(*all, 20u);
    return {};
  }));
  ASSERT_TRUE(bank.put(30, 7, "thirty", 1));
}

// Workers remember how columns are written.
TEST(EngineIndex, AnIndexAddedLaterFollowsColumnsThatWereWrittenBefore) {
  for (const uint32_t workers : {1U, 2U}) {
    Bank bank(workers);
    ASSERT_TRUE(bank.put(1, 7, "ann", 10));
    const auto change = [&](std::string_view note) {
      const Bank::Body body = [&bank, note](Transaction& txn) -> Result<void> {
        auto row = txn.get_for_update(bank.account_pkey, 1);
        if (!row) return row.error();
        txn.update(*row, set<&Account::note>(note));
        return {};
      };
      for (const auto& call : bank.run_all({workers, body})) EXPECT_TRUE(call.outcome());
    };
    change("before");
    const auto added = bank.catalog.add_index(
        bank.account.table,
        index("by_note", base::IndexKind::kOrdered, base::Uniqueness::kNonUnique, {4}));
    ASSERT_TRUE(added);
    ASSERT_TRUE(bank.engine->add_index(bank.account.table, *added));
    change("after");
    bank.expect_replica_agrees();
  }
}

TEST(Engine, WhoChangesNothingGetsNoVidWhereNothingIsExported) {
  base::Catalog catalog = bank_catalog();
  const auto entry = *bind_table<Entry>(catalog, "entry");
  const auto entry_pkey = *bind_index<&Entry::account, &Entry::number>(catalog, "entry_pkey");
  EngineOptions options;
  options.export_updates = false;
  for (const uint32_t workers : {1U, 2U}) {
    options.placement.threads = workers;
    Engine engine(&catalog, options, nullptr);
    const Nothing nothing;
    const auto vid_of = [&](auto body) {
      Request request;
      request.arguments = std::as_bytes(std::span(&nothing, 1));
      request.procedure = engine.register_procedure(define_procedure<Nothing, Nothing>(
          "body", [body](Transaction& txn, const Nothing&) -> Result<Nothing> {
            body(txn);
            return Nothing{};
          }));
      Request* const batch[] = {&request};
      EXPECT_EQ(engine.run_batch(batch).committed, 1u);
      return request.commit_vid;
    };
    EXPECT_EQ(vid_of([](Transaction&) {}), base::Vid(0));
    EXPECT_EQ(vid_of([&](Transaction& txn) {
                EXPECT_TRUE(txn.insert(entry, Entry{1, 1, {}}));
              }),
              base::Vid(1));
    EXPECT_EQ(vid_of([&](Transaction& txn) { EXPECT_TRUE(txn.get_for_update(entry_pkey, 1, 1)); }),
              base::Vid(0));
    EXPECT_EQ(engine.last_vid(), base::Vid(1));
  }
}

}  // namespace
}  // namespace diptych::oltp::test
