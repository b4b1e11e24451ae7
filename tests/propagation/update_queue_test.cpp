#include "propagation/export/update_queue.h"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/failing_allocation.h"

namespace diptych::propagation {
namespace {

using base::RowId;
using base::TableId;
using base::Vid;
using base::WorkerId;

constexpr size_t kPageBytes = 4096;

SealedSet deletes(UpdateQueue* queue, uint64_t first, uint64_t count) {
  SealedSet sealed{WorkerId(0), TableId(0), queue->take_empty()};
  for (uint64_t i = 0; i < count; ++i) sealed.updates->append_delete(Vid(first + i), RowId(i));
  return sealed;
}

TEST(UpdateQueue, CollectsWhatWasPushedWithTheNewestSnapshot) {
  constexpr uint64_t kRecords = 1000;  // too many to be joined
  UpdateQueue queue;
  for (uint64_t batch = 0; batch < 3; ++batch) {
    std::vector<SealedSet> sets;
    sets.push_back(deletes(&queue, batch * kRecords + 1, kRecords));
    queue.push(std::move(sets), Vid((batch + 1) * kRecords));
  }
  constexpr size_t kBytes = 3 * 6 * kPageBytes;  // of 24,000 bytes each
  EXPECT_EQ(queue.pending_bytes(), kBytes);
  CollectedSets collected = queue.collect();
  EXPECT_EQ(collected.sets.size(), 3U);
  EXPECT_EQ(collected.snapshot, Vid(3 * kRecords));
  EXPECT_EQ(queue.pending_bytes(), kBytes);
  queue.recycle(std::move(collected.sets));
  EXPECT_EQ(queue.pending_bytes(), 0U);
  EXPECT_TRUE(queue.collect().sets.empty());
  EXPECT_EQ(queue.collect().snapshot, Vid(3 * kRecords));
}

// The applier's thread has no use for an error there, and the sets' destructors even less.
TEST(UpdateQueue, GivingSetsBackTakesNoMemory) {
  constexpr uint64_t kRecords = 300'000;  // many chunks
  constexpr uint64_t kSets = 300;         // more than are kept
  UpdateQueue queue;
  for (uint64_t round = 0; round < 2; ++round) {
    std::vector<SealedSet> sets;
    uint64_t vid = round * (kRecords + kSets);
    sets.push_back(deletes(&queue, vid + 1, kRecords));
    vid += kRecords;
    for (uint64_t i = 0; i < kSets; ++i) sets.push_back(deletes(&queue, ++vid, 1));
    for (uint64_t i = 1; i <= kSets; ++i) sets[i].table = TableId(static_cast<uint32_t>(i));
    queue.push(std::move(sets), Vid(vid));
    CollectedSets collected = queue.collect();
    {
      const diptych::test::FailingAllocation failing(1,
                                                     diptych::test::FailingAllocation::Lasts::kOn);
      queue.recycle(std::move(collected.sets));
      EXPECT_FALSE(failing.has_failed());
    }
    EXPECT_EQ(queue.pending_bytes(), 0U);
  }
}

TEST(UpdateQueue, JoinsSmallSetsThatWaitOfOneWorkerAndTable) {
  constexpr uint64_t kBatches = 10'000;
  UpdateQueue queue;
  for (uint64_t batch = 0; batch < kBatches; ++batch) {
    std::vector<SealedSet> sets;
    for (uint32_t table = 0; table < 2; ++table) {
      sets.push_back(deletes(&queue, batch * 5 + 1, 5));
      sets.back().table = TableId(table);
    }
    queue.push(std::move(sets), Vid(batch * 5 + 5));
  }
  EXPECT_LT(queue.pending_bytes(), 2 * kBatches * 5 * sizeof(UpdateRecord) + 8 * kPageBytes);
  EXPECT_LE(queue.empty_bytes(), 2 * UpdateSet::kChunkBytes);
  CollectedSets collected = queue.collect();
  EXPECT_LE(collected.sets.size(), 4U);
  for (uint32_t table = 0; table < 2; ++table) {
    uint64_t next = 1;
    size_t records = 0;
    for (const SealedSet& set : collected.sets) {
      if (set.table != TableId(table)) continue;
      set.updates->for_each([&](const UpdateRecord& record) {
        EXPECT_EQ(record.vid, Vid(next++));
        EXPECT_EQ(record.type, UpdateType::kDelete);
      });
      records += set.updates->change_count();
    }
    EXPECT_EQ(next, kBatches * 5 + 1);
    EXPECT_EQ(records, kBatches * 5);
  }
  queue.recycle(std::move(collected.sets));
  EXPECT_EQ(queue.pending_bytes(), 0U);
}

TEST(UpdateQueue, GivesRecycledSetsOutAgainEmpty) {
  UpdateQueue queue;
  std::vector<SealedSet> sets;
  sets.push_back(deletes(&queue, 1, 10));
  const UpdateSet* const address = sets.front().updates.get();
  queue.push(std::move(sets), Vid(10));
  queue.recycle(queue.collect().sets);
  const std::unique_ptr<UpdateSet> again = queue.take_empty();
  EXPECT_EQ(again.get(), address);
  EXPECT_TRUE(again->empty());
}

TEST(UpdateQueue, KeepsMemoryUpToItsLimitsAndCountsIt) {
  constexpr uint64_t kRecords = 340'000;  // 8 MB
  constexpr size_t kSets = UpdateChunks::kKeptBytesMax / (kRecords * sizeof(UpdateRecord)) + 3;
  UpdateQueue queue;
  std::vector<SealedSet> sets;
  for (size_t i = 0; i < kSets; ++i) sets.push_back(deletes(&queue, 1, kRecords));
  queue.push(std::move(sets), Vid(kRecords));
  EXPECT_GE(queue.pending_bytes(), kSets * kRecords * sizeof(UpdateRecord));
  EXPECT_EQ(queue.empty_bytes(), 0U);
  queue.recycle(queue.collect().sets);
  const size_t kept = queue.empty_bytes();
  EXPECT_EQ(kept, UpdateChunks::kKeptBytesMax + kSets * UpdateSet::kChunkBytes);
  // What is used again is not counted, and only what is filled is pending.
  sets.clear();
  sets.push_back(deletes(&queue, kRecords + 1, 1));
  EXPECT_EQ(queue.empty_bytes(), kept - UpdateSet::kChunkBytes);
  queue.push(std::move(sets), Vid(kRecords + 1));
  EXPECT_EQ(queue.pending_bytes(), kPageBytes);
  queue.recycle(queue.collect().sets);
  EXPECT_EQ(queue.empty_bytes(), kept);
}

TEST(UpdateQueue, KeepsNoMoreEmptySetsThanItsLimit) {
  constexpr uint64_t kRecords = 1000;  // too many to be joined
  constexpr size_t kSets = 2 * UpdateQueue::kEmptySetsMax;
  UpdateQueue queue;
  std::vector<SealedSet> sets;
  for (size_t i = 0; i < kSets; ++i) sets.push_back(deletes(&queue, 1, kRecords));
  queue.push(std::move(sets), Vid(kRecords));
  queue.recycle(queue.collect().sets);
  EXPECT_EQ(queue.empty_bytes(),
            UpdateQueue::kEmptySetsMax * UpdateSet::kChunkBytes + UpdateChunks::kKeptBytesMax);
}

// One leader under back-pressure, one collector, one that looks on: no record is lost or doubled,
// and every collected snapshot is complete.
TEST(UpdateQueueStress, LosesNothingBetweenLeaderAndCollector) {
  constexpr uint64_t kBatches = 2000;
  constexpr uint64_t kBatchRecords = 50;
  constexpr size_t kPendingMax = 5 * kPageBytes;
  UpdateQueue queue;
  std::thread leader([&] {
    for (uint64_t batch = 0; batch < kBatches; ++batch) {
      for (;;) {
        const uint32_t ticket = queue.parker().ticket();
        if (queue.pending_bytes() <= kPendingMax) break;
        queue.parker().wait(ticket);
      }
      std::vector<SealedSet> sets;
      if (batch % 5 != 4) sets.push_back(deletes(&queue, batch * kBatchRecords + 1, kBatchRecords));
      queue.push(std::move(sets), Vid((batch + 1) * kBatchRecords));
    }
  });
  uint64_t next_batch = 0;
  while (next_batch < kBatches) {
    const uint32_t ticket = queue.parker().ticket();
    CollectedSets collected = queue.collect();
    const uint64_t complete = collected.snapshot.value / kBatchRecords;
    if (complete == next_batch) {
      queue.parker().wait(ticket);
      continue;
    }
    std::vector<uint64_t> vids;  // of all sets, joined ones or not
    for (const SealedSet& set : collected.sets) {
      set.updates->for_each([&](const UpdateRecord& record) { vids.push_back(record.vid.value); });
    }
    size_t at = 0;
    for (; next_batch < complete; ++next_batch) {
      if (next_batch % 5 == 4) continue;
      for (uint64_t i = 1; i <= kBatchRecords; ++i, ++at) {
        ASSERT_LT(at, vids.size());
        ASSERT_EQ(vids[at], next_batch * kBatchRecords + i);
      }
    }
    ASSERT_EQ(at, vids.size());
    queue.recycle(std::move(collected.sets));
  }
  leader.join();
  EXPECT_EQ(queue.pending_bytes(), 0U);
}

}  // namespace
}  // namespace diptych::propagation
