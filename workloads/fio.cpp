#include "workloads/fio.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace diptych::workloads {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

// What glibc's allocator takes huge pages by.
constexpr std::string_view kHugePages = "GLIBC_TUNABLES=glibc.malloc.hugetlb=1";

// Ends in a null pointer, as exec takes it.
std::vector<char*> pointers_to(std::vector<std::string>* words) {
  std::vector<char*> pointers;
  for (std::string& word : *words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> with_huge_pages(char** environment) {
  const std::string_view name = kHugePages.substr(0, kHugePages.find('=') + 1);
  std::vector<std::string> variables;
  for (char** variable = environment; *variable != nullptr; ++variable) {
    if (!std::string_view(*variable).starts_with(name)) variables.emplace_back(*variable);
  }
  variables.emplace_back(kHugePages);
  return variables;
}

std::string read_all(int descriptor) {
  std::string text;
  std::array<char, 4096> piece;
  while (true) {
    const ssize_t bytes = ::read(descriptor, piece.data(), piece.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) return text;
    text.append(piece.data(), static_cast<size_t>(bytes));
  }
}

// What the program says on both its streams, and the status that it ends with.
Result<std::string> output_of(std::vector<std::string> words, int* status) {
  std::array<int, 2> ends;
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return Error(ErrorCode::kIo, fmt::format("pipe: {}", std::strerror(errno)));
  }
  std::vector<std::string> variables = with_huge_pages(environ);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, ends[1], STDERR_FILENO);
  pid_t child = -1;
  const int refused = ::posix_spawnp(&child, words[0].c_str(), &files, nullptr,
                                     pointers_to(&words).data(), pointers_to(&variables).data());
  posix_spawn_file_actions_destroy(&files);
  ::close(ends[1]);
  std::string text = refused == 0 ? read_all(ends[0]) : std::string();
  ::close(ends[0]);
  if (refused == ENOENT) return Error(ErrorCode::kNotFound, "there is no fio on PATH");
  if (refused != 0) return Error(ErrorCode::kIo, fmt::format("fio: {}", std::strerror(refused)));
  while (::waitpid(child, status, 0) < 0 && errno == EINTR) continue;
  return text;
}

}  // namespace

Result<double> fio_read(const std::string& file, size_t block_bytes, uint32_t depth) {
  std::string escaped;  // fio takes a colon for the end of a name
  for (const char byte : file) escaped += byte == ':' ? std::string("\\:") : std::string(1, byte);
  int status = 0;
  const auto text =
      output_of({"fio", "--name=read", "--filename=" + escaped, "--readonly", "--rw=read",
                 fmt::format("--bs={}", block_bytes), "--direct=1", "--ioengine=io_uring",
                 fmt::format("--iodepth={}", depth), "--fixedbufs=1", "--output-format=json"},
                &status);
  if (!text) return text.error();
  // Warnings come before the report.
  const size_t report = std::min(text->find('{'), text->size());
  const auto parsed = nlohmann::json::parse(text->substr(report), nullptr, false);
  const auto rate = nlohmann::json::json_pointer("/jobs/0/read/bw_bytes");
  if (status != 0 || !parsed.contains(rate) || !parsed[rate].is_number()) {
    return Error(ErrorCode::kIo, fmt::format("fio failed: {}", text->substr(0, text->find('\n'))));
  }
  return parsed[rate].get<double>();
}

}  // namespace diptych::workloads
