// Random procedures on one worker against a std::map: reads, writes, aborts, scans by every index.

#include <random>

#include "tests/oltp/engine_fixture.h"

namespace diptych::oltp::test {
namespace {

using base::ErrorCode;
using base::Result;

struct ModelRow {
  int32_t branch;
  std::string name;
  int64_t balance;
  std::string note;
  bool operator==(const ModelRow&) const = default;
};
using Model = std::map<int64_t, ModelRow>;

class Player {
 public:
  Player(Bank* bank, uint64_t seed) : bank_(bank), random_(seed) {}

  // One transaction: on the bank, and on a copy of the model that is kept if the bank commits.
  Result<void> play(Transaction& txn, Model* model) {
    Model copy = *model;
    for (uint64_t step = 1 + below(6); step != 0; --step) {
      const bool failed = !step_on(txn, &copy);
      if (failed) return Result<void>(ErrorCode::kAlreadyExists);
      check_scans(txn, copy);
    }
    if (below(5) == 0) return txn.abort("one in five");
    *model = std::move(copy);
    return {};
  }

 private:
  uint64_t below(uint64_t bound) { return random_() % bound; }
  std::string name() { return "name" + std::to_string(below(25)); }
  std::string note() { return std::string(below(101), static_cast<char>('a' + below(26))); }

  static bool has_name(const Model& model, const std::string& name) {
    return std::any_of(model.begin(), model.end(),
                       [&](const auto& row) { return row.second.name == name; });
  }

  // False where an update ran into a taken name: the transaction is lost.
  bool step_on(Transaction& txn, Model* model) {
    const auto id = static_cast<int64_t>(below(15));
    const auto in_model = model->find(id);
    const bool present = in_model != model->end();
    if (below(3) == 0) {
      const ModelRow row{static_cast<int32_t>(below(3)), name(), static_cast<int64_t>(below(10)),
                         note()};
      auto inserted = txn.insert(bank_->account, Account{id, row.branch, std::string_view(row.name),
                                                         row.balance, std::string_view(row.note)});
      const bool taken = present || has_name(*model, row.name);
      EXPECT_EQ(inserted.ok(), !taken);
      if (!taken) model->emplace(id, row);
      return true;
    }
    auto row = txn.get_for_update(bank_->account_pkey, id);
    EXPECT_EQ(row.ok(), present);
    if (!present) return true;
    ModelRow& expected = in_model->second;
    EXPECT_EQ(row->values.note.view(), expected.note);
    EXPECT_EQ(row->values.balance, expected.balance);
    switch (below(4)) {
      case 0:
        txn.erase(*row);
        model->erase(in_model);
        return true;
      case 1: {
        expected.balance = static_cast<int64_t>(below(10));
        expected.branch = static_cast<int32_t>(below(3));
        txn.update(*row, set<&Account::balance>(expected.balance),
                   set<&Account::branch>(expected.branch));
        return true;
      }
      case 2: {
        expected.note = note();
        txn.update(*row, set<&Account::note>(std::string_view(expected.note)));
        return true;
      }
      default: {
        const std::string wanted = name();
        const bool taken = expected.name != wanted && has_name(*model, wanted);
        txn.update(*row, set<&Account::name>(std::string_view(wanted)));
        expected.name = wanted;
        return !taken;
      }
    }
  }

  void check_scans(Transaction& txn, const Model& model) {
    const auto branch = static_cast<int32_t>(below(3));
    std::vector<std::pair<int64_t, int64_t>> expected;  // balance, id
    for (const auto& [id, row] : model) {
      if (row.branch == branch) expected.emplace_back(row.balance, id);
    }
    std::sort(expected.begin(), expected.end());
    std::vector<std::pair<int64_t, int64_t>> met;
    const auto collect = [&](const RowHandle&, const Account& row) {
      met.emplace_back(row.balance, row.id);
      return ScanStep::kContinue;
    };
    const Direction direction = below(2) == 0 ? Direction::kForward : Direction::kBackward;
    EXPECT_TRUE(txn.scan(bank_->account_balance, prefix(bank_->account_balance, branch),
                         {direction}, collect));
    if (direction == Direction::kBackward) std::reverse(met.begin(), met.end());
    EXPECT_TRUE(std::is_sorted(met.begin(), met.end(),
                               [](const auto& a, const auto& b) { return a.first < b.first; }));
    std::sort(met.begin(), met.end());
    EXPECT_EQ(met, expected);
    met.clear();
    EXPECT_TRUE(
        txn.scan(bank_->account_branch, prefix(bank_->account_branch, branch), {}, collect));
    std::sort(met.begin(), met.end());
    EXPECT_EQ(met, expected);
    const std::string wanted = name();
    EXPECT_EQ(txn.get(bank_->account_name, std::string_view(wanted)).ok(), has_name(model, wanted));
  }

  Bank* bank_;
  std::mt19937_64 random_;
};

TEST(EngineModel, OneWorkerBehavesLikeAMap) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Bank bank;
    Model model;
    Player player(&bank, seed);
    for (int batch = 0; batch < 40; ++batch) {
      const std::vector<Bank::Body> bodies(
          1 + batch % 12, [&](Transaction& txn) { return player.play(txn, &model); });
      static_cast<void>(bank.run_all(bodies));
      bank.expect_replica_agrees();
      std::map<int64_t, ModelRow> there;
      bank.engine->for_each_row(bank.account.table, [&](base::RowId, const std::byte* bytes) {
        const auto& row = *reinterpret_cast<const Account*>(bytes);
        there[row.id] = {row.branch, std::string(row.name.view()), row.balance,
                         std::string(row.note.view())};
      });
      EXPECT_EQ(there, model);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace diptych::oltp::test
