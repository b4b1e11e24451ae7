// Engine::State: the core, the workers and their threads, and how a batch gets to them and back.
//
//   leader   batch_ = ..., running_ = threads, ++generation_, wake -> own share -> running_ == 0
//   others   asleep -> see a new generation -> own share -> --running_, the last wakes the leader
//
// Threads    the leader owns everything between batches; see worker.h for the rest.

#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "base/parker.h"
#include "base/thread.h"
#include "oltp/batch_order.h"
#include "oltp/engine.h"
#include "oltp/engine_core.h"
#include "oltp/update_replay.h"
#include "oltp/worker.h"

namespace diptych::oltp {

struct Engine::State {
  State(const base::Catalog* catalog, const EngineOptions& options,
        propagation::UpdateQueue* queue);
  ~State();

  Worker& leader() { return *workers.front(); }

  // Runs the batch on all workers and returns when all are done.
  void run_on_workers(std::span<Request* const> requests, uint64_t deadline_ns);
  void run_on_workers(UpdateReplay* replay);
  // Runs the batch on the leader, while nobody else runs.
  void run_on_leader(std::span<Request* const> requests, uint64_t deadline_ns);
  // Whether it has lost against others again and again.
  static bool is_loser(const Request* request) {
    return request->conflicts >= kConflictsBesideOthers;
  }
  // Reclaims, pushes the sealed sets, and brings the metrics up to date (E1).
  void reach_boundary();
  // Of a batch that is lost nothing was pushed: its VIDs were never given.
  void take_back_batch();
  // The replica has everything up to here: it is where the rows came from.
  void finish_restore(base::Vid vid) {
    pushed_ = vid;
    for (const auto& table : core.tables) {
      if (table != nullptr) leader().touch(*table);  // that were filled
    }
    reach_boundary();
  }

  EngineCore core;
  std::vector<std::unique_ptr<Worker>> workers;  // [WorkerId]; 0 is the leader's
  bool has_losers = false;  // among what the next batch begins with; the leader's

  std::atomic<uint64_t> batches{0};     // writer: the leader, as of all metrics
  std::atomic<uint64_t> committed{0};   // writer: the leader
  std::atomic<uint64_t> aborted{0};     // writer: the leader
  std::atomic<uint64_t> conflicts{0};   // writer: the leader
  std::atomic<size_t> row_bytes{0};     // writer: the leader
  std::atomic<size_t> string_bytes{0};  // writer: the leader
  std::atomic<size_t> undo_bytes{0};    // writer: the leader
  std::atomic<size_t> index_bytes{0};   // writer: the leader

 private:
  // A long transaction on rows that short ones change would lose each time. What was run again so
  // often (in some batches, with their rounds of retries in worker.cpp) is run apart from them.
  static constexpr uint32_t kConflictsBesideOthers = 9;

  // With fewer, waking the workers takes longer than it spares.
  static constexpr size_t kDroppedByAllMin = 64;

  static constexpr size_t kIndexesMeasuredAlways = 64;
  static constexpr uint64_t kMeasuredShare = 100;

  struct Batch {
    uint64_t deadline_ns = 0;
    UpdateReplay* replay = nullptr;  // in place of requests, whose shares are order_'s
    bool is_over = false;            // its dead entries are dropped, in place of both
  };

  void serve(uint32_t worker);
  void end_threads();
  void run_share(uint32_t worker);
  // batch_, on all workers. noexcept: they run it while the leader is at its own share, and what
  // they read must not be unwound beneath them.
  void run_batch() noexcept;
  // Likewise, and all are at the indexes; between batches the leader alone is.
  void run_batch_on_indexes();
  void drop_dead_entries();
  void trim_strings();
  static void reclaim_indexes(const Table& table);  // that the batch touched
  // For the metrics. With many indexes a hundredth of the time goes to it at most, and what a batch
  // has added may be told only after a later one.
  void measure_memory();
  void arrange(std::span<Request* const> requests);

  uint64_t measured_ns_ = 0;             // when, and how long it took; the leader's
  uint64_t measuring_ns_ = 0;            // likewise
  base::Vid pushed_;                     // the newest VID that the queue was told
  Batch batch_;                          // writer: the leader, before generation_
  BatchOrder order_;                     // likewise
  std::vector<BatchOrder::Hint> hints_;  // the leader's
  std::atomic<uint64_t> generation_{0};  // writer: the leader
  std::atomic<bool> stopping_{false};    // writer: the leader
  std::atomic<uint32_t> running_{0};     // writer: the leader, then the threads
  base::Parker start_;
  base::Parker done_;
  std::vector<base::Thread> threads_;  // of the workers but the leader
};

}  // namespace diptych::oltp
