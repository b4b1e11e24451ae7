// Files as the program reads and writes them. Errors name the path and the system's reason.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/csv_reader.h"

namespace diptych::cli {

base::Result<std::string> read_file(const std::string& path);
base::Result<std::string> read_standard_input();

// Replaces the file as a whole: written beside it and renamed, so that a full disk leaves the old
// file as it was.
base::Result<void> write_file(const std::string& path, std::string_view text);

// The bytes of a file, opened at once; 0 where its size is unknown (a pipe).
struct OpenFile {
  ByteSource source;
  uint64_t bytes = 0;
};
base::Result<OpenFile> open_file(const std::string& path);

// For CLI11: empty if a file can be written there, otherwise what is wrong.
std::string check_output_path(const std::string& path);

}  // namespace diptych::cli
