// The calls of the system that PowerCutDisk sees, in place of the C library's.

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <vector>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/check.h"
#include "tests/crash/power_cut_disk.h"

namespace diptych::crash {
namespace {

template <class Function>
Function system_function(const char* name) {
  void* const found = ::dlsym(RTLD_NEXT, name);
  DIPTYCH_CHECK(found != nullptr, "the C library has it");
  return reinterpret_cast<Function>(found);
}

PowerCutDisk& disk() {
  return PowerCutDisk::instance();
}

std::span<const std::byte> written_part(const void* data, ssize_t bytes) {
  return {static_cast<const std::byte*>(data), static_cast<size_t>(std::max<ssize_t>(bytes, 0))};
}

// The parts' first bytes, as far as they may be written; false: errno is set.
bool shorten(int file, std::vector<iovec>* parts) {
  size_t bytes = 0;
  for (const iovec& part : *parts) bytes += part.iov_len;
  size_t left = disk().writable(file, bytes);
  if (left == 0 && bytes != 0) return false;
  for (iovec& part : *parts) {
    part.iov_len = std::min(part.iov_len, left);
    left -= part.iov_len;
  }
  return true;
}

int sync_slowly(int file) {
  PowerCutDisk::Sync sync{};
  {
    const std::lock_guard lock(disk().mutex());
    sync = disk().begin_sync(file);
  }
  thread_local std::minstd_rand random{std::random_device{}()};
  ::usleep(50 + static_cast<useconds_t>(random() % 1000));
  const std::lock_guard lock(disk().mutex());
  if (disk().end_sync(sync)) return 0;
  errno = EIO;
  return -1;
}

}  // namespace
}  // namespace diptych::crash

// In place of the C library's, for all that is linked into the program.
extern "C" {

int open(const char* path, int flags, ...) {
  using diptych::crash::disk;
  static const auto real = diptych::crash::system_function<int (*)(const char*, int, ...)>("open");
  mode_t mode = 0;
  if ((flags & O_CREAT) != 0) {
    va_list arguments;
    va_start(arguments, flags);
    mode = va_arg(arguments, mode_t);
    va_end(arguments);
  }
  const std::lock_guard lock(disk().mutex());
  const bool was_there = ::access(path, F_OK) == 0;
  if ((flags & O_CREAT) != 0 && !was_there && !disk().grants_new_file(path)) return -1;
  const int file = real(path, flags, mode);
  if (file >= 0) {
    disk().note_open(file, path, (flags & O_CREAT) != 0 && !was_there, (flags & O_TRUNC) != 0);
  }
  return file;
}

int close(int file) {
  static const auto real = diptych::crash::system_function<int (*)(int)>("close");
  const std::lock_guard lock(diptych::crash::disk().mutex());
  diptych::crash::disk().note_close(file);
  return real(file);
}

ssize_t read(int file, void* data, size_t bytes) {
  static const auto real = diptych::crash::system_function<ssize_t (*)(int, void*, size_t)>("read");
  const std::lock_guard lock(diptych::crash::disk().mutex());
  return diptych::crash::disk().grants(diptych::crash::Refusal::kReads, file)
             ? real(file, data, bytes)
             : -1;
}

ssize_t pread(int file, void* data, size_t bytes, off_t offset) {
  static const auto real =
      diptych::crash::system_function<ssize_t (*)(int, void*, size_t, off_t)>("pread");
  const std::lock_guard lock(diptych::crash::disk().mutex());
  return diptych::crash::disk().grants(diptych::crash::Refusal::kReads, file)
             ? real(file, data, bytes, offset)
             : -1;
}

ssize_t pwrite(int file, const void* data, size_t bytes, off_t offset) {
  static const auto real =
      diptych::crash::system_function<ssize_t (*)(int, const void*, size_t, off_t)>("pwrite");
  const std::lock_guard lock(diptych::crash::disk().mutex());
  bytes = diptych::crash::disk().writable(file, bytes);
  if (bytes == 0) return -1;
  const ssize_t written = real(file, data, bytes, offset);
  diptych::crash::disk().note_write(file, static_cast<uint64_t>(offset),
                                    diptych::crash::written_part(data, written));
  return written;
}

ssize_t pwritev(int file, const iovec* parts, int count, off_t offset) {
  static const auto real =
      diptych::crash::system_function<ssize_t (*)(int, const iovec*, int, off_t)>("pwritev");
  const std::lock_guard lock(diptych::crash::disk().mutex());
  std::vector<iovec> taken(parts, parts + count);
  if (!diptych::crash::shorten(file, &taken)) return -1;
  const ssize_t written = real(file, taken.data(), static_cast<int>(taken.size()), offset);
  ssize_t left = written;
  for (int i = 0; i < count && left > 0; ++i) {
    const ssize_t of_part = std::min(left, static_cast<ssize_t>(parts[i].iov_len));
    diptych::crash::disk().note_write(file, static_cast<uint64_t>(offset),
                                      diptych::crash::written_part(parts[i].iov_base, of_part));
    offset += of_part;
    left -= of_part;
  }
  return written;
}

ssize_t write(int file, const void* data, size_t bytes) {
  static const auto real =
      diptych::crash::system_function<ssize_t (*)(int, const void*, size_t)>("write");
  const std::lock_guard lock(diptych::crash::disk().mutex());
  bytes = diptych::crash::disk().writable(file, bytes);
  if (bytes == 0) return -1;
  const ssize_t written = real(file, data, bytes);
  diptych::crash::disk().note_append(file, diptych::crash::written_part(data, written));
  return written;
}

int ftruncate(int file, off_t size) noexcept {
  static const auto real = diptych::crash::system_function<int (*)(int, off_t)>("ftruncate");
  const std::lock_guard lock(diptych::crash::disk().mutex());
  const int result = real(file, size);
  if (result == 0) diptych::crash::disk().note_size(file, static_cast<uint64_t>(size), true);
  return result;
}

int fallocate(int file, int mode, off_t offset, off_t bytes) {
  static const auto real =
      diptych::crash::system_function<int (*)(int, int, off_t, off_t)>("fallocate");
  const std::lock_guard lock(diptych::crash::disk().mutex());
  if (!diptych::crash::disk().grants(diptych::crash::Refusal::kSpace, file)) return -1;
  const int result = real(file, mode, offset, bytes);
  if (result == 0) {
    diptych::crash::disk().note_size(file, static_cast<uint64_t>(offset + bytes), false);
  }
  return result;
}

int posix_fallocate(int file, off_t offset, off_t bytes) {
  static const auto real =
      diptych::crash::system_function<int (*)(int, off_t, off_t)>("posix_fallocate");
  const std::lock_guard lock(diptych::crash::disk().mutex());
  if (!diptych::crash::disk().grants(diptych::crash::Refusal::kSpace, file)) return ENOSPC;
  const int result = real(file, offset, bytes);
  if (result == 0) {
    diptych::crash::disk().note_size(file, static_cast<uint64_t>(offset + bytes), false);
  }
  return result;
}

int fsync(int file) {
  return diptych::crash::sync_slowly(file);
}

int fdatasync(int file) {
  return diptych::crash::sync_slowly(file);
}

int rename(const char* from, const char* to) noexcept {
  static const auto real =
      diptych::crash::system_function<int (*)(const char*, const char*)>("rename");
  const std::lock_guard lock(diptych::crash::disk().mutex());
  if (!diptych::crash::disk().grants_rename(from)) {
    return diptych::crash::disk().hides_refused_renames() ? 0 : -1;
  }
  const int result = real(from, to);
  if (result == 0) diptych::crash::disk().note_rename(from, to);
  return result;
}

int unlink(const char* path) noexcept {
  static const auto real = diptych::crash::system_function<int (*)(const char*)>("unlink");
  const std::lock_guard lock(diptych::crash::disk().mutex());
  if (!diptych::crash::disk().grants_name_change(path)) return -1;
  const int result = real(path);
  if (result == 0) diptych::crash::disk().note_unlink(path);
  return result;
}

}  // extern "C"
