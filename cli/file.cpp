#include "cli/file.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "cli/output.h"

namespace diptych::cli {
namespace {

using base::Descriptor;
using base::Error;
using base::ErrorCode;
using base::Result;

Error system_error(std::string_view what, const std::string& path, int number) {
  const ErrorCode code = number == ENOENT   ? ErrorCode::kNotFound
                         : number == ENOSPC ? ErrorCode::kNoSpace
                                            : ErrorCode::kIo;
  return {code, fmt::format("cannot {} \"{}\": {}", what, path, std::strerror(number))};
}

Result<size_t> read_some(const Descriptor& file, const std::string& path, std::span<char> buffer) {
  while (true) {
    const ssize_t bytes = ::read(file.get(), buffer.data(), buffer.size());
    if (bytes >= 0) return static_cast<size_t>(bytes);
    if (errno == EAGAIN) {  // as of a pipe whose other owner wants it not to block
      struct pollfd waiting = {.fd = file.get(), .events = POLLIN, .revents = 0};
      ::poll(&waiting, 1, -1);  // what it has to say, the next read says
    } else if (errno != EINTR) {
      return system_error("read", path, errno);
    }
  }
}

// Waits a moment for bytes, the end or an error; of a file they are always there.
bool has_bytes(const Descriptor& file) {
  constexpr int kWaitMs = 100;
  struct pollfd waiting = {.fd = file.get(), .events = POLLIN, .revents = 0};
  return ::poll(&waiting, 1, kWaitMs) > 0;
}

Result<std::string> read_all(const Descriptor& file, const std::string& path) {
  std::string text;
  std::array<char, 65536> buffer;
  while (true) {
    const auto bytes = read_some(file, path, buffer);
    if (!bytes) return bytes.error();
    if (*bytes == 0) return text;
    text.append(buffer.data(), *bytes);
  }
}

Descriptor open_input(const std::string& path) {
  // A copy of the standard one, which is the program's and stays open.
  if (path == kStandardInput) return Descriptor(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0));
  return Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

constexpr mode_t kMode = 0644;

// A new file in the same directory, whose name nobody else has.
Descriptor open_beside(const std::string& path, std::string* name) {
  for (unsigned number = 0;; ++number) {
    *name = fmt::format("{}.{}.{}.part", path, ::getpid(), number);
    Descriptor file(::open(name->c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kMode));
    if (file.get() >= 0 || errno != EEXIST) return file;
  }
}

Descriptor open_output(const std::string& path) {
  return Descriptor(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kMode));
}

// A file, or nothing yet; a device, a pipe or a link must not be renamed over.
bool is_replaced(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode);
}

}  // namespace

std::string input_name(const std::string& path) {
  return path == kStandardInput ? "standard input" : path;
}

Result<std::string> read_file(const std::string& path) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  const Descriptor file = open_input(path);
  if (file.get() < 0) return system_error("open", input_name(path), errno);
  auto text = read_all(file, input_name(path));
  if (text && text->starts_with(kByteOrderMark)) text->erase(0, kByteOrderMark.size());
  return text;
}

Result<void> write_file(const std::string& path, std::string_view text) {
  const bool replaced = is_replaced(path);
  std::string opened = path;
  Descriptor file = replaced ? open_beside(path, &opened) : open_output(path);
  if (file.get() < 0) return system_error("write", path, errno);
  int refused = write_all(file.get(), text);
  const int closed = file.close_now();
  if (refused == 0) refused = closed;
  if (refused == 0 && replaced && ::rename(opened.c_str(), path.c_str()) != 0) refused = errno;
  if (refused == 0) return {};
  if (replaced) ::unlink(opened.c_str());
  return system_error("write", path, refused);
}

Result<OpenFile> open_file(const std::string& path, Stopped stopped) {
  // std::function wants a copyable callable; the descriptor is shared by its copies.
  auto file = std::make_shared<Descriptor>(open_input(path));
  if (file->get() < 0) return system_error("open", input_name(path), errno);
  struct stat status {};
  OpenFile open;
  if (::fstat(file->get(), &status) == 0 && S_ISREG(status.st_mode)) {
    open.bytes = static_cast<uint64_t>(status.st_size);
  }
  open.source = [file, name = input_name(path),
                 stopped = std::move(stopped)](std::span<char> buffer) -> Result<size_t> {
    do {
      if (stopped()) return Error(ErrorCode::kCancelled, "stopped");
    } while (!has_bytes(*file));
    return read_some(*file, name, buffer);
  };
  return open;
}

std::string check_output_path(const std::string& path) {
  if (path.empty()) return "the path is empty";
  if (path == kStandardOutput) return "\"-\" is no file here (./- is)";
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return fmt::format("\"{}\" is a directory", path);
  }
  if (!is_replaced(path)) {
    // Opening a pipe would wait for its reader.
    return ::access(path.c_str(), W_OK) == 0 ? "" : system_error("write", path, errno).message;
  }
  std::string tried;
  const Descriptor file = open_beside(path, &tried);
  if (file.get() < 0) return system_error("write", path, errno).message;
  ::unlink(tried.c_str());
  return "";
}

bool is_one_file(const std::string& path, const std::string& other) {
  std::error_code ignored;
  return !path.empty() && !other.empty() &&
         std::filesystem::weakly_canonical(path, ignored) ==
             std::filesystem::weakly_canonical(other, ignored);
}

}  // namespace diptych::cli
