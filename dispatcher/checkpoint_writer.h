// CheckpointWriter: saves snapshots of the replica in the background, one at a time.
//
//   idle ──begin: a snapshot, cut between two OLAP batches──► writing ──► ended(...) ──► idle
//                                             cancel, make_way ─┴─► ended(kCancelled) ─┘
//
// While it writes, transactions, applies and queries go on. It writes at most `bytes_per_second`,
// while it need not hurry, on the OLAP side's cores: one that is urgent as a query's thread would,
// others behind all other threads of this process that want these cores, which may take long. What
// a save wrote before it was cancelled is not written again by the next one, unless it changed.
//
// Threads    one of its own, and while it writes a second one. begin, make_way: who holds the gate.
//            cancel, report: any but its own. The callbacks are called on its own: `hurries` while
//            it writes, `ended` before it is idle, `idle` after.
//
// Invariants
//   S1  One snapshot at a time is saved: whoever saves the replica itself cancels first, holding
//       the gate, so that none begins.

#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/thread.h"
#include "dispatcher/byte_rate.h"
#include "dispatcher/metrics.h"
#include "dispatcher/schema_statements.h"
#include "storage/file_step.h"
#include "storage/replica_snapshot.h"

namespace diptych::dispatcher {

struct CheckpointWriterOptions {
  std::string directory;
  std::vector<uint32_t> cores;
  uint64_t bytes_per_second = 0;  // 0: as fast as it goes
  uint64_t interval_ns = 0;       // how often `due` is called; 0: never
  storage::BeforeFileStep before_step;
};

enum class Urgency : uint8_t { kUsual, kUrgent };

class CheckpointWriter {
 public:
  struct Ended {
    base::Result<void> result;  // kCancelled: by cancel() or make_way()
    base::Vid vid;              // of the snapshot, which has gone
    uint64_t ddl = 0;           // as of the cut: SchemaStatements::version
  };
  struct Callbacks {
    std::function<void(const Ended&)> ended;
    std::function<void()> idle;
    std::function<void()> due;
    std::function<bool()> hurries;  // now: what it writes keeps to no rate; waits for nobody
  };

  CheckpointWriter(CheckpointWriterOptions options, Callbacks callbacks);
  ~CheckpointWriter();  // cancels
  // Begins its thread, once: what the callbacks need is there.
  void start();

  bool busy() const;
  // Not while it is busy.
  void begin(std::unique_ptr<storage::ReplicaSnapshot> snapshot, const SchemaStatements& ddl,
             Urgency urgency);
  // Has what it writes end soon, unless that is urgent, for an urgent one. Does not wait.
  void make_way();
  // Ends what it writes, and returns when it is idle.
  void cancel();

  void report(Metrics* metrics) const;

 private:
  void run();
  void wait(std::unique_lock<std::mutex>* held);
  void write_at_its_priority();
  void write();
  base::Result<void> pace(size_t bytes);

  const CheckpointWriterOptions options_;
  const Callbacks callbacks_;

  mutable std::mutex mutex_;         // guards all below
  std::condition_variable changed_;  // begun, cancelled, idle, stopping
  bool busy_ = false;
  bool cancelled_ = false;  // what is written
  bool stopping_ = false;
  uint64_t due_ns_ = 0;
  uint64_t begun_ns_ = 0;  // of the one that is written
  ByteRate rate_{0};       // of it
  Metrics figures_;        // this part
  // While busy, the threads': mutex_ was held as they were given.
  Urgency urgency_ = Urgency::kUsual;
  std::unique_ptr<storage::ReplicaSnapshot> snapshot_;
  std::vector<std::string> ddl_;
  uint64_t ddl_version_ = 0;

  base::Thread thread_;
};

}  // namespace diptych::dispatcher
