// BackupRuns: the backup of an open database that is being taken, if one is: where its log ends,
// how fast it copies, and how it is stopped.
//
//   none ──begin──► runs ──ends──► none          stop: what runs ends with kClosed, none begins
//                     └ cut_log: its log ends here
//
// An unlogged change (a load, DDL, a library that replaces another) holds the gate from when it
// cuts the log until a manifest has it, or the log is suspended; begin holds the gate, too: either
// the change sees the backup, or the backup sees the suspended log.
//
// Threads    turn, begin, end_of_log, pace, done: who takes the backup. cut_log: who holds the
//            gate. stop, await: who closes the database.

#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>

#include "base/ids.h"
#include "base/result.h"
#include "dispatcher/batch_gate.h"
#include "dispatcher/byte_rate.h"
#include "dispatcher/command_log/command_log.h"
#include "dispatcher/time_spent.h"

namespace diptych::dispatcher {

class BackupRuns {
 public:
  BackupRuns() = default;
  BackupRuns(const BackupRuns&) = delete;
  BackupRuns& operator=(const BackupRuns&) = delete;

  // Held for as long as a backup is taken, so that two of them take turns.
  std::unique_lock<std::mutex> turn() { return std::unique_lock(taking_); }
  // kClosed: the database is being closed. `log`: null where nothing is logged.
  base::Result<void> begin(const BatchGate::Exclusive& gate_held, const CommandLog* log);
  // kClosed: as above. Waits as the rate wants it.
  base::Result<void> pace(ByteRate* rate, size_t bytes);
  // Of the one that runs: where a change cut it, or as far as it is durable now.
  CommandLog::End end_of_log(const CommandLog& log) const;
  void done();

  // A change begins that the log will not have: a backup that runs has the log up to `last`.
  void cut_log(const BatchGate::Exclusive& gate_held, CommandLog* log, base::Vid last);

  // One that runs ends soon, or, where it waits for a checkpoint, as the dispatchers are stopped.
  void stop();
  void await();

  TimeSpent& spent() { return spent_; }
  const TimeSpent& spent() const { return spent_; }

 private:
  std::mutex taking_;
  std::condition_variable stopping_;  // stops_ was set
  mutable std::mutex mutex_;          // guards the next three
  bool runs_ = false;
  bool stops_ = false;                  // the database is being closed
  std::optional<CommandLog::End> end_;  // where the log of the one that runs ends; none: open
  TimeSpent spent_;                     // by those that were taken
};

}  // namespace diptych::dispatcher
