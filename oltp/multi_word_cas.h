// MultiWordCas: changes up to four words in one atomic step, or none of them.
//
// A swap puts a pointer to its descriptor (bit 0 set) into each word that still has its expected
// value, in the order of their addresses, decides the outcome with one compare-and-swap, and then
// puts the values in place. Whoever meets a descriptor of another swap finishes that one first.
//
//   undecided --decide()--> succeeded   every word held the descriptor: the desired values count
//             --decide()--> failed      some word had another value: the expected ones count
//
// Threads    swap and read from any thread, lock-free; read is wait-free and writes nothing. All
//            swaps and reads have one order (seq_cst, which costs no more than acquire and release
//            where every read-modify-write is a full barrier).
//            DescriptorPool: one owner; reset when no swap or read is under way.
// Memory     one descriptor of 128 bytes a swap of several words, kept until the pool's reset.
// Cost       2 words, uncontended: five compare-and-swaps (multi_word_cas_bench.cpp).
//
// Invariants
//   M1  Values have bit 0 clear.
//   M2  Between resets a word never returns to an earlier value, so a late compare-and-swap cannot
//       succeed by mistake. Addresses qualify if their memory is reused only after a reset.
//   M3  Words are claimed in ascending order, so in any cycle of blocked swaps one holds all its
//       words: helping ends, and nests at most one level a thread.
//   M4  When no swap is under way, no word holds a descriptor: each thread that may have put one
//       into a word takes it out again before it returns.
//
// Where we differ from Harris, Fraser and Pratt (DISC'02) and PMwCAS: M2 makes the conditional
// installation (RDCSS, two more compare-and-swaps a word) unnecessary; a reader resolves a
// descriptor instead of helping; reclamation is the caller's quiescent point.

#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>
#include <span>

#include "base/alignment.h"
#include "base/arena.h"
#include "base/check.h"

namespace diptych::oltp {

// M3's order; tests break it.
struct AscendingAddresses {
  // std::less: the words lie in memory of many allocations.
  static bool precedes(const void* a, const void* b) { return std::less<const void*>()(a, b); }
};

template <template <class> class Atomic = std::atomic, class ClaimOrder = AscendingAddresses>
class MultiWordCas {
 public:
  using Word = Atomic<uint64_t>;
  static constexpr size_t kWordsMax = 4;
  static constexpr uint32_t kThreadsMax = 256;

  struct Change {
    Word* word;
    uint64_t expected;
    uint64_t desired;
  };

 private:
  enum class Outcome : uint32_t { kUndecided, kSucceeded, kFailed };

  struct alignas(base::kLineBytes) Descriptor {
    Atomic<Outcome> outcome{Outcome::kUndecided};  // writers: whoever works on the swap, once
    uint32_t count = 0;
    std::array<Change, kWordsMax> changes{};  // by address (M3); as the descriptor is published
  };

 public:
  static constexpr size_t kDescriptorBytes = sizeof(Descriptor);

  // Memory for descriptors: of one thread, in an arena. Any other class with a take_descriptor()
  // will do that gives what is aligned to a cache line and stays as it is until no swap or read is
  // under way.
  class DescriptorPool {
   public:
    explicit DescriptorPool(base::NumaNode node) : arena_(node, 16 * 1024) {}
    void* take_descriptor() { return arena_.allocate(kDescriptorBytes, base::kLineBytes); }
    void reset() { arena_.reset(); }
    size_t allocated_bytes() const { return arena_.allocated_bytes(); }

   private:
    base::Arena arena_;
  };

  // The word's present value; what its writer did before the swap is visible.
  static uint64_t read(const Word& word) {
    // seq_cst: pairs with what put a descriptor or a value there.
    const uint64_t seen = word.load(std::memory_order_seq_cst);
    if (!is_descriptor(seen)) [[likely]]
      return seen;
    const Descriptor& other = *descriptor_of(seen);
    // seq_cst: pairs with decide(). What it says held at the load above or at the decision since.
    const Outcome outcome = other.outcome.load(std::memory_order_seq_cst);
    for (uint32_t i = 0; i < other.count; ++i) {
      if (other.changes[i].word == &word) return final_value(other.changes[i], outcome);
    }
    DIPTYCH_CHECK(false, "a word holds only descriptors that name it");
    return 0;
  }

  // False: a word had another value than expected, and none was changed. The order of the changes
  // does not matter; no two may name one word, and each must change it (M2).
  template <class Pool>
  static bool swap(Pool* pool, std::span<const Change> changes) {
    DIPTYCH_DCHECK(!changes.empty() && changes.size() <= kWordsMax, "a descriptor has four places");
    if (changes.size() == 1) return swap_one(changes[0], 0);
    Descriptor* const own = new (pool->take_descriptor()) Descriptor;
    own->count = static_cast<uint32_t>(changes.size());
    std::copy(changes.begin(), changes.end(), own->changes.begin());
    // By insertion: std::sort of two to four is a call.
    for (uint32_t i = 1; i < own->count; ++i) {
      for (uint32_t j = i; j > 0; --j) {
        if (!ClaimOrder::precedes(own->changes[j].word, own->changes[j - 1].word)) break;
        std::swap(own->changes[j], own->changes[j - 1]);
      }
    }
    for (uint32_t i = 0; i < own->count; ++i) {
      [[maybe_unused]] const Change& change = own->changes[i];
      DIPTYCH_DCHECK(!is_descriptor(change.expected) && !is_descriptor(change.desired), "M1");
      DIPTYCH_DCHECK(change.expected != change.desired, "M2");
      DIPTYCH_DCHECK(i == 0 || own->changes[i - 1].word != change.word, "one change a word");
    }
    return finish(own, 0);
  }

 private:
  static bool is_descriptor(uint64_t value) { return (value & 1) != 0; }
  static Descriptor* descriptor_of(uint64_t value) {
    return reinterpret_cast<Descriptor*>(value & ~uint64_t{1});
  }
  static uint64_t marked(const Descriptor* descriptor) {
    return reinterpret_cast<uint64_t>(descriptor) | 1;
  }
  static uint64_t final_value(const Change& change, Outcome outcome) {
    return outcome == Outcome::kSucceeded ? change.desired : change.expected;
  }

  static bool swap_one(const Change& change, uint32_t depth) {
    while (true) {
      uint64_t seen = change.expected;
      // seq_cst: publishes what the value points to; acquire for a descriptor that is in the way.
      if (change.word->compare_exchange_strong(seen, change.desired, std::memory_order_seq_cst,
                                               std::memory_order_acquire)) {
        return true;
      }
      if (!is_descriptor(seen)) return false;
      finish(descriptor_of(seen), depth + 1);
    }
  }

  // Carries the swap to its end, by its owner or by a thread that it is in the way of.
  static bool finish(Descriptor* descriptor, uint32_t depth) {
    DIPTYCH_CHECK(depth < kThreadsMax, "M3: every level is another thread's swap");
    decide(descriptor, claim(descriptor, depth));
    // acquire: another thread may have decided; pairs with its decide().
    const Outcome outcome = descriptor->outcome.load(std::memory_order_acquire);
    for (uint32_t i = 0; i < descriptor->count; ++i) {
      const Change& change = descriptor->changes[i];
      uint64_t seen = marked(descriptor);
      // seq_cst: republishes what the values point to; a failure (somebody was first) is as good.
      change.word->compare_exchange_strong(seen, final_value(change, outcome),
                                           std::memory_order_seq_cst, std::memory_order_relaxed);
    }
    return outcome == Outcome::kSucceeded;
  }

  // Puts the descriptor into every word, in order; tells what that means.
  static Outcome claim(Descriptor* descriptor, uint32_t depth) {
    for (uint32_t i = 0; i < descriptor->count; ++i) {
      const Change& change = descriptor->changes[i];
      while (true) {
        uint64_t seen = change.expected;
        // seq_cst: publishes the descriptor to readers and helpers; acquire for another's.
        if (change.word->compare_exchange_strong(
                seen, marked(descriptor), std::memory_order_seq_cst, std::memory_order_acquire)) {
          break;
        }
        if (seen == marked(descriptor)) break;
        if (!is_descriptor(seen)) return Outcome::kFailed;
        // relaxed: only spares helping others where this swap is over already.
        if (descriptor->outcome.load(std::memory_order_relaxed) != Outcome::kUndecided) {
          return Outcome::kFailed;
        }
        finish(descriptor_of(seen), depth + 1);
      }
    }
    return Outcome::kSucceeded;
  }

  // The first decision stands.
  static void decide(Descriptor* descriptor, Outcome outcome) {
    Outcome seen = Outcome::kUndecided;
    // seq_cst: a reader that sees the outcome sees what all helpers did before; a failure is fine,
    // since finish() loads the outcome with acquire.
    descriptor->outcome.compare_exchange_strong(seen, outcome, std::memory_order_seq_cst,
                                                std::memory_order_relaxed);
  }
};

}  // namespace diptych::oltp
