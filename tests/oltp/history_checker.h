// HistoryChecker: whether what transactions read and wrote is possible under an isolation level.
//
// A test notes for each run of each transaction what it read (row and value), what it wrote, its
// read VID and, if it committed, its commit VID. Values ("tokens") are written once in a whole
// history, so that a read tells the version that it got. The checker rebuilds each row's versions
// in the order of their VIDs and looks at every read:
//
//   snapshot breaches   each read and scan must give the newest version that was committed at the
//                       read VID, or the transaction's own last write; no two transactions that
//                       overlap write one row; all or nothing of a transaction is seen.
//   cycle               in the direct serialization graph (Adya): an edge from A to B where B must
//                       come after A: B wrote the version after A's (ww), B read A's version (wr),
//                       B wrote the version after the one that A read (rw); a scan reads every row:
//                       one outside of its range counts if its version at the read VID is the one
//                       that left the range (wr), and if a later version comes into it (rw).
//
// Tokens are not 0; 0 stands for "no row". A row's versions are in VID order: for the graph alone
// that is an assumption, which breaches of the first kind would show to be wrong.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace diptych::oltp::test {

inline constexpr uint64_t kAbsent = 0;

struct RowSeen {
  int64_t row;
  uint64_t token;
};

struct Operation {
  enum class Kind : uint8_t { kRead, kWrite, kScan };
  Kind kind;
  int64_t row = 0;            // read, write
  uint64_t token = 0;         // likewise; kAbsent: not there, or erased
  int64_t key = 0;            // of a write: where scans find the row
  int64_t lower = 0;          // of a scan: the keys in [lower, upper), which it read to the end
  int64_t upper = 0;          // likewise
  std::vector<RowSeen> seen;  // likewise
};

inline Operation read_of(int64_t row, uint64_t token) {
  return {Operation::Kind::kRead, row, token, 0, 0, 0, {}};
}
inline Operation write_of(int64_t row, uint64_t token, int64_t key = 0) {
  return {Operation::Kind::kWrite, row, token, key, 0, 0, {}};
}
inline Operation erase_of(int64_t row) {
  return write_of(row, kAbsent);
}
inline Operation scan_of(int64_t lower, int64_t upper, std::vector<RowSeen> seen) {
  return {Operation::Kind::kScan, 0, 0, 0, lower, upper, std::move(seen)};
}

// One run of a transaction.
struct HistoryRun {
  uint64_t read_vid = 0;
  uint64_t commit_vid = 0;  // 0: it wrote nothing, or was rolled back
  bool committed = true;
  std::vector<Operation> operations;
};
using History = std::vector<HistoryRun>;

enum class BreachKind : uint8_t {
  kVidOrder,          // a commit VID that is not after the read VID, or not the run's alone
  kUnknownRead,       // a value that nobody wrote
  kAbortedRead,       // a value of a run that was rolled back
  kIntermediateRead,  // a value that its own transaction wrote over
  kOwnWriteMissed,    // not the transaction's own last write
  kSnapshotRead,      // a committed value, but not the snapshot's; a row missing or too many
  kTornVisibility,    // one row with a transaction's write, another one without
  kLostUpdate,        // a write over a version that its writer's snapshot did not have
  kCycle,
};

struct Breach {
  BreachKind kind;
  std::string text;  // which runs and rows
};

std::vector<Breach> find_snapshot_breaches(const History& history);
// The edges of one cycle.
std::optional<Breach> find_cycle(const History& history);

}  // namespace diptych::oltp::test
