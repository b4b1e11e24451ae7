// Backups: a copy of a database's directory as of one VID, and a database made of it.
//
//   DIR/blocks.dtb, manifest.json   the replica as it was saved last, at VID s
//       log-*.dtl                   the log after it, up to VID e
//       backup.json                 that it is a backup, whole: s and e; written last
//
// It can be restored as of any VID from s to e: the log is cut there, so that the first use of the
// new database replays up to it and no further; whatever comes then has the next VID. Nothing of a
// backup is opened or changed: it serves again.
//
// A backup that was interrupted has `backup.incomplete` and no backup.json; a database that is not
// restored whole has `restore.incomplete`, and mostly no manifest. What fails leaves no directory
// that it made, and nothing in one that it found empty.
//
// Errors     kNotFound, kAlreadyExists, kInvalidArgument, kInUse, kIo, kNoSpace, kCorrupt; each
//            names the path.
// Threads    any; one at a time for a directory.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "dispatcher/command_log/log_copy.h"
#include "dispatcher/command_log/log_reader.h"
#include "dispatcher/database_inspection.h"
#include "dispatcher/database_reports.h"
#include "storage/manifest.h"
#include "storage/save_pace.h"

namespace diptych::dispatcher {

struct BackupVids {
  base::Vid first;  // the oldest that it can be restored as of: the saved replica's
  base::Vid last;
};
// What a directory says of itself. Nothing: it is no backup. kCorrupt: it is one that was
// interrupted or damaged.
base::Result<std::optional<BackupVids>> read_backup(const std::string& directory);
// kInvalidArgument: it is a backup, whole or not, which no database is opened in.
base::Result<void> check_is_no_backup(const std::string& directory);
// kInvalidArgument: the directory of a backup would lie in the database's own, which would take it
// along wherever it goes; or that of a restored database in the backup's. `whose`: the path's.
base::Result<void> check_is_outside(const std::string& path, const std::string& directory,
                                    std::string_view whose = "database's own");

// The files of a log that was scanned, as far as they are whole.
std::vector<LogExtent> extents_of(const LogContents& contents);

// How far it is, 0 to 1; an error ends it. It may be empty: nobody asks.
using BackupProgress = std::function<base::Result<void>(double done)>;

// Of a database that no process has open; it need not have been closed, and no procedures are
// needed.
base::Result<BackupReport> backup_database(const std::string& path, const std::string& directory,
                                           const BackupProgress& progress = {});

struct RestoreReport {
  base::Vid vid;
  uint64_t bytes = 0;
  uint64_t transactions = 0;            // that its first use replays
  std::vector<std::string> procedures;  // that it needs for them
};
// `vid`: none: all that there is. kInvalidArgument: the backup does not have it; says what it has.
base::Result<RestoreReport> restore_database(const std::string& directory, const std::string& path,
                                             std::optional<base::Vid> vid = std::nullopt,
                                             const BackupProgress& progress = {});

// A directory that is filled: new, or found empty. Unless it is kept, it goes with the object, or
// is empty again; but for files that are neither a database's nor a backup's.
class DirectoryInMaking {
 public:
  // With an empty file in it, "/" and its name: of several that find it empty at once, whoever
  // makes the file goes on, and the others leave it alone. kAlreadyExists: it is there, and not
  // empty. kNotFound: its parent is missing.
  static base::Result<DirectoryInMaking> begin(const std::string& path, const char* file);
  DirectoryInMaking(DirectoryInMaking&& other) noexcept;
  DirectoryInMaking& operator=(DirectoryInMaking&&) = delete;
  ~DirectoryInMaking();

  const std::string& path() const { return path_; }
  // As a database's directory, until the object goes. kInUse: it is another's by now, and left.
  base::Result<void> lock();
  void keep() { kept_ = true; }

 private:
  enum class Origin : uint8_t { kMade, kFound };
  DirectoryInMaking(std::string path, const char* file, Origin origin)
      : path_(std::move(path)), file_(file), origin_(origin) {}
  // Takes the own file away, and leaves the others'.
  void leave();

  std::string path_;
  const char* file_;
  Origin origin_;
  bool kept_ = false;
  std::optional<storage::DirectoryLock> lock_;
};

// A backup in the making, for backup_database and Database::backup.
class BackupInMaking {
 public:
  // `pace` hears of the blocks' bytes, as they are copied and as they are read again.
  static base::Result<BackupInMaking> begin(const std::string& directory,
                                            const BackupProgress& progress, storage::SavePace pace);

  // What the manifest names, which stays as it is meanwhile.
  base::Result<void> copy_blocks(const std::string& path, const storage::Manifest& manifest);
  // The log after that, up to the VID; then all is read again and compared with what it says.
  base::Result<BackupReport> finish(const std::string& path, std::span<const LogExtent> files,
                                    base::Vid last);

 private:
  BackupInMaking(DirectoryInMaking directory, BackupProgress progress, storage::SavePace pace)
      : directory_(std::move(directory)), progress_(std::move(progress)), pace_(std::move(pace)) {}
  base::Result<DatabaseInspection> read_again() const;

  DirectoryInMaking directory_;
  BackupProgress progress_;
  storage::SavePace pace_;
  storage::Manifest manifest_;
  uint64_t bytes_ = 0;
};

}  // namespace diptych::dispatcher
