// MultiWordCas: a swap is interrupted at each of its steps by one of the same words in the opposite
// order. Each would wait for the other for ever if words were claimed as they are given (M3).

#include <array>
#include <cstdint>

#include <gtest/gtest.h>

#include "oltp/multi_word_cas.h"
#include "tests/mutant.h"
#include "tests/oltp/interruption.h"

namespace diptych::oltp {
namespace {

template <class ClaimOrder>
using InterruptedCas = MultiWordCas<Interrupted, ClaimOrder>;

// Returns how many steps the swap has where nothing interrupts it. One of the two wins, all of its
// words are set, and no descriptor is left.
template <class ClaimOrder>
uint64_t interrupt_swaps(size_t words_of_a_swap) {
  using Cas = InterruptedCas<ClaimOrder>;
  for (uint64_t at = 0;; ++at) {
    std::array<typename Cas::Word, Cas::kWordsMax> words{};
    std::array<typename Cas::Change, Cas::kWordsMax> forward;
    std::array<typename Cas::Change, Cas::kWordsMax> backward;
    for (size_t i = 0; i < words_of_a_swap; ++i) {
      forward[i] = {&words[i], 0, 2};
      backward[words_of_a_swap - 1 - i] = {&words[i], 0, 4};
    }
    typename Cas::DescriptorPool pools[] = {typename Cas::DescriptorPool(base::NumaNode(0)),
                                            typename Cas::DescriptorPool(base::NumaNode(0))};
    bool other_won = false;
    interruption = {at, [&] {
                      other_won = Cas::swap(&pools[1], {backward.data(), words_of_a_swap});
                    }};
    const bool won = Cas::swap(&pools[0], {forward.data(), words_of_a_swap});
    const bool was_interrupted = end_interruption();
    EXPECT_EQ(won, !other_won) << "step " << at;
    for (size_t i = 0; i < words_of_a_swap; ++i) {
      // relaxed: one thread.
      EXPECT_EQ(words[i].load(std::memory_order_relaxed), won ? 2u : 4u) << "step " << at;
    }
    if (!was_interrupted || ::testing::Test::HasFailure()) return at;
  }
}

TEST(MultiWordCasInterrupted, OneOfTwoSwapsInOppositeOrderWinsAndNoneWaits) {
  for (size_t words = 2; words <= 4; ++words) {
    EXPECT_GE(interrupt_swaps<AscendingAddresses>(words), 2 * words + 1);
  }
}

struct AsGiven {
  static bool precedes(const void*, const void*) { return false; }
};

TEST(MultiWordCasInterruptedDeathTest, TheCheckFindsWordsThatAreClaimedAsGiven) {
  EXPECT_MUTANT_FOUND(1, interrupt_swaps<AsGiven>(2), "M3");
}

}  // namespace
}  // namespace diptych::oltp
