#include "base/parker.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace diptych::base {
namespace {

constexpr int kSpinsMax = 2000;  // about 20 us of pause instructions, the price of a futex sleep
constexpr uint64_t kNsPerSecond = 1'000'000'000;

// Sleeps while *word == expected, until woken or, if given, until `deadline` (CLOCK_MONOTONIC). May
// return early: the caller looks again.
void futex_wait(std::atomic<uint32_t>* word, uint32_t expected, const timespec* deadline) {
  static_assert(sizeof(*word) == sizeof(uint32_t), "the kernel compares the atomic's own bytes");
  syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, expected, deadline, nullptr,
          FUTEX_BITSET_MATCH_ANY);
}

void futex_wake_all(std::atomic<uint32_t>* word) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, nullptr, nullptr, 0);
}

uint64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * kNsPerSecond + static_cast<uint64_t>(now.tv_nsec);
}

// True once the epoch has moved on from the ticket; gives up after kSpinsMax looks.
bool spin(const std::atomic<uint32_t>& epoch, uint32_t ticket) {
  for (int i = 0; i < kSpinsMax; ++i) {
    // acquire: pairs with W1 in wake_all, so that the waker's work is visible.
    if (epoch.load(std::memory_order_acquire) != ticket) return true;
    __builtin_ia32_pause();
  }
  return false;
}

}  // namespace

uint32_t Parker::ticket() const {
  // acquire: pairs with W1; whoever takes a ticket after a wake sees the work of that wake.
  return epoch_.load(std::memory_order_acquire);
}

void Parker::wait(uint32_t ticket) {
  if (policy_ == SpinPolicy::kBriefly && spin(epoch_, ticket)) return;
  // seq_cst (S1): ordered before the look at epoch_ below. With W1 and W2 in wake_all, either this
  // thread sees the new epoch or the waker sees this sleeper.
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  // seq_cst: ordered after S1; as an acquire it pairs with W1.
  while (epoch_.load(std::memory_order_seq_cst) == ticket) futex_wait(&epoch_, ticket, nullptr);
  // relaxed: a waker that still counts this thread only makes one needless system call.
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
}

bool Parker::wait_for(uint32_t ticket, uint64_t nanoseconds) {
  const uint64_t now_ns = monotonic_ns();
  // A hundred years serve as for ever, and keep the sum from overflowing.
  constexpr uint64_t kLongestNs = uint64_t{100} * 365 * 86'400 * kNsPerSecond;
  const uint64_t end_ns = now_ns + (nanoseconds < kLongestNs ? nanoseconds : kLongestNs);
  const timespec deadline{static_cast<time_t>(end_ns / kNsPerSecond),
                          static_cast<long>(end_ns % kNsPerSecond)};
  if (policy_ == SpinPolicy::kBriefly && spin(epoch_, ticket)) return true;
  // seq_cst: as S1 in wait.
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  bool woken = false;
  while (true) {
    // seq_cst: ordered after the count of sleepers above; as an acquire it pairs with W1.
    woken = epoch_.load(std::memory_order_seq_cst) != ticket;
    if (woken || monotonic_ns() >= end_ns) break;
    futex_wait(&epoch_, ticket, &deadline);
  }
  // relaxed: as in wait.
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
  return woken;
}

void Parker::wake_all() {
  // seq_cst (W1): releases the caller's work, and is ordered before the look at sleepers_.
  epoch_.fetch_add(1, std::memory_order_seq_cst);
  // seq_cst (W2): see S1 in wait.
  if (sleepers_.load(std::memory_order_seq_cst) != 0) futex_wake_all(&epoch_);
}

}  // namespace diptych::base
