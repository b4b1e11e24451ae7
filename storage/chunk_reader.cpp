#include "storage/chunk_reader.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <liburing.h>

#include "base/check.h"
#include "base/notice.h"

namespace diptych::storage {
namespace {

constexpr uint32_t kDepthMax = 1024;
constexpr size_t kBufferBytesMax = size_t{1} << 30;  // the kernel's limit of a registered buffer

void say_once_that_the_ring_is_refused(int error_number) {
  static base::NoticeOnce once;
  if (!once.is_due()) return;
  base::notify("chunks are read one at a time, without io_uring: the system refuses: {}",
               std::strerror(error_number));
}

void say_once_that_registration_is_refused(int error_number) {
  static base::NoticeOnce once;
  if (!once.is_due()) return;
  base::notify(
      "chunks are read into memory that io_uring pins anew for each (a higher limit of locked "
      "memory, ulimit -l, may spare that): the system refuses: {}",
      std::strerror(error_number));
}

}  // namespace

struct ChunkReader::Ring {
  explicit Ring(uint32_t depth) {
    prepared.reserve(depth);
    refused = -io_uring_queue_init(depth, &ring, 0);
  }
  ~Ring() {
    if (refused == 0) io_uring_queue_exit(&ring);
  }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  io_uring ring = {};
  int refused = 0;  // errno of opening it
  bool file_is_registered = false;
  // What submit_queued() prepared and the system has not taken yet; there is room for all.
  std::vector<std::pair<io_uring_sqe*, ChunkRead*>> prepared;
};

void ChunkReader::List::push_back(ChunkRead* read) {
  read->next_ = nullptr;
  (first_ == nullptr ? first_ : last_->next_) = read;
  last_ = read;
}

ChunkRead* ChunkReader::List::pop_front() {
  ChunkRead* const read = first_;
  first_ = read->next_;
  return read;
}

void ChunkReader::List::absorb(List* other) {
  if (other->empty()) return;
  (first_ == nullptr ? first_ : last_->next_) = other->first_;
  last_ = other->last_;
  *other = List();
}

ChunkReader::ChunkReader(const BlockFile* file, ChunkArena* arena, uint32_t depth, ReadWay best)
    : file_(file), arena_(arena), depth_(depth), way_(best) {
  DIPTYCH_CHECK(depth >= 1 && depth <= kDepthMax, "a reader has 1 to 1024 reads in flight");
  if (way_ != ReadWay::kBlocking) open_ring();
}

void ChunkReader::open_ring() {
  ring_ = std::make_unique<Ring>(depth_);
  if (ring_->refused != 0) {
    say_once_that_the_ring_is_refused(ring_->refused);
    ring_.reset();
    way_ = ReadWay::kBlocking;
    return;
  }
  const int file = file_->read_descriptor();
  // A refusal costs a little speed only.
  ring_->file_is_registered = io_uring_register_files(&ring_->ring, &file, 1) == 0;
  if (way_ == ReadWay::kRegisteredRing) register_memory();
}

void ChunkReader::register_memory() {
  const std::span<std::byte> memory = arena_->memory();
  std::vector<iovec> buffers;
  for (size_t at = 0; at < memory.size(); at += kBufferBytesMax) {
    buffers.push_back({memory.data() + at, std::min(memory.size() - at, kBufferBytesMax)});
  }
  if (buffers.empty()) {
    way_ = ReadWay::kRing;
    return;
  }
  const int refused = io_uring_register_buffers(&ring_->ring, buffers.data(),
                                                static_cast<unsigned>(buffers.size()));
  if (refused == 0) return;
  way_ = ReadWay::kRing;
  say_once_that_registration_is_refused(-refused);
}

ChunkReader::~ChunkReader() {
  if (ring_ == nullptr) return;
  {
    const std::lock_guard guard(submission_mutex_);
    queue_ = List();
  }
  for (;;) {
    {
      const std::lock_guard guard(submission_mutex_);
      if (in_flight_ == 0) break;
    }
    reap(IfNone::kWait);
  }
}

void ChunkReader::start(ChunkRead* read) {
  DIPTYCH_CHECK(read->address.is_set() && read->address.bytes != 0, "what is read has an address");
  // relaxed: the owner starts it, who has waited for it or made it.
  const ChunkRead::State before = read->state_.load(std::memory_order_relaxed);
  DIPTYCH_CHECK(before == ChunkRead::State::kIdle || before == ChunkRead::State::kDone,
                "a read is started anew only when it is done");
  if (read->memory.empty()) {
    std::optional<ChunkMemory> memory = arena_->take(read->address.bytes);
    read->memory = memory ? std::move(*memory) : ChunkMemory::on_heap(read->address.bytes);
  }
  DIPTYCH_CHECK(read->memory.pages().size() == read->address.pages() * kFilePageBytes,
                "the disk reads into whole pages, all of the chunk's");
  read->bytes_read_ = 0;
  read->result_ = {};
  if (way_ == ReadWay::kBlocking) {
    // release: who waits for it reads its fields.
    read->state_.store(ChunkRead::State::kArrived, std::memory_order_release);
    return;
  }
  // release: as above.
  read->state_.store(ChunkRead::State::kStarted, std::memory_order_release);
  List arrived;
  bool queued = false;
  {
    const std::lock_guard guard(submission_mutex_);
    queue_.push_back(read);
    submit_queued(&arrived);
    queued = !queue_.empty();
  }
  if (!arrived.empty()) mark_arrived(arrived);
  if (queued) reap_if_nobody_does();
}

void ChunkReader::reap_if_nobody_does() {
  {
    const std::lock_guard guard(reaping_mutex_);
    if (reaping_) return;
    reaping_ = true;
  }
  reap(IfNone::kReturn);
  {
    const std::lock_guard guard(reaping_mutex_);
    reaping_ = false;
  }
  arrival_or_role_.notify_all();
}

bool ChunkReader::done(const ChunkRead& read) const {
  // acquire: pairs with mark_arrived() and finish(); who sees it may use the read.
  return read.state_.load(std::memory_order_acquire) >= ChunkRead::State::kArrived;
}

void ChunkReader::prepare(ChunkRead* read) {
  io_uring_sqe* const sqe = io_uring_get_sqe(&ring_->ring);
  DIPTYCH_CHECK(sqe != nullptr, "the ring has room for `depth` reads");
  const std::span<std::byte> pages = read->memory.pages();
  const int file = ring_->file_is_registered ? 0 : file_->read_descriptor();
  const auto bytes = static_cast<unsigned>(std::min(pages.size(), kBufferBytesMax));
  const uint64_t offset = read->address.offset();
  bool fixed = false;
  const std::span<std::byte> registered = arena_->memory();
  if (way_ == ReadWay::kRegisteredRing && read->memory.in_arena() &&
      !std::less<>()(pages.data(), registered.data()) &&
      std::less<>()(pages.data(), registered.data() + registered.size())) {
    const auto first = static_cast<size_t>(pages.data() - registered.data());
    const size_t buffer = first / kBufferBytesMax;
    fixed = (first + bytes - 1) / kBufferBytesMax == buffer;
    if (fixed) {
      io_uring_prep_read_fixed(sqe, file, pages.data(), bytes, offset, static_cast<int>(buffer));
    }
  }
  if (!fixed) io_uring_prep_read(sqe, file, pages.data(), bytes, offset);
  if (ring_->file_is_registered) io_uring_sqe_set_flags(sqe, IOSQE_FIXED_FILE);
  io_uring_sqe_set_data(sqe, read);
  ring_->prepared.emplace_back(sqe, read);
}

void ChunkReader::submit_queued(List* arrived) {
  while (!queue_.empty() && in_flight_ < depth_ && io_uring_sq_space_left(&ring_->ring) != 0) {
    prepare(queue_.pop_front());
    ++in_flight_;
  }
  while (io_uring_sq_ready(&ring_->ring) != 0) {
    const int submitted = io_uring_submit(&ring_->ring);
    if (submitted <= 0 && submitted != -EINTR) break;
  }
  // What the system has no memory for now is left in the ring as nothing to do, and read by its
  // waiter. Of what is left, the youngest are those prepared here.
  const size_t left = std::min<size_t>(io_uring_sq_ready(&ring_->ring), ring_->prepared.size());
  for (size_t i = ring_->prepared.size() - left; i < ring_->prepared.size(); ++i) {
    const auto [sqe, read] = ring_->prepared[i];
    io_uring_prep_nop(sqe);
    io_uring_sqe_set_data(sqe, nullptr);
    arrived->push_back(read);
    --in_flight_;
  }
  ring_->prepared.clear();
  if (in_flight_ != 0) return;
  // R1: nothing will arrive that would get them on their way.
  arrived->absorb(&queue_);
}

void ChunkReader::reap(IfNone if_none) {
  io_uring_cqe* cqe = nullptr;
  if (if_none == IfNone::kWait) {
    int refused = 0;
    do {
      refused = io_uring_wait_cqe(&ring_->ring, &cqe);
    } while (refused == -EINTR);
    DIPTYCH_CHECK(refused == 0, "a ring tells of what it has taken");
  }
  List arrived;
  {
    // Also what orders the reads' fields: they were submitted under this lock.
    const std::lock_guard guard(submission_mutex_);
    while (io_uring_peek_cqe(&ring_->ring, &cqe) == 0) {
      auto* const read = static_cast<ChunkRead*>(io_uring_cqe_get_data(cqe));
      const int result = cqe->res;
      io_uring_cqe_seen(&ring_->ring, cqe);
      if (read == nullptr) continue;  // nothing to do, and done
      // An error is met again by the waiter, who reads what is missing.
      read->bytes_read_ = static_cast<size_t>(std::max(result, 0));
      --in_flight_;
      arrived.push_back(read);
    }
    submit_queued(&arrived);
  }
  mark_arrived(arrived);
}

void ChunkReader::mark_arrived(List reads) {
  while (!reads.empty()) {
    ChunkRead* const read = reads.pop_front();
    // release: what the disk read, and how much, is seen by who finds the read done. From here on
    // it is not ours (R3).
    read->state_.store(ChunkRead::State::kArrived, std::memory_order_release);
  }
  {
    // Whoever looked before, and found nothing, waits by now.
    const std::lock_guard guard(reaping_mutex_);
  }
  arrival_or_role_.notify_all();
}

void ChunkReader::wait_for_arrival(const ChunkRead& read) {
  std::unique_lock lock(reaping_mutex_);
  while (!done(read)) {
    if (reaping_) {
      arrival_or_role_.wait(lock);
      continue;
    }
    reaping_ = true;
    lock.unlock();
    while (!done(read)) reap(IfNone::kWait);  // R2
    lock.lock();
    reaping_ = false;
    arrival_or_role_.notify_all();
  }
}

base::Result<void> ChunkReader::wait(ChunkRead* read) {
  // relaxed: a misuse, and no synchronisation.
  DIPTYCH_CHECK(read->state_.load(std::memory_order_relaxed) != ChunkRead::State::kIdle,
                "only what was started is waited for");
  if (!done(*read)) wait_for_arrival(*read);
  ChunkRead::State state = ChunkRead::State::kArrived;
  // acquire: pairs with mark_arrived(), or with the store below.
  if (read->state_.compare_exchange_strong(state, ChunkRead::State::kVerifying,
                                           std::memory_order_acquire)) {
    read->result_ = finish(read);
    // release: the others read the result.
    read->state_.store(ChunkRead::State::kDone, std::memory_order_release);
    read->state_.notify_all();
    return read->result_;
  }
  while (state != ChunkRead::State::kDone) {
    // acquire: pairs with the store above.
    read->state_.wait(state, std::memory_order_acquire);
    // acquire: as above.
    state = read->state_.load(std::memory_order_acquire);
  }
  return read->result_;
}

base::Result<void> ChunkReader::finish(ChunkRead* read) const {
  base::Result<void> rest =
      file_->read_rest(read->address, read->bytes_read_, read->memory.pages());
  if (!rest) return rest;
  return file_->verify(read->address, read->memory.bytes());
}

}  // namespace diptych::storage
