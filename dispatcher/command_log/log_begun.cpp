#include "dispatcher/command_log/log_begun.h"

#include <array>
#include <cerrno>
#include <span>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/descriptor.h"
#include "storage/file.h"

namespace diptych::dispatcher {
namespace {

using storage::FileStep;
using storage::system_error;

constexpr uint64_t kBegunMagic = 0x4e4742474f4c5444;  // "DTLOGBGN"

struct BegunRecord {
  uint64_t magic = kBegunMagic;
  uint64_t number = 0;
  uint64_t database_id = 0;
  std::array<std::byte, kLogSectorBytes - 32> zeroes{};
  uint64_t checksum = 0;

  uint64_t right_checksum() const { return XXH3_64bits(this, kLogSectorBytes - sizeof checksum); }
};
static_assert(sizeof(BegunRecord) == kLogSectorBytes, "a sector is on the disk as a whole or not");

base::Error record_is_damaged(const std::string& path, std::string_view what) {
  return {base::ErrorCode::kCorrupt,
          fmt::format("{}: {}, so whether log files are missing is not known; restore the "
                      "directory from a backup, or remove this file to go on with what is there",
                      path, what)};
}

// What fails has changed nothing, but for a sync, which is then kIo.
base::Result<void> write_and_sync(int file, const BegunRecord& record, const std::string& path,
                                  const storage::BeforeFileStep& before_step) {
  if (auto may = storage::announce(before_step, FileStep::kWrite); !may) return may;
  const auto* const bytes = reinterpret_cast<const std::byte*>(&record);
  for (size_t at = 0; at < sizeof record;) {
    const ssize_t written = ::pwrite(file, bytes + at, sizeof record - at, static_cast<off_t>(at));
    if (written < 0 && errno != EINTR) return system_error("write", path, errno);
    if (written > 0) at += static_cast<size_t>(written);
  }
  auto synced = storage::announce(before_step, FileStep::kSync);
  if (synced && ::fdatasync(file) != 0) synced = system_error("sync", path, errno);
  if (synced) return synced;
  return base::Error(base::ErrorCode::kIo, synced.error().message);
}

}  // namespace

std::string log_begun_path(const std::string& directory) {
  return directory + "/log.begun";
}

base::Result<void> write_log_begun(const LogPlace& place, uint64_t number,
                                   const storage::BeforeFileStep& before_step) {
  if (auto in_place = place.identity.check(); !in_place) return in_place;
  const std::string path = log_begun_path(place.directory);
  BegunRecord record{.number = number, .database_id = place.database_id};
  record.checksum = record.right_checksum();
  // Not blocking: a pipe without a reader is an error.
  int opened = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK);
  const bool is_new = opened < 0 && errno == ENOENT;
  // Opened before anything has changed: only a sync that fails leaves in doubt what is there.
  const base::Descriptor directory(
      is_new ? ::open(place.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1);
  if (is_new) {
    if (directory.get() < 0) return system_error("open directory", place.directory, errno);
    if (auto may = storage::announce(before_step, FileStep::kGrow); !may) return may;
    opened = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  }
  const base::Descriptor file(opened);
  if (file.get() < 0) return system_error("open", path, errno);
  auto written = write_and_sync(file.get(), record, path, before_step);
  if (!written || !is_new) return written;
  auto may = storage::announce(before_step, FileStep::kSyncDirectory);
  if (may && ::fsync(directory.get()) != 0) {
    may = system_error("sync directory", place.directory, errno);
  }
  if (may) return may;
  return base::Error(base::ErrorCode::kIo, may.error().message);
}

base::Result<std::optional<uint64_t>> read_log_begun(const std::string& directory,
                                                     uint64_t database_id) {
  const std::string path = log_begun_path(directory);
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return std::optional<uint64_t>();
    return system_error("read", path, errno);
  }
  // It was being made.
  if (status.st_size < static_cast<off_t>(sizeof(BegunRecord))) return std::optional<uint64_t>();
  auto file = storage::InputFile::open(path);
  if (!file) return file.error();
  BegunRecord record;
  const auto bytes = std::as_writable_bytes(std::span(&record, 1));
  if (auto read = file->read(bytes); !read) return read.error();
  if (all_zero(bytes)) return std::optional<uint64_t>();  // likewise
  if (record.magic != kBegunMagic) return record_is_damaged(path, "is not what it should be");
  if (record.checksum != record.right_checksum())
    return record_is_damaged(path, "the checksum is wrong");
  if (record.database_id != 0 && database_id != 0 && record.database_id != database_id) {
    return record_is_damaged(path, "is another database's");
  }
  return std::optional(record.number);
}

base::Result<void> remove_log_begun(const LogPlace& place,
                                    const storage::BeforeFileStep& before_step) {
  if (auto in_place = place.identity.check(); !in_place) return in_place;
  const std::string path = log_begun_path(place.directory);
  if (auto may = storage::announce(before_step, FileStep::kRemove); !may) return may;
  if (::unlink(path.c_str()) != 0) {
    return errno == ENOENT ? base::Result<void>() : system_error("remove", path, errno);
  }
  auto may = storage::announce(before_step, FileStep::kSyncDirectory);
  return may ? storage::sync_directory(place.directory) : may;
}

}  // namespace diptych::dispatcher
