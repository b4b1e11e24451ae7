// TableRestore: random tables put back by one lane or several, and used afterwards as any other.

#include "oltp/table_restore.h"

#include <atomic>
#include <random>
#include <thread>

#include "tests/oltp/engine_fixture.h"

namespace diptych::oltp::test {
namespace {

using base::ErrorCode;
using base::Result;
using namespace std::string_view_literals;

// A table's rows, in runs as the leaves of a replica give them.
struct RowsToRestore {
  std::vector<std::vector<base::RowId>> runs;
  std::map<uint64_t, const std::byte*> rows;
};

RowsToRestore rows_in_runs(const Bank& source, base::TableId table, std::mt19937_64* random) {
  RowsToRestore rows;
  rows.runs.resize(1 + (*random)() % 6);
  source.engine->for_each_row(table, [&](base::RowId row_id, const std::byte* row) {
    rows.runs[(*random)() % rows.runs.size()].push_back(row_id);
    rows.rows[row_id.value] = row;
  });
  return rows;
}

Result<void> restore_run(const RowsToRestore& rows, const std::vector<base::RowId>& run,
                         const base::RowLayout& layout, uint32_t lane, TableRestore* table) {
  table->begin_run(lane, run.size());
  for (size_t first = 0; first < run.size(); first += 7) {
    const auto ids = std::span(run).subspan(first, std::min<size_t>(7, run.size() - first));
    const auto places = table->begin(lane, ids);
    if (!places) return places.error();
    for (size_t i = 0; i < ids.size(); ++i) {
      const std::byte* const row = rows.rows.at(ids[i].value);
      std::memcpy((*places)[i], row, layout.bytes);
      for (const base::ColumnId id : layout.long_strings) {
        const base::ColumnLayout& column = layout.column(id);
        if (base::is_null_cell(column, row)) continue;
        const base::Text text = table->copy(lane, base::load_string(column, row));
        std::memcpy((*places)[i] + column.offset, &text, sizeof text);
      }
    }
    if (auto done = table->end(lane); !done) return done;
  }
  table->end_run(lane);
  return {};
}

// Each lane a thread, as when a database is opened.
Result<void> restore_table(const Bank& source, base::TableId id, uint32_t lanes, Bank* to,
                           std::mt19937_64* random) {
  const base::RowLayout layout(source.catalog.table(id));
  const RowsToRestore rows = rows_in_runs(source, id, random);
  const auto table = to->engine->restore_table(id, rows.rows.size(), lanes);
  std::atomic<size_t> next{0};
  std::vector<Result<void>> ended(lanes);
  const auto side_by_side = [&](auto body) {
    std::vector<std::thread> threads;
    for (uint32_t lane = 0; lane < lanes; ++lane) threads.emplace_back(body, lane);
    for (std::thread& thread : threads) thread.join();
  };
  side_by_side([&](uint32_t lane) {
    // relaxed: it only shares out the runs.
    for (size_t run = next++; run < rows.runs.size() && ended[lane]; run = next++) {
      ended[lane] = restore_run(rows, rows.runs[run], layout, lane, table.get());
    }
  });
  for (const Result<void>& end : ended) {
    if (!end) return end;
  }
  const uint32_t steps = table->make_steps(3);
  next = 0;
  side_by_side([&](uint32_t) {
    for (size_t step = next++; step < steps; step = next++) {
      table->step(static_cast<uint32_t>(step));
    }
  });
  return table->finish();
}

Result<void> restore_all(const Bank& source, uint32_t lanes, Bank* to, std::mt19937_64* random) {
  for (uint32_t table = 0; table < source.catalog.table_count(); ++table) {
    auto restored = restore_table(source, base::TableId(table), lanes, to, random);
    if (!restored) return restored;
  }
  to->engine->finish_restore(source.engine->last_vid());
  to->engine->release_free_slots();
  return {};
}

// Accounts with names of all lengths, entries with and without an amount, parcels of several column
// groups, and holes.
void fill(Bank* bank, int64_t accounts, std::mt19937_64* random) {
  std::vector<Bank::Body> bodies;
  for (int64_t id = 0; id < accounts; ++id) {
    const auto number = static_cast<int32_t>((*random)() % 1000);
    const uint64_t shape = (*random)();
    bodies.emplace_back([bank, id, number, shape](Transaction& txn) -> Result<void> {
      const std::string name = std::to_string(id) + std::string(shape % 9, 'x');
      const std::string note(shape % 101, 'n');
      auto account = txn.insert(bank->account, Account{id, number % 5, std::string_view(name),
                                                       number % 7, std::string_view(note)});
      if (!account) return account.error();
      Entry row{id % 50, static_cast<int32_t>(id), {}};
      if (shape % 3 == 0) row.amount = number;
      auto entry = txn.insert(bank->entry, row);
      if (!entry) return entry.error();
      auto parcel = txn.insert(bank->parcel, Parcel{id, number, number % 3, 1, "p"sv, {}});
      if (!parcel) return parcel.error();
      return {};
    });
  }
  bank->run_all(bodies);
  for (int64_t id = 0; id < accounts; ++id) {
    if ((*random)() % 4 != 0) continue;
    ASSERT_TRUE(bank->run([&](Transaction& txn) -> Result<void> {
      auto row = txn.get_for_update<&Account::id>(bank->account_pkey, id);
      if (!row) return row.error();
      txn.erase(*row);
      return {};
    }));
  }
}

// What the ordered indexes, unique and not, give in a scan of all; and each account by its key.
std::vector<std::string> seen_by_indexes(Bank* bank, int64_t accounts) {
  std::vector<std::string> seen;
  EXPECT_TRUE(bank->run([&](Transaction& txn) -> Result<void> {
    auto by_balance =
        txn.scan(bank->account_balance, KeyRange(), {}, [&](const RowHandle&, const Account& row) {
          seen.push_back(std::to_string(row.branch) + " " + std::to_string(row.balance) + " " +
                         std::to_string(row.id) + std::string(row.note.view()));
          return ScanStep::kContinue;
        });
    auto entries =
        txn.scan(bank->entry_pkey, KeyRange(), {}, [&](const RowHandle&, const Entry& row) {
          seen.push_back("e" + std::to_string(row.account) + " " + std::to_string(row.number));
          return ScanStep::kContinue;
        });
    auto branch = txn.scan(bank->account_branch, prefix(bank->account_branch, 3), {},
                           [&](const RowHandle&, const Account& row) {
                             seen.push_back("b" + std::to_string(row.id));
                             return ScanStep::kContinue;
                           });
    EXPECT_TRUE(by_balance && entries && branch);
    for (int64_t id = 0; id < accounts; ++id) {
      auto row = txn.get(bank->account_pkey, id);
      seen.push_back(row ? std::string(row->name.view()) : "none");
      EXPECT_TRUE(!row || txn.get(bank->account_name, row->name.view()));
    }
    return {};
  }));
  return seen;
}

// One column group of each, and others of some.
void change_parcels(Bank* bank, int64_t parcels) {
  const auto before = bank->rows(bank->parcel.table);
  const Bank::Body change = [&](Transaction& txn) -> Result<void> {
    for (int64_t id = 0; id < parcels; ++id) {
      auto row = txn.get_for_update<&Parcel::weight>(bank->parcel_pkey, id);
      if (!row) return row.error();
      txn.update(*row, set<&Parcel::weight>(row->values + 1));
      if (id % 3 != 0) continue;
      auto price = txn.get_for_update<&Parcel::price>(bank->parcel_pkey, id);
      if (!price) return price.error();
      txn.update(*price, set<&Parcel::price>(price->values + 1));
    }
    return txn.abort("never mind");
  };
  EXPECT_EQ(bank->run(change).code(), ErrorCode::kAborted);
  EXPECT_EQ(bank->rows(bank->parcel.table), before);
}

void run_restore_model(uint64_t seed, uint32_t lanes, int64_t accounts) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  Bank source;
  ASSERT_NO_FATAL_FAILURE(fill(&source, accounts, &random));
  Bank restored;
  const auto done = restore_all(source, lanes, &restored, &random);
  ASSERT_TRUE(done.ok()) << done.error().to_string();
  EXPECT_EQ(restored.engine->last_vid(), source.engine->last_vid());
  for (uint32_t table = 0; table < source.catalog.table_count(); ++table) {
    EXPECT_EQ(restored.rows(base::TableId(table)), source.rows(base::TableId(table)));
  }
  EXPECT_EQ(seen_by_indexes(&restored, accounts), seen_by_indexes(&source, accounts));
  // The keys that are there are taken, the holes in the RowIDs are not.
  for (int64_t id = 0; id < accounts; id += 5) {
    const bool there = restored.rows(restored.account.table).size() != 0 &&
                       restored
                           .run([&](Transaction& txn) -> Result<void> {
                             auto row = txn.get(restored.account_pkey, id);
                             if (!row) return row.error();
                             return {};
                           })
                           .ok();
    const auto put = restored.put(id, 1, "fresh" + std::to_string(id), 1, "fresh");
    EXPECT_EQ(put.ok(), !there);
    EXPECT_TRUE(put.ok() || put.code() == ErrorCode::kAlreadyExists);
  }
  change_parcels(&restored, accounts);
}

TEST(TableRestoreModel, RowsAndIndexesAreAsTheyWere) {
  for (uint64_t seed = 1; seed <= 4; ++seed) run_restore_model(seed, 1, 1 + 100 * (seed / 2));
}

TEST(TableRestoreConcurrent, RowsAndIndexesAreAsTheyWere) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    run_restore_model(seed, static_cast<uint32_t>(seed), 300);
  }
}

TEST(TableRestore, AnEmptyTableStaysEmptyAndUsable) {
  std::mt19937_64 random(1);
  Bank source;
  Bank restored;
  ASSERT_TRUE(restore_all(source, 2, &restored, &random));
  EXPECT_EQ(restored.engine->row_count(restored.account.table), 0u);
  ASSERT_TRUE(restored.put(1, 7, "ann", 1));
}

// Rows that come and go, so that a depot has strings' memory that nobody uses.
void churn(Bank* bank, int64_t first, int64_t count) {
  const std::string note(100, 'n');
  std::vector<Bank::Body> inserts;
  std::vector<Bank::Body> erases;
  for (int64_t id = first; id < first + count; ++id) {
    inserts.emplace_back([bank, id, &note](Transaction& txn) -> Result<void> {
      const std::string name = "c" + std::to_string(id);
      auto row = txn.insert(bank->account,
                            Account{id, 7, std::string_view(name), id, std::string_view(note)});
      return row ? Result<void>() : row.error();
    });
    erases.emplace_back([bank, id](Transaction& txn) -> Result<void> {
      auto row = txn.get_for_update(bank->account_pkey, id);
      if (!row) return row.error();
      txn.erase(*row);
      return {};
    });
  }
  for (const auto& call : bank->run_all(inserts)) ASSERT_TRUE(call.outcome());
  for (const auto& call : bank->run_all(erases)) ASSERT_TRUE(call.outcome());
}

// A batch that leaves each worker with rows that are dead, rolled back or renamed, and is lost.
void lose_a_batch(Bank* bank) {
  const auto change = [&](int64_t id, auto body) -> Bank::Body {
    return [bank, id, body](Transaction& txn) -> Result<void> {
      auto row = txn.get_for_update(bank->account_pkey, id);
      if (!row) return row.error();
      return body(txn, *row);
    };
  };
  std::vector<Bank::Body> bodies;
  for (int64_t id = 10'000; id < 10'100; ++id) {
    bodies.push_back(change(id, [id](Transaction& txn, auto& row) -> Result<void> {
      txn.update(row, set<&Account::name>(std::string_view("r" + std::to_string(id))));
      return {};
    }));
    bodies.push_back(change(id + 100, [](Transaction& txn, auto& row) -> Result<void> {
      txn.erase(row);
      return {};
    }));
    bodies.push_back(change(id + 200, [](Transaction& txn, auto& row) -> Result<void> {
      txn.update(row, set<&Account::balance>(99));
      return txn.abort("never mind");
    }));
  }
  for (uint32_t i = 0; i < bank->workers; ++i) {
    bodies.emplace_back([bank](Transaction&) -> Result<void> {
      bank->engine->lose();
      return {};
    });
  }
  std::vector<const Bank::Body*> arguments;
  std::vector<Request> requests(bodies.size());
  std::vector<Request*> places;
  for (const Bank::Body& body : bodies) arguments.push_back(&body);
  for (size_t i = 0; i < bodies.size(); ++i) {
    requests[i].procedure = bank->script;
    requests[i].arguments = std::as_bytes(std::span(&arguments[i], 1));
    places.push_back(&requests[i]);
  }
  const BatchReport report = bank->engine->run_batch(places);
  EXPECT_FALSE(report.has_run);
  EXPECT_EQ(report.again.size(), bodies.size());
}

TEST(TableRestore, AnEngineThatLostABatchIsAsItWasOnceItsRowsAreBack) {
  for (const uint32_t workers : {1U, 3U}) {
    SCOPED_TRACE(testing::Message() << workers << " workers");
    std::mt19937_64 random(workers);
    Bank bank(workers);
    ASSERT_NO_FATAL_FAILURE(fill(&bank, 200, &random));
    for (int64_t id = 10'000; id < 10'300; ++id) {
      ASSERT_TRUE(bank.put(id, 7, "k" + std::to_string(id), id, std::string(80, 'k')));
    }
    ASSERT_NO_FATAL_FAILURE(churn(&bank, 20'000, 4000));
    Bank copy;
    ASSERT_TRUE(restore_all(bank, 1, &copy, &random));
    for (int round = 0; round < 2; ++round) {
      lose_a_batch(&bank);
      bank.engine->clear();
      // Memory is measured at a batch's end.
      ASSERT_TRUE(bank.run([](Transaction&) -> Result<void> { return {}; }));
      EXPECT_EQ(bank.engine->metrics().string_bytes, 0u);
      ASSERT_TRUE(restore_all(copy, 2, &bank, &random));
      bank.expect_replica_agrees();
    }
    ASSERT_NO_FATAL_FAILURE(churn(&bank, 30'000, 4000));
    bank.expect_replica_agrees();
  }
}

TEST(TableRestore, TwoRowsWithOneIdAreRefused) {
  std::mt19937_64 random(1);
  Bank source;
  ASSERT_TRUE(source.put(1, 7, "ann", 1));
  Bank restored;
  const base::RowLayout layout(source.catalog.table(source.account.table));
  const RowsToRestore rows = rows_in_runs(source, source.account.table, &random);
  const auto table = restored.engine->restore_table(source.account.table, 2, 2);
  const std::vector<base::RowId> run = {base::RowId(rows.rows.begin()->first)};
  ASSERT_TRUE(restore_run(rows, run, layout, 0, table.get()));
  const auto again = restore_run(rows, run, layout, 1, table.get());
  ASSERT_EQ(again.code(), ErrorCode::kCorrupt);
  EXPECT_NE(again.error().message.find("\"account\" has two rows"), std::string::npos);
  const auto beyond = table->begin(0, std::vector{base::RowId(~uint64_t{0})});
  EXPECT_EQ(beyond.code(), ErrorCode::kCorrupt);
}

// `changed`: a column of the second row gets the first one's value.
Result<void> restore_with_equal(base::ColumnId changed) {
  Bank source;
  EXPECT_TRUE(source.put(1, 7, "ann", 1));
  EXPECT_TRUE(source.put(2, 8, "bob", 2));
  Bank restored;
  const base::RowLayout layout(source.catalog.table(source.account.table));
  std::vector<std::vector<std::byte>> rows;
  source.engine->for_each_row(source.account.table, [&](base::RowId, const std::byte* row) {
    rows.emplace_back(row, row + layout.bytes);
  });
  const base::ColumnLayout& column = layout.column(changed);
  std::memcpy(rows[1].data() + column.offset, rows[0].data() + column.offset, column.bytes);
  const auto table = restored.engine->restore_table(source.account.table, 2, 2);
  for (uint32_t lane = 0; lane < 2; ++lane) {
    table->begin_run(lane, 1);
    const auto place = table->begin(lane, std::vector{base::RowId(lane)});
    std::memcpy(place->front(), rows[lane].data(), layout.bytes);
    EXPECT_TRUE(table->end(lane));
    table->end_run(lane);
  }
  const uint32_t steps = table->make_steps(1);
  for (uint32_t i = 0; i < steps; ++i) table->step(i);
  return table->finish();
}

TEST(TableRestore, TwoRowsWithOneKeyAreNamed) {
  const auto id = restore_with_equal(base::ColumnId(0));
  ASSERT_EQ(id.code(), ErrorCode::kAlreadyExists);
  EXPECT_NE(id.error().message.find("the key (1) of unique index \"account_pkey\""),
            std::string::npos)
      << id.error().message;
  EXPECT_EQ(restore_with_equal(base::ColumnId(2)).code(), ErrorCode::kAlreadyExists);
  EXPECT_TRUE(restore_with_equal(base::ColumnId(1)).ok());  // of no unique index
}

}  // namespace
}  // namespace diptych::oltp::test
