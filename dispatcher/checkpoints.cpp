#include "dispatcher/checkpoints.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <new>
#include <utility>

#include "base/clock.h"
#include "storage/replica_files.h"
#include "storage/replica_snapshot.h"

namespace diptych::dispatcher {

Checkpoints::Checkpoints(const DatabaseOptions& options, const std::vector<uint32_t>& cores,
                         Source source)
    : options_(options), source_(source) {
  if (options.path.empty()) return;
  writer_.emplace(
      CheckpointWriterOptions{.directory = options.path,
                              .cores = cores,
                              .bytes_per_second = options.checkpoint_bytes_per_second,
                              .interval_ns = options.checkpoint_interval_ns,
                              .before_step = checked_steps()},
      CheckpointWriter::Callbacks{
          .ended = [this](const CheckpointWriter::Ended& written) { ended(written); },
          .idle = [this] { writer_is_idle(); },
          .due = [this] { olap_dispatcher_->wish_checkpoint(); },
          .hurries = [this] { return log_ != nullptr && log_->hurries_checkpoints(); }});
}

storage::BeforeFileStep Checkpoints::checked_steps() const {
  return [this](storage::FileStep step) -> base::Result<void> {
    if (step == storage::FileStep::kGrow || step == storage::FileStep::kRename) {
      if (auto in_place = source_.identity->check(); !in_place) return in_place;
    }
    return storage::announce(options_.faults.before_step, step);
  };
}

void Checkpoints::found(base::Vid vid, uint64_t ddl_version) {
  saved_vid_ = vid;
  note_saved_ddl(ddl_version);
}

void Checkpoints::note_saved_ddl(uint64_t version) {
  const std::lock_guard lock(mutex_);
  saved_ddl_ = std::max(saved_ddl_, version);
}

bool Checkpoints::is_saved(base::Vid vid) {
  const std::lock_guard lock(mutex_);
  return saved_vid_ == vid && saved_ddl_ == source_.ddl->version();
}

void Checkpoints::start(CommandLog* log, OlapDispatcher* olap_dispatcher) {
  log_ = log;
  olap_dispatcher_ = olap_dispatcher;
  if (writer_) writer_->start();
}

base::Result<void> Checkpoints::save() {
  if (!writer_) return {};
  base::Result<void> saved;
  try {
    saved = save_replica();
  } catch (const std::bad_alloc&) {
    saved = base::Error(base::ErrorCode::kOutOfMemory, "there is no memory left to save with");
  }
  // relaxed: a figure to look at.
  if (!saved) failed_.fetch_add(1, std::memory_order_relaxed);
  return saved;
}

base::Result<void> Checkpoints::save_replica() {
  cancel();
  if (log_ != nullptr) log_->begin_file();
  if (olap_dispatcher_ != nullptr) olap_dispatcher_->bring_up_to_date();
  if (auto usable = check_replica(); !usable) return usable;
  storage::Replica& replica = *source_.replica;
  const base::Vid vid = replica.snapshot();
  uint64_t settled = 0;  // the same rows, but smaller: as good a reason to save as others
  for (uint32_t t = 0; t < replica.table_count(); ++t) {
    settled += replica.table(base::TableId(t)).figures().columns_settled;
  }
  const SchemaStatements& ddl = *source_.ddl;
  if (!is_saved(vid) || saved_settled_ != settled) {
    auto saved = storage::save_replica(options_.path, &replica, ddl.texts(), checked_steps());
    if (!saved) return saved.error();
    saved_vid_ = vid;
    note_saved_ddl(ddl.version());
    saved_settled_ = settled;
    // relaxed: a figure to look at.
    saves_.fetch_add(1, std::memory_order_relaxed);
  }
  if (log_ != nullptr) log_->cover(vid);
  return {};
}

void Checkpoints::cancel() {
  if (writer_) writer_->cancel();
}

base::Result<void> Checkpoints::save_schema() {
  if (!writer_) return {};
  const SchemaStatements& ddl = *source_.ddl;
  auto saved = storage::save_schema(options_.path, source_.replica, ddl.texts(), checked_steps());
  if (saved) note_saved_ddl(ddl.version());
  // relaxed: a figure to look at.
  if (!saved) failed_.fetch_add(1, std::memory_order_relaxed);
  return saved;
}

base::Result<void> Checkpoints::check_replica() const {
  if (olap_dispatcher_ == nullptr) return {};
  return olap_dispatcher_->check_replica();
}

base::Result<void> Checkpoints::await() {
  std::future<base::Result<void>> done;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return base::ErrorCode::kClosed;
    done = waiters_.emplace_back().get_future();
  }
  olap_dispatcher_->wish_checkpoint();
  return done.get();
}

bool Checkpoints::waits_for_writer() {
  if (!writer_ || !writer_->busy()) return false;
  // One that was cut before the wish does not fulfil it.
  {
    const std::lock_guard lock(mutex_);
    again_ = true;
  }
  if (urgency() == Urgency::kUrgent) writer_->make_way();
  // It may have ended in between, and not have seen the flag.
  if (writer_->busy()) return true;
  const std::lock_guard lock(mutex_);
  return !std::exchange(again_, false);
}

void Checkpoints::run() {
  if (waits_for_writer()) return;
  Waiters answered;
  {
    const std::lock_guard lock(mutex_);
    answered.swap(waiters_);
    participants_.swap(answered);
  }
  const base::Result<bool> begun = [&]() -> base::Result<bool> {
    try {
      return begin();
    } catch (const std::bad_alloc&) {
      return base::ErrorCode::kOutOfMemory;
    }
  }();
  if (begun && *begun) return;
  {
    const std::lock_guard lock(mutex_);
    answered.swap(participants_);
  }
  const base::Result<void> outcome = begun ? base::Result<void>() : begun.error();
  if (!outcome) note_failure(outcome.error(), answered.size());
  for (auto& waiter : answered) waiter.set_value(outcome);
}

// The log's file is changed before the replica is brought up to date: all that the files before it
// have is in the snapshot. It takes as much to make ready as a small checkpoint, so one that is
// hardly used stays.
base::Result<bool> Checkpoints::begin() {
  if (!writer_) return false;
  if (is_saved(source_.clock->last())) {
    if (log_ != nullptr) log_->cover(*saved_vid_);  // whose files a backup may have held
    return false;
  }
  if (log_ != nullptr) log_->begin_file(options_.log_file_bytes / 2);
  olap_dispatcher_->bring_up_to_date();
  if (auto usable = check_replica(); !usable) return usable.error();
  writer_->begin(std::make_unique<storage::ReplicaSnapshot>(source_.replica), *source_.ddl,
                 urgency());
  return true;
}

Urgency Checkpoints::urgency() const {
  return log_ != nullptr && log_->outgrows_checkpoints() ? Urgency::kUrgent : Urgency::kUsual;
}

void Checkpoints::note_failure(const base::Error& error, size_t waiters) {
  // relaxed: a figure to look at.
  failed_.fetch_add(1, std::memory_order_relaxed);
  if (log_ != nullptr) log_->checkpoint_failed();
  if (waiters != 0) return;
  if (!failure_notice_.is_due(base::steady_ns())) return;
  const bool grows = log_ != nullptr && !log_->is_suspended();
  base::notify("a checkpoint failed{}: {}", grows ? ", and the log grows" : "", error);
}

void Checkpoints::ended(const CheckpointWriter::Ended& written) {
  if (written.result) {
    saved_vid_ = written.vid;
    note_saved_ddl(written.ddl);
    // relaxed: a figure to look at.
    saves_.fetch_add(1, std::memory_order_relaxed);
    if (log_ != nullptr) log_->cover(written.vid);
  }
  Waiters answered;
  {
    const std::lock_guard lock(mutex_);
    answered.swap(participants_);
    if (!written.result && written.result.code() == base::ErrorCode::kCancelled) {
      // Whoever cancelled it saves the replica; where that fails, another checkpoint has to do. Or
      // it made way for an urgent one.
      again_ = true;
      std::move(answered.begin(), answered.end(), std::back_inserter(waiters_));
      return;
    }
  }
  if (!written.result) note_failure(written.result.error(), answered.size());
  for (auto& waiter : answered) waiter.set_value(written.result);
}

void Checkpoints::writer_is_idle() {
  bool again = false;
  {
    const std::lock_guard lock(mutex_);
    again = std::exchange(again_, false) || !waiters_.empty();
  }
  if (again) {
    olap_dispatcher_->wish_checkpoint();
  } else {
    olap_dispatcher_->snapshot_has_gone();
  }
}

void Checkpoints::close() {
  cancel();
  const std::lock_guard lock(mutex_);
  closed_ = true;
  for (auto& waiter : waiters_) waiter.set_value(base::ErrorCode::kClosed);
  waiters_.clear();
}

void Checkpoints::report(Metrics* metrics) const {
  // relaxed: figures to look at, both.
  metrics->checkpoints = saves_.load(std::memory_order_relaxed);
  // relaxed: as above.
  metrics->checkpoints_failed = failed_.load(std::memory_order_relaxed);
  if (writer_) writer_->report(metrics);
}

}  // namespace diptych::dispatcher
