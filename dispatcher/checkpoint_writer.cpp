#include "dispatcher/checkpoint_writer.h"

#include <chrono>
#include <new>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "base/thread.h"

namespace diptych::dispatcher {
namespace {

constexpr const char* kThreadName = "olap-checkpoint";  // of both

}  // namespace

CheckpointWriter::CheckpointWriter(CheckpointWriterOptions options, Callbacks callbacks)
    : options_(std::move(options)),
      callbacks_(std::move(callbacks)),
      due_ns_(base::steady_ns() + options_.interval_ns) {}

void CheckpointWriter::start() {
  thread_ = base::Thread([this] { run(); });
}

CheckpointWriter::~CheckpointWriter() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    cancelled_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool CheckpointWriter::busy() const {
  const std::lock_guard lock(mutex_);
  return busy_;
}

void CheckpointWriter::begin(std::unique_ptr<storage::ReplicaSnapshot> snapshot,
                             const SchemaStatements& ddl, Urgency urgency) {
  {
    const std::lock_guard lock(mutex_);
    DIPTYCH_CHECK(!busy_, "S1: one snapshot at a time is saved");
    urgency_ = urgency;
    snapshot_ = std::move(snapshot);
    ddl_ = ddl.texts();
    ddl_version_ = ddl.version();
    busy_ = true;
    begun_ns_ = base::steady_ns();
    rate_ = ByteRate(options_.bytes_per_second);
  }
  changed_.notify_all();
}

void CheckpointWriter::cancel() {
  std::unique_lock lock(mutex_);
  if (!busy_) return;
  cancelled_ = true;
  changed_.notify_all();
  changed_.wait(lock, [this] { return !busy_; });
}

void CheckpointWriter::make_way() {
  const std::lock_guard lock(mutex_);
  if (!busy_ || urgency_ == Urgency::kUrgent) return;
  cancelled_ = true;
  changed_.notify_all();
}

void CheckpointWriter::report(Metrics* metrics) const {
  const std::lock_guard lock(mutex_);
  metrics->checkpoints_running = busy_ ? 1 : 0;
  metrics->checkpoint_ns = figures_.checkpoint_ns;
  metrics->checkpoint_bytes = figures_.checkpoint_bytes;
}

void CheckpointWriter::run() {
  base::pin_this_thread(options_.cores);
  base::name_this_thread(kThreadName);
  std::unique_lock lock(mutex_);
  while (true) {
    wait(&lock);
    if (busy_) {
      lock.unlock();
      write_at_its_priority();
      lock.lock();
      busy_ = false;
      cancelled_ = stopping_;
      changed_.notify_all();
      lock.unlock();
      callbacks_.idle();
      lock.lock();
    } else if (stopping_) {
      return;
    } else {
      lock.unlock();
      callbacks_.due();
      lock.lock();
      due_ns_ = base::steady_ns() + options_.interval_ns;
    }
  }
}

// Until there is something to write, it is to end, or it is time for `due`.
void CheckpointWriter::wait(std::unique_lock<std::mutex>* held) {
  const auto called = [this] { return busy_ || stopping_; };
  if (options_.interval_ns == 0) {
    changed_.wait(*held, called);
    return;
  }
  while (!called()) {
    const uint64_t now_ns = base::steady_ns();
    if (now_ns >= due_ns_) return;
    changed_.wait_for(*held, std::chrono::nanoseconds(due_ns_ - now_ns), called);
  }
}

// In a thread that ends with it: without a privilege none gets back the priority that it gave up.
// Where the system has no thread or no memory for one, at this one's.
void CheckpointWriter::write_at_its_priority() {
  base::Thread thread;
  bool begun = false;
  try {
    begun = base::ensure_begun(&thread, [this] {
      base::name_this_thread(kThreadName);
      if (urgency_ == Urgency::kUsual) base::lower_priority_of_this_thread();
      write();
    });
  } catch (const std::bad_alloc&) {  // nothing has begun
  }
  if (!begun) return write();
  thread.join();
}

void CheckpointWriter::write() {
  Ended ended;
  ended.vid = snapshot_->vid();
  ended.ddl = ddl_version_;
  try {
    const auto saved = snapshot_->save(options_.directory, ddl_, options_.before_step,
                                       [this](size_t bytes) { return pace(bytes); });
    if (!saved) ended.result = saved.error();
  } catch (const std::bad_alloc&) {  // for the error's text
    ended.result = base::ErrorCode::kOutOfMemory;
  }
  snapshot_.reset();
  {
    const std::lock_guard lock(mutex_);
    if (ended.result) figures_.checkpoint_ns.record(base::steady_ns() - begun_ns_);
    due_ns_ = base::steady_ns() + options_.interval_ns;
  }
  callbacks_.ended(ended);
}

base::Result<void> CheckpointWriter::pace(size_t bytes) {
  std::unique_lock lock(mutex_);
  figures_.checkpoint_bytes += bytes;
  rate_.wait(bytes, &lock, &changed_, [this] { return cancelled_ || callbacks_.hurries(); });
  if (cancelled_) return base::ErrorCode::kCancelled;
  return {};
}

}  // namespace diptych::dispatcher
