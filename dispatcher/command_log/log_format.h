// The command log's bytes: what a file of it is made of. Numbers are little-endian.
//
//   file    header | frame | frame | ... | zeroes, or what was never acknowledged
//   header  0 magic "DTCMDLOG" | 8 version u32 | 12 zero | 16 number u64 | 24 start VID u64 |
//           32 first sequence u64 | 40 bytes of the whole file u64, durable before the header is |
//           48 id of the database u64 | zeroes | 4088 XXH3-64 of the bytes before
//           Of an older program's file, 40 and 48 are 0: not known.
//   frame   0 magic "DTGR" | 4 bytes, all of the frame's, the lower 32 bits | 8 sequence u64 |
//           16 where the definitions begin, the lower 32 bits | 20 the upper 16 of the bytes |
//           22 of the definitions' | 24 XXH3-64 of all else, seeded with the file's number |
//           32 batches | definitions | zeroes to a multiple of 512
//           Before version 4 the upper bits are 0.
//   batch   0 transactions u32 | 4 runs u32, 0: it is of calls | 8 start VID u64 |
//           transactions, or runs (LogMode::kPhysical)
//   run     0 table u32 | 4 zero | 8 bytes u64 | update records (propagation/export/record_run.h)
//   transaction
//           0 bytes u32, all of its own | 4 procedure u32 | 8 now i64 | 16 random seed u64 |
//           24 read lag u32 | 28 inserted rows u32 | arguments | texts | RowIds
//   text    of each argument that points outside and is not null, in their order: u32 bytes | bytes
//   RowIds  zigzag varints: each less the one before it, less 1
//   definition
//           0 procedure u32 | 4 name bytes u32 | 8 argument bytes u32 | 12 texts u32 |
//           16 signature u64 | 24 version u64 | name
//
// A frame is a group: all that is written and synced at a time. It begins on a sector of its own,
// so no sector is written again once it is durable, and it follows only when the one before it is
// durable; so what a crash tears is the last frame. A sector is on the disk as a whole or not at
// all: disks write no less, and a system that takes a part of a write cuts it between two pages.
// Procedures' numbers are the file's own: the frame that first names one, or another version of it,
// defines it. The n-th transaction of a batch has committed VID start + n (from 1), and has read
// VID commit - 1 - lag. Runs are in memory as they are in the file: they begin on multiples of 8.
//
// Reading never trusts: whatever the bytes are, the answer is a value or kCorrupt.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/types.h"
#include "oltp/text_cells.h"
#include "propagation/export/record_run.h"

namespace diptych::dispatcher {

inline constexpr size_t kLogHeaderBytes = 4096;
inline constexpr size_t kLogSectorBytes = 512;
inline constexpr size_t kFrameHeaderBytes = 32;
inline constexpr size_t kFrameBytesMax = (size_t{1} << 48) - kLogSectorBytes;
// Of a call's arguments with their texts: its length in the log is a u32.
inline constexpr size_t kArgumentBytesMax = size_t{1} << 30;

struct LogFileHeader {
  uint64_t number = 0;
  base::Vid start;  // the VID before the first that is in it
  uint64_t first_sequence = 0;
  uint64_t file_bytes = 0;   // that it was made with; 0: not known
  uint64_t database_id = 0;  // storage/manifest.h; 0: not known
};

bool all_zero(std::span<const std::byte> bytes);

std::vector<std::byte> header_bytes(const LogFileHeader& header);
// Whether the file has what there is before its header is durable, and nothing else: zeroes all
// over, or behind a header of which some sectors were written and others not.
bool is_never_begun(std::span<const std::byte> file, uint64_t number);
// kCorrupt; kUnsupported: a newer program's. Without the path.
base::Result<LogFileHeader> read_header(std::span<const std::byte> bytes);

// A procedure, as who logged its calls knew it.
struct LoggedProcedure {
  uint32_t id = 0;
  std::string_view name;
  uint32_t argument_bytes = 0;
  uint32_t texts = 0;      // arguments that point outside
  uint64_t signature = 0;  // of the arguments' names, types and places
  uint64_t version = 0;    // as it said itself (oltp/procedure.h)
};

// One call, to be logged, or as it was.
struct LoggedCall {
  uint32_t procedure = 0;
  base::Timestamp now;
  uint64_t random_seed = 0;
  base::Vid read_vid;
  base::Vid commit_vid;
  std::span<const std::byte> arguments;  // pointers in it mean nothing once it is logged
  std::vector<std::optional<std::string_view>> texts;  // none: null
  std::vector<base::RowId> inserted;
};

// A group in the making: batches are appended, then it is sealed.
class FrameWriter {
 public:
  FrameWriter() { clear(); }

  void clear();  // memory that only a very large group has had goes
  bool empty() const { return bytes_.size() == kFrameHeaderBytes; }
  size_t bytes() const { return bytes_.size(); }
  size_t memory_bytes() const { return bytes_.capacity(); }

  void begin_batch(base::Vid start);
  // In the order of their VIDs; the first has start + 1.
  void add(uint32_t procedure, base::Timestamp now, uint64_t random_seed, base::Vid read_vid,
           base::Vid commit_vid, std::span<const std::byte> arguments,
           std::span<const oltp::TextCell> texts, std::span<const base::RowId> inserted);

  // A batch of so many transactions, each run with their updates to a table; instead of add().
  void add_updates(uint32_t transactions, std::span<const propagation::RecordRun> runs);

  static constexpr size_t kDefinitionBytes = 32;  // and the name
  // After the last batch.
  void define(const LoggedProcedure& procedure);
  // The frame, which is valid until clear().
  std::span<const std::byte> seal(uint64_t file_number, uint64_t sequence);

 private:
  void put(const void* data, size_t bytes);
  template <class Number>
  void put(Number number) {
    put(&number, sizeof number);
  }
  void put_row_ids(std::span<const base::RowId> rows);

  std::vector<std::byte> bytes_;
  size_t batch_ = 0;        // where the present one begins; 0: none
  size_t definitions_ = 0;  // where they begin; 0: none
};

// A frame whose checksum is right.
struct Frame {
  uint64_t sequence = 0;
  std::span<const std::byte> bytes;  // of the whole frame
};
// Of the file's bytes from `at` on, which may hold none.
std::optional<Frame> frame_at(std::span<const std::byte> file, size_t at, uint64_t file_number);
// Whether a frame of one sector begins there, by what its header says, whole or not.
bool is_one_sector_frame(std::span<const std::byte> file, size_t at);

// The newest VID in it. kCorrupt, as below.
base::Result<base::Vid> last_vid_of(const Frame& frame);
// The frame with what it has up to the VID, as it would have been written then. Nothing: it has
// nothing up to there. kCorrupt: its bytes are not what the format says.
base::Result<std::vector<std::byte>> frame_up_to(const Frame& frame, base::Vid last,
                                                 uint64_t file_number);

// What is in a frame, handed out in order: definitions first. An error of the visitor ends it, and
// is its own. kCorrupt: the frame's bytes are not what the format says.
class FrameVisitor {
 public:
  virtual ~FrameVisitor() = default;
  virtual base::Result<void> define(const LoggedProcedure& procedure) = 0;
  // nullptr: it was not defined.
  virtual const LoggedProcedure* find(uint32_t procedure) const = 0;
  virtual base::Result<void> begin_batch(base::Vid start, uint32_t transactions) = 0;
  // The call is the visitor's until it is called again.
  virtual base::Result<void> visit(LoggedCall& call) = 0;
  // A batch has the one or the other. The run's records lie one behind the other, and have VIDs of
  // the batch; what is in their bodies was not looked at.
  virtual base::Result<void> visit_updates(const propagation::RecordRun& run) = 0;
  virtual base::Result<void> end_batch() = 0;
};
base::Result<void> visit_frame(const Frame& frame, FrameVisitor* visitor);

}  // namespace diptych::dispatcher
