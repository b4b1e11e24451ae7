// AckBoard: what the callers in a process were told, where it outlives the process.
//
// A file that both the process that will be killed and the one that kills it have mapped. A slot
// has one writer, a client's thread; the other process reads once the writer is dead. A slot keeps
// a client's newest acknowledgements: what a crash loses is what came last.
//
// Before a backup begins, its maker notes how far all were, and once it is there, that it is: what
// they had been told by then has to be in it. What was asked for and not answered may have been
// done or not; of a backup, whatever was asked for until the end.

#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"

namespace diptych::crash {

inline constexpr size_t kClients = 8;
inline constexpr size_t kThingsMax = 8;

// One that a client was given, for what it had asked: base::steady_ns() of both.
struct Ack {
  int64_t what = 0;
  uint64_t asked_ns = 0;
  uint64_t told_ns = 0;
};

// What was known to somebody at one moment.
struct Told {
  std::array<std::vector<Ack>, kClients> acks;  // in the order in which the client got them
  std::array<int64_t, kThingsMax> newest = {};  // 0: none
  std::array<int64_t, kThingsMax> asked = {};   // the newest until the process died; 0: none
};

class AckBoard {
 public:
  static constexpr uint64_t kAcksKept = 1 << 16;  // of a client

  // Maps the file, which is made and emptied where `fresh`.
  AckBoard(const std::string& path, bool fresh) {
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | (fresh ? O_TRUNC : 0), 0644);
    DIPTYCH_CHECK(file >= 0 && ::ftruncate(file, sizeof(Shared)) == 0, "the board has a file");
    void* const mapped =
        ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    DIPTYCH_CHECK(mapped != MAP_FAILED, "the board can be mapped");
    ::close(file);
    shared_ = static_cast<Shared*>(mapped);
  }
  AckBoard(const AckBoard&) = delete;
  AckBoard& operator=(const AckBoard&) = delete;
  ~AckBoard() { ::munmap(shared_, sizeof(Shared)); }

  void acknowledge(size_t client, int64_t what, uint64_t asked_ns) {
    Slot& slot = shared_->slots[client];
    // relaxed: the slot's only writer.
    const uint64_t count = slot.count.load(std::memory_order_relaxed);
    slot.acks[count % kAcksKept] = {what, asked_ns, base::steady_ns()};
    // release: whoever counts it finds it.
    slot.count.store(count + 1, std::memory_order_release);
  }
  // All that it ever was told.
  uint64_t acknowledged(size_t client) const {
    // acquire: pairs with the release in acknowledge.
    return shared_->slots[client].count.load(std::memory_order_acquire);
  }

  // Before one of the things that go on beside the clients, where they have numbers, from 1.
  void ask(size_t kind, int64_t number) {
    // relaxed: read when the process is dead.
    shared_->asked[kind].store(number, std::memory_order_relaxed);
  }
  // One more of them is done, each kind with one writer; `newest`: its number.
  void count(size_t kind, int64_t newest = 0) {
    // relaxed: read when the process is dead, but for newest, which has to be true at any time.
    shared_->newest[kind].store(newest, std::memory_order_relaxed);
    shared_->counts[kind].fetch_add(1, std::memory_order_relaxed);
  }
  uint64_t counted(size_t kind) const {
    // relaxed: as in count().
    return shared_->counts[kind].load(std::memory_order_relaxed);
  }

  void begin_backup() { shared_->begun = now(); }
  void end_backup() { shared_->backed_up = shared_->begun; }

  Told told() const { return told_by(now()); }
  Told told_before_backup() const { return told_by(shared_->backed_up); }

  // Something that must not happen happened, other than being killed.
  void fail(const std::string& what) {
    std::snprintf(shared_->failure, sizeof shared_->failure, "%s", what.c_str());
  }
  std::string failure() const { return shared_->failure; }

 private:
  struct Slot {
    std::atomic<uint64_t> count;
    Ack acks[kAcksKept];
  };
  struct Moment {
    uint64_t counts[kClients];
    int64_t newest[kThingsMax];
  };
  struct Shared {
    Slot slots[kClients];
    std::atomic<uint64_t> counts[kThingsMax];
    std::atomic<int64_t> newest[kThingsMax];
    std::atomic<int64_t> asked[kThingsMax];
    Moment begun;  // writer: who makes backups, as of the next
    Moment backed_up;
    char failure[1024];
  };

  Moment now() const {
    Moment moment{};
    for (size_t i = 0; i < kClients; ++i) moment.counts[i] = acknowledged(i);
    for (size_t i = 0; i < kThingsMax; ++i) {
      // relaxed: as in count().
      moment.newest[i] = shared_->newest[i].load(std::memory_order_relaxed);
    }
    return moment;
  }
  Told told_by(const Moment& moment) const {
    Told told;
    for (size_t i = 0; i < kClients; ++i) {
      const uint64_t written = acknowledged(i);
      // Without the oldest: the next may have been on its way to its place.
      const uint64_t first = written >= kAcksKept ? written - kAcksKept + 1 : 0;
      for (uint64_t at = first; at < moment.counts[i]; ++at) {
        told.acks[i].push_back(shared_->slots[i].acks[at % kAcksKept]);
      }
    }
    std::copy_n(moment.newest, kThingsMax, told.newest.begin());
    for (size_t i = 0; i < kThingsMax; ++i) {
      // relaxed: as in ask().
      told.asked[i] = shared_->asked[i].load(std::memory_order_relaxed);
    }
    return told;
  }

  Shared* shared_;
};

}  // namespace diptych::crash
