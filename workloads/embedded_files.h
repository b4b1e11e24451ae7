// Embedded files: the .sql files of this folder, compiled into the program (cmake/embed.cmake).

#pragma once

#include <span>
#include <string_view>

namespace diptych::workloads {

struct EmbeddedFile {
  std::string_view path;  // relative to workloads/, e.g. "queries/ch/Q01.sql"
  std::string_view text;
};

// All of them, ordered by path.
std::span<const EmbeddedFile> embedded_files();

// The text of one; a path that is not there is a bug of ours.
std::string_view embedded_file(std::string_view path);

}  // namespace diptych::workloads
