// Random procedures on tables of random schemas, through all that a database goes through between
// batches: each operation of every run is compared with the model's state at the run's snapshot
// and what the run itself has done before it (any_schema_history.h).

#include <cstdlib>
#include <random>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/dispatcher/any_schema_history.h"
#include "tests/dispatcher/bank_fixture.h"
#include "tests/sanitizers.h"

namespace diptych::dispatcher {
namespace {

using any_schema::Counts;
using any_schema::History;
using any_schema::Traits;
using diptych::test::kSanitized;

// Two or three are usual.
constexpr int kLargeHistoriesMax = kSanitized ? 1 : 20;
constexpr int kRounds = kSanitized ? 1 : 2;
constexpr size_t kCallsMax = kSanitized ? 40 : 120;
constexpr size_t kLargeCallsMax = 15;
constexpr size_t kCrowdedCallsMax = kSanitized ? 100 : 1000;

// Of all histories, to see one again, as far as its threads meet again; a null pointer: there is
// none.
const char* given_seed() {
  return std::getenv("DIPTYCH_ANY_SCHEMA_SEED");
}

class AnySchemaModel : public DirectoryFixture {
 protected:
  void run_history(const std::string& name, const Traits& traits) {
    const uint64_t seed =
        given_seed() != nullptr ? std::strtoull(given_seed(), nullptr, 10) : std::random_device()();
    SCOPED_TRACE(name + ", seed " + std::to_string(seed));
    // The engine's own lines on standard error name the directory, and so the seed, even where it
    // stops the program.
    History history(seed, traits, path(name + "_" + std::to_string(seed)));
    for (int round = 0; round < (traits.large ? 1 : kRounds) && !HasFailure(); ++round) {
      history.go_round(traits.crowded ? kCrowdedCallsMax
                       : traits.large ? kLargeCallsMax
                                      : kCallsMax);
    }
    ASSERT_FALSE(HasFailure()) << history.text();
    add(history.counts());
    met_.add(history.met());
  }

  void add(const Counts& more) {
    all_.commits += more.commits;
    all_.indexes += more.indexes;
    all_.drops += more.drops;
    all_.truncations += more.truncations;
    all_.loads += more.loads;
    all_.checkpoints += more.checkpoints;
    all_.crashes += more.crashes;
    all_.closes += more.closes;
    all_.rebuilds += more.rebuilds;
  }

  Counts all_;
  any_schema::Met met_;
};

TEST_F(AnySchemaModel, EachOperationOfRandomProceduresIsWhatTheModelSays) {
  ASSERT_NO_FATAL_FAILURE(run_history("narrow", {}));
  ASSERT_NO_FATAL_FAILURE(run_history("another", {}));
  ASSERT_NO_FATAL_FAILURE(run_history("in_memory", {.in_memory = true}));
  ASSERT_NO_FATAL_FAILURE(run_history("crowded", {.crowded = true}));
  ASSERT_NO_FATAL_FAILURE(run_history("wide", {.wide = true}));
  // Of each of the four at a path.
  EXPECT_EQ(all_.checkpoints, 4u * kRounds);
  EXPECT_EQ(all_.crashes, 8u * kRounds);
  EXPECT_EQ(all_.closes, 4u * kRounds);
  EXPECT_EQ(all_.rebuilds, 5u * kRounds);
  EXPECT_EQ(all_.truncations, 5u * kRounds);
  EXPECT_GE(all_.drops, 5u * kRounds);
  // Chance has these: a small part of what it gives.
  EXPECT_GT(all_.indexes, 0u);
  EXPECT_GT(all_.loads, 0u);
  EXPECT_GT(all_.commits, kSanitized ? 20u : 200u);
}

// What chance leaves out of one history comes in another.
TEST_F(AnySchemaModel, LargeTablesGoThroughAllThatBlocksDo) {
  const int histories_max = given_seed() != nullptr ? 1 : kLargeHistoriesMax;
  for (int i = 0; i < histories_max && !met_.missing().empty(); ++i) {
    ASSERT_NO_FATAL_FAILURE(run_history("large", {.large = true}));
  }
  EXPECT_GT(met_.blocks_made, 0u);
  if (kSanitized || given_seed() != nullptr) return;  // one history need not have all
  EXPECT_THAT(met_.missing(), ::testing::IsEmpty());
}

}  // namespace
}  // namespace diptych::dispatcher
