// Files as the program reads and writes them. Errors name the path and the system's reason.

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/csv_reader.h"

namespace diptych::cli {

// The path that stands for standard input, in each of the functions that read.
inline constexpr std::string_view kStandardInput = "-";

// The same of standard output, where a command says that it prints there.
inline constexpr std::string_view kStandardOutput = "-";

// The path, or what it stands for, for a person.
std::string input_name(const std::string& path);

// The text, without a byte order mark in front.
base::Result<std::string> read_file(const std::string& path);

// Replaces a file as a whole: written beside it and renamed, so that a full disk leaves the old one
// as it was. Devices, pipes and links are written to and stay what they are.
base::Result<void> write_file(const std::string& path, std::string_view text);

// The bytes of a file, opened at once; 0 where its size is unknown (a pipe).
struct OpenFile {
  ByteSource source;
  uint64_t bytes = 0;
};
// `stopped` is asked before each read, and while one waits for a pipe's writer; the source fails
// with kCancelled where it says so.
using Stopped = std::function<bool()>;
base::Result<OpenFile> open_file(const std::string& path, Stopped stopped);

// For CLI11: empty if a file can be written there, otherwise what is wrong. Tries, and leaves
// nothing behind.
std::string check_output_path(const std::string& path);

// Whether two paths, neither of them empty, are of the same file.
bool is_one_file(const std::string& path, const std::string& other);

}  // namespace diptych::cli
