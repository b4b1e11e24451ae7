// Checkpoints: what of a database at a path its last save has, and the next one: a checkpoint,
// which is a snapshot that is written in the background, or a save while everything stands still.
// Of a database in memory it saves nothing.
//
//   wish ──► run ──► begin: log file changed, replica brought up to date, snapshot cut
//             │              └──► CheckpointWriter ──► ended ──► idle: run again, if wished for
//             ├─ one is written: again, once it has ended; where the log outgrows it, soon
//             └─ nothing has changed: who waits is answered
//
// Whoever waits takes part in the first checkpoint that is begun after the call. One that is
// cancelled leaves them to the next, which has nothing to do where a save did it.
//
// A checkpoint is urgent where the log outgrows them, because it grows fast or because queries keep
// the cores busy, and where calls are refused until there is one: it is written at the usual
// priority, not at the lowest. One at the lowest that is still written as another is asked for
// makes way for it then: what it wrote stays written. If that does not do, it keeps to no rate, and
// then transactions wait for it (command_log/uncovered_log.h). The log hears of each that fails:
// nobody waits for such.
//
// Threads    await: any that may wait for the OLAP side. run: the OLAP side's, inside of the gate.
//            save: who holds the gate, exclusively or as the OLAP side. close: who closes the
//            database. report: any. The writer's thread calls back.
//
// Invariants
//   K1  What the last save has is written by the gate's holder while the writer is idle, and by the
//       writer's thread while it is busy.

#pragma once

#include <atomic>
#include <cstdint>
#include <future>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/notice.h"
#include "base/result.h"
#include "dispatcher/checkpoint_writer.h"
#include "dispatcher/command_log/command_log.h"
#include "dispatcher/database_options.h"
#include "dispatcher/freshness_clock.h"
#include "dispatcher/metrics.h"
#include "dispatcher/olap_dispatcher.h"
#include "dispatcher/schema_statements.h"
#include "storage/manifest.h"
#include "storage/table.h"

namespace diptych::dispatcher {

class Checkpoints {
 public:
  // What is saved; all of it outlives this.
  struct Source {
    storage::Replica* replica = nullptr;
    const FreshnessClock* clock = nullptr;
    const SchemaStatements* ddl = nullptr;  // the gate's
    const storage::DirectoryIdentity* identity = nullptr;
  };
  // The writer's thread runs on these cores.
  Checkpoints(const DatabaseOptions& options, const std::vector<uint32_t>& cores, Source source);
  Checkpoints(const Checkpoints&) = delete;
  Checkpoints& operator=(const Checkpoints&) = delete;

  // By open: what the manifest has, and as of which version of the DDL.
  void found(base::Vid vid, uint64_t ddl_version);
  // By open: from here on checkpoints are written. `log`: null where nothing is logged.
  void start(CommandLog* log, OlapDispatcher* olap_dispatcher);

  // Brings the replica up to date and saves it, if anything has changed since the last save; the
  // log that it covers goes. One that is written is cancelled: what it wrote stays written.
  base::Result<void> save();

  // One that is written ends soon, and covers nothing; another is begun when none holds the gate.
  void cancel();

  // The manifest gets the DDL as it is now, and stays what it is otherwise
  // (storage/replica_files.h). One that is written goes on.
  base::Result<void> save_schema();

  // Has a checkpoint written, and waits for it. kClosed: the database was closed meanwhile.
  base::Result<void> await();
  // Begins one, as the OLAP side was wished to.
  void run();
  // No one is written any more, and nobody is answered who comes later.
  void close();

  void report(Metrics* metrics) const;

 private:
  using Waiters = std::vector<std::promise<base::Result<void>>>;

  // No manifest comes to another database's directory.
  storage::BeforeFileStep checked_steps() const;
  base::Result<void> save_replica();
  // kCorrupt, kIo: the replica was lost to it.
  base::Result<void> check_replica() const;
  // Whether one that is written keeps another from being begun; that is then begun after it.
  bool waits_for_writer();
  Urgency urgency() const;  // of one that is begun now
  // Cuts a snapshot of the replica, brought up to date, and gives it to the writer. False: nothing
  // has changed since the last save.
  base::Result<bool> begin();
  void note_saved_ddl(uint64_t version);
  bool is_saved(base::Vid vid);  // with the DDL as it is now
  // Counts it, and says it where nobody waits who hears of it.
  void note_failure(const base::Error& error, size_t waiters);
  // The writer's callbacks.
  void ended(const CheckpointWriter::Ended& ended);
  void writer_is_idle();

  const DatabaseOptions& options_;
  const Source source_;
  // Set by start, before anything is wished for.
  CommandLog* log_ = nullptr;
  OlapDispatcher* olap_dispatcher_ = nullptr;

  // Of the last save: K1.
  std::optional<base::Vid> saved_vid_;                // none before the first
  uint64_t saved_settled_ = 0;                        // columns that had settled by then
  std::atomic<uint64_t> saves_{0};                    // writers: as saved_vid_'s
  std::atomic<uint64_t> failed_{0};                   // writers: who saves
  base::NoticePause failure_notice_{60'000'000'000};  // as saved_vid_'s

  std::mutex mutex_;        // guards the next five
  uint64_t saved_ddl_ = 0;  // the newest version; save_schema writes it beside the writer
  Waiters waiters_;         // for one that begins
  Waiters participants_;    // for the one that is written
  bool again_ = false;      // was wished for while one was written
  bool closed_ = false;     // nobody answers any more

  std::optional<CheckpointWriter> writer_;  // of a database at a path; goes first
};

}  // namespace diptych::dispatcher
