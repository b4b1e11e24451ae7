// An engine with three small tables, procedures given as lambdas, and a replica that is nothing but
// the exported update sets replayed into maps.

#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/row_binding.h"
#include "base/value.h"
#include "oltp/engine.h"
#include "tests/oltp/text_replica.h"

namespace diptych::oltp::test {

struct Account {
  int64_t id;
  int32_t branch;
  base::Varchar<16> name;
  int64_t balance;
  base::Varchar<100> note;
};
BOOST_DESCRIBE_STRUCT(Account, (), (id, branch, name, balance, note))

struct Entry {
  int64_t account;
  int32_t number;
  base::Nullable<int64_t> amount;
};
BOOST_DESCRIBE_STRUCT(Entry, (), (account, number, amount))

// Each column is in words of its own, so that any columns but the first two can make a group.
struct Parcel {
  int64_t id;
  int64_t shelf;
  int64_t weight;
  int64_t price;
  base::Varchar<100> note;
  base::Nullable<int32_t> stops;
};
BOOST_DESCRIBE_STRUCT(Parcel, (), (id, shelf, weight, price, note, stops))

using ColumnGroups = std::vector<std::vector<base::ColumnId>>;
// (weight) (price, note) (stops)
inline const ColumnGroups kParcelGroups = {
    {base::ColumnId(2)}, {base::ColumnId(3), base::ColumnId(4)}, {base::ColumnId(5)}};

inline base::IndexSchema index(std::string name, base::IndexKind kind, base::Uniqueness uniqueness,
                               std::vector<uint16_t> columns) {
  base::IndexSchema schema;
  schema.name = std::move(name);
  schema.kind = kind;
  schema.uniqueness = uniqueness;
  for (const uint16_t column : columns) schema.columns.push_back(base::ColumnId(column));
  return schema;
}

template <base::Described Row>
base::TableSchema schema_of(std::string name) {
  base::TableSchema schema;
  schema.name = std::move(name);
  for (const base::BoundColumn& column : base::bound_columns<Row>()) {
    schema.columns.push_back({column.name, column.type, column.nullability});
  }
  return schema;
}

inline base::Catalog bank_catalog(const ColumnGroups& parcel_groups = kParcelGroups) {
  using base::IndexKind;
  using base::Uniqueness;
  base::Catalog catalog;
  base::TableSchema account = schema_of<Account>("account");
  account.indexes = {index("account_pkey", IndexKind::kHash, Uniqueness::kUnique, {0}),
                     index("account_name", IndexKind::kHash, Uniqueness::kUnique, {2}),
                     index("account_balance", IndexKind::kOrdered, Uniqueness::kNonUnique, {1, 3}),
                     index("account_branch", IndexKind::kHash, Uniqueness::kNonUnique, {1})};
  EXPECT_TRUE(catalog.add_table(std::move(account)));
  base::TableSchema entry = schema_of<Entry>("entry");
  entry.indexes = {index("entry_pkey", IndexKind::kOrdered, Uniqueness::kUnique, {0, 1})};
  EXPECT_TRUE(catalog.add_table(std::move(entry)));
  base::TableSchema parcel = schema_of<Parcel>("parcel");
  parcel.indexes = {index("parcel_pkey", IndexKind::kHash, Uniqueness::kUnique, {0}),
                    index("parcel_shelf", IndexKind::kOrdered, Uniqueness::kNonUnique, {1})};
  parcel.column_groups = parcel_groups;
  EXPECT_TRUE(catalog.add_table(std::move(parcel)));
  return catalog;
}

class Bank {
 public:
  using Body = std::function<base::Result<void>(Transaction&)>;

  explicit Bank(uint32_t worker_count = 1, uint32_t conflicts_max = 1000,
                uint64_t batch_time_max_ns = 10'000'000'000,
                IsolationLevel isolation = IsolationLevel::kSnapshot,
                const ColumnGroups& parcel_groups = kParcelGroups,
                uint64_t operations_max = 10'000'000)
      : workers(worker_count), catalog(bank_catalog(parcel_groups)), replica(&catalog) {
    EngineOptions options;
    options.placement.threads = workers;
    options.conflicts_max = conflicts_max;
    options.batch_time_max_ns = batch_time_max_ns;
    options.isolation = isolation;
    options.operations_max = operations_max;
    options.note_inserted_rows = true;
    options.before_push = [this](std::span<const propagation::SealedSet> sets) {
      if (on_push) on_push(sets);
    };
    engine = std::make_unique<Engine>(&catalog, options, &queue);
    account = *bind_table<Account>(catalog, "account");
    entry = *bind_table<Entry>(catalog, "entry");
    account_pkey = *bind_index<&Account::id>(catalog, "account_pkey");
    account_name = *bind_index<&Account::name>(catalog, "account_name");
    account_balance = *bind_index<&Account::branch, &Account::balance>(catalog, "account_balance");
    account_branch = *bind_index<&Account::branch>(catalog, "account_branch");
    entry_pkey = *bind_index<&Entry::account, &Entry::number>(catalog, "entry_pkey");
    parcel = *bind_table<Parcel>(catalog, "parcel");
    parcel_pkey = *bind_index<&Parcel::id>(catalog, "parcel_pkey");
    parcel_shelf = *bind_index<&Parcel::shelf>(catalog, "parcel_shelf");
    script = engine->register_procedure(define_procedure<Script, Nothing>(
        "script", [](Transaction& txn, const Script& args) -> base::Result<Nothing> {
          auto done = (*args.body)(txn);
          if (!done) return done.error();
          return Nothing{};
        }));
  }

  struct Call {
    Request request;
    base::Vid commit_vid() const { return request.commit_vid; }
    const base::Result<void>& outcome() const { return request.outcome; }
  };

  // Runs the bodies as one batch, and what is to be run again in further ones.
  std::vector<Call> run_all(const std::vector<Body>& bodies) {
    std::vector<Call> calls(bodies.size());
    std::vector<Script> scripts;
    for (const Body& body : bodies) scripts.push_back({&body});
    std::vector<Request*> requests;
    for (size_t i = 0; i < bodies.size(); ++i) {
      calls[i].request.procedure = script;
      calls[i].request.arguments = std::as_bytes(std::span(&scripts[i], 1));
      calls[i].request.random_seed = i;
      requests.push_back(&calls[i].request);
    }
    while (!requests.empty()) requests = engine->run_batch(requests).again;
    replica.apply(&queue);
    return calls;
  }
  base::Result<void> run(const Body& body) { return run_all({body}).front().outcome(); }

  base::Result<void> put(int64_t id, int32_t branch, std::string_view name, int64_t balance,
                         std::string_view note = "") {
    return run([&](Transaction& txn) -> base::Result<void> {
      auto done = txn.insert(account, Account{id, branch, name, balance, note});
      if (!done) return done.error();
      return {};
    });
  }

  TableText rows(base::TableId table) const {
    const base::RowLayout layout(catalog.table(table));
    TableText text;
    engine->for_each_row(table, [&](base::RowId row_id, const std::byte* row) {
      text[row_id.value] = text_of(layout, row);
    });
    EXPECT_EQ(text.size(), engine->row_count(table));
    return text;
  }

  // The replayed exports and the tables are the same, and the indexes have just the tables' rows.
  void expect_replica_agrees() const {
    engine->check_indexes();
    EXPECT_EQ(replica.snapshot(), engine->last_vid());
    for (uint32_t i = 0; i < catalog.table_count(); ++i) {
      EXPECT_EQ(rows(base::TableId(i)), replica.table(i));
    }
  }

  uint32_t workers;
  std::function<void(std::span<const propagation::SealedSet>)> on_push;  // may be set
  base::Catalog catalog;
  propagation::UpdateQueue queue;
  TextReplica replica;
  std::unique_ptr<Engine> engine;
  TableRef<Account> account;
  TableRef<Entry> entry;
  IndexRef<&Account::id> account_pkey;
  IndexRef<&Account::name> account_name;
  IndexRef<&Account::branch, &Account::balance> account_balance;
  IndexRef<&Account::branch> account_branch;
  IndexRef<&Entry::account, &Entry::number> entry_pkey;
  TableRef<Parcel> parcel;
  IndexRef<&Parcel::id> parcel_pkey;
  IndexRef<&Parcel::shelf> parcel_shelf;
  base::ProcedureId script;

 private:
  struct Script {
    const Body* body;
  };
};

}  // namespace diptych::oltp::test
