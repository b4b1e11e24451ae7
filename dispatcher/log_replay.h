// LogReplay: the log that an earlier process left, from when it is found until it has been run.
//
//   find ──► [nothing after the manifest] ──────────────────────────► done
//     └────► found ──run──► check ──► replay ──► trimmed ──► finished ──► done
//              ▲              └ a procedure is missing: again   │
//              └ stop: log and manifest stay as they are        └ an error: for good
//
// Threads    find: open's. run, report, missing, hold: any; one at a time runs, the others wait.
//            is_done, stop: any.

#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "dispatcher/batch_gate.h"
#include "dispatcher/command_log/command_log.h"
#include "dispatcher/database_options.h"
#include "dispatcher/database_reports.h"
#include "dispatcher/freshness_clock.h"
#include "dispatcher/logged_transactions.h"
#include "dispatcher/metrics.h"
#include "dispatcher/module_registry.h"
#include "dispatcher/procedure_directory.h"
#include "dispatcher/time_spent.h"
#include "oltp/engine.h"
#include "storage/manifest.h"

namespace diptych::dispatcher {

class LogReplay {
 public:
  // What it is replayed with and on; all of it outlives this.
  struct Parts {
    BatchGate* gate = nullptr;
    FreshnessClock* clock = nullptr;
    oltp::Engine* engine = nullptr;
    const ProcedureDirectory* procedures = nullptr;
    const ModuleRegistry* modules = nullptr;
    const storage::DirectoryIdentity* identity = nullptr;
  };
  LogReplay(const DatabaseOptions& options, Parts parts);
  LogReplay(const LogReplay&) = delete;
  LogReplay& operator=(const LogReplay&) = delete;

  // Reads the log of the options' path behind the manifest. Where nothing of it is to be replayed,
  // its files are trimmed: a torn end is cut off.
  base::Result<void> find(base::Vid manifest_vid, uint64_t database_id);
  // Where the log goes on, and the last VID that is in it or the manifest.
  const LogPosition& position() const { return position_; }

  // There is nothing to replay, or no more: the data is what it was.
  bool is_done() const {
    // acquire: pairs with the release in run; the data is as replay left it.
    return done_.load(std::memory_order_acquire);
  }
  struct Steps {
    std::function<base::Result<void>()> check_open;  // before it begins; its error is run's
    std::function<void()> wait_until_batch_may_start;
    std::function<void()> finished;  // once, before anybody meets the data
  };
  // Replays it, if that is still to be done. kNotFound, kInvalidArgument: of procedures, as
  // LoggedTransactions::check; it can be called again. kClosed: stop was called. Other errors: for
  // good.
  base::Result<void> run(const Steps& steps);
  // One that runs ends with kClosed, and its log stays; returns when it has.
  void stop();

  // Nobody replays while it is held.
  std::unique_lock<std::mutex> hold() const { return std::unique_lock(mutex_); }
  // Of a log that was not replayed to its end; null: there is none. The caller holds it.
  const LogContents* contents() const { return logged_ ? &logged_->contents() : nullptr; }

  RecoveryReport report() const;
  // Names of procedures that the log needs, and that are not there.
  std::vector<std::string> missing() const;
  void report(Metrics* metrics) const;

 private:
  base::Result<void> replay(const Steps& steps);
  base::Result<void> replay_and_trim(const Steps& steps);

  const DatabaseOptions& options_;
  const Parts parts_;

  std::atomic<bool> done_{true};                // writers: find, run
  std::atomic<bool> stops_{false};              // writer: stop
  mutable std::mutex mutex_;                    // held by run; of the next four
  LogPosition position_;                        // writer: find
  std::unique_ptr<LoggedTransactions> logged_;  // null: there is nothing to replay, or no more
  std::optional<base::Error> failure_;          // of a replay that had begun: for good
  RecoveryReport report_;

  std::atomic<uint64_t> transactions_{0};  // replayed; writer: run
  TimeSpent spent_;
};

}  // namespace diptych::dispatcher
