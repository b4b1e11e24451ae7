// The directory of a database: found or made when it is opened.
//
//   kOpen           must hold a database
//   kCreate         must not: absent (its parent must exist), or empty
//   kOpenOrCreate   whichever it is
//
// A directory that holds other files and no database is refused: it is somebody's, and not ours.
// Leftovers of a creation that was cut off (lock, a block file of a header alone) count as empty.
// Blocks without a manifest are refused: they may be rows that nobody else has.

#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "dispatcher/database.h"
#include "storage/manifest.h"

namespace diptych::dispatcher {

enum class Made : uint8_t { kNothing, kDatabase, kDirectory };  // the directory: with its database

struct DatabaseDirectory {
  storage::DirectoryLock lock;
  std::optional<storage::Manifest> manifest;  // none: a new database
  Made made = Made::kNothing;
};

// kInvalidArgument: it has a 0 byte, at which the system would cut it, and find another directory.
base::Result<void> check_path(const std::string& path);
// Errors as Database::open's. A directory that it made is gone again where it fails.
base::Result<DatabaseDirectory> open_directory(const std::string& path, OpenMode mode);
// kOpen for who changes nothing in it: it may lie on a read-only file system (DirectoryLock says
// how it is locked then).
base::Result<DatabaseDirectory> open_directory_to_read(const std::string& path);

// Removes what open_directory made, and the database's files in it.
void remove_made(const std::string& path, Made made);
// Removes a database's or a backup's files, told by their names, but for the lock and what says
// that somebody is filling the directory. Errors are ignored.
void remove_database_files(const std::string& path);

}  // namespace diptych::dispatcher
