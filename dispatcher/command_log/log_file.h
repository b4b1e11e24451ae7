// LogFile: one file of the command log, as it is written.
//
//   prepare ──► begin ──► append ──► append ──► ...      each is durable when it returns
//
// A file has its space, zeroed, from prepare() on: so a full disk is met there and not by an
// append, and a sync has no blocks to note that were given out unwritten (it takes two thirds of
// the time then). It takes long; begin() does not. One that is prepared and not begun has no header
// and counts for nothing.
//
// An append is a write and an fdatasync, one behind the other in one submission to io_uring where
// the system allows it, else two calls; `LogWay` says which.
//
// Errors     kNoSpace, kIo, with the path. After an append that failed the file must not be written
//            again: the kernel may have dropped what it could not write, and a later sync would
//            say nothing of it.
// Threads    one owner.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "dispatcher/command_log/log_format.h"
#include "dispatcher/disk_faults.h"
#include "storage/manifest.h"

namespace diptych::dispatcher {

enum class LogWay : uint8_t { kRing, kCalls };

// Whose log it is.
struct LogPlace {
  std::string directory;
  uint64_t database_id = 0;  // storage/manifest.h
  // Where it is no longer there, nothing is made or removed in the directory.
  storage::DirectoryIdentity identity = {};
};

// "DIRECTORY/log-0000000017.dtl".
std::string log_file_path(const std::string& directory, uint64_t number);

// What harms nobody where it stays; that it is not there is no error.
base::Result<void> remove_log_file(const std::string& path,
                                   const storage::BeforeFileStep& before_step);

// The ring of who appends, for all its files; or none, where the system refuses one.
class LogRing {
 public:
  explicit LogRing(LogWay best);
  ~LogRing();
  LogRing(const LogRing&) = delete;
  LogRing& operator=(const LogRing&) = delete;

  LogWay way() const { return ring_ == nullptr ? LogWay::kCalls : LogWay::kRing; }

 private:
  friend class LogFile;
  struct Ring;
  std::unique_ptr<Ring> ring_;
};

class LogFile {
 public:
  // Hears how long the disk took for a part of a new file, and may wait before the next one.
  using Pace = std::function<void(uint64_t part_ns)>;

  // A new file of so many bytes, the header's included; its name is durable. A file that is there
  // was never begun, and is replaced. What fails leaves none. Without a pace the disk gets all of
  // it at once, and who syncs another file meanwhile waits for it.
  static base::Result<std::unique_ptr<LogFile>> prepare(const LogPlace& place, uint64_t number,
                                                        size_t bytes, const DiskFaults* faults,
                                                        const Pace& pace = {});
  ~LogFile();
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;

  base::Result<void> begin(base::Vid start, uint64_t first_sequence);
  bool has_room(size_t bytes) const { return size_ - end_ >= bytes; }
  // After begin(), where there is room.
  base::Result<void> append(std::span<const std::byte> frame, LogRing* ring);

  const LogFileHeader& header() const { return header_; }
  size_t used_bytes() const { return end_; }
  size_t bytes() const { return size_; }
  const std::string& path() const { return path_; }

 private:
  LogFile(std::string path, const LogFileHeader& header, const DiskFaults* faults);

  base::Result<void> fill(const std::string& directory, const Pace& pace);
  base::Result<void> fill_with_zeroes(const Pace& pace);
  struct Progress {
    size_t written = 0;
    bool synced = false;
    int sync_refused = 0;  // errno; 0: it was not tried, or has succeeded
  };
  base::Result<Progress> append_by_ring(std::span<const std::byte> frame, LogRing* ring);
  base::Result<void> write(std::span<const std::byte> bytes, size_t at);
  base::Result<void> sync();

  const std::string path_;
  LogFileHeader header_;
  const DiskFaults* const faults_;
  int file_ = -1;
  size_t size_;
  size_t end_ = 0;  // of the last frame; 0: not begun
};

}  // namespace diptych::dispatcher
