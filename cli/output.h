// Output: what the program writes on its standard streams. Nothing here throws.
//
// print() is for results, say() for errors, times and progress (standard error). Results that
// cannot be written are an error of the command; nobody can be told of an error that cannot be.

#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/exit_code.h"

namespace diptych::cli {

// Keeps closed standard descriptors from being given to files that are opened later: results and
// errors would be written into a database. Writing to them goes on failing. Call this first.
void occupy_standard_descriptors();

// Writes all of the text to the descriptor; 0 or the system's error number.
int write_all(int descriptor, std::string_view text);

// kIo, kNoSpace.
base::Result<void> print(std::string_view text);

// Also from a signal handler.
void say(std::string_view text);

// ResultOutput: the same in pieces. What comes after a failure is dropped.
class ResultOutput {
 public:
  void add(std::string_view text);
  // kFailed where anything could not be written.
  ExitCode end();

 private:
  void write(std::string_view text);

  std::string pending_;
  base::Result<void> written_;
};

// How a command ends.
ExitCode print_result(std::string_view text);  // kFailed where it cannot be written
// The same of work that was done and stays done: where the text cannot be written, standard error
// gets it, since who tries again would meet what was done.
ExitCode print_done(std::string_view text);
ExitCode fail(const base::Error& error);
// The same of a statement: with its SQLSTATE whatever it is.
ExitCode fail_statement(const base::Error& error);
ExitCode wrong_usage(std::string_view what);

}  // namespace diptych::cli
