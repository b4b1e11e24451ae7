// LogFiles: the files of one command log, from the next one, made ready ahead, to the oldest one,
// dropped when a checkpoint covers it.
//
//   log-0000000017.dtl   log-0000000018.dtl   log-0000000019.dtl
//   VIDs 501 .. 900      901 .. ?  (current)  made ready, no header
//   A checkpoint at VID 900 or later drops the first: the next one's header says that it may.
//
// The first files of a process are small, and each is 4 times as large as the one before it, up to
// `file_bytes_max`: a program that makes one call does not write 64 MiB for it. Where the disk has
// no space for so much, the next file is half as large, or a quarter, ...: it is full once there is
// none for 1 MiB, or for a group that is larger.
//
// Threads    begin_next, append: the log's thread. drop_covered, hold, release, is_in_place,
//            next_is_ready: any. remove_all: any, with nobody else. A thread of its own makes the
//            next file ready, once the current one is half full; until somebody waits for it, it
//            leaves the disk to the log for most of the time.

#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/thread.h"
#include "dispatcher/command_log/log_file.h"

namespace diptych::dispatcher {

struct BegunFile {
  uint64_t number = 0;
  base::Vid start;
};

class LogFiles {
 public:
  LogFiles(LogPlace place, size_t file_bytes_max, const DiskFaults* faults);
  ~LogFiles();
  // Ends the thread, and removes the file that it has made ready: nothing is appended any more.
  // Before the directory is anybody else's, whose file of that number it would remove.
  void stop();

  // What an earlier process left, in order; before all else.
  void set_present(std::vector<BegunFile> present, uint64_t next_number);

  // Begins the next file, with room for so many bytes. kNoSpace, with what it takes, kIo: the
  // current one is as it was.
  base::Result<void> begin_next(base::Vid start, uint64_t first_sequence, size_t bytes);
  // Whether the directory is where it was when it was locked: elsewhere no file is begun.
  bool is_in_place() const { return place_.identity.check().ok(); }
  // Whether the next one need not be made first; one that is being made is waited for so long.
  bool next_is_ready(uint64_t patience_ns);
  // nullptr: none was begun by this process.
  LogFile* current() const { return current_.get(); }
  // To the current one.
  base::Result<void> append(std::span<const std::byte> frame, LogRing* ring);

  // While held (as often as released), no file is dropped; the last release drops what was covered
  // meanwhile.
  void hold();
  void release();
  // Files whose successor begins at or before the VID.
  base::Result<void> drop_covered(base::Vid covered);
  // Nothing of the log is wanted any more; the next append begins a new file.
  base::Result<void> remove_all();
  size_t file_count() const;
  std::vector<BegunFile> begun() const;  // the current one last

 private:
  void prepare_ahead();
  void prepare_what_is_wanted();  // the thread
  void remove_prepared();
  void pause(uint64_t part_ns);
  void await_prepared(std::unique_lock<std::mutex>* lock);
  struct Sizes {
    size_t least = 0;
    size_t most = 0;
  };
  Sizes next_sizes(size_t needed) const;
  // As large as there is space for, by halves.
  base::Result<std::unique_ptr<LogFile>> make(uint64_t number, Sizes sizes,
                                              const LogFile::Pace& pace = {}) const;
  base::Result<void> remove(uint64_t number);

  const LogPlace place_;
  const size_t file_bytes_max_;
  const DiskFaults* const faults_;
  std::unique_ptr<LogFile> current_;
  uint64_t made_ = 0;  // by this process

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<BegunFile> begun_;  // guarded by mutex_, as the next: the current one last
  uint32_t holds_ = 0;
  base::Vid covered_;  // the newest VID that drop_covered was asked for
  uint64_t next_number_ = 1;
  bool wanted_ = false;  // the next file, by the thread
  Sizes wanted_sizes_;
  bool preparing_ = false;
  bool awaited_ = false;  // what is being prepared, by somebody who has nothing else to do
  bool stopping_ = false;
  std::unique_ptr<LogFile> prepared_;
  base::Thread thread_;  // started when it is first wanted
};

}  // namespace diptych::dispatcher
