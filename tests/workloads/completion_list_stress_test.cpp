// CompletionList under threads: nothing is lost, nothing comes twice, no wake is missed.

#include <atomic>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "tests/mutant.h"
#include "tests/relaxed_atomic.h"
#include "workloads/drivers/completion_list.h"

namespace diptych::workloads {
namespace {

struct Node : Completion {
  int pusher = 0;
  int number = 0;
};

template <template <class> class Atomic>
void push_and_take() {
  constexpr int kPushers = 3;
  constexpr int kNodes = 20'000;
  BasicCompletionList<Atomic> list;
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

// The list's memory goes with it, which is when a late touch by a pusher shows.
template <template <class> class Atomic>
void end_with_the_last_completion(int rounds) {
  for (int round = 0; round < rounds; ++round) {
    Node node;
    std::jthread pusher;
    {
      const auto list = std::make_unique<BasicCompletionList<Atomic>>();
      pusher = std::jthread([&list = *list, &node] { list.push(&node); });
      while (list->take_all() == nullptr) list->wait(1, 100'000);
    }
  }
}

TEST(CompletionListStress, EveryPushIsTakenOnceInItsPushersOrder) {
  push_and_take<std::atomic>();
}

TEST(CompletionListStress, ADriverMayEndWithItsLastCompletion) {
  end_with_the_last_completion<std::atomic>(2000);
}

TEST(CompletionList, WaitGivesUpAfterItsTime) {
  CompletionList list;
  list.wait(1, 1'000'000);
  EXPECT_EQ(list.take_all(), nullptr);
}

#ifdef DIPTYCH_TSAN
// The list hands nodes on as it should, but its end does not wait for what a pusher still does.
template <class Value>
using RelaxedCounts = std::conditional_t<std::is_pointer_v<Value>, std::atomic<Value>,
                                         diptych::test::RelaxedAtomic<Value>>;

TEST(CompletionListStressDeathTest, ThreadSanitizerFindsTheMutantThatHandsOnNothing) {
  EXPECT_RACE_FOUND(push_and_take<diptych::test::RelaxedAtomic>());
}

TEST(CompletionListStressDeathTest, ThreadSanitizerFindsTheMutantWhoseEndDoesNotWait) {
  EXPECT_RACE_FOUND(end_with_the_last_completion<RelaxedCounts>(100));
}
#endif

}  // namespace
}  // namespace diptych::workloads
