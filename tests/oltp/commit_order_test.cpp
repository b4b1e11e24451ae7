// C1, all or nothing of a transaction, without luck: the stamp of a row is made to fault, and at
// that point of the commit its VID is not known to anybody.

#include <atomic>
#include <csignal>
#include <cstdint>

#include <sys/mman.h>
#include <unistd.h>

#include "tests/oltp/engine_fixture.h"

namespace diptych::oltp::test {
namespace {

using base::Result;

// A page that cannot be written until somebody tries. One at a time.
class WriteTrap {
 public:
  explicit WriteTrap(const Engine* engine) {
    DIPTYCH_CHECK(engine_ == nullptr, "one at a time");
    engine_ = engine;
    faults_ = 0;
    struct sigaction action {};
    action.sa_sigaction = &WriteTrap::spring;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, &before_);
  }
  ~WriteTrap() {
    sigaction(SIGSEGV, &before_, nullptr);
    engine_ = nullptr;
  }
  WriteTrap(const WriteTrap&) = delete;
  WriteTrap& operator=(const WriteTrap&) = delete;

  void set(const void* address) {
    const auto bytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    page_bytes_ = bytes;
    page_ = reinterpret_cast<uintptr_t>(address) & ~(bytes - 1);
    ASSERT_EQ(mprotect(reinterpret_cast<void*>(page_), bytes, PROT_READ), 0);
  }
  int faults() const { return faults_; }
  base::Vid last_vid_at_fault() const { return last_vid_; }

 private:
  static void spring(int, siginfo_t* info, void*) {
    const auto at = reinterpret_cast<uintptr_t>(info->si_addr);
    if (at - page_ >= page_bytes_) {
      std::signal(SIGSEGV, SIG_DFL);  // another fault: it comes again, and ends the process
      return;
    }
    ++faults_;
    last_vid_ = engine_->last_vid();
    mprotect(reinterpret_cast<void*>(page_), page_bytes_, PROT_READ | PROT_WRITE);
  }

  // Of the handler, which runs on the thread that writes.
  static inline const Engine* engine_ = nullptr;
  static inline uintptr_t page_ = 0;
  static inline size_t page_bytes_ = 0;
  static inline int faults_ = 0;
  static inline base::Vid last_vid_;
  struct sigaction before_ {};
};

TEST(CommitOrder, TheVidIsKnownWhenTheLastRowIsStampedAndNotBefore) {
  constexpr int64_t kRows = 300;  // of several pages
  for (const uint32_t workers : {1U, 2U}) {
    Bank bank(workers);
    for (int64_t id = 1; id <= kRows; ++id) ASSERT_TRUE(bank.put(id, 7, std::to_string(id), id));
    const base::Vid before = bank.engine->last_vid();
    WriteTrap trap(bank.engine.get());
    ASSERT_TRUE(bank.run([&](Transaction& txn) -> Result<void> {
      RowSlot* last = nullptr;
      for (int64_t id = 1; id <= kRows; ++id) {
        auto row = txn.get_for_update<&Account::balance>(bank.account_pkey, id);
        if (!row) return row.error();
        txn.update(*row, set<&Account::balance>(-id));
        last = row->handle.slot;
      }
      trap.set(&last->group(0).word);
      return {};
    }));
    EXPECT_EQ(trap.faults(), 1);
    EXPECT_EQ(trap.last_vid_at_fault(), before);
    EXPECT_GT(bank.engine->last_vid(), before);
    bank.expect_replica_agrees();
  }
}

}  // namespace
}  // namespace diptych::oltp::test
