#include "propagation/export/update_queue.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

namespace diptych::propagation {
namespace {

using base::NumaNode;
using base::RowId;
using base::TableId;
using base::Vid;
using base::WorkerId;

constexpr size_t kPageBytes = 4096;

SealedSet deletes(UpdateQueue* queue, uint64_t first, uint64_t count) {
  SealedSet sealed{WorkerId(0), TableId(0), queue->take_empty(NumaNode(0))};
  for (uint64_t i = 0; i < count; ++i) sealed.updates->append_delete(Vid(first + i), RowId(i));
  return sealed;
}

TEST(UpdateQueue, CollectsWhatWasPushedWithTheNewestSnapshot) {
  UpdateQueue queue;
  for (uint64_t batch = 0; batch < 3; ++batch) {
    std::vector<SealedSet> sets;
    sets.push_back(deletes(&queue, batch * 10 + 1, 10));
    queue.push(std::move(sets), Vid(batch * 10 + 10));
  }
  EXPECT_EQ(queue.pending_bytes(), 3 * kPageBytes) << "a page of each set was touched";
  CollectedSets collected = queue.collect();
  EXPECT_EQ(collected.sets.size(), 3U);
  EXPECT_EQ(collected.snapshot, Vid(30));
  EXPECT_EQ(queue.pending_bytes(), 3 * kPageBytes);
  queue.recycle(std::move(collected.sets));
  EXPECT_EQ(queue.pending_bytes(), 0U);
  EXPECT_TRUE(queue.collect().sets.empty());
  EXPECT_EQ(queue.collect().snapshot, Vid(30));
}

TEST(UpdateQueue, GivesRecycledSetsOutAgainEmpty) {
  UpdateQueue queue;
  std::vector<SealedSet> sets;
  sets.push_back(deletes(&queue, 1, 10));
  const UpdateSet* const address = sets.front().updates.get();
  queue.push(std::move(sets), Vid(10));
  queue.recycle(queue.collect().sets);
  const std::unique_ptr<UpdateSet> again = queue.take_empty(NumaNode(0));
  EXPECT_EQ(again.get(), address);
  EXPECT_TRUE(again->empty());
}

TEST(UpdateQueue, KeepsEmptySetsUpToItsLimitAndCountsThem) {
  constexpr uint64_t kRecords = 340'000;
  constexpr size_t kSetBytes = UpdateSet::kKeptChunks * UpdateSet::kChunkBytes;
  static_assert(kRecords * sizeof(UpdateRecord) > kSetBytes - UpdateSet::kChunkBytes);
  constexpr size_t kSets = UpdateQueue::kEmptyBytesMax / kSetBytes + 2;
  UpdateQueue queue;
  std::vector<SealedSet> sets;
  for (size_t i = 0; i < kSets; ++i) sets.push_back(deletes(&queue, 1, kRecords));
  queue.push(std::move(sets), Vid(kRecords));
  EXPECT_GE(queue.pending_bytes(), kSets * kRecords * sizeof(UpdateRecord));
  EXPECT_EQ(queue.empty_bytes(), 0U);
  queue.recycle(queue.collect().sets);
  const size_t kept = queue.empty_bytes();
  EXPECT_LE(kept, UpdateQueue::kEmptyBytesMax);
  EXPECT_GT(kept, UpdateQueue::kEmptyBytesMax - kSetBytes);
  // A set that is used for little again still holds what it touched; only the little is pending.
  sets.clear();
  sets.push_back(deletes(&queue, kRecords + 1, 1));
  const size_t taken = kept - queue.empty_bytes();
  EXPECT_GT(taken, kSetBytes / 2);
  queue.push(std::move(sets), Vid(kRecords + 1));
  EXPECT_EQ(queue.pending_bytes(), kPageBytes);
  queue.recycle(queue.collect().sets);
  EXPECT_EQ(queue.empty_bytes(), kept);
}

// One leader under back-pressure, one collector, one that looks on: no record is lost or doubled,
// and every collected snapshot is complete.
TEST(UpdateQueueStress, LosesNothingBetweenLeaderAndCollector) {
  constexpr uint64_t kBatches = 2000;
  constexpr uint64_t kBatchRecords = 50;
  constexpr size_t kPendingMax = 20 * kPageBytes;
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
    size_t at = 0;
    for (; next_batch < complete; ++next_batch) {
      if (next_batch % 5 == 4) continue;
      ASSERT_LT(at, collected.sets.size());
      uint64_t vid = next_batch * kBatchRecords;
      collected.sets[at++].updates->for_each(
          [&](const UpdateRecord& record) { ASSERT_EQ(record.vid, Vid(++vid)); });
      ASSERT_EQ(vid, (next_batch + 1) * kBatchRecords);
    }
    ASSERT_EQ(at, collected.sets.size());
    queue.recycle(std::move(collected.sets));
  }
  leader.join();
  EXPECT_EQ(queue.pending_bytes(), 0U);
}

}  // namespace
}  // namespace diptych::propagation
