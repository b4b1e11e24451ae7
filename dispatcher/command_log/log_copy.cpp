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

// What a copy has of a file's frames: whole ones, which lie one behind the other, and the beginning
// of the next.
struct KeptFrames {
  std::span<const std::byte> whole;
  std::vector<std::byte> cut;
};

// The frames up to the VID. *newest: of these, or the VID before.
base::Result<KeptFrames> frames_up_to(const std::string& path, std::span<const std::byte> bytes,
                                      uint64_t number, base::Vid last, base::Vid* newest) {
  KeptFrames kept;
  size_t at = kLogHeaderBytes;
  while (*newest < last) {
    const auto frame = frame_at(bytes, at, number);
    if (!frame) break;
    const auto end = last_vid_of(*frame);
    if (!end) return damaged_at(path, at, end.error().message);
    *newest = std::max(*newest, std::min(*end, last));
    if (*end > last) {
      auto shorter = frame_up_to(*frame, last, number);
      if (!shorter) return damaged_at(path, at, shorter.error().message);
      kept.cut = std::move(*shorter);
      break;
    }
    at += frame->bytes.size();
  }
  kept.whole = bytes.first(at).subspan(kLogHeaderBytes);
  return kept;
}

// Of the same number, with these frames. Returns its bytes.
base::Result<uint64_t> write_copy(const std::string& path, LogFileHeader header,
                                  const KeptFrames& frames) {
  header.file_bytes = kLogHeaderBytes + frames.whole.size() + frames.cut.size();
  auto copy = storage::OutputFile::create(path);
  if (!copy) return copy.error();
  auto written = copy->write(header_bytes(header));
  if (written) written = copy->write(frames.whole);
  if (written) written = copy->write(frames.cut);
  if (written) written = copy->keep();
  if (!written) return written.error();
  return header.file_bytes;
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
    const auto frames = frames_up_to(path, *bytes, file.number, last, &newest);
    if (!frames) return frames.error();
    const auto copied = write_copy(log_file_path(to, file.number), *header, *frames);
    if (!copied) return copied.error();
    written += *copied;
  }
  if (newest >= last) return written;
  return base::Error(
      base::ErrorCode::kCorrupt,
      fmt::format("{}: the log ends with VID {}, but has gone on to VID {}; files of "
                  "it are damaged or missing",
                  from, newest.value, last.value));
}

}  // namespace diptych::dispatcher
