// The command log that a process left: found, checked, and read in order.
//
//   scan_log   which files, and of each the frames whose checksums are right; what the calls after
//              a VID need: the procedures' names
//   read_calls the batches after that VID, one by one
//
// The end of the log is where the next frame is not whole: the process died while it was written,
// so nobody was told of what it has; or its bytes have been damaged since, which cannot be told
// apart. kCorrupt, with file and byte, is what no crash leaves, so that somebody may have been told
// of what is not there: whole frames, or a file that goes on, behind such a place; a frame of one
// sector that is not whole; a file that begins after the end of those before it, is shorter than
// it was made, or is another database's; a last file whose header is neither whole nor absent
// (is_never_begun); the file that was begun last is not there, or has no header, or a later one has
// frames (log_begun.h).
//
// Errors     kCorrupt, kUnsupported, kIo; all name the file.
// Threads    one owner.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "dispatcher/command_log/log_format.h"
#include "storage/file_step.h"

namespace diptych::dispatcher {

struct LogFileFound {
  std::string path;
  LogFileHeader header;
  uint64_t bytes = 0;       // up to the end of the last whole frame
  uint64_t last_frame = 0;  // where that begins; 0: there is none
  uint64_t file_bytes = 0;
  uint64_t frames = 0;
};

// A frame that is not whole, at the log's end.
struct TornTail {
  std::string path;
  uint64_t offset = 0;
};

struct ProcedureInLog {
  std::string name;
  uint32_t argument_bytes = 0;
  uint32_t texts = 0;
  uint64_t signature = 0;
  uint64_t version = 0;
  uint64_t calls = 0;  // of LogContents: after the VID
};

struct LogContents {
  std::vector<LogFileFound> files;  // in order; those with a header
  size_t first_needed = 0;          // of them: before it lies nothing after the VID
  std::vector<std::string> unused;  // paths of files that were never begun
  uint64_t next_number = 1;
  uint64_t next_sequence = 1;
  uint64_t transactions = 0;  // after the VID
  uint64_t bytes = 0;         // of the files that are needed
  base::Vid last;             // the newest VID; the one asked for where there is none after it
  // Of the calls after the VID; two of one name where it was changed.
  std::vector<ProcedureInLog> procedures;
  std::optional<TornTail> torn;
};

// `database_id`: the manifest's, which the files must have; 0: they may have any.
base::Result<LogContents> scan_log(const std::string& directory, base::Vid after,
                                   uint64_t database_id = 0);

// A batch as it was logged; of updates, several ones that follow each other in a file. What the
// spans and texts point at lives until the next one.
struct LoggedBatch {
  base::Vid start;
  base::Vid last;
  std::span<LoggedCall> calls;                      // or
  std::span<const propagation::BatchRuns> updates;  // of a physical log
  // By LoggedCall::procedure; those that the file has defined so far.
  const std::map<uint32_t, ProcedureInLog>* procedures = nullptr;
  std::string path;  // of the file
};

// Hands out the batches after the VID. An error of `replay` ends it, and is its own.
base::Result<void> read_calls(const LogContents& contents, base::Vid after,
                              const std::function<base::Result<void>(LoggedBatch&)>& replay);

// Before the log goes on: what lies behind the last whole frame becomes zeroes, files that were
// never begun are removed, and what is kept is durable when it returns. The process that wrote it
// may not have lived to sync it, or its sync may have failed: so the last frame, or a header that
// has none, is written once more. All before it was durable before it was begun (L3), but for
// names: the manifest's, too, after which pages that an older one has may be written over.
base::Result<void> trim_log(const std::string& directory, const LogContents& contents,
                            const storage::BeforeFileStep& before_step = {});

}  // namespace diptych::dispatcher
