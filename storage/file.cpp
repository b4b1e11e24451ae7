#include "storage/file.h"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"

namespace diptych::storage {

base::Error system_error(const std::string& action, const std::string& path, int error_number) {
  const std::string reason = std::generic_category().message(error_number);
  switch (error_number) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return {base::ErrorCode::kNoSpace,
              fmt::format("cannot {} {}: {}; free some space or raise the limit, then try again",
                          action, path, reason)};
    case EMFILE:
    case ENFILE:
      return {base::ErrorCode::kNoSpace,
              fmt::format("cannot {} {}: {}; raise the limit of open files (ulimit -n), then try "
                          "again",
                          action, path, reason)};
    case ENOENT:
      return {base::ErrorCode::kNotFound, fmt::format("cannot {} {}: {}", action, path, reason)};
    default: break;
  }
  return {base::ErrorCode::kIo, fmt::format("cannot {} {}: {}", action, path, reason)};
}

int allocate_file_bytes(int file, uint64_t bytes) {
  int refused = 0;
  do {
    refused = ::posix_fallocate(file, 0, static_cast<off_t>(bytes));
  } while (refused == EINTR);
  return refused;
}

OutputFile::OutputFile(std::string path, int file) : path_(std::move(path)), file_(file) {}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::exchange(other.file_, -1)),
      kept_(std::exchange(other.kept_, true)) {}

OutputFile::~OutputFile() {
  if (file_ >= 0) ::close(file_);
  if (!kept_) ::unlink(path_.c_str());
}

base::Result<OutputFile> OutputFile::create(const std::string& path) {
  // Not blocking: a pipe without a reader is an error.
  const int file =
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0644);
  if (file < 0) return system_error("create", path, errno);
  return OutputFile(path, file);
}

base::Result<void> OutputFile::write(std::span<const std::byte> bytes) {
  DIPTYCH_CHECK(file_ >= 0, "a kept file is not written");
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_, bytes.data(), std::min(bytes.size(), kCallBytesMax));
    if (written < 0) {
      if (errno == EINTR) continue;
      return system_error("write", path_, errno);
    }
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return {};
}

base::Result<void> OutputFile::keep() {
  if (::fsync(file_) != 0) return system_error("sync", path_, errno);
  // A file system may tell of a full disk only here.
  if (::close(std::exchange(file_, -1)) != 0) return system_error("close", path_, errno);
  kept_ = true;
  return {};
}

InputFile::InputFile(std::string path, int file, uint64_t size)
    : path_(std::move(path)), file_(file), size_(size) {}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::exchange(other.file_, -1)),
      size_(other.size_),
      offset_(other.offset_) {}

InputFile::~InputFile() {
  if (file_ >= 0) ::close(file_);
}

base::Result<InputFile> InputFile::open(const std::string& path) {
  // Not blocking, for what turns out to be a pipe.
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return system_error("open", path, errno);
  InputFile opened(path, file, 0);
  struct stat status;
  if (::fstat(file, &status) != 0) return system_error("examine", path, errno);
  if (!S_ISREG(status.st_mode)) {
    return base::Error(base::ErrorCode::kIo, fmt::format("cannot read {}: not a file", path));
  }
  opened.size_ = static_cast<uint64_t>(status.st_size);
  return opened;
}

base::Result<void> InputFile::read(std::span<std::byte> bytes) {
  const std::span<std::byte> all = bytes;
  while (!bytes.empty()) {
    const ssize_t got = ::read(file_, bytes.data(), std::min(bytes.size(), kCallBytesMax));
    if (got < 0) {
      if (errno == EINTR) continue;
      return system_error("read", path_, errno);
    }
    if (got == 0) {
      return base::Error(
          base::ErrorCode::kCorrupt,
          fmt::format("{}: ends at byte {}, {} bytes before the end of what starts at byte {}; "
                      "restore the directory from a backup",
                      path_, offset_ + (all.size() - bytes.size()), bytes.size(), offset_));
    }
    bytes = bytes.subspan(static_cast<size_t>(got));
  }
  offset_ += all.size();
  return {};
}

base::Result<void> sync_directory(const std::string& directory) {
  const int file = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return system_error("open directory", directory, errno);
  const int failed = ::fsync(file) != 0 ? errno : 0;
  ::close(file);
  if (failed != 0) return system_error("sync directory", directory, failed);
  return {};
}

}  // namespace diptych::storage
