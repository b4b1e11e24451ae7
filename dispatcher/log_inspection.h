// inspect_log: what the command log of a database that is not open holds; every frame is checked.
//
// Nothing is written. Meanwhile the directory is locked, as an open one is.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

namespace diptych::dispatcher {

// One that a replay calls, as it was then: only that version can run its calls again. Two of one
// name where it was replaced.
struct ProcedureToReplay {
  std::string name;
  uint64_t version = 0;
  uint64_t calls = 0;
};

struct LogInspection {
  base::Vid saved;  // the manifest's: where the log begins to count
  base::Vid last;   // the newest that is in it; `saved`: none
  uint64_t files = 0;
  uint64_t bytes = 0;                         // of what is to be replayed
  uint64_t transactions = 0;                  // that the next opening replays
  std::vector<ProcedureToReplay> procedures;  // that it needs for them, by name and version
  std::vector<std::string> unused;  // paths of files that were never begun: it removes them
  std::string torn_tail;            // where the log ends within a group; empty: it does not
};

// kInUse, kNotFound, kInvalidArgument as inspect_database. kCorrupt, kIo: with file and byte.
base::Result<LogInspection> inspect_log(const std::string& path);

}  // namespace diptych::dispatcher
