// LogWait: ends a driver's wait for its last calls where a full disk holds them up for good.
//
// Calls in a group of the log that has no space are answered once there is some, or the database is
// closed. So a driver that makes no more calls, and to which none came back for some seconds while
// the log says that it waits for space, discards the database: the calls fail, and count as failed.
//
// Threads    the driver's.

#pragma once

#include <cstdint>

#include "dispatcher/database.h"
#include "workloads/drivers/phase.h"

namespace diptych::workloads {

class LogWait {
 public:
  static constexpr uint64_t kLookNs = 100'000'000;  // a driver's wait between two looks, at most

  LogWait(dispatcher::Database* database, const PhaseSwitch* phase)
      : database_(database), phase_(phase) {}

  // After each wait; `came`: a call has come back.
  void look(bool came);

 private:
  dispatcher::Database* database_;
  const PhaseSwitch* phase_;
  uint64_t quiet_since_ns_ = 0;  // 0: it is not
};

}  // namespace diptych::workloads
