// DiskFaults: what a test does to the files of a database, below it. Empty: nothing.

#pragma once

#include <cstddef>

#include "storage/file_step.h"

namespace diptych::dispatcher {

struct DiskFaults {
  // Before each step that changes log, blocks or manifest; its error is the step's.
  storage::BeforeFileStep before_step;
  size_t log_write_bytes_max = SIZE_MAX;  // of one call: the rest takes another
  // The log's groups go through the ring though there is a `before_step`, which then comes before
  // the write and before the sync, and whatever priority the log's thread has.
  bool log_by_ring = false;
  // A broken variant, which the crash tests must find: replies do not wait for the log.
  bool reply_early = false;
};

}  // namespace diptych::dispatcher
