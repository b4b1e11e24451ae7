#include "dispatcher/log_replay.h"

#include <new>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/notice.h"
#include "dispatcher/recovery_progress.h"

namespace diptych::dispatcher {
namespace {

LogPosition position_after(const LogContents& contents) {
  LogPosition position{contents.next_sequence, contents.next_number, contents.bytes, {}};
  for (const LogFileFound& file : contents.files) {
    position.files.push_back({file.header.number, file.header.start});
  }
  return position;
}

}  // namespace

LogReplay::LogReplay(const DatabaseOptions& options, Parts parts)
    : options_(options), parts_(parts) {}

base::Result<void> LogReplay::find(base::Vid manifest_vid, uint64_t database_id) {
  auto contents = scan_log(options_.path, manifest_vid, database_id);
  if (!contents) return contents.error();
  position_ = position_after(*contents);
  if (contents->torn) {
    report_.torn_tail = fmt::format("{}: byte {}", contents->torn->path, contents->torn->offset);
    base::notify(
        "{}: the log ends here, within a group that was not written to its end, so that nobody was "
        "told of it, or was damaged since; it is cut off",
        report_.torn_tail);
  }
  report_.vid = contents->last;
  if (contents->transactions == 0) {
    return trim_log(options_.path, *contents, options_.faults.before_step);
  }
  logged_ = std::make_unique<LoggedTransactions>(options_.path, manifest_vid, std::move(*contents));
  // relaxed: nobody else has the database yet.
  done_.store(false, std::memory_order_relaxed);
  return {};
}

base::Result<void> LogReplay::run(const Steps& steps) {
  const std::lock_guard one_at_a_time(mutex_);
  // relaxed: written under the lock.
  if (done_.load(std::memory_order_relaxed)) return {};
  if (failure_) return *failure_;
  if (auto open = steps.check_open(); !open) return open;
  if (auto in_place = parts_.identity->check(); !in_place) return in_place;
  if (auto checked = logged_->check(*parts_.procedures, *parts_.modules); !checked) {
    return checked;
  }
  const uint64_t begin_ns = base::steady_ns();
  const base::Result<void> replayed = replay_and_trim(steps);
  // Whoever closes the database leaves the rest in the log.
  // acquire: as in replay.
  if (!replayed && stops_.load(std::memory_order_acquire)) return base::ErrorCode::kClosed;
  if (!replayed) {
    failure_ = replayed.error().within("the log cannot be replayed");
    return *failure_;
  }
  steps.finished();
  report_.transactions = logged_->contents().transactions;
  report_.log_bytes = logged_->contents().bytes;
  report_.seconds = static_cast<double>(base::steady_ns() - begin_ns) * 1e-9;
  spent_.add(begin_ns);
  // relaxed: a figure to look at.
  transactions_.store(report_.transactions, std::memory_order_relaxed);
  logged_.reset();
  // release: pairs with the acquire in is_done.
  done_.store(true, std::memory_order_release);
  return {};
}

base::Result<void> LogReplay::replay_and_trim(const Steps& steps) {
  try {
    if (auto replayed = replay(steps); !replayed) return replayed;
    if (auto in_place = parts_.identity->check(); !in_place) return in_place;
    auto trimmed = trim_log(options_.path, logged_->contents(), options_.faults.before_step);
    if (!trimmed) return trimmed;
    parts_.engine->release_free_slots();
    return {};
  } catch (const std::bad_alloc&) {  // a part has been replayed, and cannot be twice
    return base::Error(base::ErrorCode::kOutOfMemory,
                       "there is no memory left; nothing is lost: open the database anew");
  }
}

base::Result<void> LogReplay::replay(const Steps& steps) {
  RecoveryProgress progress(options_.path, options_.recovery_listener, "transaction",
                            "of the log replayed", logged_->contents().transactions);
  oltp::Engine& engine = *parts_.engine;
  const base::Vid begin = engine.last_vid();
  const auto in_batch = [&](const auto& body) -> base::Result<void> {
    steps.wait_until_batch_may_start();
    // acquire: pairs with the release in stop, which waits for this.
    if (stops_.load(std::memory_order_acquire)) return base::ErrorCode::kClosed;
    {
      const BatchGate::Passage passage = parts_.gate->pass(Side::kOltp);
      parts_.clock->batch_begins(base::steady_ns());
      auto replayed = body();
      parts_.clock->batch_ends(engine.last_vid());
      if (!replayed) return replayed;
    }
    progress.at(engine.last_vid().value - begin.value);
    return {};
  };
  auto replayed = logged_->replay(
      *parts_.procedures,
      [&](std::span<oltp::Request* const> requests, oltp::InsertedOfRequests inserted) {
        return in_batch([&] { return engine.replay_batch(requests, inserted); });
      },
      [&](std::span<const propagation::BatchRuns> batches) {
        return in_batch([&] { return engine.replay_updates(batches); });
      });
  if (replayed) progress.finish(engine.last_vid().value - begin.value);
  return replayed;
}

void LogReplay::stop() {
  // release: pairs with the acquire in replay.
  stops_.store(true, std::memory_order_release);
  const std::lock_guard ended(mutex_);
}

RecoveryReport LogReplay::report() const {
  const std::lock_guard lock(mutex_);
  return report_;
}

std::vector<std::string> LogReplay::missing() const {
  const std::lock_guard lock(mutex_);
  if (logged_ == nullptr) return {};
  return logged_->missing(*parts_.procedures, *parts_.modules);
}

void LogReplay::report(Metrics* metrics) const {
  // relaxed: a figure to look at.
  metrics->recovered_transactions = transactions_.load(std::memory_order_relaxed);
  metrics->recovery_ns = spent_.ns();
}

}  // namespace diptych::dispatcher
