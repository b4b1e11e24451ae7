// CompletionList under threads: nothing is lost, nothing comes twice, no wake is missed.

#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "workloads/drivers/completion_list.h"

namespace diptych::workloads {
namespace {

struct Node : Completion {
  int pusher = 0;
  int number = 0;
};

TEST(CompletionListStress, EveryPushIsTakenOnceInItsPushersOrder) {
  constexpr int kPushers = 3;
  constexpr int kNodes = 20'000;
  CompletionList list;
  std::vector<std::unique_ptr<Node[]>> nodes;
  for (int p = 0; p < kPushers; ++p) nodes.push_back(std::make_unique<Node[]>(kNodes));
  std::vector<std::jthread> pushers;
  for (int p = 0; p < kPushers; ++p) {
    pushers.emplace_back([&, p] {
      for (int i = 0; i < kNodes; ++i) {
        nodes[p][i].pusher = p;
        nodes[p][i].number = i;
        list.push(&nodes[p][i]);
      }
    });
  }
  int next[kPushers] = {};
  int taken = 0;
  while (taken < kPushers * kNodes) {
    list.wait(std::min(64, kPushers * kNodes - taken), 0);
    for (Completion* node = list.take_all(); node != nullptr; node = node->next) {
      const auto* const done = static_cast<Node*>(node);
      ASSERT_EQ(done->number, next[done->pusher]++);
      ++taken;
    }
  }
}

TEST(CompletionListStress, ADriverMayEndWithItsLastCompletion) {
  for (int round = 0; round < 2000; ++round) {
    Node node;
    std::jthread pusher;
    {
      CompletionList list;
      pusher = std::jthread([&list, &node] { list.push(&node); });
      while (list.take_all() == nullptr) list.wait(1, 100'000);
    }
  }
}

TEST(CompletionList, WaitGivesUpAfterItsTime) {
  CompletionList list;
  list.wait(1, 1'000'000);
  EXPECT_EQ(list.take_all(), nullptr);
}

}  // namespace
}  // namespace diptych::workloads
