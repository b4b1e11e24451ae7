// Runs the diptych program from a test, as a shell would.

#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

#include "tests/temporary_directory.h"

namespace diptych::cli {

struct Outcome {
  int code = -1;  // the exit code; 128 + n after signal n
  std::string out;
  std::string err;
};

// A directory of its own for one test, removed at the end.
class ScratchFolder {
 public:
  std::string path(const std::string& name) const { return directory_.path() + "/" + name; }
  // Writes a file and gives its path.
  std::string file(const std::string& name, const std::string& text) const;

 private:
  test::TemporaryDirectory directory_;
};

inline constexpr const char* kClosed = "closed";

// What the program is given as its standard streams: paths, kClosed for a descriptor that is not
// open, or (empty) a file whose text becomes part of the outcome.
struct Streams {
  std::string input;  // the text itself
  std::string output_path;
  std::string error_path;
};

// A running program; finish() waits for its end.
class RunningProgram {
 public:
  RunningProgram(const std::vector<std::string>& arguments, const Streams& streams);
  ~RunningProgram();
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;

  void interrupt() const;  // Ctrl-C
  Outcome finish();

 private:
  ScratchFolder folder_;
  pid_t process_ = -1;
};

Outcome run(const std::vector<std::string>& arguments, const Streams& streams = {});

}  // namespace diptych::cli
