#include "dispatcher/command_log/log_copy.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "dispatcher/command_log/log_file.h"
#include "dispatcher/command_log/log_format.h"
#include "storage/file.h"

namespace diptych::dispatcher {
namespace {

base::Result<std::vector<std::byte>> read_beginning(const std::string& path, uint64_t bytes_max) {
  auto file = storage::InputFile::open(path);
  if (!file) return file.error();
  std::vector<std::byte> bytes(std::min(file->size(), bytes_max));
  if (auto read = file->read(bytes); !read) return read.error();
  return bytes;
}

base::Error damaged_at(const std::string& path, size_t at, std::string_view what) {
  return {base::ErrorCode::kCorrupt, fmt::format("{}: byte {}: {}", path, at, what)};
}

// The frames up to the VID, behind the header. *newest: of what was copied, or the VID before.
base::Result<void> copy_frames(const std::string& path, std::span<const std::byte> bytes,
                               uint64_t number, base::Vid last, storage::OutputFile* copy,
                               base::Vid* newest, uint64_t* written) {
  size_t at = kLogHeaderBytes;
  while (*newest < last) {
    const auto frame = frame_at(bytes, at, number);
    if (!frame) return {};
    const auto end = last_vid_of(*frame);
    if (!end) return damaged_at(path, at, end.error().message);
    std::vector<std::byte> cut;
    std::span<const std::byte> kept = frame->bytes;
    if (*end > last) {
      auto shorter = frame_up_to(*frame, last, number);
      if (!shorter) return damaged_at(path, at, shorter.error().message);
      cut = std::move(*shorter);
      kept = cut;
    }
    if (auto wrote = copy->write(kept); !wrote) return wrote;
    *written += kept.size();
    *newest = std::max(*newest, std::min(*end, last));
    at += frame->bytes.size();
  }
  return {};
}

}  // namespace

base::Result<uint64_t> copy_log(const std::string& from, std::span<const LogExtent> files,
                                base::Vid after, base::Vid last, const std::string& to) {
  uint64_t written = 0;
  base::Vid newest = after;
  for (size_t i = 0; i < files.size() && newest < last; ++i) {
    if (i + 1 < files.size() && files[i + 1].start <= after) continue;
    const LogExtent& file = files[i];
    const std::string path = log_file_path(from, file.number);
    const auto bytes = read_beginning(path, file.bytes);
    if (!bytes) return bytes.error();
    const auto header = read_header(*bytes);
    if (!header) return header.error().within(path);
    if (header->number != file.number) return damaged_at(path, 0, "the header is another file's");
    auto copy = storage::OutputFile::create(log_file_path(to, file.number));
    if (!copy) return copy.error();
    auto copied = copy->write(std::span(*bytes).first(kLogHeaderBytes));
    if (copied) {
      written += kLogHeaderBytes;
      copied = copy_frames(path, *bytes, file.number, last, &*copy, &newest, &written);
    }
    if (copied) copied = copy->keep();
    if (!copied) return copied.error();
  }
  if (newest >= last) return written;
  return base::Error(
      base::ErrorCode::kCorrupt,
      fmt::format("{}: the log ends with VID {}, but has gone on to VID {}; files of "
                  "it are damaged or missing",
                  from, newest.value, last.value));
}

}  // namespace diptych::dispatcher
