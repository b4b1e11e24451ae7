#include "cli/file.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace diptych::cli {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

Error system_error(std::string_view what, const std::string& path, int number) {
  const ErrorCode code = number == ENOENT   ? ErrorCode::kNotFound
                         : number == ENOSPC ? ErrorCode::kNoSpace
                                            : ErrorCode::kIo;
  return {code, fmt::format("cannot {} \"{}\": {}", what, path, std::strerror(number))};
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (number_ > STDERR_FILENO) ::close(number_);
  }
  int get() const { return number_; }
  // Closes it and gives the system's answer, which for a written file may be "no space left".
  int close_now() { return ::close(std::exchange(number_, -1)) == 0 ? 0 : errno; }

 private:
  int number_;
};

Result<size_t> read_some(const Descriptor& file, const std::string& path, std::span<char> buffer) {
  while (true) {
    const ssize_t bytes = ::read(file.get(), buffer.data(), buffer.size());
    if (bytes >= 0) return static_cast<size_t>(bytes);
    if (errno != EINTR) return system_error("read", path, errno);
  }
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

int write_all(const Descriptor& file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t bytes = ::write(file.get(), text.data(), text.size());
    if (bytes < 0 && errno != EINTR) return errno;
    if (bytes > 0) text.remove_prefix(static_cast<size_t>(bytes));
  }
  return 0;
}

}  // namespace

Result<std::string> read_file(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return system_error("open", path, errno);
  return read_all(file, path);
}

Result<std::string> read_standard_input() {
  return read_all(Descriptor(STDIN_FILENO), "standard input");
}

Result<void> write_file(const std::string& path, std::string_view text) {
  const std::string beside = path + ".part";
  constexpr mode_t kMode = 0644;
  Descriptor file(::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kMode));
  if (file.get() < 0) return system_error("write", path, errno);
  int refused = write_all(file, text);
  const int closed = file.close_now();
  if (refused == 0) refused = closed;
  if (refused == 0 && ::rename(beside.c_str(), path.c_str()) != 0) refused = errno;
  if (refused == 0) return {};
  ::unlink(beside.c_str());
  return system_error("write", path, refused);
}

Result<OpenFile> open_file(const std::string& path) {
  // std::function wants a copyable callable; the descriptor is shared by its copies.
  auto file = std::make_shared<Descriptor>(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file->get() < 0) return system_error("open", path, errno);
  struct stat status {};
  OpenFile open;
  if (::fstat(file->get(), &status) == 0 && S_ISREG(status.st_mode)) {
    open.bytes = static_cast<uint64_t>(status.st_size);
  }
  open.source = [file, path](std::span<char> buffer) { return read_some(*file, path, buffer); };
  return open;
}

std::string check_output_path(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code ignored;
  if (!folder.empty() && !std::filesystem::is_directory(folder, ignored)) {
    return fmt::format("there is no directory \"{}\" to write \"{}\" to", folder.string(), path);
  }
  if (std::filesystem::is_directory(path, ignored)) {
    return fmt::format("\"{}\" is a directory; a file is written there", path);
  }
  return "";
}

}  // namespace diptych::cli
