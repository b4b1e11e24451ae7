// The bank of examples/bank/: client i sends its n-th transfer from account i, of an amount that is
// no other's, so that the entries of both accounts say which transfers are there, and in which
// order they were made. Of two of which one was acknowledged before the other was asked for, that
// one comes first, whoever sent them.

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <random>

#include <fmt/format.h>

#include "examples/bank/bank.h"
#include "tests/crash/workload.h"

namespace diptych::crash {
namespace {

using base::Result;
using dispatcher::Database;
using dispatcher::Nothing;
using examples::bank::OpenAccount;
using examples::bank::Statement;
using examples::bank::StatementReply;
using examples::bank::Transfer;
using examples::bank::TransferReply;

constexpr int64_t kShared = 5;  // accounts that all send to
constexpr int64_t kAccounts = static_cast<int64_t>(kClients) + kShared;
constexpr int64_t kDepositCents = 10'000'000'000'000;

// Of client i's n-th transfer.
constexpr int64_t cents_of(int64_t client, int64_t n) {
  return n * static_cast<int64_t>(kClients) + client;
}

class BankWorkload : public Workload {
 public:
  BankWorkload(std::string library, std::string schema)
      : library_(std::move(library)), schema_(std::move(schema)) {}

  Result<void> create(Database* database) override {
    std::ifstream schema(schema_);
    const std::string script(std::istreambuf_iterator<char>(schema), {});
    if (auto created = database->execute_ddl(script); !created) return created;
    if (auto attached = attach(database); !attached) return attached;
    auto open = database->bind_procedure<OpenAccount, Nothing>("open_account");
    if (!open) return open.error();
    for (int64_t id = 0; id < kAccounts; ++id) {
      const OpenAccount order{id, 0, {"owner"}, {kDepositCents}};
      if (auto opened = database->call(*open, order).get(); !opened) return opened.error();
    }
    return {};
  }

  Result<void> attach(Database* database) override {
    database_ = database;
    if (auto loaded = database->load_procedures(library_); !loaded) return loaded.error();
    auto transfer = database->bind_procedure<Transfer, TransferReply>("transfer");
    if (!transfer) return transfer.error();
    transfer_ = *transfer;
    auto statement = database->bind_procedure<Statement, StatementReply>("statement");
    if (!statement) return statement.error();
    statement_ = *statement;
    return {};
  }

  Result<void> run_client(size_t client, uint64_t seed, AckBoard* board) override {
    std::mt19937_64 random(seed);
    const auto own = static_cast<int64_t>(client);
    const auto present = database_->call(statement_, {own}).get();
    if (!present) return present.error();
    // The first entry is the deposit.
    for (int64_t n = present->entries;; ++n) {
      const int64_t to = static_cast<int64_t>(kClients + random() % kShared);
      const uint64_t asked_ns = base::steady_ns();
      const auto sent = database_->call(transfer_, {own, to, {cents_of(own, n)}}).get();
      if (!sent) return sent.error();
      board->acknowledge(client, n, asked_ns);
    }
  }

  Result<void> check(const Told& told, Findings* findings) override {
    for (size_t client = 0; client < kClients; ++client) {
      if (!told.acks[client].empty()) acknowledged_[client] = told.acks[client].back().what;
    }
    if (auto checked = check_sent(findings); !checked) return checked;
    if (auto checked = check_received(told, findings); !checked) return checked;
    return check_sums(findings);
  }

  uint64_t milliseconds_max() const override { return 500; }

 private:
  // Account by account: entry n + 1 is transfer n, up to one more than was acknowledged.
  Result<void> check_sent(Findings* findings) {
    auto entries = database_->query(fmt::format(
        "SELECT account, number, amount FROM entry WHERE account < {} ORDER BY account, number",
        kClients));
    if (!entries) return entries.error();
    std::map<int64_t, int64_t> there;
    for (const auto& row : entries->rows) {
      const auto account = std::get<int64_t>(row[0]);
      const auto number = std::get<int64_t>(row[1]);
      const auto amount = static_cast<int64_t>(std::get<base::DecimalValue>(row[2]).units);
      if (number == 1) continue;
      if (number != there[account] + 2 || amount != -cents_of(account, number - 1)) {
        ++findings->half_done;
        findings->words.push_back(fmt::format("account {}: entry {} is {} cents after entry {}",
                                              account, number, amount, there[account] + 1));
      }
      there[account] = number - 1;
    }
    for (size_t client = 0; client < kClients; ++client) {
      const int64_t last = there[static_cast<int64_t>(client)];
      if (last >= acknowledged_[client]) continue;
      findings->lost += static_cast<uint64_t>(acknowledged_[client] - last);
      findings->words.push_back(fmt::format("account {}: {} transfers acknowledged, {} there",
                                            client, acknowledged_[client], last));
    }
    return {};
  }

  // Of the accounts that all send to: what was there stays as it was, and what is new is in the
  // order in which it was acknowledged.
  Result<void> check_received(const Told& told, Findings* findings) {
    std::map<int64_t, Ack> acks;  // by the amount
    for (size_t client = 0; client < kClients; ++client) {
      for (const Ack& ack : told.acks[client]) {
        acks[cents_of(static_cast<int64_t>(client), ack.what)] = ack;
      }
    }
    auto entries = database_->query(
        fmt::format("SELECT account, amount FROM entry WHERE account >= {} AND number > 1 "
                    "ORDER BY account, number",
                    kClients));
    if (!entries) return entries.error();
    std::map<int64_t, std::vector<int64_t>> amounts;
    for (const auto& row : entries->rows) {
      amounts[std::get<int64_t>(row[0])].push_back(
          static_cast<int64_t>(std::get<base::DecimalValue>(row[1]).units));
    }
    for (auto& [account, now] : amounts) {
      std::vector<int64_t>& before = received_[account];
      if (now.size() < before.size() || !std::equal(before.begin(), before.end(), now.begin())) {
        ++findings->lost;
        findings->words.push_back(
            fmt::format("account {}: its first {} entries were others", account, before.size()));
      }
      check_acknowledged_order(account, now, acks, findings);
      before = std::move(now);
    }
    return {};
  }

  static void check_acknowledged_order(int64_t account, const std::vector<int64_t>& amounts,
                                       const std::map<int64_t, Ack>& acks, Findings* findings) {
    Ack earliest{.told_ns = UINT64_MAX};  // of those behind
    for (auto amount = amounts.rbegin(); amount != amounts.rend(); ++amount) {
      const auto found = acks.find(*amount);
      if (found == acks.end()) continue;  // of an earlier life, or nobody was told
      const Ack& ack = found->second;
      if (ack.asked_ns > earliest.told_ns) {
        ++findings->lost;
        findings->words.push_back(
            fmt::format("account {}: transfer {} of client {} is before transfer {}, which was "
                        "acknowledged {} ns before that was asked for",
                        account, ack.what, *amount % static_cast<int64_t>(kClients), earliest.what,
                        ack.asked_ns - earliest.told_ns));
      }
      if (ack.told_ns < earliest.told_ns) earliest = ack;
    }
  }

  Result<void> check_sums(Findings* findings) {
    const std::pair<const char*, std::string> wanted[] = {
        {"SELECT sum(balance) FROM account", fmt::format("{}.00", kAccounts * kDepositCents / 100)},
        {"SELECT sum(amount) FROM entry", fmt::format("{}.00", kAccounts * kDepositCents / 100)},
        {"SELECT count(*) FROM (SELECT account, sum(amount) AS booked, count(*) AS number FROM "
         "entry GROUP BY account) AS e JOIN account ON id = account "
         "WHERE booked <> balance OR number <> entries",
         "0"},
        {"SELECT count(*) FROM (SELECT sum(CASE WHEN text = 'sent' THEN 1 ELSE 0 END) AS sent, "
         "sum(CASE WHEN text = 'received' THEN 1 ELSE 0 END) AS received FROM entry) AS e "
         "WHERE sent <> received",
         "0"},
    };
    for (const auto& [sql, expected] : wanted) {
      auto result = database_->query(sql);
      if (!result) return result.error();
      const std::string found = base::to_string(result->rows.at(0).at(0));
      if (found == expected) continue;
      ++findings->half_done;
      findings->words.push_back(fmt::format("{}: {} instead of {}", sql, found, expected));
    }
    return {};
  }

  const std::string library_;
  const std::string schema_;
  Database* database_ = nullptr;
  dispatcher::ProcedureRef<Transfer, TransferReply> transfer_;
  dispatcher::ProcedureRef<Statement, StatementReply> statement_;
  int64_t acknowledged_[kClients] = {};
  std::map<int64_t, std::vector<int64_t>> received_;  // cents, by account, in the entries' order
};

}  // namespace

std::unique_ptr<Workload> make_bank(const std::string& library, const std::string& schema) {
  return std::make_unique<BankWorkload>(library, schema);
}

}  // namespace diptych::crash
