// The README's example: a schema, a stored procedure, a query on the data that it just wrote.

#include <cstdio>

#include "dispatcher/database.h"

using namespace diptych::dispatcher;
using namespace diptych::base;

struct Account {
  int32_t id;
  Varchar<20> owner;
  Decimal<12, 2> balance;
};
BOOST_DESCRIBE_STRUCT(Account, (), (id, owner, balance))

struct Transfer {
  int32_t from;
  int32_t to;
  Decimal<12, 2> amount;
};

int main() {
  auto database = *Database::open({});  // in memory; {.path = "bank"} keeps it
  auto created = database->execute_ddl(
      "CREATE TABLE account (id INT NOT NULL, owner VARCHAR(20) NOT NULL,"
      "                      balance DECIMAL(12,2) NOT NULL, PRIMARY KEY (id))");
  if (!created) return std::puts(created.error().to_string().c_str()), 1;

  auto accounts = *database->bind_table<Account>("account");
  auto by_id = *database->bind_index<&Account::id>("account_pkey");

  auto open = *database->register_procedure<Account, Nothing>(
      "open", [=](Transaction& txn, const Account& account) -> Result<Nothing> {
        auto row = txn.insert(accounts, account);
        if (!row) return row.error();
        return Nothing{};
      });
  auto transfer = *database->register_procedure<Transfer, Nothing>(
      "transfer", [=](Transaction& txn, const Transfer& order) -> Result<Nothing> {
        if (order.from == order.to || order.amount.units <= 0) return txn.abort("not a transfer");
        auto from = txn.get_for_update<&Account::balance>(by_id, order.from);
        if (!from) return from.error();
        auto to = txn.get_for_update<&Account::balance>(by_id, order.to);
        if (!to) return to.error();
        if (from->values < order.amount) return txn.abort("not enough money");
        txn.update(*from, set<&Account::balance>({from->values.units - order.amount.units}));
        txn.update(*to, set<&Account::balance>({to->values.units + order.amount.units}));
        return Nothing{};
      });

  for (const Account& account : {Account{1, {"Ada"}, {100'00}}, Account{2, {"Grace"}, {50'00}}}) {
    if (auto opened = database->call(open, account).get(); !opened) return 1;
  }
  for (const Transfer& order :
       {Transfer{1, 2, {30'00}}, Transfer{1, 2, {300'00}}, Transfer{1, 1, {30'00}}}) {
    auto moved = database->call(transfer, order).get();
    std::puts(moved ? "moved" : moved.error().to_string().c_str());
  }

  auto result = database->query("SELECT owner, balance FROM account ORDER BY balance DESC");
  if (!result) return std::puts(result.error().to_string().c_str()), 1;
  for (const auto& row : result->rows) {
    std::printf("%-6s %s\n", to_string(row[0]).c_str(), to_string(row[1]).c_str());
  }
}
