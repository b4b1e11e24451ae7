// get_each while other workers insert, erase, insert again and update the rows of its keys:
// whatever the index, it finds the rows that the snapshot has, those of the transaction's own
// included, and each as one transaction left it.

#include <array>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "tests/oltp/engine_fixture.h"
#include "tests/sanitizers.h"

namespace diptych::oltp::test {
namespace {

using base::ErrorCode;
using base::Result;

// A key has an account and an entry of the same value, or neither. Keys belong to shelves, key by
// key in turn; a parcel has the number of a shelf's rows as its weight, and their sum as its price.
constexpr int64_t kShelvedKeys = 96;
constexpr int64_t kShelves = 4;
constexpr int32_t kEntriesAccount = 7;
constexpr uint64_t kGetEachLongest = 60'000'000'000;

struct Contents {
  int64_t rows = 0;
  int64_t sum = 0;
  bool operator==(const Contents&) const = default;
  friend std::ostream& operator<<(std::ostream& out, const Contents& contents) {
    return out << contents.rows << " rows of " << contents.sum;
  }
};
using Shelves = std::array<Contents, kShelves>;

std::string name_of_key(int64_t key) {
  return "key " + std::to_string(key);
}
std::string note_of_value(int64_t value) {
  return std::string(40, 'v') + std::to_string(value);
}

// All keys, beginning with one of the transaction's own choice.
std::vector<int64_t> turned_keys(Transaction& txn) {
  std::vector<int64_t> keys;
  const uint64_t first = txn.random();
  for (int64_t i = 0; i < kShelvedKeys; ++i) {
    keys.push_back((static_cast<int64_t>(first % kShelvedKeys) + 5 * i) % kShelvedKeys);
  }
  return keys;
}

// What get_each finds by an index. to_key(key) makes the index's key; check(values, key) returns
// the row's value.
template <auto... Columns, class Ref, class ToKey, class Check>
Result<Shelves> found_by(Transaction& txn, const Ref& index, const ToKey& to_key,
                         const Check& check) {
  const std::vector<int64_t> keys = turned_keys(txn);
  std::vector<typename Ref::Parts> wanted;
  for (const int64_t key : keys) wanted.push_back(to_key(key));
  Shelves found;
  size_t behind = 0;
  auto done = txn.get_each<Columns...>(index, wanted, [&](size_t i, const auto& values) {
    EXPECT_GE(i, behind) << "a key's row comes once, in the order of the keys";
    behind = i + 1;
    Contents& shelf = found[static_cast<size_t>(keys[i] % kShelves)];
    ++shelf.rows;
    shelf.sum += check(values, keys[i]);
  });
  if (!done) return done.error();
  return found;
}

Result<void> expect_shelves(const Bank& bank, Transaction& txn) {
  Shelves all;
  for (int64_t shelf = 0; shelf < kShelves; ++shelf) {
    auto counted = txn.get<&Parcel::weight, &Parcel::price>(bank.parcel_pkey, shelf);
    if (!counted) return counted.error();
    all[static_cast<size_t>(shelf)] = {std::get<0>(*counted), std::get<1>(*counted)};
  }
  const auto value_of = [](const auto& values, int64_t key) {
    const auto& [id, balance, note] = values;
    EXPECT_EQ(id, key);
    EXPECT_EQ(note.view(), note_of_value(balance));
    return balance;
  };
  const auto by_id = found_by<&Account::id, &Account::balance, &Account::note>(
      txn, bank.account_pkey, [](int64_t key) { return std::tuple(key); }, value_of);
  if (!by_id) return by_id.error();
  EXPECT_EQ(*by_id, all);
  const auto by_name = found_by<&Account::id, &Account::balance, &Account::note>(
      txn, bank.account_name,
      [](int64_t key) {
        const std::string name = name_of_key(key);
        return std::tuple<base::Varchar<16>>(std::string_view(name));
      },
      value_of);
  if (!by_name) return by_name.error();
  EXPECT_EQ(*by_name, all);
  const auto by_number = found_by<&Entry::number, &Entry::amount>(
      txn, bank.entry_pkey,
      [](int64_t key) { return std::tuple(int64_t{kEntriesAccount}, static_cast<int32_t>(key)); },
      [](const auto& values, int64_t key) {
        const auto& [number, amount] = values;
        EXPECT_EQ(number, key);
        return *amount;
      });
  if (!by_number) return by_number.error();
  EXPECT_EQ(*by_number, all);
  return {};
}

Result<void> insert_key(const Bank& bank, Transaction& txn, int64_t key, int64_t value) {
  const std::string name = name_of_key(key);
  const std::string note = note_of_value(value);
  auto account = txn.insert(bank.account,
                            Account{key, 0, std::string_view(name), value, std::string_view(note)});
  if (!account) return account.error();
  auto entry = txn.insert(bank.entry, Entry{kEntriesAccount, static_cast<int32_t>(key), value});
  if (!entry) return entry.error();
  return {};
}

// Adds what changes to *change.
Result<void> change_key(const Bank& bank, Transaction& txn, int64_t key, Contents* change) {
  const auto value = static_cast<int64_t>(txn.random() % 1000);
  auto account = txn.get_for_update<&Account::balance>(bank.account_pkey, key);
  if (!account) {
    if (account.code() != ErrorCode::kNotFound) return account.error();
    *change = {change->rows + 1, change->sum + value};
    return insert_key(bank, txn, key, value);
  }
  auto entry = txn.get_for_update<&Entry::amount>(bank.entry_pkey, kEntriesAccount, key);
  if (!entry) return entry.error();
  const int64_t before = account->values;
  EXPECT_EQ(*entry->values, before);
  const uint64_t what = txn.random() % 4;
  if (what < 2) {
    const std::string note = note_of_value(value);
    txn.update(*account, set<&Account::balance>(value),
               set<&Account::note>(std::string_view(note)));
    txn.update(*entry, set<&Entry::amount>(value));
    change->sum += value - before;
    return {};
  }
  txn.erase(*account);
  txn.erase(*entry);
  *change = {change->rows - 1, change->sum - before};
  if (what == 2) return {};
  *change = {change->rows + 1, change->sum + value};
  return insert_key(bank, txn, key, value);
}

Result<void> note_change(const Bank& bank, Transaction& txn, int64_t shelf, const Contents& by) {
  auto row = txn.get_for_update<&Parcel::weight, &Parcel::price>(bank.parcel_pkey, shelf);
  if (!row) return row.error();
  const auto& [rows, sum] = row->values;
  txn.update(*row, set<&Parcel::weight>(rows + by.rows), set<&Parcel::price>(sum + by.sum));
  return {};
}

// Some claim their shelf first, so that they meet others there; some meet them at the keys.
Result<void> change_shelf(const Bank& bank, Transaction& txn, uint64_t kind) {
  const auto shelf = static_cast<int64_t>(txn.random() % kShelves);
  if (kind % 2 == 0) {
    if (auto claimed = txn.get_for_update(bank.parcel_pkey, shelf); !claimed)
      return claimed.error();
  }
  Contents change;
  for (uint64_t i = 0; i < 1 + kind % 3; ++i) {
    const int64_t key =
        static_cast<int64_t>(txn.random() % (kShelvedKeys / kShelves)) * kShelves + shelf;
    if (auto done = change_key(bank, txn, key, &change); !done) return done;
  }
  if (auto noted = note_change(bank, txn, shelf, change); !noted) return noted;
  if (kind % 4 == 1) {
    if (auto right = expect_shelves(bank, txn); !right) return right;  // its own writes included
  }
  return kind % 8 == 0 ? Result<void>(txn.abort("it goes back")) : Result<void>();
}

void change_shelves(uint32_t workers, IsolationLevel level) {
  constexpr size_t kCalls = diptych::test::kSanitized ? 600 : 4'000;
  Bank bank(workers, 1'000'000, kGetEachLongest, level);
  for (int64_t shelf = 0; shelf < kShelves; ++shelf) {
    ASSERT_TRUE(bank.run([&](Transaction& txn) -> Result<void> {
      auto row = txn.insert(bank.parcel, Parcel{shelf, 0, 0, 0, {}, {}});
      return row ? Result<void>() : row.error();
    }));
  }
  std::mt19937_64 random(workers);
  for (int batch = 0; batch < 3; ++batch) {
    std::vector<Bank::Body> bodies;
    for (size_t i = 0; i < kCalls; ++i) {
      bodies.push_back([&bank, kind = random()](Transaction& txn) {
        for (uint64_t skipped = 0; skipped < kind % 5; ++skipped) txn.random();
        return kind % 4 == 2 ? expect_shelves(bank, txn) : change_shelf(bank, txn, kind / 4);
      });
    }
    for (const Bank::Call& call : bank.run_all(bodies)) {
      ASSERT_TRUE(call.outcome() || call.outcome().code() == ErrorCode::kAborted)
          << call.outcome().error().to_string();
    }
    bank.expect_replica_agrees();
    EXPECT_TRUE(bank.run([&](Transaction& txn) { return expect_shelves(bank, txn); }));
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(GetEachStress, FindsTheRowsOfItsSnapshotAndItsOwn) {
  for (const IsolationLevel level : {IsolationLevel::kSnapshot, IsolationLevel::kSerializable}) {
    for (const uint32_t workers : {2u, 5u}) {
      SCOPED_TRACE(workers);
      change_shelves(workers, level);
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace diptych::oltp::test
