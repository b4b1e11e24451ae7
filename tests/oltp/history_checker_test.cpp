// The checker finds each kind of breach in a history made by hand, and none in sound ones.

#include "tests/oltp/history_checker.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace diptych::oltp::test {
namespace {

// Rows 1 and 2 as tokens 1 and 2 at VID 1, with keys 10 and 20; row 3 is not there.
HistoryRun loading_run() {
  return {0, 1, true, {write_of(1, 1, 10), write_of(2, 2, 20)}};
}

History history_of(std::vector<HistoryRun> runs) {
  runs.insert(runs.begin(), loading_run());
  return runs;
}

std::vector<BreachKind> kinds_of(const History& history) {
  std::vector<BreachKind> kinds;
  for (const Breach& breach : find_snapshot_breaches(history)) kinds.push_back(breach.kind);
  std::sort(kinds.begin(), kinds.end());
  kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
  return kinds;
}

using Kinds = std::vector<BreachKind>;

TEST(HistoryChecker, PassesASerialHistory) {
  const History history = history_of({
      {1, 2, true, {read_of(1, 1), write_of(1, 11, 10), read_of(1, 11)}},
      {2, 0, true, {read_of(1, 11), read_of(2, 2), scan_of(0, 99, {{1, 11}, {2, 2}})}},
      {2, 3, true, {read_of(3, kAbsent), write_of(3, 33, 30), scan_of(25, 99, {{3, 33}})}},
      {3, 4, true, {scan_of(0, 99, {{1, 11}, {2, 2}, {3, 33}}), erase_of(2)}},
      {4, 0, true, {read_of(2, kAbsent), scan_of(15, 25, {})}},
  });
  EXPECT_EQ(kinds_of(history), Kinds());
  EXPECT_FALSE(find_cycle(history));
}

TEST(HistoryChecker, PassesReadersOfOldSnapshotsAndRunsThatWereRolledBack) {
  const History history = history_of({
      {1, 2, true, {write_of(1, 11, 10), write_of(2, 22, 20)}},
      {1, 0, true, {read_of(1, 1), read_of(2, 2), scan_of(0, 99, {{1, 1}, {2, 2}})}},
      {1, 0, false, {read_of(1, 1), write_of(1, 91, 10)}},
      {2, 0, true, {read_of(1, 11), scan_of(0, 99, {{1, 11}, {2, 22}})}},
  });
  EXPECT_EQ(kinds_of(history), Kinds());
  EXPECT_FALSE(find_cycle(history));
}

// Another run inserts the row meanwhile.
TEST(HistoryChecker, PassesARowThatItsRunInsertedAndErased) {
  const HistoryRun without_net_effect = {
      1, 3, true, {read_of(3, kAbsent), write_of(3, 31, 30), erase_of(3), write_of(1, 11, 10)}};
  const History history = history_of({
      {1, 2, true, {read_of(3, kAbsent), write_of(3, 33, 30)}},
      without_net_effect,
      {3, 0, true, {read_of(3, 33), scan_of(0, 99, {{1, 11}, {2, 2}, {3, 33}})}},
  });
  EXPECT_EQ(kinds_of(history), Kinds());
  EXPECT_FALSE(find_cycle(history));
}

// It has found the row absent, and the other run has not seen its write.
TEST(HistoryChecker, FindsTheCycleOfARowThatItsRunInsertedAndErased) {
  const History history = history_of({
      {1, 2, true, {read_of(1, 1), read_of(3, kAbsent), write_of(3, 33, 30)}},
      {1, 3, true, {read_of(3, kAbsent), write_of(3, 31, 30), erase_of(3), write_of(1, 11, 10)}},
  });
  EXPECT_EQ(kinds_of(history), Kinds());
  EXPECT_TRUE(find_cycle(history));
}

// Write skew is sound under snapshot isolation, and a cycle.
TEST(HistoryChecker, FindsTheCycleOfAWriteSkew) {
  const History history = history_of({
      {1, 2, true, {read_of(1, 1), read_of(2, 2), write_of(1, 11, 10)}},
      {1, 3, true, {read_of(1, 1), read_of(2, 2), write_of(2, 22, 20)}},
  });
  EXPECT_EQ(kinds_of(history), Kinds());
  const auto cycle = find_cycle(history);
  ASSERT_TRUE(cycle);
  EXPECT_TRUE(cycle->text == "1 -(rw row 2)-> 2 -(rw row 1)-> 1" ||
              cycle->text == "2 -(rw row 1)-> 1 -(rw row 2)-> 2")
      << cycle->text;
}

TEST(HistoryChecker, FindsTheCycleOfScansThatMissEachOthersInserts) {
  const History history = history_of({
      {1, 2, true, {scan_of(30, 50, {}), write_of(3, 33, 30)}},
      {1, 3, true, {scan_of(30, 50, {}), write_of(4, 44, 40)}},
  });
  EXPECT_EQ(kinds_of(history), Kinds());
  EXPECT_TRUE(find_cycle(history));
}

TEST(HistoryChecker, FindsTheCycleOfARowThatIsMovedIntoARange) {
  const History history = history_of({
      {1, 2, true, {scan_of(30, 50, {}), write_of(1, 11, 10)}},
      {1, 3, true, {read_of(1, 1), write_of(2, 22, 40)}},
  });
  EXPECT_EQ(kinds_of(history), Kinds());
  EXPECT_TRUE(find_cycle(history));
}

TEST(HistoryChecker, SeesNoCycleWhereTheWriteIsOutsideOfTheRange) {
  const History history = history_of({
      {1, 2, true, {scan_of(30, 50, {}), write_of(1, 11, 10)}},
      {1, 3, true, {read_of(1, 1), write_of(2, 22, 50)}},
  });
  EXPECT_FALSE(find_cycle(history));
}

TEST(HistoryChecker, FindsTheCycleOfAKeyThatBothFoundAbsent) {
  const History history = history_of({
      {1, 2, true, {read_of(4, kAbsent), write_of(3, 33, 30)}},
      {1, 3, true, {read_of(3, kAbsent), write_of(4, 44, 40)}},
  });
  EXPECT_EQ(kinds_of(history), Kinds());
  EXPECT_TRUE(find_cycle(history));
}

TEST(HistoryChecker, FindsFeketesReadOnlyAnomaly) {
  const HistoryRun withdrawal{1, 3, true, {read_of(1, 1), read_of(2, 2), write_of(1, 11, 10)}};
  const HistoryRun deposit{1, 2, true, {read_of(2, 2), write_of(2, 22, 20)}};
  const HistoryRun reader{2, 0, true, {read_of(1, 1), read_of(2, 22)}};
  EXPECT_FALSE(find_cycle(history_of({withdrawal, deposit})));
  EXPECT_TRUE(find_cycle(history_of({withdrawal, deposit, reader})));
  EXPECT_EQ(kinds_of(history_of({withdrawal, deposit, reader})), Kinds());
}

// The reader knows that the second writer was there only by a row that its scan does not meet.
TEST(HistoryChecker, FindsTheReadOnlyAnomalyOfAScanThatMissesWhatIsGone) {
  const HistoryRun withdrawal{1, 3, true, {read_of(1, 1), read_of(2, 2), write_of(1, 11, 10)}};
  const HistoryRun reader{2, 0, true, {scan_of(15, 25, {}), read_of(1, 1)}};
  for (const Operation& leaving : {erase_of(2), write_of(2, 22, 40)}) {
    const HistoryRun removal{1, 2, true, {read_of(2, 2), leaving}};
    EXPECT_FALSE(find_cycle(history_of({withdrawal, removal})));
    const History history = history_of({withdrawal, removal, reader});
    EXPECT_EQ(kinds_of(history), Kinds());
    EXPECT_TRUE(find_cycle(history));
    // Who scans elsewhere does not know.
    EXPECT_FALSE(find_cycle(
        history_of({withdrawal, removal, {2, 0, true, {scan_of(25, 35, {}), read_of(1, 1)}}})));
  }
}

TEST(HistoryChecker, FindsALostUpdate) {
  const History history = history_of({
      {1, 2, true, {read_of(1, 1), write_of(1, 11, 10)}},
      {1, 3, true, {read_of(1, 1), write_of(1, 12, 10)}},
  });
  EXPECT_EQ(kinds_of(history), Kinds{BreachKind::kLostUpdate});
  EXPECT_TRUE(find_cycle(history));
}

TEST(HistoryChecker, FindsAnAbortedRead) {
  const History history = history_of({
      {1, 0, false, {write_of(1, 91, 10)}},
      {1, 0, true, {read_of(1, 91)}},
  });
  EXPECT_EQ(kinds_of(history), Kinds{BreachKind::kAbortedRead});
}

TEST(HistoryChecker, FindsAnIntermediateRead) {
  const History history = history_of({
      {1, 2, true, {write_of(1, 11, 10), write_of(1, 12, 10)}},
      {2, 0, true, {scan_of(0, 15, {{1, 11}})}},
  });
  EXPECT_EQ(kinds_of(history), Kinds{BreachKind::kIntermediateRead});
}

TEST(HistoryChecker, FindsAReadOfWhatNobodyWrote) {
  EXPECT_EQ(kinds_of(history_of({{1, 0, true, {read_of(1, 7)}}})), Kinds{BreachKind::kUnknownRead});
}

TEST(HistoryChecker, FindsAReadThatIsNewerOrOlderThanTheSnapshot) {
  const HistoryRun update{1, 2, true, {write_of(1, 11, 10)}};
  for (const HistoryRun& reader :
       {HistoryRun{1, 0, true, {read_of(1, 11)}}, HistoryRun{2, 0, true, {read_of(1, 1)}},
        HistoryRun{2, 0, true, {read_of(1, kAbsent)}},
        HistoryRun{1, 0, true, {read_of(1, 1), read_of(1, 11)}}}) {
    EXPECT_EQ(kinds_of(history_of({update, reader})), Kinds{BreachKind::kSnapshotRead});
  }
}

TEST(HistoryChecker, FindsRowsThatAScanMissesOrMakesUp) {
  const HistoryRun insert{1, 2, true, {write_of(3, 33, 30)}};
  for (const Operation& scan :
       {scan_of(0, 99, {{1, 1}}), scan_of(0, 99, {{1, 1}, {2, 2}, {2, 2}}),
        scan_of(0, 15, {{1, 1}, {2, 2}}), scan_of(0, 99, {{1, 1}, {2, 2}, {3, 33}})}) {
    EXPECT_EQ(kinds_of(history_of({insert, {1, 0, true, {scan}}})),
              Kinds{BreachKind::kSnapshotRead});
  }
}

TEST(HistoryChecker, FindsATransactionThatIsSeenInHalf) {
  const History history = history_of({
      {1, 2, true, {write_of(1, 11, 10), write_of(2, 22, 20)}},
      {2, 0, true, {read_of(1, 11), read_of(2, 2)}},
  });
  EXPECT_EQ(kinds_of(history), (Kinds{BreachKind::kSnapshotRead, BreachKind::kTornVisibility}));
  EXPECT_TRUE(find_cycle(history));
}

TEST(HistoryChecker, FindsThatOwnWritesAreMissed) {
  for (const Operation& read : {read_of(1, 1), scan_of(0, 15, {{1, 1}}), scan_of(0, 15, {})}) {
    EXPECT_EQ(kinds_of(history_of({{1, 2, true, {write_of(1, 11, 10), read}}})),
              Kinds{BreachKind::kOwnWriteMissed});
  }
}

TEST(HistoryChecker, FindsVidsOutOfOrder) {
  EXPECT_EQ(kinds_of(history_of({{5, 5, true, {write_of(3, 33, 30)}}})),
            Kinds{BreachKind::kVidOrder});
  EXPECT_EQ(kinds_of(history_of(
                {{1, 2, true, {write_of(3, 33, 30)}}, {1, 2, true, {write_of(4, 44, 40)}}})),
            Kinds{BreachKind::kVidOrder});
}

}  // namespace
}  // namespace diptych::oltp::test
