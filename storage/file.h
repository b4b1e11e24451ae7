// Files: whole-file writing and reading with errors for a person.
//
// OutputFile   created anew, written front to back, synced, then kept; unless it was kept, its
//              destructor removes it: a failure leaves no partial file.
// InputFile    read front to back; asking for more than is there is kCorrupt.
// Errors       kNoSpace for a full disk, quota or file size limit; kIo for what else the system
//              refuses; both name the path and the system's reason.
//
// Threads      one owner each.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"

namespace diptych::storage {

inline constexpr size_t kCallBytesMax = size_t{1} << 30;  // one read or write moves less than 2 GiB

// "cannot <action> <path>: <the text of errno>", with a code that fits `error_number`.
base::Error system_error(const std::string& action, const std::string& path, int error_number);

// Room for so many bytes of the file, from its begin. The errno of a refusal; 0: there is none.
int allocate_file_bytes(int file, uint64_t bytes);

class OutputFile {
 public:
  static base::Result<OutputFile> create(const std::string& path);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  base::Result<void> write(std::span<const std::byte> bytes);
  // Syncs and closes; the file stays.
  base::Result<void> keep();

 private:
  OutputFile(std::string path, int file);

  std::string path_;
  int file_ = -1;
  bool kept_ = false;
};

class InputFile {
 public:
  static base::Result<InputFile> open(const std::string& path);  // kNotFound, kIo
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;
  ~InputFile();

  base::Result<void> read(std::span<std::byte> bytes);

  uint64_t size() const { return size_; }

 private:
  InputFile(std::string path, int file, uint64_t size);

  std::string path_;
  int file_ = -1;
  uint64_t size_ = 0;
  uint64_t offset_ = 0;
};

// Makes created, renamed and removed names in a directory durable.
base::Result<void> sync_directory(const std::string& directory);

}  // namespace diptych::storage
