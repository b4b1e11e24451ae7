// ScanMeasurement: how fast columns of the OLAP replica are read, by the threads and in the way of
// a query's scan (Leaf::pin, PinnedColumn::test and view, a vector at a time), with nothing on top.
//
// Each figure stands beside what the machine gives: before each pass over a column the same
// threads read a buffer that is larger than the caches, which is timed and leaves nothing of the
// column in them; each pass over a file is followed by the chunk reader's own and, where the caller
// has one, another program's, at the same depth. Machines drift, so shares are medians of
// neighbours.
//
// Rows in pages, as the last of each partition are, are in no figure: they have one form only.
// What update_half() writes, the OLTP replica does not have: the database is to be discarded.
//
// Threads    one. Both replicas stand still while it lives.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "dispatcher/database.h"
#include "storage/encoding/predicate.h"

namespace diptych::workloads::scan {

using ScanPredicate = storage::encoding::Predicate;
using ScanComparison = storage::encoding::Comparison;

// Bytes per second; medians over `passes`.
struct ScanSpeed {
  uint64_t passes = 0;
  uint64_t bytes = 0;  // of a pass: of the values, decoded or tested, or read from the file
  double bytes_per_second = 0;
  uint64_t reference_bytes = 0;  // of a pass
  double reference = 0;          // of the buffer, or of the chunk reader alone
  double share = 0;              // of the two in one round
  double share_min = 0;          // the least of a round
  // Of a scan from the file.
  double decoded = 0;
  double other = 0;        // of another program; 0: it was none
  double other_share = 0;  // of the scan and that
  double other_share_min = 0;
  std::string other_error;  // why there is none
};

// Bytes a second that something else reads of a file, in blocks of a size and at a depth.
using OtherReader = std::function<base::Result<double>(const std::string& file, size_t block_bytes,
                                                       uint32_t depth)>;

// How many blocks keep a column in which form.
struct ColumnForms {
  std::map<std::string, uint64_t> blocks;  // by encoding
  uint64_t thawed = 0;                     // blocks
  uint64_t rows = 0;
};

// Without nulls; one of the two is empty.
struct ColumnValues {
  std::vector<int64_t> numbers;
  std::vector<std::string> texts;

  size_t size() const { return numbers.size() + texts.size(); }
};

// What update_half() writes.
enum class NewValues : uint8_t {
  kOfTheBlock,  // what other rows of the block have: what takes any value takes these as it is
  kUnknown,  // what no row of the block has: numbers above its largest, texts with another letter
};

// Of encoding one table's blocks; bytes as the values lie in memory, of a text 4 and its own.
struct EncodingSpeed {
  uint64_t bytes = 0;
  double cpu_seconds = 0;

  double bytes_per_second() const { return static_cast<double>(bytes) / cpu_seconds; }
};

class ScanMeasurement {
 public:
  explicit ScanMeasurement(dispatcher::Database* database);
  ~ScanMeasurement();
  ScanMeasurement(const ScanMeasurement&) = delete;
  ScanMeasurement& operator=(const ScanMeasurement&) = delete;

  uint32_t threads() const;
  ColumnForms forms(base::TableId table, base::ColumnId column) const;
  // The values of the column's first block, in their order.
  base::Result<ColumnValues> sample(base::TableId table, base::ColumnId column);
  // Of all values in blocks, as EncodingSpeed counts them.
  base::Result<uint64_t> value_bytes(base::TableId table, base::ColumnId column);

  // Sums a column or, with a predicate, asks which rows pass, again and again for so long. A
  // speed is said in `bytes` a pass. kIo, kCorrupt: of reading it.
  base::Result<ScanSpeed> scan(base::TableId table, base::ColumnId column,
                               const ScanPredicate* predicate, uint64_t bytes, double seconds);

  // Gives every other row another value, in the way of the applier; compaction as between batches,
  // until nothing is thawed. Rows written. Not of DOUBLE and BOOLEAN columns.
  base::Result<uint64_t> update_half(base::TableId table, base::ColumnId column, NewValues values,
                                     uint64_t seed);
  base::Result<void> freeze(base::TableId table);
  // As compaction long after the last write, of a database whose columns settle.
  base::Result<void> settle(base::TableId table);

  // Encodes all columns of all blocks of a table anew, by the calling thread; decoding them before
  // is not counted.
  base::Result<EncodingSpeed> encode_blocks(base::TableId table);

  // Reads the tables' columns that are wanted, of all blocks: numbers are summed, and lengths of
  // texts. No block's column is in memory when a pass begins. The database is at a path, saved,
  // and has a limit of memory far below what the tables take. `other` reads the same file, in
  // blocks of the chunks' mean size; where it fails it is not asked again.
  base::Result<ScanSpeed> read_blocks(std::span<const base::TableId> tables,
                                      const std::function<bool(const base::ColumnSchema&)>& wanted,
                                      double seconds, const OtherReader& other);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace diptych::workloads::scan
