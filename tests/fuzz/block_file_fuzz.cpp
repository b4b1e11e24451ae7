// A block file that is accepted has the header of this format, and nothing behind its end. Input:
// what the file begins with. It is read as it is, and again under a checksum of the header that is
// right, so that damage gets past it.

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <xxhash.h>

#include "base/check.h"
#include "storage/block_file.h"
#include "tests/fuzz/signing.h"
#include "tests/temporary_directory.h"

namespace diptych::storage {
namespace {

using base::ErrorCode;

constexpr size_t kFormatBytes = 20;  // the magic, the version and the sizes

std::string format_of_new_file() {
  const diptych::test::TemporaryDirectory directory;
  DIPTYCH_CHECK(BlockFile::create(directory.path()).ok(), "a file can be made");
  return diptych::test::read_bytes(directory.path() + "/blocks.dtb").substr(0, kFormatBytes);
}

// Across the file's end, behind it, and as far as an address goes.
std::vector<ChunkAddress> addresses_outside(size_t file_bytes) {
  const auto pages = static_cast<uint32_t>(file_bytes / kFilePageBytes);
  const auto rest = static_cast<uint32_t>(file_bytes % kFilePageBytes);
  return {{pages, rest + 1, 0},
          {pages, 5 * kFilePageBytes, 0},
          {pages + 1, 1, 0},
          {UINT32_MAX, 1, 0},
          {UINT32_MAX, 2 * kFilePageBytes, 0}};
}

void check_reads(BlockFile* file, const std::string& bytes) {
  DIPTYCH_CHECK(file->bytes() == bytes.size(), "opening leaves the file as long as it is");
  for (const ChunkAddress& address : addresses_outside(bytes.size())) {
    const auto read = file->read(address);
    DIPTYCH_CHECK(read.code() == ErrorCode::kCorrupt, "a chunk outside the file is damage");
    DIPTYCH_CHECK(read.error().message.starts_with(file->path() + ": "), "errors name the file");
    const auto adopted = file->adopt(address);
    DIPTYCH_CHECK(adopted.code() == ErrorCode::kCorrupt, "and no manifest may name it");
  }
  if (bytes.size() == kFilePageBytes) return;
  // What lies in the file is read as it is.
  const std::string_view chunk = std::string_view(bytes).substr(kFilePageBytes);
  const ChunkAddress address{1, static_cast<uint32_t>(chunk.size()),
                             XXH3_64bits(chunk.data(), chunk.size())};
  const auto read = file->read(address);
  DIPTYCH_CHECK(read.ok() && std::memcmp(read->bytes().data(), chunk.data(), chunk.size()) == 0,
                "what lies in the file is read as it is");
}

void check_file(const std::string& bytes) {
  static const diptych::test::TemporaryDirectory directory;
  const std::string path = directory.path() + "/blocks.dtb";
  diptych::test::write_bytes(path, bytes);
  const auto opened = BlockFile::open(directory.path(), {}, ReadCache::kUse);
  if (!opened.ok()) {
    DIPTYCH_CHECK(opened.code() == ErrorCode::kCorrupt || opened.code() == ErrorCode::kUnsupported,
                  "damage is kCorrupt, another format kUnsupported");
    DIPTYCH_CHECK(opened.error().message.starts_with(path + ": "), "errors name the file");
    DIPTYCH_CHECK(diptych::test::read_bytes(path) == bytes, "what is refused stays as it is");
    return;
  }
  static const std::string format = format_of_new_file();
  DIPTYCH_CHECK(bytes.starts_with(format), "what is opened is of the format that is written");
  check_reads(opened->get(), bytes);
}

}  // namespace
}  // namespace diptych::storage

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  diptych::storage::check_file(bytes);
  std::string signed_bytes = bytes;
  if (diptych::fuzz::sign_header(&signed_bytes)) diptych::storage::check_file(signed_bytes);
  return 0;
}
