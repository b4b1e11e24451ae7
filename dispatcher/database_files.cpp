#include "dispatcher/database_files.h"

#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/chunk_address.h"
#include "storage/file.h"

namespace diptych::dispatcher {
namespace {

base::Error refused(base::ErrorCode code, const std::string& path, std::string_view why) {
  return {code, fmt::format("{}: {}", path, why)};
}

bool is_leftover(std::string_view name) {
  return name == "lock" || name == "manifest.json.new" || name == "blocks.dtb";
}

// A manifest that is lost, or a restore that was interrupted: nobody else has those rows.
base::Result<void> check_no_blocks(const std::string& path) {
  struct stat blocks {};
  if (::stat((path + "/blocks.dtb").c_str(), &blocks) != 0) {
    return errno == ENOENT ? base::Result<void>() : storage::system_error("read", path, errno);
  }
  // Its header is all that a creation of a database writes before the manifest.
  if (blocks.st_size <= static_cast<off_t>(storage::kFilePageBytes)) return {};
  return refused(base::ErrorCode::kInvalidArgument, path,
                 "holds blocks but no manifest: restore it from a backup, or give a new or an "
                 "empty directory");
}

// Fails where the directory has files that no creation of a database left there.
base::Result<void> check_empty(const std::string& path) {
  std::error_code failed;
  for (std::filesystem::directory_iterator entry(path, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    const std::string name = entry->path().filename().string();
    if (is_leftover(name)) continue;
    return refused(
        base::ErrorCode::kInvalidArgument, path,
        fmt::format("holds no database, but other files (\"{}\"): give a new or an empty "
                    "directory",
                    name));
  }
  if (failed) return storage::system_error("read", path, failed.value());
  return {};
}

base::Result<DatabaseDirectory> read_locked(const std::string& path, OpenMode mode,
                                            base::Result<storage::DirectoryLock> lock) {
  if (!lock) return lock.error();
  auto manifest = storage::read_manifest(path);
  if (manifest) {
    if (mode == OpenMode::kCreate) {
      return refused(base::ErrorCode::kAlreadyExists, path, "holds a database already");
    }
    return DatabaseDirectory{.lock = std::move(*lock), .manifest = std::move(*manifest)};
  }
  if (manifest.code() != base::ErrorCode::kNotFound) return manifest.error();
  return DatabaseDirectory{
      .lock = std::move(*lock), .manifest = std::nullopt, .made = Made::kDatabase};
}

// Whether a database's manifest may be there: only then is the lock file's creation harmless.
base::Result<void> check_contents(const std::string& path, OpenMode mode) {
  struct stat manifest {};
  if (::stat((path + "/manifest.json").c_str(), &manifest) == 0) return {};
  if (errno != ENOENT) return storage::system_error("read", path, errno);
  if (auto checked = check_no_blocks(path); !checked) return checked;
  if (mode == OpenMode::kOpen) {
    return refused(base::ErrorCode::kNotFound, path, "the directory holds no database");
  }
  return check_empty(path);
}

// kNotFound: nothing is there. kInvalidArgument: something else is.
base::Result<void> is_directory(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) {
    if (errno != ENOENT) return storage::system_error("open", path, errno);
    return refused(base::ErrorCode::kNotFound, path, "no such directory");
  }
  if (S_ISDIR(found.st_mode)) return {};
  return refused(base::ErrorCode::kInvalidArgument, path, "is a file; a database is a directory");
}

// A directory that a power failure does not take away again. False: another process has made it.
base::Result<bool> make_directory(const std::string& path) {
  if (::mkdir(path.c_str(), 0777) != 0) {
    const int error_number = errno;
    if (error_number == EEXIST) return false;
    if (error_number != ENOENT) return storage::system_error("create", path, error_number);
    return refused(base::ErrorCode::kNotFound, path, "its parent directory is missing");
  }
  const std::string parent = std::filesystem::path(path + "/..").lexically_normal().string();
  auto synced = storage::sync_directory(parent.empty() ? "." : parent);
  if (synced) return true;
  ::rmdir(path.c_str());
  return synced.error();
}

}  // namespace

base::Result<DatabaseDirectory> open_directory(const std::string& path, OpenMode mode) {
  bool made = false;
  auto found = is_directory(path);
  if (!found) {
    const bool may_make = found.code() == base::ErrorCode::kNotFound && mode != OpenMode::kOpen;
    if (!may_make) return found.error();
    const auto makes = make_directory(path);
    if (!makes) return makes.error();
    made = *makes;
  }
  if (!made) {
    if (auto checked = check_contents(path, mode); !checked) return checked.error();
  }
  auto opened = read_locked(path, mode, storage::DirectoryLock::acquire(path));
  if (!opened) {
    // Not with its contents: another process may have found the new directory, and fills it.
    if (made) ::rmdir(path.c_str());
  } else if (made && opened->made == Made::kDatabase) {
    opened->made = Made::kDirectory;
  }
  return opened;
}

base::Result<DatabaseDirectory> open_directory_to_read(const std::string& path) {
  if (auto found = is_directory(path); !found) return found.error();
  if (auto checked = check_contents(path, OpenMode::kOpen); !checked) return checked.error();
  return read_locked(path, OpenMode::kOpen, storage::DirectoryLock::acquire_to_read(path));
}

void remove_made(const std::string& path, Made made) {
  namespace fs = std::filesystem;
  if (made == Made::kNothing) return;
  const fs::path lock = fs::path(path) / "lock";
  std::error_code ignored;  // an earlier error is the one to report
  // The directory was empty, but for leftovers (check_empty): all that is in it is the database's.
  // The lock, which is held, goes last: whoever comes after that begins with an empty directory.
  for (fs::directory_iterator entry(path, ignored), end; entry != end; entry.increment(ignored)) {
    std::error_code kept;
    if (entry->path() != lock) fs::remove_all(entry->path(), kept);
  }
  fs::remove(lock, ignored);
  if (made == Made::kDirectory) fs::remove(path, ignored);
}

}  // namespace diptych::dispatcher
