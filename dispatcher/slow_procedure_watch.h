// SlowProcedureWatch: says which procedure holds everybody up.
//
// A transaction that runs longer than a limit is counted when it has ended, and reported on
// standard error: once for each procedure, with its name and time, while it still runs if it does.
// For that a thread wakes twice in the time of the limit and looks at each worker's mark
// (oltp/run_mark.h): a store a transaction, and nothing an operation. A procedure's access or
// partition function counts as a transaction of it.
//
// Threads    ended: the OLTP dispatcher's. figures: any.

#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <set>
#include <span>
#include <string>

#include "base/thread.h"
#include "dispatcher/procedure_directory.h"
#include "oltp/engine.h"

namespace diptych::dispatcher {

class SlowProcedureWatch {
 public:
  // `limit_ns` is not 0. What is pointed at outlives the watch.
  SlowProcedureWatch(uint64_t limit_ns, const oltp::Engine* engine,
                     const ProcedureDirectory* procedures);
  ~SlowProcedureWatch();
  SlowProcedureWatch(const SlowProcedureWatch&) = delete;
  SlowProcedureWatch& operator=(const SlowProcedureWatch&) = delete;

  void ended(std::span<const oltp::SlowRun> runs);

  struct Figures {
    uint64_t ended = 0;   // runs over the limit
    std::string slowest;  // procedure; of one that still runs, too
    uint64_t slowest_ns = 0;
  };
  Figures figures() const;

 private:
  void watch();
  void look_at_running();
  // The caller holds mutex_.
  void note(base::ProcedureId procedure, uint64_t ns, const char* how);

  const uint64_t limit_ns_;
  const oltp::Engine* const engine_;
  const ProcedureDirectory* const procedures_;

  mutable std::mutex mutex_;  // of all below
  std::condition_variable stop_asked_;
  bool stopping_ = false;
  Figures figures_;
  std::set<base::ProcedureId> reported_;
  base::Thread thread_;
};

}  // namespace diptych::dispatcher
