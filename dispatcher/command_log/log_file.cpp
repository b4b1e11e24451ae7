#include "dispatcher/command_log/log_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <liburing.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/notice.h"
#include "storage/file.h"

namespace diptych::dispatcher {
namespace {

constexpr unsigned kRingEntries = 4;
// What an entry of the ring is about.
constexpr uint64_t kRingWrite = 1;
constexpr uint64_t kRingSync = 2;
// Small: where the kernel is not preempted, the log waits for what it makes of one call.
constexpr size_t kZeroBytes = size_t{64} << 10;
constexpr size_t kPartBytes = size_t{256} << 10;  // that the disk gets at a time, where it is paced

using storage::FileStep;
using storage::system_error;

void say_once_that_the_ring_is_refused(int error_number) {
  static base::NoticeOnce once;
  if (!once.is_due()) return;
  base::notify("the log is written without io_uring: the system refuses: {}",
               std::strerror(error_number));
}

}  // namespace

struct LogRing::Ring {
  // As the calls' results: bytes or 0, or less errno.
  struct Results {
    int write = 0;
    int sync = -ECANCELED;
    bool refused = false;  // by the system, which did nothing; the ring is not to be used again
  };

  explicit Ring(const io_uring& made) : ring(made) {}
  ~Ring() { io_uring_queue_exit(&ring); }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  io_uring_sqe* add() {
    entries.push_back(io_uring_get_sqe(&ring));
    DIPTYCH_CHECK(entries.back() != nullptr, "nothing else is in the ring");
    return entries.back();
  }
  // For the next run. `flags`: IOSQE_IO_LINK, where a sync comes behind it.
  void add_write(int file, std::span<const std::byte> bytes, size_t at, unsigned flags) {
    io_uring_sqe* const entry = add();
    io_uring_prep_write(entry, file, bytes.data(), static_cast<unsigned>(bytes.size()), at);
    io_uring_sqe_set_flags(entry, flags);
    io_uring_sqe_set_data64(entry, kRingWrite);
  }
  void add_sync(int file) {
    io_uring_sqe* const entry = add();
    io_uring_prep_fsync(entry, file, IORING_FSYNC_DATASYNC);
    io_uring_sqe_set_data64(entry, kRingSync);
  }
  // Submits what was added, and waits for all.
  Results run();

  io_uring ring;
  std::vector<io_uring_sqe*> entries;
};

LogRing::Ring::Results LogRing::Ring::run() {
  Results results;
  const auto count = static_cast<unsigned>(entries.size());
  unsigned waited = 0;
  while (waited < count) {
    const int submitted = io_uring_submit_and_wait(&ring, count - waited);
    if (submitted < 0 && submitted != -EINTR) {
      DIPTYCH_CHECK(io_uring_sq_ready(&ring) == count,
                    "the system takes all of a submission or nothing");
      say_once_that_the_ring_is_refused(-submitted);
      results.refused = true;
      break;
    }
    io_uring_cqe* cqe = nullptr;
    while (io_uring_peek_cqe(&ring, &cqe) == 0) {
      const uint64_t what = io_uring_cqe_get_data64(cqe);
      const int result = cqe->res;
      io_uring_cqe_seen(&ring, cqe);
      ++waited;
      (what == kRingWrite ? results.write : results.sync) = result;
    }
  }
  entries.clear();
  return results;
}

LogRing::LogRing(LogWay best) {
  if (best == LogWay::kCalls) return;
  io_uring made = {};
  const int refused = -io_uring_queue_init(kRingEntries, &made, 0);
  if (refused == 0) {
    ring_ = std::make_unique<Ring>(made);
  } else {
    say_once_that_the_ring_is_refused(refused);
  }
}

LogRing::~LogRing() = default;

std::string log_file_path(const std::string& directory, uint64_t number) {
  return fmt::format("{}/log-{:010}.dtl", directory, number);
}

base::Result<void> remove_log_file(const std::string& path,
                                   const storage::BeforeFileStep& before_step) {
  if (auto step = storage::announce(before_step, FileStep::kRemove); !step) return step;
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return {};
  return system_error("remove", path, errno);
}

LogFile::LogFile(std::string path, const LogFileHeader& header, const DiskFaults* faults)
    : path_(std::move(path)), header_(header), faults_(faults), size_(header.file_bytes) {}

LogFile::~LogFile() {
  if (file_ >= 0) ::close(file_);
}

base::Result<std::unique_ptr<LogFile>> LogFile::prepare(const LogPlace& place, uint64_t number,
                                                        size_t bytes, const DiskFaults* faults,
                                                        const Pace& pace) {
  if (auto in_place = place.identity.check(); !in_place) return in_place.error();
  std::unique_ptr<LogFile> made(new LogFile(
      log_file_path(place.directory, number),
      {.number = number, .file_bytes = bytes, .database_id = place.database_id}, faults));
  if (auto filled = made->fill(place.directory, pace); !filled) {
    static_cast<void>(remove_log_file(made->path_, faults->before_step));
    return filled.error();
  }
  return made;
}

// Zeroes in every block, for where space is given out unwritten each sync would have to note that
// it no longer is.
base::Result<void> LogFile::fill_with_zeroes(const Pace& pace) {
  const std::vector<std::byte> zeroes(kZeroBytes);
  uint64_t part_begin_ns = base::steady_ns();
  size_t on_disk = 0;
  for (size_t at = 0; at < size_; at += kZeroBytes) {
    const size_t count = std::min(kZeroBytes, size_ - at);
    if (auto written = write(std::span(zeroes).first(count), at); !written) return written;
    const size_t end = at + count;
    if (!pace || end - on_disk < kPartBytes) continue;
    // Some systems do not have it. An error is the file's, and no later sync would tell of it.
    constexpr unsigned kAndWait = SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
    if (::sync_file_range(file_, static_cast<off64_t>(on_disk), static_cast<off64_t>(end - on_disk),
                          kAndWait) != 0 &&
        errno != ENOSYS) {
      return system_error("write", path_, errno);
    }
    on_disk = end;
    pace(base::steady_ns() - part_begin_ns);
    part_begin_ns = base::steady_ns();
  }
  return {};
}

base::Result<void> LogFile::fill(const std::string& directory, const Pace& pace) {
  auto step = storage::announce(faults_->before_step, FileStep::kGrow);
  if (!step) return step;
  // To read, too: posix_fallocate does where the file system gives no space ahead.
  file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file_ < 0) return system_error("create", path_, errno);
  if (step = storage::announce(faults_->before_step, FileStep::kGrow); !step) return step;
  const int refused = storage::allocate_file_bytes(file_, size_);
  if (refused != 0) return system_error("add space to", path_, refused);
  if (auto filled = fill_with_zeroes(pace); !filled) return filled;
  if (auto synced = sync(); !synced) return synced;
  step = storage::announce(faults_->before_step, FileStep::kSyncDirectory);
  if (!step) return step;
  return storage::sync_directory(directory);
}

base::Result<void> LogFile::begin(base::Vid start, uint64_t first_sequence) {
  DIPTYCH_CHECK(end_ == 0, "a file is begun once");
  header_.start = start;
  header_.first_sequence = first_sequence;
  if (auto written = write(header_bytes(header_), 0); !written) return written;
  // Before any frame: who finds frames without a header knows that it is damaged.
  if (auto synced = sync(); !synced) return synced;
  end_ = kLogHeaderBytes;
  return {};
}

base::Result<void> LogFile::append(std::span<const std::byte> frame, LogRing* ring) {
  DIPTYCH_CHECK(end_ != 0 && has_room(frame.size()), "who appends asks for room first");
  Progress progress;
  const bool by_ring = !faults_->before_step || faults_->log_by_ring;
  if (by_ring && ring->way() == LogWay::kRing && frame.size() <= faults_->log_write_bytes_max) {
    const auto appended = append_by_ring(frame, ring);
    if (!appended) return appended.error();
    progress = *appended;
    // Not tried again as if nothing had happened.
    if (progress.sync_refused != 0) return system_error("sync", path_, progress.sync_refused);
  }
  // What the ring cut short or refused is met again by a call, with its error.
  if (progress.written < frame.size()) {
    progress.synced = false;
    auto written = write(frame.subspan(progress.written), end_ + progress.written);
    if (!written) return written;
  }
  if (!progress.synced) {
    if (auto synced = sync(); !synced) return synced;
  }
  end_ += frame.size();
  return {};
}

base::Result<LogFile::Progress> LogFile::append_by_ring(std::span<const std::byte> frame,
                                                        LogRing* ring) {
  LogRing::Ring& to = *ring->ring_;
  const bool in_two = faults_->before_step != nullptr;  // which then comes in between
  if (auto step = storage::announce(faults_->before_step, FileStep::kWrite); !step) {
    return step.error();
  }
  to.add_write(file_, frame, end_, in_two ? 0 : IOSQE_IO_LINK);
  if (!in_two) to.add_sync(file_);
  LogRing::Ring::Results results = to.run();
  if (in_two && results.write == static_cast<int>(frame.size())) {
    if (auto step = storage::announce(faults_->before_step, FileStep::kSync); !step) {
      return step.error();
    }
    to.add_sync(file_);
    const LogRing::Ring::Results later = to.run();
    results.sync = later.sync;
    results.refused = later.refused;
  }
  if (results.refused) ring->ring_.reset();
  Progress progress;
  if (results.write > 0) progress.written = static_cast<size_t>(results.write);
  progress.synced = results.sync == 0;
  if (results.sync < 0 && results.sync != -ECANCELED) progress.sync_refused = -results.sync;
  return progress;
}

base::Result<void> LogFile::write(std::span<const std::byte> bytes, size_t at) {
  while (!bytes.empty()) {
    auto step = storage::announce(faults_->before_step, FileStep::kWrite);
    if (!step) return step;
    const size_t count = std::min(bytes.size(), faults_->log_write_bytes_max);
    const ssize_t written = ::pwrite(file_, bytes.data(), count, static_cast<off_t>(at));
    if (written < 0) {
      if (errno == EINTR) continue;
      return system_error("write", path_, errno);
    }
    bytes = bytes.subspan(static_cast<size_t>(written));
    at += static_cast<size_t>(written);
  }
  return {};
}

base::Result<void> LogFile::sync() {
  auto step = storage::announce(faults_->before_step, FileStep::kSync);
  if (!step) return step;
  if (::fdatasync(file_) != 0) return system_error("sync", path_, errno);
  return {};
}

}  // namespace diptych::dispatcher
