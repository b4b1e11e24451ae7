// BwMemory: so many workers as there may be are in at once, and what they took comes back.

#include "oltp/bw_memory.h"

#include <memory>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace diptych::oltp {
namespace {

struct SmallNode : BwNode {
  uint64_t content = 0;
};
using SmallMemory = BwMemory<sizeof(SmallNode), std::atomic>;

// With fewer lanes than workers the last one would wait for the others, which may not be running.
TEST(BwMemory, EachWorkerHasALaneThoughAllOthersAreIn) {
  SmallMemory memory(Concurrency::kShared, base::NumaNode(0));
  std::vector<std::unique_ptr<SmallMemory::Guard>> inside;
  std::vector<SmallNode*> taken;
  for (uint32_t worker = 0; worker < kWorkersMax; ++worker) {
    // A guard cannot be moved: it is made in its place.
    inside.emplace_back(new SmallMemory::Guard(memory.enter()));
    taken.push_back((*inside.back())->take_node<SmallNode>());
  }
  EXPECT_EQ(std::set(taken.begin(), taken.end()).size(), kWorkersMax);
  EXPECT_EQ(memory.nodes_in_use(), kWorkersMax);
  for (uint32_t worker = 0; worker < kWorkersMax; ++worker) {
    (*inside[worker])->retire(taken[worker]);
  }
  inside.clear();
  memory.reclaim();
  EXPECT_EQ(memory.nodes_in_use(), 0u);
}

}  // namespace
}  // namespace diptych::oltp
