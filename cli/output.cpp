#include "cli/output.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include "cli/one_line.h"

namespace diptych::cli {
namespace {

// Its lines, without control characters: a procedure's own text may have any.
std::string on_lines(std::string_view text) {
  std::string lines;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines += (at == 0 ? "" : "\n") + on_one_line(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

}  // namespace

void occupy_standard_descriptors() {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(number, F_GETFD) >= 0) continue;
    // open gives the lowest free number, and the wrong direction, so that use stays an error.
    ::open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

int write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t bytes = ::write(descriptor, text.data(), text.size());
    if (bytes < 0 && errno == EAGAIN) {  // as of a pipe whose other owner wants it not to block
      struct pollfd room = {.fd = descriptor, .events = POLLOUT, .revents = 0};
      ::poll(&room, 1, -1);  // what it has to say, the next write says
      continue;
    }
    if (bytes < 0 && errno != EINTR) return errno;
    if (bytes > 0) text.remove_prefix(static_cast<size_t>(bytes));
  }
  return 0;
}

base::Result<void> print(std::string_view text) {
  const int refused = write_all(STDOUT_FILENO, text);
  if (refused == 0) return {};
  return base::Error(refused == ENOSPC ? base::ErrorCode::kNoSpace : base::ErrorCode::kIo,
                     std::string("cannot write to standard output: ") + std::strerror(refused));
}

void ResultOutput::add(std::string_view text) {
  constexpr size_t kPieceBytes = size_t{256} << 10;
  if (pending_.size() + text.size() < kPieceBytes) {
    pending_ += text;
    return;
  }
  write(pending_);
  pending_.clear();
  write(text);
}

void ResultOutput::write(std::string_view text) {
  if (written_) written_ = print(text);
}

ExitCode ResultOutput::end() {
  write(pending_);
  pending_.clear();
  return written_ ? ExitCode::kFine : fail(written_.error());
}

void say(std::string_view text) {
  write_all(STDERR_FILENO, text);
}

ExitCode print_result(std::string_view text) {
  const auto printed = print(text);
  return printed ? ExitCode::kFine : fail(printed.error());
}

ExitCode print_done(std::string_view text) {
  const auto printed = print(text);
  if (printed) return ExitCode::kFine;
  say(text);
  return fail(printed.error().within("this was done; only the message could not be written"));
}

ExitCode fail(const base::Error& error) {
  const std::string_view state = error.state.view();
  say(fmt::format("diptych: {}{}{}\n", state, state.empty() ? "" : ": ",
                  on_lines(error.to_string())));
  return ExitCode::kFailed;
}

ExitCode fail_statement(const base::Error& error) {
  say(fmt::format("diptych: {}: {}\n", error.sqlstate(), on_lines(error.to_string())));
  return ExitCode::kFailed;
}

ExitCode wrong_usage(std::string_view what) {
  say(fmt::format("diptych: {}\n", what));
  return ExitCode::kUsage;
}

}  // namespace diptych::cli
