// AckBoard: what the callers in a process were told, where it outlives the process.
//
// A file that both the process that will be killed and the one that kills it have mapped. A slot
// has one writer, a client's thread; the other process reads once the writer is dead.

#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/check.h"

namespace diptych::crash {

inline constexpr size_t kClients = 8;
inline constexpr size_t kCountsMax = 8;

class AckBoard {
 public:
  static constexpr uint64_t kAcksMax = 1 << 18;  // of a client; then it stops

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

  // False: the slot is full.
  bool acknowledge(size_t client, int64_t what) {
    Slot& slot = shared_->slots[client];
    // relaxed: the slot's only writer.
    const uint64_t count = slot.count.load(std::memory_order_relaxed);
    if (count == kAcksMax) return false;
    slot.acks[count] = what;
    // release: whoever counts it finds it.
    slot.count.store(count + 1, std::memory_order_release);
    return true;
  }
  std::vector<int64_t> acknowledged(size_t client) const {
    const Slot& slot = shared_->slots[client];
    // acquire: pairs with the release in acknowledge.
    const uint64_t count = slot.count.load(std::memory_order_acquire);
    return {slot.acks, slot.acks + count};
  }

  // One more of the things that go on beside the clients; each kind has one writer.
  void count(size_t kind) {
    // relaxed: read when the process is dead.
    shared_->counts[kind].fetch_add(1, std::memory_order_relaxed);
  }
  uint64_t counted(size_t kind) const {
    // relaxed: as in count().
    return shared_->counts[kind].load(std::memory_order_relaxed);
  }

  // Something that must not happen happened, other than being killed.
  void fail(const std::string& what) {
    std::snprintf(shared_->failure, sizeof shared_->failure, "%s", what.c_str());
  }
  std::string failure() const { return shared_->failure; }

 private:
  struct Slot {
    std::atomic<uint64_t> count;
    int64_t acks[kAcksMax];
  };
  struct Shared {
    Slot slots[kClients];
    std::atomic<uint64_t> counts[kCountsMax];
    char failure[1024];
  };
  Shared* shared_;
};

}  // namespace diptych::crash
