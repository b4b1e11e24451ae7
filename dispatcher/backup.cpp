#include "dispatcher/backup.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/descriptor.h"
#include "base/schema.h"
#include "dispatcher/command_log/log_begun.h"
#include "dispatcher/command_log/log_reader.h"
#include "dispatcher/database_files.h"
#include "dispatcher/database_inspection.h"
#include "storage/file.h"
#include "storage/replica_copy.h"

namespace diptych::dispatcher {
namespace {

using nlohmann::json;

constexpr uint32_t kBackupFormat = 1;
constexpr const char* kMarkName = "/backup.json";
constexpr const char* kIncompleteName = "/backup.incomplete";
constexpr const char* kRestoreName = "/restore.incomplete";
constexpr uint64_t kMarkBytesMax = 4096;
constexpr double kCopyShare = 0.6;  // of the time; the rest goes into reading it again

bool is_there(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0;
}

std::string checksum_of(const json& contents) {
  const std::string text = contents.dump();
  return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
}

base::Error mark_is_damaged(const std::string& path, std::string_view what) {
  return {base::ErrorCode::kCorrupt, fmt::format("{}: {}; use another backup", path, what)};
}

base::Result<BackupVids> read_mark(const std::string& path) {
  auto file = storage::InputFile::open(path);
  if (!file) return file.error();
  std::string text(std::min(file->size(), kMarkBytesMax), '\0');
  if (auto read = file->read(std::as_writable_bytes(std::span(text))); !read) return read.error();
  json contents = json::parse(text, nullptr, false);
  if (!contents.is_object()) return mark_is_damaged(path, "is not what a backup's is");
  const auto number = [&](const char* name) -> std::optional<uint64_t> {
    const auto found = contents.find(name);
    if (found == contents.end() || !found->is_number_unsigned()) return std::nullopt;
    return found->get<uint64_t>();
  };
  const auto format = number("format");
  if (format && *format > kBackupFormat) {
    return base::Error(base::ErrorCode::kUnsupported,
                       fmt::format("{}: format {}, this program reads {}; use the program that "
                                   "wrote it",
                                   path, *format, kBackupFormat));
  }
  const auto first = number("first_vid");
  const auto last = number("last_vid");
  if (!format || !first || !last || *first > *last) {
    return mark_is_damaged(path, "a field is missing");
  }
  const auto checksum = contents.find("checksum");
  const json stated = checksum == contents.end() ? json() : *checksum;
  contents.erase("checksum");
  if (stated != checksum_of(contents)) return mark_is_damaged(path, "the checksum is wrong");
  return BackupVids{base::Vid(*first), base::Vid(*last)};
}

base::Result<void> write_small(const std::string& path, std::string_view text) {
  auto file = storage::OutputFile::create(path);
  if (!file) return file.error();
  if (auto written = file->write(std::as_bytes(std::span(text))); !written) return written;
  return file->keep();
}

base::Result<void> remove_file(const std::string& path) {
  return ::unlink(path.c_str()) == 0 ? base::Result<void>()
                                     : storage::system_error("remove", path, errno);
}

// The mark under its name at once and whole, since a file without it is no backup.
base::Result<void> write_mark(const std::string& directory, const BackupVids& vids) {
  json contents = {
      {"format", kBackupFormat}, {"first_vid", vids.first.value}, {"last_vid", vids.last.value}};
  contents["checksum"] = checksum_of(contents);
  const std::string path = directory + kMarkName;
  if (auto written = write_small(path + ".new", contents.dump(2) + "\n"); !written) return written;
  if (::rename((path + ".new").c_str(), path.c_str()) != 0) {
    return storage::system_error("rename", path, errno);
  }
  if (auto removed = remove_file(directory + kIncompleteName); !removed) return removed;
  return storage::sync_directory(directory);
}

BackupProgress or_none(const BackupProgress& progress) {
  return progress ? progress : [](double) { return base::Result<void>(); };
}

std::string parent_of(const std::string& path) {
  const std::string parent = std::filesystem::path(path + "/..").lexically_normal().string();
  return parent.empty() ? "." : parent;
}

base::Result<uint64_t> copy_replica_of(const std::string& from, const storage::Manifest& manifest,
                                       const std::string& to, storage::CopySpace space,
                                       const BackupProgress& progress,
                                       const storage::SavePace& pace) {
  const auto catalog = catalog_of(from, manifest);
  if (!catalog) return catalog.error();
  return storage::copy_replica(from, manifest, schemas_of(*catalog), to, space, progress, pace);
}

// kAlreadyExists: a backup or a restore fills the directory, or did when it was interrupted.
base::Result<void> check_is_not_in_making(const std::string& path) {
  const bool backup = is_there(path + kIncompleteName);
  if (!backup && !is_there(path + kRestoreName)) return {};
  const std::string_view what = backup ? "backup" : "restored database";
  return base::Error(
      base::ErrorCode::kAlreadyExists,
      fmt::format("{} has an incomplete {} (\"{}\"): if none is being made there now, it was "
                  "interrupted; remove the directory, or give another one",
                  path, what, (backup ? kIncompleteName : kRestoreName) + 1));
}

// kAlreadyExists: the directory has another file, which is named. "/": that it has none.
base::Result<void> check_has_only(const std::string& path, std::string_view file) {
  std::error_code failed;
  for (std::filesystem::directory_iterator entry(path, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    const std::string name = entry->path().filename().string();
    if (name == file.substr(1)) continue;
    return base::Error(
        base::ErrorCode::kAlreadyExists,
        fmt::format("{} is not empty (\"{}\"): give a new or an empty directory", path, name));
  }
  if (failed) return storage::system_error("read", path, failed.value());
  return {};
}

// kAlreadyExists: somebody else has made it.
base::Result<void> make_first(const std::string& path, const char* name) {
  const std::string file_path = path + name;
  const base::Descriptor file(
      ::open(file_path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (file.get() >= 0) return {};
  if (errno != EEXIST) return storage::system_error("create", file_path, errno);
  return base::Error(
      base::ErrorCode::kAlreadyExists,
      fmt::format("{}: something else is filling it (\"{}\"): give another directory", path,
                  name + 1));
}

base::Result<void> check_range(const std::string& directory, const BackupVids& vids,
                               base::Vid wanted) {
  if (wanted >= vids.first && wanted <= vids.last) return {};
  return base::Error(base::ErrorCode::kInvalidArgument,
                     fmt::format("{} cannot be restored as of version {}: it has versions {} to {}",
                                 directory, wanted.value, vids.first.value, vids.last.value));
}

}  // namespace

std::vector<LogExtent> extents_of(const LogContents& contents) {
  std::vector<LogExtent> extents;
  for (size_t i = contents.first_needed; i < contents.files.size(); ++i) {
    const LogFileFound& file = contents.files[i];
    extents.push_back({file.header.number, file.header.start, file.bytes});
  }
  return extents;
}

base::Result<std::optional<BackupVids>> read_backup(const std::string& directory) {
  if (auto whole = check_path(directory); !whole) return whole.error();
  if (is_there(directory + kMarkName)) {
    auto vids = read_mark(directory + kMarkName);
    if (!vids) return vids.error();
    return std::optional(*vids);
  }
  if (!is_there(directory + kIncompleteName)) return std::optional<BackupVids>();
  return base::Error(base::ErrorCode::kCorrupt,
                     fmt::format("{}: the backup is incomplete, since it was interrupted; remove "
                                 "the directory and make it anew",
                                 directory));
}

base::Result<void> check_is_no_backup(const std::string& directory) {
  if (!is_there(directory + kMarkName) && !is_there(directory + kIncompleteName)) return {};
  return base::Error(base::ErrorCode::kInvalidArgument,
                     fmt::format("{} is a backup, which is not used itself: make a database of it "
                                 "with diptych restore",
                                 directory));
}

base::Result<void> check_is_outside(const std::string& path, const std::string& directory,
                                    std::string_view whose) {
  namespace fs = std::filesystem;
  std::error_code failed;  // of a path that cannot be followed, which is an error elsewhere
  const fs::path database = fs::canonical(path, failed);
  if (failed) return {};
  const fs::path backup = fs::weakly_canonical(directory, failed);
  if (failed) return {};
  const auto [end, differs] = std::ranges::mismatch(database, backup);
  if (end != database.end()) return {};
  return base::Error(
      base::ErrorCode::kInvalidArgument,
      fmt::format("{} lies in the {} directory, {}: give one outside it", directory, whose, path));
}

base::Result<DirectoryInMaking> DirectoryInMaking::begin(const std::string& path,
                                                         const char* file) {
  if (auto whole = check_path(path); !whole) return whole.error();
  struct stat found {};
  if (::stat(path.c_str(), &found) == 0 && !S_ISDIR(found.st_mode)) {
    return base::Error(base::ErrorCode::kInvalidArgument,
                       fmt::format("{}: is a file; give a new or an empty directory", path));
  }
  const bool made = ::mkdir(path.c_str(), 0777) == 0;
  if (!made) {
    const int refused = errno;
    if (refused == ENOENT) {
      return base::Error(base::ErrorCode::kNotFound,
                         fmt::format("{}: its parent directory is missing", path));
    }
    if (refused != EEXIST) return storage::system_error("create", path, refused);
    if (auto free = check_is_not_in_making(path); !free) return free.error();
    if (auto empty = check_has_only(path, "/"); !empty) return empty.error();
  }
  if (auto first = make_first(path, file); !first) {
    if (made) ::rmdir(path.c_str());  // which another's files prevent
    return first.error();
  }
  DirectoryInMaking directory(path, file, made ? Origin::kMade : Origin::kFound);
  // Somebody may have filled it before the file was made.
  if (auto alone = check_has_only(path, file); !alone) {
    directory.leave();
    return alone.error();
  }
  // Where it was found, too, since another may have made it just now; but it may be that only its
  // own directory is open to who fills it.
  auto synced = storage::sync_directory(parent_of(path));
  if (made && !synced) return synced.error();
  return directory;
}

DirectoryInMaking::DirectoryInMaking(DirectoryInMaking&& other) noexcept
    : path_(std::move(other.path_)),
      file_(other.file_),
      origin_(other.origin_),
      kept_(std::exchange(other.kept_, true)),
      lock_(std::move(other.lock_)) {}

base::Result<void> DirectoryInMaking::lock() {
  auto lock = storage::DirectoryLock::acquire(path_);
  if (lock) {
    lock_.emplace(std::move(*lock));
    return {};
  }
  if (lock.code() == base::ErrorCode::kInUse) leave();
  return lock.error();
}

void DirectoryInMaking::leave() {
  ::unlink((path_ + file_).c_str());
  kept_ = true;
}

// The file goes last: while it is there, nobody else fills the directory.
DirectoryInMaking::~DirectoryInMaking() {
  if (kept_) return;
  remove_database_files(path_);
  ::unlink((path_ + "/lock").c_str());  // a backup that was read again has one, too
  ::unlink((path_ + file_).c_str());
  if (origin_ == Origin::kMade) ::rmdir(path_.c_str());
}

base::Result<BackupInMaking> BackupInMaking::begin(const std::string& directory,
                                                   const BackupProgress& progress,
                                                   storage::SavePace pace) {
  auto made = DirectoryInMaking::begin(directory, kIncompleteName);
  if (!made) return made.error();
  if (auto marked = storage::sync_directory(directory); !marked) return marked.error();
  return BackupInMaking(std::move(*made), or_none(progress), std::move(pace));
}

base::Result<void> BackupInMaking::copy_blocks(const std::string& path,
                                               const storage::Manifest& manifest) {
  manifest_ = manifest;
  const auto copied = copy_replica_of(
      path, manifest, directory_.path(), storage::CopySpace::kHoles,
      [&](double done) { return progress_(done * kCopyShare); }, pace_);
  if (!copied) return copied.error();
  bytes_ = *copied;
  return {};
}

base::Result<DatabaseInspection> BackupInMaking::read_again() const {
  base::Result<void> goes_on;
  uint64_t read = 0;
  auto inspection = inspect_database(directory_.path(), Verify::kYes, [&](double done) {
    const auto so_far = static_cast<uint64_t>(done * static_cast<double>(bytes_));
    if (goes_on) goes_on = storage::keep_pace(pace_, so_far - read);
    if (goes_on) goes_on = progress_(kCopyShare + done * (1 - kCopyShare));
    read = so_far;
  });
  if (!goes_on) return goes_on.error();
  return inspection;
}

base::Result<BackupReport> BackupInMaking::finish(const std::string& path,
                                                  std::span<const LogExtent> files,
                                                  base::Vid last) {
  const std::string& directory = directory_.path();
  const auto log = copy_log(path, files, manifest_.vid, last, directory);
  if (!log) return log.error();
  if (auto named = storage::write_manifest(directory, manifest_); !named) return named.error();
  const auto inspection = read_again();
  if (!inspection) return inspection.error();
  if (!inspection->damaged.empty()) {
    const DamagedChunk& first = inspection->damaged.front();
    return base::Error(base::ErrorCode::kCorrupt,
                       fmt::format("the copy is not what was written: {}: byte {}: {}", first.file,
                                   first.offset, first.what));
  }
  const auto contents = scan_log(directory, manifest_.vid, manifest_.id);
  if (!contents) return contents.error();
  if (contents->last != last || contents->torn) {
    return base::Error(base::ErrorCode::kCorrupt,
                       fmt::format("{}: the copied log ends with VID {} instead of {}", directory,
                                   contents->last.value, last.value));
  }
  if (auto marked = write_mark(directory, {manifest_.vid, last}); !marked) return marked.error();
  directory_.keep();
  return BackupReport{.first = manifest_.vid, .last = last, .bytes = bytes_ + *log};
}

base::Result<BackupReport> backup_database(const std::string& path, const std::string& directory,
                                           const BackupProgress& progress) {
  if (auto checked = check_is_no_backup(path); !checked) return checked.error();
  if (auto outside = check_is_outside(path, directory); !outside) return outside.error();
  const auto source = open_directory_to_read(path);
  if (!source) return source.error();
  const auto contents = scan_log(path, source->manifest->vid, source->manifest->id);
  if (!contents) return contents.error();
  auto backup = BackupInMaking::begin(directory, progress, {});
  if (!backup) return backup.error();
  if (auto copied = backup->copy_blocks(path, *source->manifest); !copied) {
    return copied.error();
  }
  return backup->finish(path, extents_of(*contents), contents->last);
}

base::Result<RestoreReport> restore_database(const std::string& directory, const std::string& path,
                                             std::optional<base::Vid> vid,
                                             const BackupProgress& progress) {
  const auto vids = read_backup(directory);
  if (!vids) return vids.error();
  if (!*vids) {
    const bool manifest = is_there(directory + "/manifest.json");
    return base::Error(base::ErrorCode::kNotFound,
                       fmt::format("{}: the directory holds {}", directory,
                                   manifest ? "a database, or a backup whose backup.json is missing"
                                            : "no backup"));
  }
  if (auto outside = check_is_outside(directory, path, "backup's own"); !outside) {
    return outside.error();
  }
  const base::Vid wanted = vid.value_or((*vids)->last);
  if (auto checked = check_range(directory, **vids, wanted); !checked) return checked.error();
  const auto manifest = storage::read_manifest(directory);
  if (!manifest) return manifest.error();
  const auto contents = scan_log(directory, manifest->vid, manifest->id);
  if (!contents) return contents.error();
  auto made = DirectoryInMaking::begin(path, kRestoreName);
  if (!made) return made.error();
  if (auto locked = made->lock(); !locked) return locked.error();
  const auto blocks = copy_replica_of(directory, *manifest, path, storage::CopySpace::kAllocated,
                                      or_none(progress), {});
  if (!blocks) return blocks.error();
  const auto log = copy_log(directory, extents_of(*contents), manifest->vid, wanted, path);
  if (!log) return log.error();
  const auto restored = scan_log(path, manifest->vid, manifest->id);
  if (!restored) return restored.error();
  auto written = storage::sync_directory(path);
  // From here on its files are missed, as another database's are.
  if (written && !restored->files.empty()) {
    written = write_log_begun({.directory = path, .database_id = manifest->id},
                              restored->files.back().header.number, {});
  }
  if (written) written = storage::write_manifest(path, *manifest);
  if (written) written = remove_file(path + kRestoreName);
  if (written) written = storage::sync_directory(path);
  if (!written) return written.error();
  made->keep();
  RestoreReport report{.vid = wanted,
                       .bytes = *blocks + *log,
                       .transactions = restored->transactions,
                       .procedures = {}};
  for (const ProcedureInLog& procedure : restored->procedures) {
    report.procedures.push_back(procedure.name);
  }
  std::sort(report.procedures.begin(), report.procedures.end());
  return report;
}

}  // namespace diptych::dispatcher
