// Replay gives the same rows under the same RowIDs: random procedures, whose choices hang on the
// order of equal keys, on snapshots and on keys that are taken, with 1 to 8 workers, then again.

#include <random>

#include "tests/oltp/engine_fixture.h"

namespace diptych::oltp::test {
namespace {

using base::ErrorCode;
using base::Result;

struct ShuffleArguments {
  int64_t salt = 0;
};

// A batch that was run, as a log would have it.
struct RecordedCall {
  ShuffleArguments arguments;
  base::Timestamp now;
  uint64_t random_seed = 0;
  base::Vid read_vid;
  base::Vid commit_vid;
  std::vector<base::RowId> inserted;
};
using RecordedBatch = std::vector<RecordedCall>;

class Shuffler {
 public:
  explicit Shuffler(const Bank* bank) : bank_(bank) {}

  Result<Nothing> run(Transaction& txn, const ShuffleArguments& arguments) const {
    for (uint64_t step = 1 + txn.random() % 4; step != 0; --step) {
      const Result<void> done = run_step(txn, arguments);
      if (!done && done.code() == ErrorCode::kConflict) return done.error();
    }
    if (txn.random() % 8 == 0) return txn.abort("one in eight");
    return Nothing{};
  }

 private:
  static int64_t id(Transaction& txn) { return static_cast<int64_t>(txn.random() % 40); }

  Result<void> run_step(Transaction& txn, const ShuffleArguments& arguments) const {
    switch (txn.random() % 7) {
      case 0: return insert_account(txn, arguments);
      case 1: return erase_account(txn);
      case 2: return change_nth(txn);
      case 3: return skew(txn);
      case 4: return change_parcel(txn);
      case 5: return level_branch(txn);
      default: return insert_and_erase(txn);
    }
  }

  // A taken key is met by design, and its slot is burnt.
  Result<void> insert_account(Transaction& txn, const ShuffleArguments& arguments) const {
    const int64_t number = id(txn);
    const std::string note(txn.random() % 100, static_cast<char>('a' + arguments.salt % 26));
    const Account row{number, static_cast<int32_t>(txn.random() % 3),
                      std::string_view("name" + std::to_string(txn.random() % 60)),
                      static_cast<int64_t>(txn.now().micros % 5), std::string_view(note)};
    auto inserted = txn.insert(bank_->account, row);
    return inserted ? Result<void>() : inserted.error();
  }

  Result<void> erase_account(Transaction& txn) const {
    auto row = txn.get_for_update<&Account::id>(bank_->account_pkey, id(txn));
    if (!row) return row.error();
    txn.erase(*row);
    return {};
  }

  // Of rows with equal keys, which one is the n-th hangs on their RowIDs.
  Result<void> change_nth(Transaction& txn) const {
    const auto branch = static_cast<int32_t>(txn.random() % 3);
    uint64_t left = txn.random() % 6;
    std::optional<RowHandle> found;
    auto scanned =
        txn.scan<&Account::id>(bank_->account_balance, prefix(bank_->account_balance, branch), {},
                               [&](const RowHandle& handle, int64_t) {
                                 found = handle;
                                 return left-- == 0 ? ScanStep::kStop : ScanStep::kContinue;
                               });
    if (!scanned) return scanned.error();
    if (!found) return {};
    auto claimed = txn.claim<Account>(*found);
    if (!claimed) return claimed.error();
    txn.update(*claimed, set<&Account::balance>(static_cast<int64_t>(txn.random() % 5)));
    return {};
  }

  // Accounts of one balance come by their RowIDs: where these follow, one record changes or erases
  // them all.
  Result<void> level_branch(Transaction& txn) const {
    const auto branch = static_cast<int32_t>(txn.random() % 3);
    std::vector<RowHandle> found;
    auto scanned =
        txn.scan<&Account::id>(bank_->account_balance, prefix(bank_->account_balance, branch),
                               {.limit = 10}, [&](const RowHandle& handle, int64_t) {
                                 found.push_back(handle);
                                 return ScanStep::kContinue;
                               });
    if (!scanned) return scanned.error();
    const auto balance = static_cast<int64_t>(txn.random() % 5);
    const bool erases = txn.random() % 8 == 0;
    for (const RowHandle& handle : found) {
      auto claimed = txn.claim<Account>(handle);
      if (!claimed) return claimed.error();
      if (erases) {
        txn.erase(*claimed);
      } else {
        txn.update(*claimed, set<&Account::balance>(balance));
      }
    }
    return {};
  }

  // Reads one row and writes another: under snapshot isolation what it reads may be old.
  Result<void> skew(Transaction& txn) const {
    auto read = txn.get<&Account::balance>(bank_->account_pkey, id(txn));
    if (!read) return {};
    auto row = txn.get_for_update<&Account::balance>(bank_->account_pkey, id(txn));
    if (!row) return row.code() == ErrorCode::kNotFound ? Result<void>() : row.error();
    txn.update(*row, set<&Account::balance>(*read + 1),
               set<&Account::note>(std::string_view(std::to_string(row->values))));
    return {};
  }

  Result<void> change_parcel(Transaction& txn) const {
    const int64_t number = id(txn) % 10;
    auto found = txn.find<&Parcel::price>(bank_->parcel_pkey, number);
    if (!found) {
      auto inserted =
          txn.insert(bank_->parcel, Parcel{number, number % 3, 1, 1, std::string_view("new"), {}});
      return inserted ? Result<void>() : inserted.error();
    }
    auto claimed = txn.claim<Parcel, &Parcel::weight>(found->handle);
    if (!claimed) return claimed.error();
    txn.update(*claimed, set<&Parcel::weight>(found->values + 1));
    return {};
  }

  Result<void> insert_and_erase(Transaction& txn) const {
    const Entry row{id(txn), static_cast<int32_t>(txn.random() % 4), int64_t{1}};
    auto inserted = txn.insert(bank_->entry, row);
    if (!inserted) return inserted.error();
    auto again = txn.insert(bank_->entry, Entry{row.account, row.number + 10, int64_t{2}});
    if (!again) return again.error();
    auto claimed = txn.claim<Entry>(*inserted);
    if (!claimed) return claimed.error();
    txn.erase(*claimed);
    return {};
  }

  const Bank* bank_;
};

base::ProcedureId add_shuffle(Bank* bank) {
  return bank->engine->register_procedure(define_procedure<ShuffleArguments, Nothing>(
      "shuffle", [shuffler = Shuffler(bank)](Transaction& txn, const ShuffleArguments& arguments) {
        return shuffler.run(txn, arguments);
      }));
}

// Runs so many calls as one batch, and what is left of it as further ones.
void run_batch(Bank* bank, base::ProcedureId shuffle, size_t count, std::mt19937_64* random,
               std::vector<RecordedBatch>* log) {
  std::vector<ShuffleArguments> arguments(count);
  std::vector<Request> requests(count);
  std::vector<Request*> wanted;
  for (size_t i = 0; i < count; ++i) {
    arguments[i].salt = static_cast<int64_t>((*random)() % 1000);
    requests[i].procedure = shuffle;
    requests[i].arguments = std::as_bytes(std::span(&arguments[i], 1));
    requests[i].now = {static_cast<int64_t>((*random)() % 1'000'000)};
    requests[i].random_seed = (*random)();
    wanted.push_back(&requests[i]);
  }
  while (!wanted.empty()) {
    const BatchReport report = bank->engine->run_batch(wanted);
    RecordedBatch batch;
    for (const Request* const request : wanted) {
      if (std::count(report.again.begin(), report.again.end(), request) != 0) continue;
      if (!request->outcome.ok() || request->commit_vid.value == 0) continue;
      const auto inserted = bank->engine->inserted_rows(*request);
      batch.push_back({.arguments = arguments[static_cast<size_t>(request - requests.data())],
                       .now = request->now,
                       .random_seed = request->random_seed,
                       .read_vid = request->read_vid,
                       .commit_vid = request->commit_vid,
                       .inserted = {inserted.begin(), inserted.end()}});
    }
    std::sort(batch.begin(), batch.end(), [](const RecordedCall& a, const RecordedCall& b) {
      return a.commit_vid < b.commit_vid;
    });
    if (!batch.empty()) log->push_back(std::move(batch));
    wanted = report.again;
  }
  bank->replica.apply(&bank->queue);
}

Result<void> replay(Bank* bank, base::ProcedureId shuffle, const RecordedBatch& batch) {
  std::vector<Request> requests(batch.size());
  std::vector<Request*> places;
  std::vector<std::span<const base::RowId>> inserted;
  for (size_t i = 0; i < batch.size(); ++i) {
    requests[i].procedure = shuffle;
    requests[i].arguments = std::as_bytes(std::span(&batch[i].arguments, 1));
    requests[i].now = batch[i].now;
    requests[i].random_seed = batch[i].random_seed;
    requests[i].read_vid = batch[i].read_vid;
    requests[i].commit_vid = batch[i].commit_vid;
    places.push_back(&requests[i]);
    inserted.emplace_back(batch[i].inserted);
  }
  auto replayed = bank->engine->replay_batch(places, inserted);
  bank->replica.apply(&bank->queue);
  return replayed;
}

void expect_same_rows(const Bank& one, const Bank& other) {
  EXPECT_EQ(one.engine->last_vid(), other.engine->last_vid());
  for (uint32_t table = 0; table < one.catalog.table_count(); ++table) {
    EXPECT_EQ(one.rows(base::TableId(table)), other.rows(base::TableId(table)));
  }
}

struct ReplayCase {
  uint32_t workers;
  uint32_t replaying_workers;
  IsolationLevel isolation;
};

class ReplayModel : public ::testing::TestWithParam<ReplayCase> {
 protected:
  static std::unique_ptr<Bank> bank(uint32_t workers) {
    return std::make_unique<Bank>(workers, 1000, 10'000'000'000, GetParam().isolation);
  }
};

// What a batch has exported, as a physical log has it.
struct RecordedUpdates {
  struct Set {
    base::TableId table;
    std::vector<uint64_t> words;
  };
  std::vector<Set> sets;
  base::Vid last;

  propagation::BatchRuns batch() const {
    propagation::BatchRuns batch{last, {}};
    for (const Set& set : sets) {
      batch.runs.push_back({set.table, std::as_bytes(std::span(set.words))});
    }
    return batch;
  }
};

void record_updates(Bank* bank, std::vector<RecordedUpdates>* log) {
  bank->on_push = [bank, log](std::span<const propagation::SealedSet> sets) {
    RecordedUpdates& batch = log->emplace_back();
    batch.last = bank->engine->last_vid();
    for (const propagation::SealedSet& set : sets) {
      RecordedUpdates::Set& copy = batch.sets.emplace_back();
      copy.table = set.table;
      for (const auto& chunk : set.updates->chunks()) {
        const auto* const words = reinterpret_cast<const uint64_t*>(chunk.data);
        copy.words.insert(copy.words.end(), words, words + chunk.used / sizeof(uint64_t));
      }
    }
  };
}

// Batches by their updates alone, one or several at a time; then some so and others by their calls,
// which meet what the updates have left: rows, index entries and the order of equal keys.
TEST_P(ReplayModel, UpdatesInPlaceOfCallsGiveTheSame) {
  uint64_t deletes_of_rows = 0;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto source = bank(GetParam().workers);
    const base::ProcedureId shuffle = add_shuffle(source.get());
    std::vector<RecordedBatch> log;
    std::vector<RecordedUpdates> updates;
    record_updates(source.get(), &updates);
    for (int i = 0; i < 30; ++i) run_batch(source.get(), shuffle, 1 + i % 40, &random, &log);
    ASSERT_EQ(log.size(), updates.size());

    const auto again = bank(GetParam().replaying_workers);
    const base::ProcedureId replayed = add_shuffle(again.get());
    base::Vid before;
    uint64_t updates_of_rows = 0;
    for (size_t i = 0; i < log.size();) {
      if (seed > 2 && random() % 2 == 0) {
        const auto done = replay(again.get(), replayed, log[i]);
        ASSERT_TRUE(done.ok()) << done.error().to_string();
        before = updates[i++].last;
        continue;
      }
      std::vector<propagation::BatchRuns> together;
      for (uint64_t left = 1 + random() % 5; left != 0 && i < log.size(); --left, ++i) {
        together.push_back(updates[i].batch());
        for (const auto& run : together.back().runs) {
          ASSERT_TRUE(propagation::check_records(run.records, before, updates[i].last));
          propagation::for_each_record(run.records, [&](const propagation::UpdateRecord& record) {
            if (record.more == 0) return;
            ++(record.type == propagation::UpdateType::kDelete ? deletes_of_rows : updates_of_rows);
          });
        }
        before = updates[i].last;
      }
      const auto done = again->engine->replay_updates(together);
      ASSERT_TRUE(done.ok()) << done.error().to_string();
      again->replica.apply(&again->queue);
    }
    EXPECT_GT(updates_of_rows, 0u);
    again->engine->release_free_slots();
    expect_same_rows(*source, *again);
    again->expect_replica_agrees();
    std::vector<RecordedBatch> more;
    for (int i = 0; i < 5; ++i) run_batch(again.get(), replayed, 40, &random, &more);
    again->expect_replica_agrees();
  }
  EXPECT_GT(deletes_of_rows, 0u);
}

TEST(Replay, UpdatesThatDoNotFitAreRefused) {
  std::mt19937_64 random(9);
  Bank source;
  const base::ProcedureId shuffle = add_shuffle(&source);
  std::vector<RecordedBatch> log;
  std::vector<RecordedUpdates> updates;
  record_updates(&source, &updates);
  for (int i = 0; i < 20; ++i) run_batch(&source, shuffle, 20, &random, &log);
  uint64_t refused_unread = 0;
  uint64_t refused = 0;
  for (int i = 0; i < 400; ++i) {
    RecordedUpdates damaged = updates.back();
    for (uint64_t changes = 1 + random() % 3; changes != 0; --changes) {
      RecordedUpdates::Set& set = damaged.sets[random() % damaged.sets.size()];
      reinterpret_cast<uint8_t*>(set.words.data())[random() % (8 * set.words.size())] =
          static_cast<uint8_t>(random());
    }
    const propagation::BatchRuns last = damaged.batch();
    const base::Vid before = updates[updates.size() - 2].last;
    const bool whole = std::all_of(last.runs.begin(), last.runs.end(), [&](const auto& run) {
      return propagation::check_records(run.records, before, damaged.last).ok();
    });
    refused_unread += whole ? 0 : 1;
    if (!whole) continue;
    Bank again(1 + i % 3);
    for (size_t b = 0; b + 1 < updates.size(); ++b) {
      ASSERT_TRUE(again.engine->replay_updates(std::vector{updates[b].batch()}));
    }
    const auto done = again.engine->replay_updates(std::span(&last, 1));
    ASSERT_TRUE(done.ok() || done.code() == ErrorCode::kCorrupt);
    refused += done.ok() ? 0 : 1;
  }
  EXPECT_GT(refused_unread, 50u);
  EXPECT_GT(refused, 20u);
}

// Transactions of one worker, each changing the row behind the one before it in the same way.
TEST(Replay, ARecordIsOfOneTransaction) {
  for (const uint32_t workers : {1U, 2U}) {
    Bank bank(workers);
    constexpr int64_t kRows = 100;
    for (int64_t id = 0; id < kRows; ++id) {
      ASSERT_TRUE(bank.put(id, 1, "name" + std::to_string(id), 0));
    }
    // The rows in such an order that each worker's follow, should they take turns.
    std::vector<Bank::Body> bodies;
    for (int64_t i = 0; i < kRows; ++i) {
      const int64_t id = i % workers * (kRows / workers) + i / workers;
      bodies.push_back([&bank, id](Transaction& txn) -> Result<void> {
        auto row = txn.get_for_update(bank.account_pkey, id);
        if (!row) return row.error();
        txn.update(*row, set<&Account::balance>(7));
        return {};
      });
    }
    std::vector<base::Vid> vids;
    bank.on_push = [&](std::span<const propagation::SealedSet> sets) {
      for (const propagation::SealedSet& set : sets) {
        set.updates->for_each([&](const propagation::UpdateRecord& record) {
          EXPECT_EQ(record.rows(), 1u);
          vids.push_back(record.vid);
        });
      }
    };
    bank.run_all(bodies);
    std::sort(vids.begin(), vids.end());
    EXPECT_EQ(vids.size(), static_cast<size_t>(kRows));
    EXPECT_EQ(std::unique(vids.begin(), vids.end()), vids.end());
    bank.expect_replica_agrees();
  }
}

TEST(Replay, RecordsOfRowsBeyondTheirRunOrOfRowsThatComeAreRefused) {
  propagation::UpdateRecord record{
      base::Vid(1), base::RowId(250), sizeof record, propagation::UpdateType::kUpdate, 5, 0};
  const auto whole = [&] {
    const auto bytes = std::as_bytes(std::span(&record, 1));
    return propagation::check_records(bytes, base::Vid(0), base::Vid(1)).ok();
  };
  EXPECT_TRUE(whole());
  record.more = 6;
  EXPECT_FALSE(whole());
  record.more = 1;
  // Nor rows of which a long string changes.
  base::TableSchema schema;
  schema.columns = {{"n", {base::TypeKind::kInt}, base::Nullability::kNotNull},
                    {"t", {base::TypeKind::kVarchar}, base::Nullability::kNotNull}};
  const base::RowLayout layout(schema);
  const std::string text = "text";
  std::vector<std::byte> row(layout.bytes);
  const base::Text cell(text);
  std::memcpy(row.data() + layout.column(base::ColumnId(1)).offset, &cell, sizeof cell);
  for (const uint16_t column : {uint16_t{0}, uint16_t{1}}) {
    propagation::UpdateChunks memory;
    propagation::UpdateSet set(&memory);
    const base::ColumnId changed(column);
    propagation::UpdateRecord* const update = set.append_update(
        base::Vid(1), base::RowId(1), layout, row.data(), {layout, {&changed, 1}});
    EXPECT_TRUE(propagation::check_record(*update, layout));
    update->more = 1;
    EXPECT_EQ(propagation::check_record(*update, layout).ok(), column == 0);
  }
  for (const auto type : {propagation::UpdateType::kInsert, propagation::UpdateType::kReplace}) {
    record.type = type;
    EXPECT_FALSE(whole());
  }
  record.type = propagation::UpdateType::kDelete;
  EXPECT_TRUE(whole());
  record.more = 6;
  EXPECT_FALSE(whole());
}

// Found by replay_fuzz: it was taken, and pointed anywhere.
TEST(Replay, AnEmptyStringThatLiesOutsideOfItsRecordIsRefused) {
  base::TableSchema schema;
  schema.columns = {{"t", {base::TypeKind::kVarchar}, base::Nullability::kNotNull}};
  const base::RowLayout layout(schema);
  const base::Text empty;
  propagation::UpdateChunks memory;
  propagation::UpdateSet set(&memory);
  propagation::UpdateRecord* const record = set.append_insert(
      base::Vid(1), base::RowId(1), layout, reinterpret_cast<const std::byte*>(&empty));
  auto* const cell = const_cast<std::byte*>(record->body());
  for (const uint64_t offset :
       {uint64_t{0}, uint64_t{record->bytes}, uint64_t{record->bytes} + 1, UINT64_MAX}) {
    std::memcpy(cell, &offset, sizeof offset);
    EXPECT_EQ(propagation::check_record(*record, layout).ok(), offset <= record->bytes) << offset;
  }
}

TEST(Replay, UpdatesOfATableThatIsNotThereAreRefused) {
  Bank bank;
  propagation::BatchRuns batch{base::Vid(1), {{base::TableId(99), {}}}};
  const auto done = bank.engine->replay_updates(std::span(&batch, 1));
  EXPECT_EQ(done.ok() ? ErrorCode::kClosed : done.code(), ErrorCode::kCorrupt);
}

TEST(Replay, StringsOfErasedAndUpdatedRowsAreUsedAgain) {
  Bank source;
  std::vector<RecordedUpdates> updates;
  record_updates(&source, &updates);
  const std::string note(100, 'n');
  const auto insert_all = [&](Transaction& txn) -> Result<void> {
    for (int64_t id = 0; id < 1000; ++id) {
      const std::string name = std::to_string(id);
      auto row = txn.insert(source.account, Account{id, 0, std::string_view(name), int64_t{0},
                                                    std::string_view(note)});
      if (!row) return row.error();
    }
    return {};
  };
  const auto erase_all = [&](Transaction& txn) -> Result<void> {
    for (int64_t id = 0; id < 1000; ++id) {
      auto row = txn.get_for_update<&Account::id>(source.account_pkey, id);
      if (!row) return row.error();
      txn.erase(*row);
    }
    return {};
  };
  const auto update_all = [&](Transaction& txn) -> Result<void> {
    for (int64_t id = 0; id < 1000; ++id) {
      auto row = txn.get_for_update<&Account::id>(source.account_pkey, id);
      if (!row) return row.error();
      txn.update(*row, set<&Account::note>(std::string_view(note)));
    }
    return {};
  };
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(source.run(insert_all));
    ASSERT_TRUE(source.run(update_all));
    ASSERT_TRUE(source.run(erase_all));
  }
  Bank again;
  for (const RecordedUpdates& each : updates) {
    const propagation::BatchRuns batch = each.batch();
    ASSERT_TRUE(again.engine->replay_updates(std::span(&batch, 1)));
  }
  EXPECT_LE(again.engine->metrics().string_bytes, source.engine->metrics().string_bytes);
}

TEST_P(ReplayModel, RowsRowIdsAndVidsAreAsTheyWere) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto source = bank(GetParam().workers);
    const base::ProcedureId shuffle = add_shuffle(source.get());
    std::vector<RecordedBatch> log;
    for (int i = 0; i < 30; ++i) run_batch(source.get(), shuffle, 1 + i % 40, &random, &log);

    const auto again = bank(GetParam().replaying_workers);
    const base::ProcedureId replayed = add_shuffle(again.get());
    for (const RecordedBatch& batch : log) {
      const auto done = replay(again.get(), replayed, batch);
      ASSERT_TRUE(done.ok()) << done.error().to_string();
    }
    again->engine->release_free_slots();
    expect_same_rows(*source, *again);
    again->expect_replica_agrees();
    // It goes on as any other: no slot is given out twice.
    std::vector<RecordedBatch> more;
    for (int i = 0; i < 5; ++i) run_batch(again.get(), replayed, 40, &random, &more);
    again->expect_replica_agrees();
  }
}

INSTANTIATE_TEST_SUITE_P(OneWorker, ReplayModel,
                         ::testing::Values(ReplayCase{1, 1, IsolationLevel::kSnapshot},
                                           ReplayCase{2, 1, IsolationLevel::kSnapshot},
                                           ReplayCase{4, 1, IsolationLevel::kSerializable}));
INSTANTIATE_TEST_SUITE_P(ConcurrentWorkers, ReplayModel,
                         ::testing::Values(ReplayCase{4, 4, IsolationLevel::kSnapshot},
                                           ReplayCase{8, 2, IsolationLevel::kSnapshot},
                                           ReplayCase{1, 2, IsolationLevel::kSerializable},
                                           ReplayCase{8, 8, IsolationLevel::kSerializable}));

TEST(Replay, ASnapshotFromBeforeTheBatchIsDamage) {
  std::mt19937_64 random(7);
  Bank source;
  const base::ProcedureId shuffle = add_shuffle(&source);
  std::vector<RecordedBatch> log;
  for (int i = 0; i < 2; ++i) run_batch(&source, shuffle, 10, &random, &log);
  Bank again;
  const base::ProcedureId replayed = add_shuffle(&again);
  ASSERT_TRUE(replay(&again, replayed, log[0]));
  const base::Vid begin = log[0].back().commit_vid;
  log[1].back().read_vid = base::Vid(begin.value - 1);
  const auto done = replay(&again, replayed, log[1]);
  ASSERT_EQ(done.code(), ErrorCode::kCorrupt);
  EXPECT_NE(done.error().message.find("which follows VID " + std::to_string(begin.value)),
            std::string::npos);
}

TEST(Replay, ACallThatDoesSomethingElseIsNamed) {
  std::mt19937_64 random(7);
  Bank source;
  const base::ProcedureId shuffle = add_shuffle(&source);
  std::vector<RecordedBatch> log;
  while (log.empty() || log.back().back().inserted.empty()) {
    run_batch(&source, shuffle, 10, &random, &log);
  }
  const auto fails = [&](auto change) {
    Bank again;
    const base::ProcedureId replayed = add_shuffle(&again);
    for (size_t i = 0; i + 1 < log.size(); ++i) EXPECT_TRUE(replay(&again, replayed, log[i]));
    RecordedBatch last = log.back();
    change(&last.back());
    const auto done = replay(&again, replayed, last);
    EXPECT_EQ(done.ok() ? ErrorCode::kClosed : done.code(), ErrorCode::kCorrupt);
    return done.ok() ? std::string() : done.error().message;
  };
  const std::string name = "procedure \"shuffle\", which committed VID " +
                           std::to_string(log.back().back().commit_vid.value);
  EXPECT_EQ(fails([](RecordedCall* call) { call->inserted.pop_back(); }).find(name), 0u);
  EXPECT_EQ(fails([](RecordedCall* call) { call->inserted.emplace_back(999); }).find(name), 0u);
  EXPECT_NE(fails([](RecordedCall* call) { ++call->commit_vid.value; }).find("follows VID"),
            std::string::npos);
}

}  // namespace
}  // namespace diptych::oltp::test
