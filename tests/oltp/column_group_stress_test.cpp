// Column groups under many transactions: one worker against a sequential reference, with random
// groups; and several, with invariants across the groups of a row and across rows.

#include <atomic>
#include <map>
#include <random>
#include <thread>

#include "tests/oltp/engine_fixture.h"

namespace diptych::oltp::test {
namespace {

using base::ErrorCode;
using base::Result;

struct ModelParcel {
  int64_t shelf;
  int64_t weight;
  int64_t price;
  std::string note;
  int32_t stops;
  bool operator==(const ModelParcel&) const = default;
};
using ParcelModel = std::map<int64_t, ModelParcel>;

ModelParcel model_of(const Parcel& row) {
  return {row.shelf, row.weight, row.price, std::string(row.note.view()),
          row.stops.is_null ? -1 : row.stops.value};
}

// weight, price, note and stops, each in one of up to five groups.
ColumnGroups random_groups(std::mt19937_64* random) {
  ColumnGroups groups(4);
  for (uint16_t column = 2; column < 6; ++column) {
    const uint64_t group = (*random)() % 5;
    if (group != 4) groups[group].push_back(base::ColumnId(column));
  }
  std::erase_if(groups, [](const auto& group) { return group.empty(); });
  return groups;
}

class ParcelPlayer {
 public:
  ParcelPlayer(Bank* bank, uint64_t seed) : bank_(bank), random_(seed) {}

  // One transaction: on the bank, and on a copy of the model that is kept if the bank commits.
  Result<void> play(Transaction& txn, ParcelModel* model) {
    ParcelModel copy = *model;
    for (uint64_t step = 1 + below(8); step != 0; --step) {
      step_on(txn, &copy);
      check(txn, copy);
    }
    if (below(4) == 0) return txn.abort("one in four");
    *model = std::move(copy);
    return {};
  }

 private:
  uint64_t below(uint64_t bound) { return random_() % bound; }
  std::string note() { return std::string(below(101), static_cast<char>('a' + below(26))); }

  void step_on(Transaction& txn, ParcelModel* model) {
    const auto id = static_cast<int64_t>(below(10));
    const auto at = model->find(id);
    const bool present = at != model->end();
    const auto number = static_cast<int64_t>(below(100));
    if (below(3) == 0) {
      const ModelParcel row{static_cast<int64_t>(below(3)), number, number + 1, note(), -1};
      auto inserted =
          txn.insert(bank_->parcel,
                     Parcel{id, row.shelf, row.weight, row.price, std::string_view(row.note), {}});
      EXPECT_EQ(inserted.ok(), !present);
      if (inserted) model->emplace(id, row);
      return;
    }
    auto found = txn.find<&Parcel::price>(bank_->parcel_pkey, id);
    EXPECT_EQ(found.ok(), present);
    if (!present) return;
    ModelParcel& row = at->second;
    EXPECT_EQ(found->values, row.price);
    switch (below(6)) {
      case 0: {
        auto claimed = txn.claim<Parcel, &Parcel::weight>(found->handle);
        EXPECT_EQ(claimed->values, row.weight);
        row.weight = number;
        txn.update(*claimed, set<&Parcel::weight>(number));
        return;
      }
      case 1: {
        auto claimed = txn.get_for_update<&Parcel::note, &Parcel::price>(bank_->parcel_pkey, id);
        EXPECT_EQ(std::get<0>(claimed->values).view(), row.note);
        row.note = note();
        row.price = number;
        txn.update(*claimed, set<&Parcel::note>(std::string_view(row.note)),
                   set<&Parcel::price>(number));
        return;
      }
      case 2: {
        auto claimed = txn.claim<Parcel, &Parcel::stops, &Parcel::shelf>(found->handle);
        row.stops = static_cast<int32_t>(number);
        row.shelf = static_cast<int64_t>(below(3));
        txn.update(*claimed, set<&Parcel::stops>(row.stops), set<&Parcel::shelf>(row.shelf));
        return;
      }
      case 3: {
        auto claimed = txn.claim<Parcel>(found->handle);
        EXPECT_EQ(model_of(claimed->values), row);
        row.weight = row.price = number;
        txn.update(*claimed, set<&Parcel::weight>(number), set<&Parcel::price>(number));
        return;
      }
      case 4: {  // a claim is no write
        EXPECT_TRUE((txn.claim<Parcel, &Parcel::stops>(found->handle)));
        return;
      }
      default: {
        auto claimed = txn.claim<Parcel, &Parcel::price>(found->handle);
        txn.erase(*claimed);
        model->erase(at);
      }
    }
  }

  void check(Transaction& txn, const ParcelModel& model) {
    for (int64_t id = 0; id < 10; ++id) {
      auto row = txn.get(bank_->parcel_pkey, id);
      const auto expected = model.find(id);
      ASSERT_EQ(row.ok(), expected != model.end());
      if (row) {
        EXPECT_EQ(model_of(*row), expected->second);
      }
    }
    const auto shelf = static_cast<int64_t>(below(3));
    std::map<int64_t, int64_t> weights;
    auto scanned = txn.scan<&Parcel::id, &Parcel::weight>(
        bank_->parcel_shelf, prefix(bank_->parcel_shelf, shelf), {},
        [&](const RowHandle&, const std::tuple<int64_t, int64_t>& row) {
          weights[std::get<0>(row)] = std::get<1>(row);
          return ScanStep::kContinue;
        });
    EXPECT_TRUE(scanned);
    std::map<int64_t, int64_t> expected;
    for (const auto& [id, row] : model) {
      if (row.shelf == shelf) expected[id] = row.weight;
    }
    EXPECT_EQ(weights, expected);
  }

  Bank* bank_;
  std::mt19937_64 random_;
};

// Also where the readers copy versions, as several workers do: one request a batch runs alone.
TEST(ColumnGroupModel, ATableWithRandomGroupsBehavesLikeAMap) {
  for (uint64_t seed = 1; seed <= 24; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const bool alone = seed % 2 == 0;
    Bank bank(alone ? 1 : 2, 0, 10'000'000'000, IsolationLevel::kSnapshot, random_groups(&random));
    ParcelModel model;
    ParcelPlayer player(&bank, seed);
    for (int batch = 0; batch < 40; ++batch) {
      const std::vector<Bank::Body> bodies(
          alone ? 6 : 1, [&](Transaction& txn) { return player.play(txn, &model); });
      static_cast<void>(bank.run_all(bodies));
      bank.expect_replica_agrees();
      ParcelModel there;
      bank.engine->for_each_row(bank.parcel.table, [&](base::RowId, const std::byte* bytes) {
        const auto& row = *reinterpret_cast<const Parcel*>(bytes);
        there.emplace(row.id, model_of(row));
      });
      EXPECT_EQ(there, model);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

// Parcels whose weights and prices sum up to a constant, each in its group; whose note says the
// price (one group); whose stops are the shelf (two groups). Writers of one group, of two, of the
// row; erases with an insert of the same row; rollbacks.
class Depot {
 public:
  static constexpr int64_t kParcels = 6;

  explicit Depot(uint32_t workers) : bank(workers, 1'000'000) {
    EXPECT_TRUE(bank.run([&](Transaction& txn) -> Result<void> {
      for (int64_t id = 0; id < kParcels; ++id) EXPECT_TRUE(put(txn, id, 100, 100, 7));
      return {};
    }));
  }

  base::Result<RowHandle> put(Transaction& txn, int64_t id, int64_t weight, int64_t price,
                              int64_t shelf) {
    const std::string note = std::to_string(price);
    return txn.insert(bank.parcel, Parcel{id, shelf, weight, price, std::string_view(note),
                                          static_cast<int32_t>(shelf)});
  }

  template <auto Column>
  Result<void> move(Transaction& txn, int64_t from, int64_t to) {
    auto source = txn.get_for_update<Column>(bank.parcel_pkey, from);
    if (!source) return source.error();
    set_number<Column>(txn, *source, source->values - 1);
    let_others(txn);
    auto target = txn.get_for_update<Column>(bank.parcel_pkey, to);
    if (!target) return target.error();
    set_number<Column>(txn, *target, target->values + 1);
    return {};
  }
  template <auto Column>
  void set_number(Transaction& txn, const Claimed<Parcel, int64_t>& row, int64_t value) {
    const std::string note = std::to_string(value);
    if constexpr (base::column_of<Column>() == base::column_of<&Parcel::price>()) {
      txn.update(row, set<Column>(value), set<&Parcel::note>(std::string_view(note)));
    } else {
      txn.update(row, set<Column>(value));
    }
  }

  // From a row's weight to its price.
  Result<void> convert(Transaction& txn, int64_t id) {
    auto found = txn.find<&Parcel::note>(bank.parcel_pkey, id);
    if (!found) return found.error();
    let_others(txn);
    auto row = txn.claim<Parcel, &Parcel::price, &Parcel::weight>(found->handle);
    if (!row) return row.error();
    const auto& [price, weight] = row->values;
    const std::string note = std::to_string(price + 1);
    txn.update(*row, set<&Parcel::weight>(weight - 1), set<&Parcel::price>(price + 1),
               set<&Parcel::note>(std::string_view(note)));
    return {};
  }

  Result<void> change_shelf(Transaction& txn, int64_t id, int32_t shelf) {
    auto row = txn.get_for_update<&Parcel::shelf, &Parcel::stops>(bank.parcel_pkey, id);
    if (!row) return row.error();
    txn.update(*row, set<&Parcel::shelf>(shelf), set<&Parcel::stops>(shelf));
    return {};
  }

  // Erases the row and inserts it again as it was, under another RowId.
  Result<void> rebuild(Transaction& txn, int64_t id) {
    auto row = txn.get_for_update(bank.parcel_pkey, id);
    if (!row) return row.error();
    const Parcel& old = row->values;
    txn.erase(*row);
    let_others(txn);
    auto inserted = put(txn, id, old.weight, old.price, old.shelf);
    if (!inserted) return inserted.error();
    return {};
  }

  static void let_others(Transaction& txn) {
    if (txn.random() % 2 == 0) std::this_thread::yield();
  }

  Result<void> change(Transaction& txn) {
    const auto from = static_cast<int64_t>(txn.random() % kParcels);
    const auto to = static_cast<int64_t>((from + 1 + txn.random() % (kParcels - 1)) % kParcels);
    Result<void> done;
    switch (txn.random() % 6) {
      case 0: done = move<&Parcel::price>(txn, from, to); break;
      case 1: done = convert(txn, from); break;
      case 2: done = change_shelf(txn, from, static_cast<int32_t>(txn.random() % 5)); break;
      case 3: done = rebuild(txn, from); break;
      default: done = move<&Parcel::weight>(txn, from, to); break;
    }
    if (done && txn.random() % 8 == 0) return txn.abort("one in eight");
    return done;
  }

  Result<void> audit(Transaction& txn) {
    int64_t by_key = 0;
    for (int64_t id = 0; id < kParcels; ++id) {
      let_others(txn);
      auto row = txn.get(bank.parcel_pkey, id);
      if (!row) {
        ++wrong;
        continue;
      }
      by_key += row->weight + row->price;
      if (row->note.view() != std::to_string(row->price)) ++wrong;
      if (row->stops.value != row->shelf) ++wrong;
    }
    int64_t by_scan = 0;
    auto rows = txn.scan<&Parcel::weight, &Parcel::price>(
        bank.parcel_shelf, between(bank.parcel_shelf, std::tuple(0), std::tuple(9)), {},
        [&](const RowHandle&, const std::tuple<int64_t, int64_t>& values) {
          by_scan += std::get<0>(values) + std::get<1>(values);
          return ScanStep::kContinue;
        });
    if (!rows) return rows.error();
    if (by_key != 200 * kParcels || by_scan != by_key || *rows != kParcels) ++wrong;
    return {};
  }

  void run(int batches) {
    for (int batch = 0; batch < batches; ++batch) {
      std::vector<Bank::Body> bodies;
      for (int i = 0; i < 120; ++i) {
        bodies.push_back([this, batch, i](Transaction& txn) {
          for (int skip = 0; skip < batch; ++skip) txn.random();
          return i % 5 == 0 ? audit(txn) : change(txn);
        });
      }
      for (const auto& call : bank.run_all(bodies)) {
        EXPECT_TRUE(call.outcome() || call.outcome().code() == ErrorCode::kAborted);
      }
      bank.expect_replica_agrees();
      if (::testing::Test::HasFailure()) return;
    }
    EXPECT_EQ(wrong, 0);
    EXPECT_GT(bank.engine->metrics().conflicts, 0u) << "the workers were never at it at once";
  }

  Bank bank;
  std::atomic<int> wrong{0};
};

TEST(ColumnGroupStressOfADepot, InvariantsAcrossGroupsHoldInEverySnapshotOfTwoWorkers) {
  Depot(2).run(100);
}
TEST(ColumnGroupStressOfADepot, InvariantsAcrossGroupsHoldInEverySnapshotOfEightWorkers) {
  Depot(8).run(60);
}

}  // namespace
}  // namespace diptych::oltp::test
