#include "tests/cli/program_run.h"

#include <cstdlib>
#include <fstream>
#include <iterator>

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"

namespace diptych::cli {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

std::string ScratchFolder::file(const std::string& name, const std::string& text) const {
  std::ofstream(path(name), std::ios::binary) << text;
  return path(name);
}

RunningProgram::RunningProgram(const std::vector<std::string>& arguments, const Streams& streams) {
  const std::string input_path = folder_.file("in", streams.input);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  const auto give = [&](int descriptor, const std::string& path, const std::string& own_name) {
    if (path == kClosed) {
      posix_spawn_file_actions_addclose(&files, descriptor);
      return;
    }
    const std::string opened = path.empty() ? folder_.path(own_name) : path;
    posix_spawn_file_actions_addopen(&files, descriptor, opened.c_str(), O_WRONLY | O_CREAT, 0600);
  };
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, input_path.c_str(), O_RDONLY, 0);
  give(STDOUT_FILENO, streams.output_path, "out");
  give(STDERR_FILENO, streams.error_path, "err");
  std::vector<std::string> words = {DIPTYCH_PROGRAM};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  // As of a program in the foreground, however the tests were started.
  posix_spawnattr_t signals;
  sigset_t usual;
  sigemptyset(&usual);
  sigaddset(&usual, SIGINT);
  posix_spawnattr_init(&signals);
  posix_spawnattr_setsigdefault(&signals, &usual);
  posix_spawnattr_setflags(&signals, POSIX_SPAWN_SETSIGDEF);
  const int refused =
      posix_spawn(&process_, DIPTYCH_PROGRAM, &files, &signals, pointers.data(), environ);
  posix_spawnattr_destroy(&signals);
  posix_spawn_file_actions_destroy(&files);
  DIPTYCH_CHECK(refused == 0, "the program must have been built");
}

RunningProgram::~RunningProgram() {
  if (process_ <= 0) return;
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
}

void RunningProgram::interrupt() const {
  kill(process_, SIGINT);
}

Outcome RunningProgram::finish() {
  int status = 0;
  waitpid(process_, &status, 0);
  process_ = -1;
  Outcome outcome;
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  outcome.out = text_of(folder_.path("out"));
  outcome.err = text_of(folder_.path("err"));
  return outcome;
}

Outcome run(const std::vector<std::string>& arguments, const Streams& streams) {
  return RunningProgram(arguments, streams).finish();
}

}  // namespace diptych::cli
