#include "storage/replica_copy.h"

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "storage/block_file.h"
#include "storage/file.h"
#include "storage/leaf_directory.h"
#include "storage/replica_files.h"

namespace diptych::storage {
namespace {

using base::Result;

// The copy: a file that is written at any place.
class CopiedFile {
 public:
  explicit CopiedFile(std::string path) : path_(std::move(path)) {}
  CopiedFile(const CopiedFile&) = delete;
  CopiedFile& operator=(const CopiedFile&) = delete;
  ~CopiedFile() {
    if (file_ >= 0) ::close(file_);
  }

  Result<void> create(uint64_t bytes, CopySpace space) {
    // To read, too: posix_fallocate does where the file system gives no space ahead.
    file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (file_ < 0) return system_error("create", path_, errno);
    if (::ftruncate(file_, static_cast<off_t>(bytes)) != 0) {
      return system_error("add space to", path_, errno);
    }
    if (space == CopySpace::kHoles) return {};
    const int refused = allocate_file_bytes(file_, bytes);
    return refused == 0 ? Result<void>() : system_error("add space to", path_, refused);
  }

  Result<void> write(uint64_t offset, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t written =
          ::pwrite(file_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (written < 0) {
        if (errno == EINTR) continue;
        return system_error("write", path_, errno);
      }
      offset += static_cast<uint64_t>(written);
      bytes = bytes.subspan(static_cast<size_t>(written));
    }
    return {};
  }

  Result<void> sync() {
    if (::fsync(file_) != 0) return system_error("sync", path_, errno);
    return {};
  }

 private:
  const std::string path_;
  int file_ = -1;
};

Result<void> copy_header(const std::string& from, CopiedFile* to) {
  auto file = InputFile::open(from);
  if (!file.ok()) return file.error();
  std::vector<std::byte> header(kFilePageBytes);
  if (const auto read = file->read(header); !read.ok()) return read;
  return to->write(0, header);
}

}  // namespace

Result<uint64_t> copy_replica(const std::string& from, const Manifest& manifest,
                              std::span<const base::TableSchema* const> schemas,
                              const std::string& to, CopySpace space,
                              const std::function<Result<void>(double)>& progress,
                              const SavePace& pace) {
  if (const auto named = check_tables(from, manifest, schemas); !named.ok()) return named.error();
  const auto source = BlockFile::open_to_read(from);
  if (!source.ok()) return source.error();
  std::vector<ChunkAddress> chunks;
  uint64_t end = kFilePageBytes;
  for (size_t i = 0; i < schemas.size(); ++i) {
    const auto table = read_table(manifest.tables[i], manifest, *schemas[i], source->get());
    if (!table.ok()) return table.error();
    const bool is_there = manifest.tables[i].directory.is_set() && !is_dropped(*schemas[i]);
    if (is_there) chunks.push_back(manifest.tables[i].directory);
    for (const SavedPartition& partition : table->partitions) {
      for (const SavedLeaf& leaf : partition) {
        for (const SavedColumn& column : leaf.columns) chunks.push_back(column.chunk.address);
      }
    }
  }
  uint64_t bytes = 0;
  for (const ChunkAddress& chunk : chunks) {
    bytes += chunk.bytes;
    end = std::max(end, chunk.offset() + chunk.pages() * uint64_t{kFilePageBytes});
  }
  std::sort(chunks.begin(), chunks.end(),
            [](const ChunkAddress& a, const ChunkAddress& b) { return a.page < b.page; });
  const uint64_t whole =
      chunks.empty() ? end : (end + kExtentBytes - 1) / kExtentBytes * kExtentBytes;
  CopiedFile copy(to + "/blocks.dtb");
  if (const auto created = copy.create(whole, space); !created.ok()) return created.error();
  if (const auto copied = copy_header(from + "/blocks.dtb", &copy); !copied.ok()) {
    return copied.error();
  }
  uint64_t done = 0;
  for (const ChunkAddress& chunk : chunks) {
    const auto memory = (*source)->read(chunk);
    if (!memory.ok()) return memory.error();
    const auto written = copy.write(chunk.offset(), memory->bytes());
    if (!written.ok()) return written.error();
    done += chunk.bytes;
    if (const auto paced = keep_pace(pace, chunk.bytes); !paced.ok()) return paced.error();
    const auto goes_on = progress(static_cast<double>(done) / static_cast<double>(bytes));
    if (!goes_on.ok()) return goes_on.error();
  }
  if (const auto synced = copy.sync(); !synced.ok()) return synced.error();
  return bytes;
}

}  // namespace diptych::storage
