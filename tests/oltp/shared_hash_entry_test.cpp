// Two keys whose hashes agree in all bits that a hash index has of them.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "oltp/hash_index.h"
#include "oltp/key_hash.h"
#include "tests/oltp/engine_fixture.h"

namespace diptych::oltp::test {
namespace {

using base::Result;

// Two names that a hash index cannot tell apart: a row has one entry for both.
std::pair<std::string, std::string> names_of_one_entry(const Bank& bank) {
  const base::TableSchema& schema = bank.catalog.table(bank.account.table);
  const base::RowLayout layout(schema);
  const base::KeyEncoder encoder(layout, schema.indexes[1].columns);
  std::vector<std::pair<uint64_t, uint32_t>> hashes;
  const auto name = [](uint32_t number) { return "n" + std::to_string(number); };
  const auto key_of = [&](uint32_t number) {
    const Account row{1, 7, std::string_view(name(number)), 1, {}};
    base::Key key;
    encoder.encode(reinterpret_cast<const std::byte*>(&row), &key);
    return std::string(key.bytes());
  };
  for (uint32_t i = 0; i < 2'000'000; ++i) {
    hashes.emplace_back(key_hash(key_of(i)) << 28, i);  // the bits of an entry and of its bucket
  }
  std::sort(hashes.begin(), hashes.end());
  for (size_t i = 1; i < hashes.size(); ++i) {
    const auto [a, b] = std::pair(hashes[i - 1].second, hashes[i].second);
    if (HashIndex::share_entry(key_of(a), key_of(b))) return {name(a), name(b)};
  }
  ADD_FAILURE() << "there are some among so many";
  return {};
}

TEST(SharedHashEntry, LeadsToItsRowUnderEachOfTheKeys) {
  for (const uint32_t workers : {1U, 2U}) {
    Bank bank(workers);
    const auto [one, other] = names_of_one_entry(bank);
    ASSERT_TRUE(bank.put(1, 7, one, 10));
    const auto rename = [&](std::string_view name, bool commits) {
      return bank.run([&, name](Transaction& txn) -> Result<void> {
        auto row = txn.get_for_update(bank.account_pkey, 1);
        if (!row) return row.error();
        txn.update(*row, set<&Account::name>(name));
        return commits ? Result<void>() : txn.abort("never mind");
      });
    };
    const auto is_found_by = [&](std::string_view name) {
      return bank.run([&, name](Transaction& txn) -> Result<void> {
        auto row = txn.get<&Account::id>(bank.account_name, name);
        return row ? Result<void>() : row.error();
      });
    };
    EXPECT_FALSE(rename(other, false));
    EXPECT_TRUE(is_found_by(one));
    EXPECT_TRUE(rename(other, true));
    EXPECT_TRUE(is_found_by(other));
    EXPECT_FALSE(is_found_by(one));
    bank.expect_replica_agrees();
    EXPECT_TRUE(rename("plain", true));
    EXPECT_FALSE(is_found_by(other));
    ASSERT_TRUE(bank.put(2, 7, other, 10));
    EXPECT_TRUE(rename(one, true));
    EXPECT_TRUE(is_found_by(one));
    EXPECT_TRUE(is_found_by(other));
    bank.expect_replica_agrees();
  }
}

}  // namespace
}  // namespace diptych::oltp::test
