#include "dispatcher/database_files.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dispatcher/row_assembler.h"
#include "storage/file.h"
#include "storage/leaf.h"

namespace diptych::dispatcher {
namespace {

base::Error refused(base::ErrorCode code, const std::string& path, std::string_view why) {
  return {code, fmt::format("{}: {}", path, why)};
}

bool is_leftover(std::string_view name) {
  return name == "lock" || name == "manifest.json.new" || name == "blocks.dtb";
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

base::Result<DatabaseDirectory> lock_and_read(const std::string& path, OpenMode mode) {
  auto lock = storage::DirectoryLock::acquire(path);
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
  if (mode == OpenMode::kOpen) {
    return refused(base::ErrorCode::kNotFound, path, "the directory holds no database");
  }
  return check_empty(path);
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
  struct stat found {};
  bool made = false;
  if (::stat(path.c_str(), &found) != 0) {
    if (errno != ENOENT) return storage::system_error("open", path, errno);
    if (mode == OpenMode::kOpen) {
      return refused(base::ErrorCode::kNotFound, path, "no such directory");
    }
    const auto makes = make_directory(path);
    if (!makes) return makes.error();
    made = *makes;
  } else if (!S_ISDIR(found.st_mode)) {
    return refused(base::ErrorCode::kInvalidArgument, path, "is a file; a database is a directory");
  }
  if (!made) {
    if (auto checked = check_contents(path, mode); !checked) return checked.error();
  }
  auto opened = lock_and_read(path, mode);
  if (!opened) {
    // Not with its contents: another process may have found the new directory, and fills it.
    if (made) ::rmdir(path.c_str());
  } else if (made && opened->made == Made::kDatabase) {
    opened->made = Made::kDirectory;
  }
  return opened;
}

void remove_made(const std::string& path, Made made) {
  namespace fs = std::filesystem;
  std::error_code ignored;  // an earlier error is the one to report
  if (made == Made::kDirectory) fs::remove_all(path, ignored);
  if (made != Made::kDatabase) return;
  // The directory was empty, but for leftovers (check_empty): all that is in it is the database's.
  for (fs::directory_iterator entry(path, ignored), end; entry != end; entry.increment(ignored)) {
    std::error_code kept;
    fs::remove_all(entry->path(), kept);
  }
}

base::Result<void> restore_rows(const base::Catalog& catalog, const storage::Replica& replica,
                                oltp::Engine* engine) {
  for (const base::TableSchema& schema : catalog.tables()) {
    const storage::Table& table = replica.table(schema.id);
    RowAssembler assembler(&table.layout());
    for (uint32_t p = 0; p < table.partition_count(); ++p) {
      const storage::Partition& partition = table.partition(base::PartitionId(p));
      for (size_t l = 0; l < partition.leaf_count(); ++l) {
        const storage::Leaf& leaf = partition.leaf(l);
        const auto row_ids = leaf.pin_row_ids();
        if (!row_ids) return row_ids.error();
        storage::DecodeBuffer buffer;
        for (uint32_t first = 0; first < leaf.row_slots(); first += storage::kVectorRows) {
          const uint32_t count = std::min(storage::kVectorRows, leaf.row_slots() - first);
          const auto* const ids = row_ids->view(first, count, &buffer).as<base::RowId>();
          if (auto assembled = assembler.assemble(leaf, first, count); !assembled) {
            return assembled.error().within(fmt::format("table \"{}\"", schema.name));
          }
          for (uint32_t i = 0; i < count; ++i) {
            const uint32_t position = first + i;
            if (!storage::bit_at(leaf.live_bits(), position)) continue;
            auto restored = engine->restore_row(schema.id, ids[i], assembler.row(i));
            if (!restored) {
              return base::Error(base::ErrorCode::kCorrupt,
                                 fmt::format("table \"{}\", row {}: {}", schema.name, ids[i].value,
                                             restored.error().to_string()));
            }
          }
        }
      }
    }
  }
  return {};
}

}  // namespace diptych::dispatcher
