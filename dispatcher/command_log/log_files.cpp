#include "dispatcher/command_log/log_files.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "base/alignment.h"
#include "base/thread.h"
#include "dispatcher/command_log/log_begun.h"
#include "storage/file.h"

namespace diptych::dispatcher {
namespace {

constexpr size_t kSmallFileBytes = size_t{1} << 20;  // the first; the least of a full disk
constexpr uint64_t kGrowthSteps = 8;                 // then a file is as large as any
constexpr uint64_t kPausesAPart = 3;                 // as long as the disk took for it

}  // namespace

LogFiles::LogFiles(LogPlace place, size_t file_bytes_max, const DiskFaults* faults)
    : place_(std::move(place)), file_bytes_max_(file_bytes_max), faults_(faults) {}

LogFiles::~LogFiles() {
  stop();
}

void LogFiles::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  remove_prepared();
}

// One that stays counts for nothing.
void LogFiles::remove_prepared() {
  if (prepared_ == nullptr) return;
  static_cast<void>(remove(prepared_->header().number));
  prepared_.reset();
}

void LogFiles::set_present(std::vector<BegunFile> present, uint64_t next_number) {
  const std::lock_guard lock(mutex_);
  begun_ = std::move(present);
  next_number_ = next_number;
}

LogFiles::Sizes LogFiles::next_sizes(size_t needed) const {
  const size_t grown = kSmallFileBytes << (2 * std::min(made_, kGrowthSteps));
  const size_t usual = std::min(grown, file_bytes_max_);
  const size_t least = base::round_up(kLogHeaderBytes + needed, kLogHeaderBytes);
  return {.least = std::max(std::min(usual, kSmallFileBytes), least),
          .most = std::max(usual, least)};
}

base::Result<std::unique_ptr<LogFile>> LogFiles::make(uint64_t number, Sizes sizes,
                                                      const LogFile::Pace& pace) const {
  for (size_t bytes = sizes.most;; bytes = std::max(bytes / 2, sizes.least)) {
    auto made = LogFile::prepare(place_, number, bytes, faults_, pace);
    if (made || made.code() != base::ErrorCode::kNoSpace) return made;
    if (bytes == sizes.least) {
      return made.error().within(fmt::format("the log's next file takes {} bytes", bytes));
    }
  }
}

base::Result<void> LogFiles::begin_next(base::Vid start, uint64_t first_sequence, size_t bytes) {
  std::unique_ptr<LogFile> next;
  uint64_t number = 0;
  {
    std::unique_lock lock(mutex_);
    await_prepared(&lock);
    next = std::move(prepared_);
    number = next_number_;
  }
  if (next == nullptr || next->bytes() < kLogHeaderBytes + bytes) {
    auto made = make(number, next_sizes(bytes));
    if (!made) return made.error();
    next = std::move(*made);
  }
  if (auto begun = next->begin(start, first_sequence); !begun) {
    // Its header may be there, and would have the log go on in it.
    static_cast<void>(remove(number));
    static_cast<void>(storage::sync_directory(place_.directory));
    return begun;
  }
  if (auto noted = write_log_begun(place_, number, faults_->before_step); !noted) {
    // As above, since it is tried again. Else the log ends, and the record may name this file.
    if (noted.code() == base::ErrorCode::kNoSpace) {
      static_cast<void>(remove(number));
      static_cast<void>(storage::sync_directory(place_.directory));
    }
    return noted;
  }
  current_ = std::move(next);
  ++made_;
  const std::lock_guard lock(mutex_);
  begun_.push_back({number, start});
  next_number_ = number + 1;
  return {};
}

bool LogFiles::next_is_ready(uint64_t patience_ns) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::nanoseconds(patience_ns),
                    [&] { return stopping_ || (!wanted_ && !preparing_); });
  return prepared_ != nullptr;
}

base::Result<void> LogFiles::append(std::span<const std::byte> frame, LogRing* ring) {
  auto appended = current_->append(frame, ring);
  if (current_->used_bytes() > current_->bytes() / 2) prepare_ahead();
  return appended;
}

void LogFiles::prepare_ahead() {
  // Without a thread, who needs the next file makes it.
  if (!base::ensure_begun(&thread_, [this] { prepare_what_is_wanted(); })) return;
  {
    const std::lock_guard lock(mutex_);
    if (wanted_ || preparing_ || prepared_ != nullptr) return;
    wanted_ = true;
    wanted_sizes_ = next_sizes(0);
  }
  changed_.notify_all();
}

void LogFiles::prepare_what_is_wanted() {
  base::name_this_thread("oltp-log-files");
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stopping_ || wanted_; });
    if (stopping_) return;
    preparing_ = true;
    const uint64_t number = next_number_;
    const Sizes sizes = wanted_sizes_;
    lock.unlock();
    auto made = make(number, sizes, [this](uint64_t part_ns) { pause(part_ns); });
    lock.lock();
    // What fails is met again by who needs the file.
    if (made) prepared_ = std::move(*made);
    wanted_ = false;
    preparing_ = false;
    changed_.notify_all();
  }
}

void LogFiles::pause(uint64_t part_ns) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::nanoseconds(kPausesAPart * part_ns),
                    [&] { return stopping_ || awaited_; });
}

void LogFiles::await_prepared(std::unique_lock<std::mutex>* lock) {
  awaited_ = true;
  changed_.notify_all();
  changed_.wait(*lock, [&] { return !preparing_; });
  awaited_ = false;
  wanted_ = false;
}

base::Result<void> LogFiles::remove(uint64_t number) {
  if (auto in_place = place_.identity.check(); !in_place) return in_place;
  return remove_log_file(log_file_path(place_.directory, number), faults_->before_step);
}

void LogFiles::hold() {
  const std::lock_guard lock(mutex_);
  ++holds_;
}

void LogFiles::release() {
  base::Vid covered;
  {
    const std::lock_guard lock(mutex_);
    --holds_;
    covered = covered_;
  }
  // A file that stays is dropped by the next checkpoint.
  static_cast<void>(drop_covered(covered));
}

base::Result<void> LogFiles::drop_covered(base::Vid covered) {
  while (true) {
    uint64_t number = 0;
    {
      const std::lock_guard lock(mutex_);
      covered_ = std::max(covered_, covered);
      if (holds_ != 0 || begun_.size() < 2 || begun_[1].start > covered) return {};
      number = begun_.front().number;
    }
    if (auto removed = remove(number); !removed) return removed;
    const std::lock_guard lock(mutex_);
    // Not where another caller has been faster.
    if (begun_.front().number == number) begun_.erase(begun_.begin());
  }
}

base::Result<void> LogFiles::remove_all() {
  current_.reset();
  std::vector<BegunFile> begun;
  {
    std::unique_lock lock(mutex_);
    await_prepared(&lock);
    begun = begun_;
  }
  if (auto removed = remove_log_begun(place_, faults_->before_step); !removed) return removed;
  // The oldest first: those that are left are a log without a gap.
  for (const BegunFile& file : begun) {
    if (auto removed = remove(file.number); !removed) return removed;
    const std::lock_guard lock(mutex_);
    begun_.erase(begun_.begin());
  }
  const std::lock_guard lock(mutex_);
  remove_prepared();
  return {};
}

std::vector<BegunFile> LogFiles::begun() const {
  const std::lock_guard lock(mutex_);
  return begun_;
}

size_t LogFiles::file_count() const {
  const std::lock_guard lock(mutex_);
  return begun_.size();
}

}  // namespace diptych::dispatcher
