// run_scan: how fast the columnar replica is scanned, beside what the machine gives in the same
// run: from memory, before and after updates; or, with `cold`, from the disk.
//
// From memory: for each form that 4-byte numbers and texts of TPC-C take, and for its decimals, the
// largest such column is scanned frozen; after every other row got a value that rows of its block
// have; after every other row got one that no row of its block had; and frozen again. Numbers are
// summed and compared, texts are compared. A slowdown is a share of the memory's speed by another,
// since the machine's speed drifts (scan_measurement.h). Before all that, how fast the blocks are
// encoded.
// From the disk: all columns of all blocks, and then those of 4-byte numbers alone, beside raw
// reads of their chunks and, where it is installed, fio on the same file.
//
// Threads    as run_benchmark.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/topology.h"
#include "workloads/run_control.h"
#include "workloads/scan/scan_measurement.h"

namespace diptych::workloads {

struct ScanOptions {
  uint32_t warehouses = 1;
  bool cold = false;
  bool settled = false;  // cold: columns settle (storage/settling.h) before they are read
  double seconds = 1;    // of each measurement, at least
  // Cold: a new directory, which is kept; empty: one in the working directory, which is removed.
  std::string path;
  size_t memory_bytes_max = size_t{128} << 20;  // cold: of the replica's columns
  base::PlacementOptions placement;
  uint64_t seed = 42;
};

struct ColumnScan {
  std::string table;
  std::string column;
  std::string form;           // of most of its blocks, as loaded
  std::string predicate;      // as in SQL; empty: it is summed
  uint64_t rows_updated = 0;  // each time
  struct Stage {
    scan::ColumnForms forms;
    scan::ScanSpeed speed;
  };
  Stage frozen;
  Stage updated;   // with values of the block
  Stage extended;  // with values that the block had not
  Stage frozen_again;

  double slowdown(const Stage& stage) const { return frozen.speed.share / stage.speed.share; }
  double slowdown_max() const;  // after either update
};

struct ScanReport {
  ScanOptions options;
  bool interrupted = false;
  uint32_t threads = 0;
  double load_seconds = 0;
  std::vector<ColumnScan> columns;                      // from memory; ol_i_id first
  std::map<std::string, scan::EncodingSpeed> encoding;  // from memory, by table with blocks
  std::optional<scan::ScanSpeed> cold;                  // of all columns
  std::optional<scan::ScanSpeed> cold_integers;         // of those of 4-byte numbers

  double slowdown_max() const;  // of all columns; 0: there are none
  scan::EncodingSpeed encoding_in_all() const;

  // Something was measured: cold, more was read than fits into the limit of memory.
  bool clean() const { return cold ? cold->bytes > options.memory_bytes_max : !columns.empty(); }
};

// As run_benchmark.
base::Result<ScanReport> run_scan(const ScanOptions& options, const StopFlag& stop,
                                  const Progress& progress);

std::string to_json(const ScanReport& report);
std::string to_table(const ScanReport& report);

}  // namespace diptych::workloads
