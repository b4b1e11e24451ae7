// The caller's side of docs/stored-procedures.md: loads the bank, calls it, and adds a procedure of
// its own. Usage: stored_procedures SCHEMA.sql BANK.so

#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "dispatcher/database.h"
#include "examples/bank/bank.h"

using namespace diptych;              // NOLINT: an example
using namespace diptych::dispatcher;  // NOLINT: an example
using namespace diptych::examples::bank;

struct Closing {
  int64_t account;
};
BOOST_DESCRIBE_STRUCT(Closing, (), (account))

struct ClosingReply {
  int32_t erased;
  base::Nullable<int64_t> lucky;
};
BOOST_DESCRIBE_STRUCT(ClosingReply, (), (erased, lucky))

// A tour of the operations: closes an empty account and erases its entries.
base::Result<ClosingReply> close_account(Transaction& txn, const Closing& order,
                                         IndexRef<&Account::id> account_pkey,
                                         IndexRef<&Entry::account, &Entry::number> entry_pkey) {
  auto balance = txn.get<&Account::balance>(account_pkey, order.account);
  if (!balance) return balance.error();
  if (balance->units != 0) return txn.abort("the account is not empty");

  ClosingReply reply{};
  auto scanned = txn.scan<&Entry::number>(
      entry_pkey, prefix(entry_pkey, order.account), {.direction = Direction::kForward},
      [&](const RowHandle& handle, int32_t) {
        auto entry = txn.claim<Entry, &Entry::number>(handle);
        if (!entry) return ScanStep::kStop;  // the transaction has failed, and the scan returns why
        txn.erase(*entry);
        ++reply.erased;
        return ScanStep::kContinue;
      });
  if (!scanned) return scanned.error();

  auto account = txn.get_for_update<&Account::id>(account_pkey, order.account);
  if (!account) return account.error();
  txn.erase(*account);
  if (txn.random() % 2 == 0 && txn.now().micros > 0) reply.lucky = order.account;
  return reply;
}

int failed(const base::Error& error) {
  std::puts(error.to_string().c_str());
  return 1;
}

// Two accounts at once, past the log and without a procedure.
base::Result<LoadReport> load_accounts(Database* database) {
  auto accounts = *database->bind_table<Account>("account");
  const Account rows[] = {{3, 8, {"Alan"}, {0}, 0, {}}, {4, 8, {"Edsger"}, {0}, 0, {}}};
  return database->load(accounts, rows);
}

// After DDL has made the tables anew.
base::Result<void> bind_anew(Database* database) {
  auto account_pkey = *database->bind_index<&Account::id>("account_pkey");
  auto entry_pkey = *database->bind_index<&Entry::account, &Entry::number>("entry_pkey");
  auto replaced = database->replace_procedure<Closing, ClosingReply>(
      "close_account", [=](Transaction& txn, const Closing& order) {
        return close_account(txn, order, account_pkey, entry_pkey);
      });
  return replaced ? base::Result<void>() : replaced.error();
}

// A call that is under way, with all that its request points at.
struct Sent {
  Transfer order;
  TransferReply reply{};
  Request request{};

  // On a thread of the database, once.
  static void ended(Request* request) {
    const std::unique_ptr<Sent> self(static_cast<Sent*>(request->context));
    if (request->outcome)
      std::printf("left: %ld cents\n", static_cast<long>(self->reply.left.units));
    if (!request->outcome) failed(request->outcome.error());
  }
};

base::Result<void> send(Database* database, const ProcedureRef<Transfer, TransferReply>& transfer,
                        const Transfer& order) {
  auto sent = std::make_unique<Sent>(Sent{.order = order});
  sent->request = Request::of(transfer, &sent->order, &sent->reply, &Sent::ended, sent.get());
  auto submitted = database->submit(&sent->request, Admission::kWait);
  if (submitted) static_cast<void>(sent.release());  // ended() has it
  return submitted;
}

int main(int argc, char** argv) {
  if (argc != 3) return std::puts("usage: stored_procedures SCHEMA.sql BANK.so"), 2;
  auto database = *Database::open({});
  std::ifstream schema(argv[1]);
  auto created = database->execute_ddl(std::string(std::istreambuf_iterator<char>(schema), {}));
  if (!created) return failed(created.error());

  auto loaded = database->load_procedures(argv[2]);
  if (!loaded) return failed(loaded.error());
  std::printf("module %s, %zu procedures\n", loaded->module.c_str(), loaded->defined.size());

  auto open = *database->bind_procedure<OpenAccount, Nothing>("open_account");
  auto transfer = *database->bind_procedure<Transfer, TransferReply>("transfer");
  for (const OpenAccount& order :
       {OpenAccount{1, 7, {"Ada"}, {100'00}}, OpenAccount{2, 7, {"Grace"}, {50'00}},
        OpenAccount{2, 7, {"Eve"}, {0}}}) {
    if (auto opened = database->call(open, order).get(); !opened) failed(opened.error());
  }
  for (const int64_t cents : {100'00, 1}) {
    auto moved = database->call(transfer, Transfer{1, 2, {cents}}).get();
    if (moved) std::printf("left: %ld cents\n", static_cast<long>(moved->left.units));
    if (!moved) failed(moved.error());
  }

  auto account_pkey = *database->bind_index<&Account::id>("account_pkey");
  auto entry_pkey = *database->bind_index<&Entry::account, &Entry::number>("entry_pkey");
  auto closing = *database->register_procedure<Closing, ClosingReply>(
      "close_account", [=](Transaction& txn, const Closing& order) {
        return close_account(txn, order, account_pkey, entry_pkey);
      });
  for (const int64_t account : {1, 2, 3}) {
    auto closed = database->call(closing, Closing{account}).get();
    if (closed) std::printf("erased %d entries\n", closed->erased);
    if (!closed) failed(closed.error());
  }

  if (auto bound = bind_anew(database.get()); !bound) return failed(bound.error());

  const base::Value arguments[] = {int64_t{2}};
  auto statement = database->call_by_name("statement", arguments);
  if (!statement) return failed(statement.error());
  for (const base::Value& value : *statement) std::printf("%s ", base::to_string(value).c_str());
  std::puts("");

  auto bulk = load_accounts(database.get());
  if (!bulk) return failed(bulk.error());
  std::printf("loaded %d accounts\n", static_cast<int>(bulk->rows));
  auto submitted = send(database.get(), transfer, Transfer{2, 3, {50'00}});
  if (!submitted) return failed(submitted.error());
  auto closed = database->close();  // the call has ended then
  if (!closed) return failed(closed.error());
}
