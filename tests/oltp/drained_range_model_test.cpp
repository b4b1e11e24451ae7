// Transactions that scan a range again and again while they erase its rows, move them away and put
// others in: a range that is known to be empty is not scanned twice, and nothing is missed.

#include <random>
#include <set>
#include <tuple>

#include "tests/oltp/schedule.h"
#include "tests/sanitizers.h"

namespace diptych::oltp::test {
namespace {

using base::ErrorCode;
using base::Result;
using diptych::test::kSanitized;

constexpr uint64_t kBatchMax = 10'000'000'000;

// Fewer operations than a quadratic drain takes.
constexpr int64_t kDrained = 4'000;
constexpr uint64_t kOperationsMax = 12 * kDrained;

struct DrainCase {
  uint32_t workers;
  IsolationLevel level;
  Direction direction;
};
constexpr DrainCase kDrainCases[] = {
    {1, IsolationLevel::kSnapshot, Direction::kForward},
    {1, IsolationLevel::kSnapshot, Direction::kBackward},
    {2, IsolationLevel::kSnapshot, Direction::kForward},
    {2, IsolationLevel::kSerializable, Direction::kForward},
    {2, IsolationLevel::kSerializable, Direction::kBackward},
};

Bank drained_bank(const DrainCase& with) {
  return Bank(with.workers, 0, kBatchMax, with.level, kParcelGroups, kOperationsMax);
}

Parcel parcel_on(int64_t id, int64_t shelf) {
  return {id, shelf, 0, 0, std::string_view(), {}};
}

TEST(DrainedRange, AQueueIsDrainedRowByRowInLinearlyManyOperations) {
  for (const DrainCase& with : kDrainCases) {
    Bank bank = drained_bank(with);
    const auto fill = [&](Transaction& txn) -> Result<void> {
      for (int32_t i = 0; i < kDrained; ++i) {
        if (auto row = txn.insert(bank.entry, Entry{1 + i % 2, i, {}}); !row) return row.error();
      }
      return {};
    };
    ASSERT_TRUE(bank.run(fill));
    const auto pop_first = [&](Transaction& txn) -> Result<uint64_t> {
      return txn.scan(bank.entry_pkey, between(bank.entry_pkey, std::tuple(1), std::tuple(2)),
                      {with.direction, 1}, [&](const RowHandle& handle, const auto&) {
                        if (auto row = txn.claim<Entry>(handle)) txn.erase(*row);
                        return ScanStep::kContinue;
                      });
    };
    const auto drain = [&](Transaction& txn) -> Result<void> {
      for (int64_t i = 0; i < kDrained; ++i) {
        const auto popped = pop_first(txn);
        if (!popped) return popped.error();
        EXPECT_EQ(*popped, 1u);
      }
      for (int64_t i = 0; i < kDrained; ++i) {
        const auto none = pop_first(txn);
        if (!none) return none.error();
        EXPECT_EQ(*none, 0u);
      }
      return {};
    };
    const Result<void> drained = bank.run(drain);
    EXPECT_TRUE(drained) << drained.error().to_string();
    EXPECT_EQ(bank.engine->row_count(bank.entry.table), 0u);
    bank.expect_replica_agrees();
  }
}

TEST(DrainedRange, RowsOfOneKeyLeaveTheRangeInLinearlyManyOperations) {
  for (const DrainCase& with : kDrainCases) {
    Bank bank = drained_bank(with);
    const auto fill = [&](Transaction& txn) -> Result<void> {
      for (int64_t i = 0; i < kDrained; ++i) {
        if (auto row = txn.insert(bank.parcel, parcel_on(i, 5)); !row) return row.error();
      }
      return {};
    };
    ASSERT_TRUE(bank.run(fill));
    const auto drain = [&](Transaction& txn) -> Result<void> {
      for (int64_t i = 0; i < kDrained; ++i) {
        // A row that moves behind the range, for either direction.
        const auto move = [&](const RowHandle& handle, const auto&) {
          if (auto row = txn.claim<Parcel>(handle)) txn.update(*row, set<&Parcel::shelf>(9));
          return ScanStep::kStop;
        };
        const auto moved = txn.scan(bank.parcel_shelf, prefix(bank.parcel_shelf, int64_t{5}),
                                    {with.direction}, move);
        if (!moved) return moved.error();
        EXPECT_EQ(*moved, 1u);
      }
      return {};
    };
    const Result<void> drained = bank.run(drain);
    EXPECT_TRUE(drained) << drained.error().to_string();
    bank.expect_replica_agrees();
  }
}

// In the order of an ascending scan: (shelf, row, id).
using Place = std::tuple<int64_t, uint64_t, int64_t>;

// One transaction's random steps. What it begins with is what a scan of all shelves shows.
class ShelfWork {
 public:
  ShelfWork(const Bank& bank, uint64_t salt, Transaction* txn)
      : bank_(bank), salt_(salt), txn_(*txn) {}

  Result<void> run(int steps) {
    const auto all = scan_from(0, kShelves, {});
    if (!all) return all.error();
    places_.insert(all->begin(), all->end());
    // Some work at the front, some at the back, some anywhere.
    const uint64_t manner = below(3);
    for (int i = 0; i < steps; ++i) {
      auto done = below(4) == 0 ? insert() : scan_some(manner);
      if (!done) return done;
      if (::testing::Test::HasFailure()) return {};
    }
    return {};
  }

 private:
  static constexpr int64_t kShelves = 12;

  uint64_t below(uint64_t bound) { return txn_.random() % bound; }
  int64_t some_shelf() { return static_cast<int64_t>(below(kShelves)); }

  Result<void> insert() {
    const auto id = static_cast<int64_t>((txn_.random() ^ salt_) >> 1);
    const int64_t shelf = some_shelf();
    auto row = txn_.insert(bank_.parcel, parcel_on(id, shelf));
    if (!row) return row.error();
    places_.insert({shelf, row->row_id.value, id});
    return {};
  }

  Result<std::vector<Place>> scan_from(int64_t first, int64_t last, const ScanOptions& options) {
    std::vector<Place> seen;
    handles_.clear();
    const auto visit = [&](const RowHandle& handle, const std::tuple<int64_t, int64_t>& values) {
      seen.push_back({std::get<1>(values), handle.row_id.value, std::get<0>(values)});
      handles_.push_back(handle);
      return ScanStep::kContinue;
    };
    auto done = txn_.scan<&Parcel::id, &Parcel::shelf>(
        bank_.parcel_shelf, between(bank_.parcel_shelf, std::tuple(first), std::tuple(last)),
        options, visit);
    if (!done) return done.error();
    return seen;
  }

  Result<void> scan_some(uint64_t manner) {
    int64_t first = manner == 0 ? 0 : some_shelf();
    int64_t last = manner == 1 ? kShelves : some_shelf();
    if (below(4) == 0) first = 0, last = kShelves;
    const Direction direction = below(4) == 0 ? some_direction()
                                : manner == 0 ? Direction::kForward
                                : manner == 1 ? Direction::kBackward
                                              : some_direction();
    const uint64_t limit = below(8) == 0 ? 40 : 1 + below(2);
    const auto seen = scan_from(first, last, {direction, limit});
    if (!seen) return seen.error();
    EXPECT_EQ(*seen, expected(first, last, direction, limit));
    for (size_t i = 0; i < seen->size(); ++i) {
      if (auto done = change((*seen)[i], handles_[i]); !done) return done;
    }
    return {};
  }
  Direction some_direction() { return below(2) == 0 ? Direction::kForward : Direction::kBackward; }

  std::vector<Place> expected(int64_t first, int64_t last, Direction direction, uint64_t limit) {
    std::vector<Place> rows;
    for (const Place& place : places_) {
      if (std::get<0>(place) >= first && std::get<0>(place) <= last) rows.push_back(place);
    }
    if (direction == Direction::kBackward) std::ranges::reverse(rows);
    if (rows.size() > limit) rows.resize(limit);
    return rows;
  }

  Result<void> change(const Place& place, const RowHandle& handle) {
    const uint64_t dice = below(10);
    if (dice == 0) return {};
    auto row = txn_.claim<Parcel>(handle);
    if (!row) return row.error();
    places_.erase(place);
    if (dice < 7) {
      txn_.erase(*row);
      return {};
    }
    const int64_t shelf = some_shelf();
    txn_.update(*row, set<&Parcel::shelf>(shelf));
    places_.insert({shelf, std::get<1>(place), std::get<2>(place)});
    return {};
  }

  const Bank& bank_;
  const uint64_t salt_;  // makes ids differ from other batches'
  Transaction& txn_;
  std::set<Place> places_;
  std::vector<RowHandle> handles_;  // of the newest scan
};

void run_shelf_work(uint32_t workers, IsolationLevel level, uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed) + ", workers " + std::to_string(workers));
  std::mt19937_64 random(seed);
  Bank bank(workers, 1000, kBatchMax, level);
  const auto fill = [&](Transaction& txn) -> Result<void> {
    for (int64_t i = 0; i < 300; ++i) {
      const auto row = txn.insert(bank.parcel, parcel_on(i, static_cast<int64_t>(random() % 13)));
      if (!row) return row.error();
    }
    return {};
  };
  for (int batch = 0; batch < (kSanitized ? 4 : 12); ++batch) {
    if (bank.engine->row_count(bank.parcel.table) < 100) {
      // Ids are free again only if the rows have gone.
      const auto clear = [&](Transaction& txn) -> Result<void> {
        auto done =
            txn.scan(bank.parcel_shelf, between(bank.parcel_shelf, std::tuple(0), std::tuple(100)),
                     {}, [&](const RowHandle& handle, const auto&) {
                       if (auto row = txn.claim<Parcel>(handle)) txn.erase(*row);
                       return ScanStep::kContinue;
                     });
        if (!done) return done.error();
        return {};
      };
      ASSERT_TRUE(bank.run(clear));
      ASSERT_TRUE(bank.run(fill));
    }
    const uint64_t salt = random();
    const std::vector<Bank::Body> bodies(workers, [&bank, salt](Transaction& txn) -> Result<void> {
      for (uint64_t i = salt % 8; i > 0; --i) txn.random();
      auto done = ShelfWork(bank, salt, &txn).run(150);
      // One in eight is rolled back.
      if (done && txn.random() % 8 == 0) return txn.abort("as it happens");
      return done;
    });
    for (const auto& call : bank.run_all(bodies)) {
      ASSERT_TRUE(call.outcome() || call.outcome().code() == ErrorCode::kAborted)
          << call.outcome().error().to_string();
    }
    bank.expect_replica_agrees();
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(DrainedRangeModel, EachScanShowsTheRowsThatAreThere) {
  for (uint64_t seed = 1; seed <= (kSanitized ? 3u : 20u); ++seed) {
    run_shelf_work(1, IsolationLevel::kSnapshot, seed);
    run_shelf_work(2, IsolationLevel::kSnapshot, seed);
    run_shelf_work(2, IsolationLevel::kSerializable, seed);
    if (::testing::Test::HasFailure()) return;
  }
}

// Transaction 0 erases three of five rows of one shelf, one scan each, and looks at a fourth.
class DrainedRangeStress : public ::testing::TestWithParam<Direction> {
 protected:
  DrainedRangeStress() : bank_(2, 0, kBatchMax, IsolationLevel::kSerializable) {
    const auto fill = [this](Transaction& txn) -> Result<void> {
      for (int64_t id = 1; id <= 5; ++id) {
        if (auto row = txn.insert(bank_.parcel, parcel_on(id, 5)); !row) return row.error();
      }
      return {};
    };
    EXPECT_TRUE(bank_.run(fill));
  }

  Result<void> drain(Transaction& txn) {
    const auto erase = [&](const RowHandle& handle, const auto&) {
      if (auto row = txn.claim<Parcel>(handle)) txn.erase(*row);
      return ScanStep::kStop;
    };
    for (int i = 0; i < 3; ++i) {
      const auto done = txn.scan<&Parcel::weight>(bank_.parcel_shelf, shelf(), {GetParam()}, erase);
      if (!done) return done.error();
    }
    const auto look = [&](const RowHandle&, int64_t) { return ScanStep::kStop; };
    const auto done = txn.scan<&Parcel::price>(bank_.parcel_shelf, shelf(), {GetParam()}, look);
    if (!done) return done.error();
    return {};
  }
  KeyRange shelf() const { return prefix(bank_.parcel_shelf, int64_t{5}); }

  bool commits_beside(const Schedule::Step& change) {
    Schedule schedule(2);
    schedule.begin(0).begin(1);
    schedule.step(0, [this](Transaction& txn) { return drain(txn); });
    schedule.step(1, change).end(1).end(0);
    const auto outcomes = schedule.run(&bank_);
    EXPECT_TRUE(outcomes[1]) << outcomes[1].error().to_string();
    EXPECT_TRUE(outcomes[0] || outcomes[0].code() == ErrorCode::kConflict);
    bank_.expect_replica_agrees();
    return static_cast<bool>(outcomes[0]);
  }
  Schedule::Step set_price(int64_t id) {
    return [this, id](Transaction& txn) -> Result<void> {
      auto row = txn.get_for_update<&Parcel::price>(bank_.parcel_pkey, id);
      if (!row) return row.error();
      txn.update(*row, set<&Parcel::price>(7));
      return {};
    };
  }

  Bank bank_;
};

INSTANTIATE_TEST_SUITE_P(Directions, DrainedRangeStress,
                         ::testing::Values(Direction::kForward, Direction::kBackward),
                         [](const auto& instance) {
                           return instance.param == Direction::kForward ? "Forward" : "Backward";
                         });

TEST_P(DrainedRangeStress, ACommitWithoutARowOfTheRangeDoesNotConflict) {
  EXPECT_TRUE(commits_beside([this](Transaction& txn) -> Result<void> {
    if (auto row = txn.insert(bank_.parcel, parcel_on(100, 6)); !row) return row.error();
    return {};
  }));
}

TEST_P(DrainedRangeStress, ARowThatAnotherPutsIntoTheRangeConflicts) {
  EXPECT_FALSE(commits_beside([this](Transaction& txn) -> Result<void> {
    if (auto row = txn.insert(bank_.parcel, parcel_on(100, 5)); !row) return row.error();
    return {};
  }));
}

// The fourth is next to what was known to be empty, in either direction.
TEST_P(DrainedRangeStress, AChangeOfTheColumnThatTheNewestScanReadConflicts) {
  EXPECT_FALSE(commits_beside(set_price(GetParam() == Direction::kForward ? 4 : 2)));
}

}  // namespace
}  // namespace diptych::oltp::test
