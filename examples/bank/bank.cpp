// The bank's procedures, as a library that a database loads while it runs.

#include "examples/bank/bank.h"

#include "dispatcher/procedure_module.h"

#ifndef BANK_TRANSFER_LIMIT_CENTS
#define BANK_TRANSFER_LIMIT_CENTS INT64_MAX
#endif

namespace diptych::examples::bank {
namespace {

using base::Result;
using dispatcher::AccessPlan;
using dispatcher::Claimed;
using dispatcher::Direction;
using dispatcher::IndexRef;
using dispatcher::Nothing;
using dispatcher::ProcedureRegistrar;
using dispatcher::RowHandle;
using dispatcher::ScanStep;
using dispatcher::set;
using dispatcher::TableRef;
using dispatcher::Transaction;

constexpr int64_t kTransferLimitCents = BANK_TRANSFER_LIMIT_CENTS;

struct Tables {
  TableRef<Account> account;
  IndexRef<&Account::id> account_pkey;
  IndexRef<&Account::branch, &Account::id> account_branch;
  TableRef<Entry> entry;
  IndexRef<&Entry::account, &Entry::number> entry_pkey;
  TableRef<InterestRun> interest_run;
};

// Moves the balance of a claimed account, and writes down why.
Result<Nothing> book(Transaction& txn, const Tables& tables,
                     const Claimed<Account, Account>& account, Money amount,
                     std::string_view text) {
  const Account& now = account.values;
  txn.update(account, set<&Account::balance>({now.balance.units + amount.units}),
             set<&Account::entries>(now.entries + 1));
  auto entry = txn.insert(tables.entry, Entry{now.id, now.entries + 1, txn.now(), amount, {text}});
  if (!entry) return entry.error();
  return Nothing{};
}

Result<Nothing> open_account(Transaction& txn, const Tables& tables, const OpenAccount& order) {
  if (order.deposit.units < 0) return txn.abort("a deposit is not negative");
  auto account = txn.insert(
      tables.account, Account{order.id, order.branch, order.owner, order.deposit, 1, txn.now()});
  if (!account) return account.error();
  auto entry = txn.insert(tables.entry, Entry{order.id, 1, txn.now(), order.deposit, {"opened"}});
  if (!entry) return entry.error();
  return Nothing{};
}

Result<TransferReply> transfer(Transaction& txn, const Tables& tables, const Transfer& order) {
  if (order.amount.units <= 0) return txn.abort("an amount is more than nothing");
  if (order.amount.units > kTransferLimitCents) return txn.abort("over the limit of a transfer");
  if (order.from == order.to) return txn.abort("from an account to itself");
  auto from = txn.get_for_update(tables.account_pkey, order.from);
  if (!from) return from.error();
  auto to = txn.get_for_update(tables.account_pkey, order.to);
  if (!to) return to.error();
  const Money left = {from->values.balance.units - order.amount.units};
  if (left.units < 0) return txn.abort("not enough money");
  if (auto sent = book(txn, tables, *from, {-order.amount.units}, "sent"); !sent) {
    return sent.error();
  }
  if (auto got = book(txn, tables, *to, order.amount, "received"); !got) return got.error();
  return TransferReply{left};
}

Result<InterestReply> interest(Transaction& txn, const Tables& tables, const Interest& order) {
  InterestReply reply{};
  Result<Nothing> booked = Nothing{};
  auto scanned = txn.scan(
      tables.account_branch, prefix(tables.account_branch, order.branch), {},
      [&](const RowHandle& handle, const Account& account) {
        Money paid;
        if (__builtin_mul_overflow(account.balance.units, order.percent.units, &paid.units)) {
          booked = txn.abort("so much interest is no amount of money");
          return ScanStep::kStop;
        }
        paid.units /= 10'000;
        if (account.id == kOwnAccount || paid.units <= 0) return ScanStep::kContinue;
        auto claimed = txn.claim<Account>(handle);
        booked = claimed ? book(txn, tables, *claimed, paid, "interest")
                         : Result<Nothing>(claimed.error());
        if (!booked) return ScanStep::kStop;
        ++reply.accounts;
        reply.paid.units += paid.units;
        return ScanStep::kContinue;
      });
  if (!scanned) return scanned.error();
  if (!booked) return booked.error();
  auto own = txn.get_for_update(tables.account_pkey, kOwnAccount);
  if (!own) return own.error();
  if (own->values.balance.units < reply.paid.units) return txn.abort("the bank is out of money");
  if (auto paid = book(txn, tables, *own, {-reply.paid.units}, "interest paid"); !paid) {
    return paid.error();
  }
  // The key makes it happen once: a second run of the period finds it taken.
  auto run = txn.insert(tables.interest_run, InterestRun{order.branch, order.period, reply.paid});
  if (!run) return run.error();
  return reply;
}

Result<StatementReply> statement(Transaction& txn, const Tables& tables, const Statement& order) {
  auto account = txn.get(tables.account_pkey, order.account);
  if (!account) return account.error();
  StatementReply reply{};
  reply.owner = account->owner;
  reply.balance = account->balance;
  auto scanned = txn.scan<&Entry::amount, &Entry::text>(
      tables.entry_pkey, prefix(tables.entry_pkey, order.account),
      {.direction = Direction::kBackward}, [&](const RowHandle&, const auto& entry) {
        const auto& [amount, text] = entry;
        if (reply.entries == 0) {
          reply.last_amount = amount;
          reply.last_text = text;
        }
        ++reply.entries;
        reply.booked.units += amount.units;
        return ScanStep::kContinue;
      });
  if (!scanned) return scanned.error();
  return reply;
}

Result<Tables> bind(const ProcedureRegistrar& procedures) {
  auto account = procedures.bind_table<Account>("account");
  if (!account) return account.error();
  auto account_pkey = procedures.bind_index<&Account::id>("account_pkey");
  if (!account_pkey) return account_pkey.error();
  auto branch = procedures.bind_index<&Account::branch, &Account::id>("account_branch");
  if (!branch) return branch.error();
  auto entry = procedures.bind_table<Entry>("entry");
  if (!entry) return entry.error();
  auto entry_pkey = procedures.bind_index<&Entry::account, &Entry::number>("entry_pkey");
  if (!entry_pkey) return entry_pkey.error();
  auto interest_run = procedures.bind_table<InterestRun>("interest_run");
  if (!interest_run) return interest_run.error();
  return Tables{*account, *account_pkey, *branch, *entry, *entry_pkey, *interest_run};
}

Result<void> define_bank(ProcedureRegistrar& procedures) {
  auto bound = bind(procedures);
  if (!bound) return bound.error();
  const Tables tables = *bound;
  procedures.define<OpenAccount, Nothing>("open_account",
                                          [tables](Transaction& txn, const OpenAccount& order) {
                                            return open_account(txn, tables, order);
                                          });
  procedures.define<Transfer, TransferReply>(
      "transfer",
      [tables](Transaction& txn, const Transfer& order) { return transfer(txn, tables, order); },
      {.access =
           [tables](const Transfer& order, AccessPlan& plan) {
             plan.row(tables.account_pkey, order.from);
             plan.row(tables.account_pkey, order.to);
           },
       .partition = [](const Transfer& order) { return static_cast<uint64_t>(order.from); }});
  procedures.define<Interest, InterestReply>(
      "interest",
      [tables](Transaction& txn, const Interest& order) { return interest(txn, tables, order); });
  procedures.define<Statement, StatementReply>(
      "statement",
      [tables](Transaction& txn, const Statement& order) { return statement(txn, tables, order); });
  return {};
}

}  // namespace
}  // namespace diptych::examples::bank

constinit const diptych::dispatcher::ProcedureModule diptych_procedure_module =
    diptych::dispatcher::procedure_module("bank", &diptych::examples::bank::define_bank);
