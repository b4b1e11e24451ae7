// Makes the checksums of changed files right again, as a program with a bug would write them: so
// that what lies behind a checksum meets bytes that nobody meant. fuzz_seeds checks that what is
// whole stays as it is.

#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <xxhash.h>

#include "base/alignment.h"
#include "dispatcher/command_log/log_format.h"
#include "storage/chunk_address.h"

namespace diptych::fuzz {

template <class Number>
Number number_at(const std::string& bytes, size_t at) {
  Number number;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}
template <class Number>
void put_at(std::string* bytes, size_t at, Number number) {
  std::memcpy(bytes->data() + at, &number, sizeof number);
}

// Of the JSON objects that say of themselves what their checksum is: manifests, and marks of
// backups. Empty: it is no JSON object, or cannot be written.
inline std::string with_right_checksum(const std::string& text) {
  nlohmann::json contents = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (contents.is_discarded() || !contents.is_object()) return {};
  contents.erase("checksum");
  try {
    const std::string dumped = contents.dump();
    contents["checksum"] = fmt::format("{:016x}", XXH3_64bits(dumped.data(), dumped.size()));
    return contents.dump();
  } catch (const nlohmann::json::exception&) {
    return {};
  }
}

// The headers of block files and of the log's files end with the checksum of all before it. False:
// the file ends within its header.
inline bool sign_header(std::string* file) {
  static_assert(storage::kFilePageBytes == dispatcher::kLogHeaderBytes);
  constexpr size_t kChecksumAt = storage::kFilePageBytes - sizeof(uint64_t);
  if (file->size() < storage::kFilePageBytes) return false;
  put_at(file, kChecksumAt, uint64_t{XXH3_64bits(file->data(), kChecksumAt)});
  return true;
}

// A frame of the command log (log_format.h draws it).
inline void sign_frame(std::string* file, size_t at, size_t bytes, uint64_t sequence,
                       uint64_t file_number) {
  constexpr size_t kSequenceAt = 8;
  constexpr size_t kChecksumAt = 24;
  put_at(file, at + kSequenceAt, sequence);
  const char* const frame = file->data() + at;
  const uint64_t head = XXH3_64bits_withSeed(frame, kChecksumAt, file_number);
  const uint64_t checksum = XXH3_64bits_withSeed(frame + dispatcher::kFrameHeaderBytes,
                                                 bytes - dispatcher::kFrameHeaderBytes, head);
  put_at(file, at + kChecksumAt, checksum);
}

// A file of the command log: its header, and all that begin as frames and end within the file,
// numbered as they follow each other.
inline void sign_log_file(std::string* file) {
  if (!sign_header(file)) return;
  const auto number = number_at<uint64_t>(*file, 16);
  auto sequence = number_at<uint64_t>(*file, 32);
  size_t at = dispatcher::kLogHeaderBytes;
  while (at + dispatcher::kFrameHeaderBytes <= file->size()) {
    const uint64_t bytes =
        number_at<uint32_t>(*file, at + 4) | uint64_t{number_at<uint16_t>(*file, at + 20)} << 32;
    if (std::memcmp(file->data() + at, "DTGR", 4) != 0 || bytes < dispatcher::kFrameHeaderBytes ||
        bytes > file->size() - at) {
      at += dispatcher::kLogSectorBytes;
      continue;
    }
    sign_frame(file, at, bytes, sequence++, number);
    at += base::round_up(size_t{bytes}, dispatcher::kLogSectorBytes);
  }
}

}  // namespace diptych::fuzz
