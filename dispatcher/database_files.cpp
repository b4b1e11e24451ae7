#include "dispatcher/database_files.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>
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

// Of a database or a backup; not the lock.
bool is_database_file(std::string_view name) {
  static constexpr std::string_view kNames[] = {"blocks.dtb", "manifest.json", "manifest.json.new",
                                                "log.begun",  "backup.json",   "backup.json.new"};
  return std::ranges::find(kNames, name) != std::end(kNames) ||
         (name.starts_with("log-") && name.ends_with(".dtl"));
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
                 "holds blocks but no manifest: put manifest.json back if it was removed; where a "
                 "restore was interrupted, remove the directory and restore it from a backup");
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
  // Again: before the lock was there, somebody else may have begun to fill it.
  if (auto checked = check_empty(path); !checked) return checked.error();
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

base::Result<void> check_path(const std::string& path) {
  const size_t zero = path.find('\0');
  if (zero == std::string::npos) return {};
  return base::Error(base::ErrorCode::kInvalidArgument,
                     fmt::format("the path has a 0 byte, behind \"{}\"", path.substr(0, zero)));
}

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
  if (auto whole = check_path(path); !whole) return whole.error();
  if (auto found = is_directory(path); !found) return found.error();
  if (auto checked = check_contents(path, OpenMode::kOpen); !checked) return checked.error();
  return read_locked(path, OpenMode::kOpen, storage::DirectoryLock::acquire_to_read(path));
}

void remove_database_files(const std::string& path) {
  std::error_code ignored;  // an earlier error is the one to report
  for (std::filesystem::directory_iterator entry(path, ignored), end; !ignored && entry != end;
       entry.increment(ignored)) {
    if (is_database_file(entry->path().filename().string())) ::unlink(entry->path().c_str());
  }
}

void remove_made(const std::string& path, Made made) {
  if (made == Made::kNothing) return;
  remove_database_files(path);
  // The lock, which is held, goes last: whoever comes after that begins with an empty directory.
  ::unlink((path + "/lock").c_str());
  if (made == Made::kDirectory) ::rmdir(path.c_str());  // unless somebody put other files there
}

}  // namespace diptych::dispatcher
