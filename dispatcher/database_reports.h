// What the members of Database (dispatcher/database.h) report: values, for who asked.

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/row_binding.h"

namespace diptych::dispatcher {

// What opening a database that was not closed took.
struct RecoveryReport {
  uint64_t transactions = 0;  // replayed
  uint64_t log_bytes = 0;     // that held them
  base::Vid vid;              // up to which everything is there
  double seconds = 0;         // of the replay
  std::string torn_tail;      // where the log was cut, in words; empty: it was whole
};

struct LoadReport {
  uint64_t rows = 0;
  base::Vid vid;
};

struct BackupOptions {
  // Of the data's blocks, copied and then read again, at most; 0: as fast as it goes.
  uint64_t bytes_per_second = 0;
};

struct BackupReport {
  base::Vid first;  // it can be restored as of any version from here
  base::Vid last;   // to here
  uint64_t bytes = 0;
};

// A row that the replicas do not agree on.
struct ReplicaDifference {
  std::string table;
  base::RowId row_id;
  std::string what;  // "missing in the OLAP replica", "column c_balance: 10.00 against 9.50", ...
};

struct ReplicaComparison {
  base::Vid vid;
  uint64_t rows = 0;                     // compared
  uint64_t differences = 0;              // in all
  std::vector<ReplicaDifference> first;  // at most 20
};

// Hears now and then, on any thread, how far the recovery of a database is: "12 of 40 rows put
// back, 3 s to go", and the share that is done.
using RecoveryListener = std::function<void(const std::string& text, double done)>;

// What rebuilding a lost primary took.
struct RebuildReport {
  uint64_t rows = 0;
  base::Vid vid;       // as of which they are
  double seconds = 0;  // while nothing ran; the updates that waited for the replica included
};

// A procedure as a caller sees it.
struct ProcedureDescription {
  std::string name;
  std::string module;  // empty: registered by the program itself
  std::vector<base::BoundColumn> arguments;
  std::vector<base::BoundColumn> reply;
  bool by_name = false;  // call_by_name can call it
};

struct LoadedProcedures {
  std::string module;
  std::vector<std::string> defined;  // by it, in its order, those below included
  std::vector<std::string> replaced;
  std::vector<std::string> removed;  // the module before had them: calls fail with kNotFound
};

}  // namespace diptych::dispatcher
