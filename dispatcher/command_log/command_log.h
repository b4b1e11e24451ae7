// CommandLog: makes transactions durable before their callers know of them (group commit).
//
//   OLTP leader   run_batch -> append: calls and requests into the group that fills -> next batch
//   log's thread  take the group -> write, sync -> complete its requests -> take the next ...
//
// Two groups go round: one fills while the other is written. A group is all batches that ended
// while the one before it was written; so the leader never waits for the disk, but where the group
// that fills has no room (wait_for_room). A batch that changed nothing goes the same way, since it
// may have read what is not durable yet; where nothing is on its way it is completed at once.
//
// A sync or write that fails is one for good: what was appended since fails with kIo, its fate
// unknown, and nothing is taken any more. A full disk is met when a file is made and not when it is
// written: the group waits until there is space, and only new calls are refused meanwhile; a
// checkpoint is asked for, since it frees files. Who waits for that with a deadline is answered by
// then, though his transaction is written yet; so is who waits for a disk that hangs (LogWatch).
//
// A physical log (LogContent::kUpdates) has, in place of the calls, the updates that they made:
// note_updates gets them at the batch's boundary, before append.
//
// Threads    append, note_updates, wait_for_room: the OLTP leader. begin_file, set_position: who
//            holds the gate, as a side or exclusively. The rest: any.
//
// Invariants
//   L1  The log has every VID after its position, in order and without a gap: a batch is appended
//       whole, at its boundary, where all transactions up to engine's last VID have ended; with
//       several workers they are put into the order of their VIDs first.
//   L2  A request is completed when its batch, and all before it, are durable; or it fails, its
//       fate unknown: as the log fails, or as its deadline passes while there is no space, or
//       the disk hangs.
//   L3  One frame is on its way at a time.

#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/notice.h"
#include "base/parker.h"
#include "base/result.h"
#include "base/thread.h"
#include "dispatcher/command_log/log_copy.h"
#include "dispatcher/command_log/log_files.h"
#include "dispatcher/command_log/log_format.h"
#include "dispatcher/command_log/log_watch.h"
#include "dispatcher/command_log/uncovered_log.h"
#include "dispatcher/metrics.h"
#include "dispatcher/procedure_directory.h"
#include "oltp/engine.h"
#include "oltp/request.h"
#include "propagation/export/update_queue.h"

namespace diptych::dispatcher {

enum class LogContent : uint8_t { kCalls, kUpdates };

struct CommandLogOptions {
  std::string directory;
  uint64_t database_id = 0;  // storage/manifest.h
  storage::DirectoryIdentity identity = {};
  LogContent content = LogContent::kCalls;
  size_t file_bytes_max = size_t{64} << 20;
  uint64_t checkpoint_bytes = 0;  // since the last one: then `checkpoint_is_due` is called
  base::SpinPolicy spin = base::SpinPolicy::kNever;
  std::vector<uint32_t> cores;  // for its thread, where that has priority; empty: any
  DiskFaults faults;
};

// The fingerprint of what a procedure takes.
uint64_t argument_signature(const ProcedureSignature& procedure);

// What an earlier process left.
struct LogPosition {
  uint64_t next_sequence = 1;
  uint64_t next_number = 1;
  uint64_t bytes = 0;  // after the last checkpoint
  std::vector<BegunFile> files;
};

class CommandLog {
 public:
  // Completes requests; called by the log's threads, and by the leader in append.
  using Complete = std::function<void(std::span<oltp::Request* const>)>;

  CommandLog(CommandLogOptions options, const oltp::Engine* engine,
             const ProcedureDirectory* procedures, Complete complete,
             std::function<void()> checkpoint_is_due);
  ~CommandLog();  // stops

  // Where it goes on: `last` is in the manifest, or was logged. Nothing was appended yet.
  void set_position(base::Vid last, LogPosition position);
  // It has `checkpoint_bytes` since the last checkpoint: after set_position, whose caller is the
  // first to ask; from then on checkpoint_is_due tells. True once each time.
  bool wants_checkpoint();
  // One that is begun now is urgent: the last ones took too long for the log (uncovered_log.h), or
  // calls are refused until there is one, which frees space or has what the log lacks.
  bool outgrows_checkpoints() const;
  // What is written of one is worth all that the disk gives. Takes no lock: who writes has the
  // lowest priority, and would keep others waiting for it.
  bool hurries_checkpoints() const {
    // relaxed: as where it is written.
    return hurries_checkpoints_.load(std::memory_order_relaxed);
  }

  // What a batch is about to export, where updates are logged. Before set_position: no effect.
  void note_updates(std::span<const propagation::SealedSet> sets);
  // The requests of a batch that have ended, at its boundary; `last`: the engine's last VID.
  void append(std::span<oltp::Request* const> ended, base::Vid last);
  // Until the group that fills has room and, where the log is full (uncovered_log.h), a checkpoint
  // has ended. Not where calls are refused: then nothing is appended. Calls `meanwhile` every
  // kLateAnswerNs.
  void wait_for_room(const std::function<void()>& meanwhile);
  // A transaction's VID that no batch has, of a load that a checkpoint is about to cover. The
  // caller holds the gate exclusively.
  void skip_to(base::Vid last);

  // Until all up to the VID is durable. Where calls are refused it returns at once: nobody knows
  // when that will be, and queries go on.
  void wait_until_durable(base::Vid vid);
  bool is_durable(base::Vid vid) const {
    // acquire: pairs with the release where it is raised.
    return durable_vid_.load(std::memory_order_acquire) >= vid.value;
  }
  // What calls are refused with at the moment: kIo for good, kNoSpace until there is space.
  std::optional<base::Error> refusal() const;
  // kIo once the log has failed for good.
  base::Result<void> check() const;
  bool refuses() const {
    // acquire: pairs with the release in refuse; the error is there.
    return refuses_.load(std::memory_order_acquire);
  }

  // Calls are refused from now on, until cover(): memory has what neither log nor manifest has.
  // Checkpoints are asked for again and again, which may cover it.
  void suspend(const base::Error& why);
  bool is_suspended() const;

  // Of a checkpoint: begin_file() before the replica is brought up to date, so that all that the
  // files before the new one have is in it; cover() once the manifest is durable. A file that is
  // used by less than `used_min` bytes stays the current one, and goes with a later checkpoint; so
  // does one, with a `used_min`, whose successor is not ready: all would wait for a slow disk.
  void begin_file(size_t used_min = 0);
  void cover(base::Vid vid);
  // Until the next one covers something, transactions do not wait for it.
  void checkpoint_failed();

  // For a backup: no file is dropped until release_files(), which drops what was covered meanwhile;
  // and where the log is durable now.
  void hold_files() { files_.hold(); }
  void release_files() { files_.release(); }
  struct End {
    std::vector<LogExtent> files;
    base::Vid last;  // that is in them
  };
  End durable_end() const;

  // From here on a full disk, or a checkpoint, is waited for no longer: what has no space fails.
  void give_up_waiting();
  // Ends what was appended, and the thread. Again: no effect.
  void stop();
  // After stop(): a manifest has all.
  void remove_files();

  // Which then have at most kArgumentBytesMax of arguments and texts.
  bool logs_calls() const { return options_.content == LogContent::kCalls; }

  bool runs_this_thread() const {
    return base::is_this_thread_of(this) || watch_.runs_this_thread();
  }
  void report(Metrics* metrics) const;

 private:
  struct Group {
    FrameWriter frame;
    std::vector<oltp::Request*> requests;
    std::vector<uint32_t> procedures;  // that its calls name
    std::vector<bool> names;           // [ProcedureId]: it is one of them
    base::Vid start;                   // before its first
    base::Vid last;
    bool empty() const { return frame.empty() && requests.empty(); }
    void clear();
    size_t memory_bytes() const {
      return frame.memory_bytes() + requests.capacity() * sizeof(oltp::Request*);
    }
  };
  struct Known {
    std::vector<oltp::TextCell> texts;
    uint64_t signature = 0;
    bool ready = false;
  };

  void run();
  bool take_group();  // waits for one; false: the log stops
  void begin_wanted_file();
  base::Result<void> write_group();
  base::Result<void> begin_next(base::Vid start, size_t bytes);
  bool wait_for_space(const base::Error& error);  // false: no longer
  void say_stall();                               // of each stall, and again a minute later
  void wish_checkpoint_again();                   // a second after the last time
  void answer_expired(std::string_view awaited);  // of both groups
  void finish_group(const base::Result<void>& written);
  void fail(const base::Error& error);  // for good; mutex_ is held
  void say_failure();                   // once
  void update_refusal();                // likewise
  void update_hurry();                  // likewise
  bool holds_back() const;              // likewise: batches, until there is a checkpoint
  void wait_for_checkpoint(const std::function<void()>& meanwhile);  // the leader
  LoggedProcedure definition(uint32_t procedure) const;
  const Known& known(uint32_t procedure);
  void encode(Group* group);  // committed_
  void encode_updates(Group* group);
  void note_memory();

  const CommandLogOptions options_;
  const oltp::Engine* const engine_;
  const ProcedureDirectory* const procedures_;
  const Complete complete_;
  const std::function<void()> checkpoint_is_due_;
  LogFiles files_;

  // The leader's.
  std::vector<oltp::Request*> committed_;
  std::vector<Known> known_;  // [ProcedureId]
  bool positioned_ = false;
  struct NotedRun {
    base::TableId table;
    size_t bytes = 0;
  };
  std::vector<NotedRun> noted_;  // the batch's updates, where they are logged
  std::vector<std::byte> noted_bytes_;
  std::atomic<size_t> noted_memory_bytes_{0};  // its; writer: the leader
  base::NoticePause held_notice_{60'000'000'000};

  // The thread's.
  std::optional<LogRing> ring_;  // the log thread's
  Group writing_;                // while writes_, its requests are guarded by mutex_
  uint64_t wished_ns_ = 0;       // wish_checkpoint_again
  std::optional<base::NoticePause> stall_notice_;  // of the stall that goes on
  bool failure_told_ = false;
  uint64_t sequence_ = 1;  // of the next frame
  // [ProcedureId]: the version that the current file has defined last.
  std::vector<std::optional<uint64_t>> defined_;

  mutable std::mutex mutex_;
  Group filling_;                // guarded by mutex_, as the next
  base::Vid appended_;           // all up to here was appended, or is in a manifest
  LogExtent end_;                // of the current file, what is durable; number 0: none was begun
  base::Vid logged_;             // the newest VID in a file
  UncoveredLog uncovered_;       // of an earlier process's log too
  uint64_t held_since_ns_ = 0;   // the leader waits for a checkpoint; 0: it does not
  bool writes_ = false;          // writing_ is on its way
  uint64_t files_wanted_ = 0;    // by begin_file
  uint64_t files_begun_ = 0;     // of these
  bool waits_for_space_ = true;  // where there is none, or for a checkpoint
  bool stopping_ = false;
  std::optional<base::Error> failure_;     // for good
  std::optional<base::Error> suspension_;  // until cover()
  std::optional<base::Error> stall_;       // until there is space
  Metrics figures_;                        // the log's part
  size_t writing_bytes_ = 0;               // of writing_, while it is on its way
  size_t writing_memory_bytes_ = 0;        // of writing_, as it was taken or cleared

  std::atomic<bool> hurries_checkpoints_{false};  // writers: under mutex_
  std::atomic<bool> refuses_{false};              // writers: under mutex_
  std::atomic<uint64_t> durable_vid_{0};          // writers: the thread, set_position, cover
  base::Parker work_;                             // rings for the thread
  base::Parker progress_;                         // rings when a group has ended
  LogWatch watch_;                                // after what it answers from
  base::Thread thread_;
};

}  // namespace diptych::dispatcher
