#include "tests/crash/power_cut_rings.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <deque>
#include <mutex>
#include <random>
#include <span>
#include <vector>

#include <liburing.h>
#include <unistd.h>

#include "base/check.h"
#include "tests/crash/power_cut_disk.h"

namespace diptych::crash {
namespace {

std::atomic<int> refusal{0};          // writer: refuse_rings()
std::atomic<uint64_t> operations{0};  // writers: whoever submits

int to_result(ssize_t returned) {
  return returned < 0 ? -errno : static_cast<int>(returned);
}

// What liburing's inline functions expect to find behind an io_uring.
class Ring {
 public:
  explicit Ring(unsigned entries)
      : sqes_(std::bit_ceil(entries)), cqes_(2 * std::bit_ceil(entries)) {}

  io_uring face() {
    io_uring made = {};
    made.sq.khead = &sq_head_;
    made.sq.ktail = &sq_tail_;
    made.sq.sqes = sqes_.data();
    made.sq.ring_entries = static_cast<unsigned>(sqes_.size());
    made.sq.ring_mask = made.sq.ring_entries - 1;
    made.sq.ring_ptr = this;
    made.cq.khead = &cq_head_;
    made.cq.ktail = &cq_tail_;
    made.cq.cqes = cqes_.data();
    made.cq.ring_entries = static_cast<unsigned>(cqes_.size());
    made.cq.ring_mask = made.cq.ring_entries - 1;
    made.features = IORING_FEAT_EXT_ARG;
    made.ring_fd = -1;
    return made;
  }
  static Ring& behind(const io_uring& ring) { return *static_cast<Ring*>(ring.sq.ring_ptr); }

  void use_files(std::span<const int> files) { files_.assign(files.begin(), files.end()); }

  int submit(const io_uring& ring) {
    const std::lock_guard lock(mutex_);
    const unsigned count = ring.sq.sqe_tail - sq_head_;
    if (count == 0) return 0;
    if (!PowerCutDisk::instance().grants_submission()) return -EAGAIN;
    bool is_linked_to_failure = false;
    for (unsigned i = 0; i < count; ++i) {
      const io_uring_sqe& entry = sqes_[sq_head_ & ring.sq.ring_mask];
      const int result = is_linked_to_failure ? -ECANCELED : run(entry);
      const bool is_whole = entry.opcode == IORING_OP_FSYNC || entry.opcode == IORING_OP_NOP
                                ? result == 0
                                : result == static_cast<int>(entry.len);
      is_linked_to_failure = (entry.flags & IOSQE_IO_LINK) != 0 && !is_whole;
      io_uring_cqe cqe = {};
      cqe.user_data = entry.user_data;
      cqe.res = result;
      done_.push_back(cqe);
      ++sq_head_;
    }
    return static_cast<int>(count);
  }

  // Some of what is done; false: nothing is to be seen.
  bool tell(const io_uring& ring) {
    const std::lock_guard lock(mutex_);
    for (size_t count = done_.empty() ? 0 : random_() % (done_.size() + 1); count != 0; --count) {
      DIPTYCH_CHECK(cq_tail_ - io_uring_smp_load_acquire(&cq_head_) < cqes_.size(),
                    "no more is submitted at a time than a ring has room for");
      cqes_[cq_tail_ & ring.cq.ring_mask] = done_.front();
      done_.pop_front();
      io_uring_smp_store_release(&cq_tail_, cq_tail_ + 1);
    }
    return cq_tail_ != io_uring_smp_load_acquire(&cq_head_);
  }

 private:
  int run(const io_uring_sqe& entry) {
    // relaxed: a count.
    operations.fetch_add(1, std::memory_order_relaxed);
    const bool is_fixed = (entry.flags & IOSQE_FIXED_FILE) != 0;
    const int file = is_fixed ? files_.at(static_cast<size_t>(entry.fd)) : entry.fd;
    void* const memory = reinterpret_cast<void*>(entry.addr);  // NOLINT(performance-no-int-to-ptr)
    const auto at = static_cast<off_t>(entry.off);
    switch (entry.opcode) {
      case IORING_OP_READ:
      case IORING_OP_READ_FIXED: {
        // Of whole pages, as the file is read directly.
        const bool is_short = entry.len > kPageBytes && random_() % 8 == 0;
        return to_result(::pread(file, memory, is_short ? kPageBytes : entry.len, at));
      }
      case IORING_OP_WRITE: {
        // Most groups of the log have less than a sector.
        const bool is_short = entry.len > 1 && random_() % 8 == 0;
        const size_t bytes = is_short ? 1 + random_() % (entry.len - 1) : entry.len;
        return to_result(::pwrite(file, memory, bytes, at));
      }
      case IORING_OP_FSYNC: return to_result(::fdatasync(file));
      case IORING_OP_NOP: return 0;
      default: return -EINVAL;
    }
  }

  static constexpr unsigned kPageBytes = 4096;

  std::mutex mutex_;
  std::minstd_rand random_;
  std::vector<io_uring_sqe> sqes_;
  std::vector<io_uring_cqe> cqes_;
  std::vector<int> files_;
  std::deque<io_uring_cqe> done_;  // and not told
  unsigned sq_head_ = 0;
  unsigned sq_tail_ = 0;
  unsigned cq_head_ = 0;  // writer: whoever looks
  unsigned cq_tail_ = 0;
};

}  // namespace

void refuse_rings(int error_number) {
  // relaxed: who makes a ring is started afterwards.
  refusal.store(error_number, std::memory_order_relaxed);
}

uint64_t ring_operations() {
  // relaxed: a count.
  return operations.load(std::memory_order_relaxed);
}

}  // namespace diptych::crash

// In place of liburing's, for all that is linked into the program.
extern "C" {

int io_uring_queue_init(unsigned entries, io_uring* ring, unsigned /*flags*/) {
  // relaxed: as in refuse_rings().
  const int refused = diptych::crash::refusal.load(std::memory_order_relaxed);
  if (refused != 0) return -refused;
  *ring = (new diptych::crash::Ring(entries))->face();
  return 0;
}

void io_uring_queue_exit(io_uring* ring) {
  delete &diptych::crash::Ring::behind(*ring);
}

int io_uring_register_files(io_uring* ring, const int* files, unsigned count) {
  diptych::crash::Ring::behind(*ring).use_files({files, count});
  return 0;
}

int io_uring_register_buffers(io_uring* /*ring*/, const iovec* /*buffers*/, unsigned /*count*/) {
  return 0;
}

int io_uring_submit(io_uring* ring) {
  return diptych::crash::Ring::behind(*ring).submit(*ring);
}

int io_uring_submit_and_wait(io_uring* ring, unsigned /*wanted*/) {
  const int submitted = diptych::crash::Ring::behind(*ring).submit(*ring);
  if (submitted < 0) return submitted;
  const bool is_told = diptych::crash::Ring::behind(*ring).tell(*ring);
  return submitted == 0 && !is_told ? -EINTR : submitted;
}

int __io_uring_get_cqe(io_uring* ring, io_uring_cqe** cqe, unsigned /*submit*/, unsigned wanted,
                       sigset_t* /*mask*/) {
  if (!diptych::crash::Ring::behind(*ring).tell(*ring)) {
    *cqe = nullptr;
    if (wanted == 0) return -EAGAIN;
    ::usleep(10);
    return -EINTR;
  }
  const unsigned head = io_uring_smp_load_acquire(ring->cq.khead);
  *cqe = &ring->cq.cqes[head & ring->cq.ring_mask];
  return 0;
}

}  // extern "C"
