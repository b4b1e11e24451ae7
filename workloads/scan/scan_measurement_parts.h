// ScanMeasurement::Parts: what its measurements share: the threads, the leaves, the memory that
// they are compared with, and medians of neighbouring figures.
//
// Threads    as in scan_measurement.h; share_out() uses the replica's.

#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "base/arena.h"
#include "base/clock.h"
#include "dispatcher/replica_access.h"
#include "storage/encoding/column.h"
#include "storage/leaf.h"
#include "storage/table.h"
#include "workloads/scan/scan_measurement.h"

namespace diptych::workloads::scan {

// The second of two neighbours in the middle.
double median_of(std::vector<double> values);

// Sums modulo 2^64, as all of any column: they are there so that every value is looked at.
uint64_t sum_words(const uint64_t* words, size_t count);
// Of the vector's values, nulls included (they decode to something), or of its texts' lengths.
uint64_t sum_vector(const storage::ColumnView& view, storage::encoding::ValueKind kind);
// As the values lie in memory; of a text: 4 bytes and its own. `sum`: what sum_vector() gave.
uint64_t decoded_bytes(const storage::ColumnView& view, storage::encoding::ValueKind kind,
                       uint64_t sum);

// What is measured beside a scan, in turns with it.
class Yardstick {
 public:
  void add(double speed, double reference) {
    references_.push_back(reference);
    shares_.push_back(speed / reference);
  }
  double reference() const { return median_of(references_); }
  double share() const { return median_of(shares_); }
  double share_min() const {
    return shares_.empty() ? 0 : *std::min_element(shares_.begin(), shares_.end());
  }

 private:
  std::vector<double> references_;
  std::vector<double> shares_;
};

// A scan and its yardstick.
class PassSpeeds {
 public:
  void add(double speed, double reference) {
    speeds_.push_back(speed);
    yardstick_.add(speed, reference);
  }
  void report(ScanSpeed* speed) const {
    speed->passes = speeds_.size();
    speed->bytes_per_second = median_of(speeds_);
    speed->reference = yardstick_.reference();
    speed->share = yardstick_.share();
    speed->share_min = yardstick_.share_min();
  }

 private:
  std::vector<double> speeds_;
  Yardstick yardstick_;
};

// The first error of several threads.
class FirstError {
 public:
  void set(const base::Error& error) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = error;
  }
  base::Result<void> result() const {
    return error_ ? base::Result<void>(*error_) : base::Result<void>();
  }

 private:
  std::mutex mutex_;
  std::optional<base::Error> error_;
};

// A column of a block, as the scan of a file goes through them.
struct BlockColumn {
  const storage::Leaf* leaf;
  base::ColumnId column;
  storage::encoding::ValueKind kind;
};

// Values of the column in a leaf: of its DOUBLEs, keys.
base::Result<ColumnValues> values_of(const storage::Leaf& leaf, base::ColumnId column,
                                     storage::encoding::ValueKind kind);

struct ScanMeasurement::Parts {
  static constexpr size_t kBufferBytes = size_t{256} << 20;

  explicit Parts(dispatcher::Database* database) : access(database) {}

  storage::Table& table(base::TableId id) { return access.replica().table(id); }
  storage::encoding::ValueKind kind(base::TableId id, base::ColumnId column) {
    return storage::encoding::value_kind(table(id).schema().columns[column.value].type);
  }

  template <class Visit>  // of (leaf)
  void for_leaves(base::TableId id, const Visit& visit) {
    for (uint32_t p = 0; p < table(id).partition_count(); ++p) {
      const storage::Partition& partition = table(id).partition(base::PartitionId(p));
      for (size_t l = 0; l < partition.leaf_count(); ++l) visit(partition.leaf(l));
    }
  }
  template <class Visit>  // of (leaf)
  void for_blocks(base::TableId id, const Visit& visit) {
    for_leaves(id, [&](const storage::Leaf& leaf) {
      if (leaf.form() == storage::LeafForm::kCompressed) visit(leaf);
    });
  }

  // body(item, its thread's buffer) once for each of `count` items, in their order, by all threads.
  using Body = std::function<void(size_t, storage::DecodeBuffer*)>;
  void share_out(size_t count, const Body& body);

  // Bytes a second of plain memory that is larger than the caches.
  double read_buffer();
  // One pass over the columns of blocks, read ahead as a query's scan does. Decoded bytes.
  base::Result<uint64_t> read_file(const std::vector<BlockColumn>& all);

  dispatcher::ReplicaAccess access;
  base::Region buffer;
  std::atomic<uint64_t> sums{0};  // writers: all threads; so that nothing is optimised away
};

}  // namespace diptych::workloads::scan
