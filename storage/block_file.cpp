#include "storage/block_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/check.h"
#include "base/notice.h"
#include "storage/file.h"

namespace diptych::storage {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr std::array<char, 8> kMagic = {'D', 'T', 'B', 'L', 'O', 'C', 'K', 'S'};
constexpr uint32_t kVersion = 1;

struct Header {
  std::array<char, 8> magic = kMagic;
  uint32_t version = kVersion;
  uint32_t page_bytes = kFilePageBytes;
  uint32_t extent_pages = kExtentPages;
  std::array<std::byte, 4068> zeroes = {};
  uint64_t checksum = 0;  // of the bytes before

  uint64_t right_checksum() const { return XXH3_64bits(this, offsetof(Header, checksum)); }
};
static_assert(sizeof(Header) == kFilePageBytes && offsetof(Header, checksum) == 4088);

std::string path_in(const std::string& directory) {
  return directory + "/blocks.dtb";
}

Error corrupt(const std::string& path, const std::string& what) {
  return {ErrorCode::kCorrupt,
          fmt::format("{}: {}; restore the directory from a backup", path, what)};
}

// "chunk of 5 bytes at byte 4096"
std::string described(const ChunkAddress& address) {
  return fmt::format("chunk of {} bytes at byte {}", address.bytes, address.offset());
}

void say_once_that_reads_are_buffered(const std::string& path) {
  static base::NoticeOnce once;
  if (!once.is_due()) return;
  base::notify(
      "{}: the file system refuses direct reads; chunks are read through the system's page cache",
      path);
}

}  // namespace

BlockFile::BlockFile(std::string path, BeforeFileStep before_step)
    : path_(std::move(path)), before_step_(std::move(before_step)) {}

BlockFile::~BlockFile() {
  if (read_file_ >= 0 && read_file_ != file_) ::close(read_file_);
  if (file_ >= 0) ::close(file_);
}

Result<std::unique_ptr<BlockFile>> BlockFile::create(const std::string& directory,
                                                     BeforeFileStep before_step,
                                                     ReadCache read_cache) {
  std::unique_ptr<BlockFile> file(new BlockFile(path_in(directory), std::move(before_step)));
  if (Result<void> created = file->create_empty(directory); !created) return created.error();
  if (Result<void> opened = file->open_for_reading(read_cache); !opened) return opened.error();
  return file;
}

Result<std::unique_ptr<BlockFile>> BlockFile::open(const std::string& directory,
                                                   BeforeFileStep before_step,
                                                   ReadCache read_cache) {
  std::unique_ptr<BlockFile> file(new BlockFile(path_in(directory), std::move(before_step)));
  if (Result<void> opened = file->open_existing(O_RDWR); !opened) return opened.error();
  if (Result<void> opened = file->open_for_reading(read_cache); !opened) return opened.error();
  return file;
}

Result<std::unique_ptr<BlockFile>> BlockFile::open_to_read(const std::string& directory) {
  std::unique_ptr<BlockFile> file(new BlockFile(path_in(directory), {}));
  if (Result<void> opened = file->open_existing(O_RDONLY); !opened) return opened.error();
  if (Result<void> opened = file->open_for_reading(ReadCache::kBypass); !opened) {
    return opened.error();
  }
  return file;
}

Result<void> BlockFile::create_empty(const std::string& directory) {
  if (Result<void> may = announce(before_step_, FileStep::kGrow); !may) return may;
  file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file_ < 0) return system_error("create", path_, errno);
  Header header;
  header.checksum = header.right_checksum();
  if (Result<void> written = write_at(0, std::as_bytes(std::span(&header, 1))); !written) {
    return written;
  }
  file_bytes_ = kFilePageBytes;
  if (Result<void> synced = sync(); !synced) return synced;
  if (Result<void> may = announce(before_step_, FileStep::kSyncDirectory); !may) return may;
  return sync_directory(directory);
}

Result<void> BlockFile::open_existing(int access) {
  // Not blocking, for what turns out to be a pipe.
  file_ = ::open(path_.c_str(), access | O_CLOEXEC | O_NONBLOCK);
  if (file_ < 0 && errno == ENOENT) return corrupt(path_, "is missing");
  if (file_ < 0) return system_error("open", path_, errno);
  struct stat status;
  if (::fstat(file_, &status) != 0) return system_error("examine", path_, errno);
  if (!S_ISREG(status.st_mode)) {
    return Error(ErrorCode::kIo, fmt::format("cannot open {}: not a file", path_));
  }
  file_bytes_ = static_cast<uint64_t>(status.st_size);
  // A part of an extent at the end is of a growth that did not come to its end.
  const uint64_t extents = file_bytes_ / kExtentBytes;
  if (extents > SpaceMap::kExtentsMax) {
    return Error(ErrorCode::kUnsupported,
                 fmt::format("{}: has {} bytes; more than {} cannot be addressed", path_,
                             file_bytes_, SpaceMap::kExtentsMax * kExtentBytes));
  }
  space_ = SpaceMap(static_cast<uint32_t>(extents));
  return read_header();
}

Result<void> BlockFile::read_header() {
  if (file_bytes_ < sizeof(Header)) {
    return corrupt(path_, fmt::format("ends at byte {}, within its header", file_bytes_));
  }
  Header header;
  const ssize_t got = ::pread(file_, &header, sizeof(header), 0);
  if (got != sizeof(header)) {
    return system_error("read the header of", path_, got < 0 ? errno : EIO);
  }
  if (header.magic != kMagic) return corrupt(path_, "byte 0: not a block file");
  if (header.checksum != header.right_checksum()) {
    return corrupt(path_, "the header at byte 0 has a wrong checksum");
  }
  if (header.version != kVersion || header.page_bytes != kFilePageBytes ||
      header.extent_pages != kExtentPages) {
    return Error(ErrorCode::kUnsupported,
                 fmt::format("{}: version {} of the format with extents of {} pages of {} bytes; "
                             "this program reads version {} with {} of {}",
                             path_, header.version, header.extent_pages, header.page_bytes,
                             kVersion, kExtentPages, kFilePageBytes));
  }
  return {};
}

Result<void> BlockFile::open_for_reading(ReadCache read_cache) {
  read_file_ = file_;
  if (read_cache == ReadCache::kUse) return {};
  const int file = ::open(path_.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC);
  if (file < 0 && errno != EINVAL && errno != EOPNOTSUPP) {
    return system_error("open", path_, errno);
  }
  // Some file systems refuse not the opening but the reading.
  ChunkMemory page = ChunkMemory::on_heap(kFilePageBytes);
  if (file < 0 || (::pread(file, page.bytes().data(), kFilePageBytes, 0) < 0 && errno == EINVAL)) {
    if (file >= 0) ::close(file);
    say_once_that_reads_are_buffered(path_);
    return {};
  }
  read_file_ = file;
  direct_ = true;
  return {};
}

Result<ChunkAddress> BlockFile::write(std::span<const std::byte> chunk) {
  DIPTYCH_CHECK(!chunk.empty() && chunk.size() <= std::numeric_limits<uint32_t>::max(),
                "a chunk has bytes, and below 4 GiB");
  ChunkAddress address;
  address.bytes = static_cast<uint32_t>(chunk.size());
  address.checksum = XXH3_64bits(chunk.data(), chunk.size());
  const Result<uint32_t> page = allocate(address.pages());
  if (!page) return page.error();
  address.page = *page;
  if (Result<void> written = write_at(address.offset(), chunk); !written) {
    release(address);
    return written.error();
  }
  return address;
}

Result<uint32_t> BlockFile::allocate(uint32_t pages) {
  const std::lock_guard guard(mutex_);
  if (const std::optional<uint32_t> first = space_.allocate(pages)) return *first;
  const uint32_t extents = space_.extents_to_grow(pages);
  if (extents == 0) {
    return Error(ErrorCode::kNoSpace,
                 fmt::format("cannot add to {}: it has all {} bytes that can be addressed", path_,
                             space_.pages() * uint64_t{kFilePageBytes}));
  }
  if (Result<void> grown = grow(extents); !grown) return grown.error();
  const std::optional<uint32_t> first = space_.allocate(pages);
  DIPTYCH_CHECK(first.has_value(), "the file grew by what was missing");
  return *first;
}

Result<void> BlockFile::grow(uint32_t extents) {
  if (Result<void> may = announce(before_step_, FileStep::kGrow); !may) return may;
  const uint64_t from = space_.pages() == 1 ? 0 : space_.pages() * uint64_t{kFilePageBytes};
  const uint64_t to = from + extents * kExtentBytes;
  int refused = 0;
  do {
    refused = ::fallocate(file_, 0, static_cast<off_t>(from), static_cast<off_t>(to - from)) == 0
                  ? 0
                  : errno;
  } while (refused == EINTR);
  if (refused == EOPNOTSUPP && to > file_bytes_) {
    refused = ::ftruncate(file_, static_cast<off_t>(to)) == 0 ? 0 : errno;
  }
  if (refused != 0 && refused != EOPNOTSUPP) {
    // What it got before it was refused goes back; if that fails, too, the next commit tries again.
    file_bytes_ = ::ftruncate(file_, static_cast<off_t>(file_bytes_)) == 0 ? file_bytes_ : to;
    return system_error(fmt::format("add {} bytes to", to - from), path_, refused);
  }
  file_bytes_ = std::max(file_bytes_, to);
  space_.grow(extents);
  return {};
}

Result<void> BlockFile::write_at(uint64_t offset, std::span<const std::byte> chunk) {
  if (Result<void> may = announce(before_step_, FileStep::kWrite); !may) return may;
  static constexpr std::array<std::byte, kFilePageBytes> kZeroes = {};
  // To the end of the last page: the system would read the rest of it first, to keep it.
  const size_t padded = file_pages(chunk.size()) * kFilePageBytes;
  for (size_t done = 0; done < padded;) {
    const size_t of_chunk = done < chunk.size() ? std::min(chunk.size() - done, kCallBytesMax) : 0;
    const bool to_end = done + of_chunk >= chunk.size();
    iovec parts[2] = {};
    parts[0] = {const_cast<std::byte*>(chunk.data()) + std::min(done, chunk.size()), of_chunk};
    parts[1] = {const_cast<std::byte*>(kZeroes.data()), to_end ? padded - done - of_chunk : 0};
    const ssize_t written = ::pwritev(file_, parts, 2, static_cast<off_t>(offset + done));
    if (written < 0) {
      if (errno == EINTR) continue;
      return system_error(fmt::format("write {} bytes at byte {} of", padded - done, offset + done),
                          path_, errno);
    }
    done += static_cast<size_t>(written);
  }
  return {};
}

Result<ChunkMemory> BlockFile::read(const ChunkAddress& address, ChunkArena* arena) const {
  DIPTYCH_CHECK(address.is_set() && address.bytes != 0, "what is read has an address");
  std::optional<ChunkMemory> memory;
  if (arena != nullptr) memory = arena->take(address.bytes);
  if (!memory) memory = ChunkMemory::on_heap(address.bytes);
  if (Result<void> read = read_rest(address, 0, memory->pages()); !read) return read.error();
  if (Result<void> right = verify(address, memory->bytes()); !right) return right.error();
  return std::move(*memory);
}

Result<void> BlockFile::read_rest(const ChunkAddress& address, size_t bytes_read,
                                  std::span<std::byte> pages) const {
  DIPTYCH_CHECK(pages.size() == address.pages() * kFilePageBytes, "chunks are read by whole pages");
  while (bytes_read < address.bytes) {
    // Direct reads begin at a page, wherever the one before ended.
    const size_t from = bytes_read / kFilePageBytes * kFilePageBytes;
    const size_t count = std::min(pages.size() - from, kCallBytesMax);
    const ssize_t got = ::pread(read_file_, pages.data() + from, count,
                                static_cast<off_t>(address.offset() + from));
    if (got < 0) {
      if (errno == EINTR) continue;
      return system_error(
          fmt::format("read {} bytes at byte {} of", count, address.offset() + from), path_, errno);
    }
    bytes_read = from + static_cast<size_t>(got);
    if (bytes_read < address.bytes && static_cast<size_t>(got) < kFilePageBytes) {
      return corrupt(path_, fmt::format("ends at byte {}, within the {}",
                                        address.offset() + bytes_read, described(address)));
    }
  }
  return {};
}

Result<void> BlockFile::verify(const ChunkAddress& address,
                               std::span<const std::byte> chunk) const {
  if (XXH3_64bits(chunk.data(), chunk.size()) == address.checksum) return {};
  return corrupt(path_, fmt::format("the {} has a wrong checksum", described(address)));
}

void BlockFile::release(const ChunkAddress& address) {
  DIPTYCH_CHECK(address.is_set() && address.bytes != 0, "what is released has an address");
  const std::lock_guard guard(mutex_);
  space_.release(address.page, address.pages());
}

Result<void> BlockFile::adopt(const ChunkAddress& address) {
  const std::lock_guard guard(mutex_);
  const uint64_t end = uint64_t{address.page} + address.pages();
  if (!address.is_set() || address.bytes == 0) {
    return corrupt(path_, fmt::format("a {} is named, where none can be", described(address)));
  }
  if (end > space_.pages()) {
    return corrupt(path_, fmt::format("ends at byte {}, before the end of the {} that is named",
                                      file_bytes_, described(address)));
  }
  if (!space_.adopt(address.page, address.pages())) {
    return corrupt(
        path_, fmt::format("the {} that is named overlaps one named before", described(address)));
  }
  return {};
}

Result<void> BlockFile::sync() {
  const std::lock_guard guard(sync_mutex_);
  if (sync_failed_) return *sync_failed_;
  Result<void> synced = announce(before_step_, FileStep::kSync);
  if (synced && ::fdatasync(file_) != 0) synced = system_error("sync", path_, errno);
  if (!synced) sync_failed_ = synced.error();
  return synced;
}

void BlockFile::begin_commit() {
  const std::lock_guard guard(mutex_);
  space_.begin_commit();
}

Result<void> BlockFile::commit() {
  const std::lock_guard sync_guard(sync_mutex_);
  if (sync_failed_) return *sync_failed_;
  const std::lock_guard guard(mutex_);
  if (holds_ != 0) return {};
  const uint64_t bytes = space_.commit() * uint64_t{kFilePageBytes};
  if (bytes == file_bytes_) return {};
  if (Result<void> may = announce(before_step_, FileStep::kTruncate); !may) return may;
  if (::ftruncate(file_, static_cast<off_t>(bytes)) != 0) {
    return system_error(fmt::format("cut to {} bytes", bytes), path_, errno);
  }
  file_bytes_ = bytes;
  return {};
}

void BlockFile::begin_moves() {
  const std::lock_guard guard(mutex_);
  moves_from_ = holds_ == 0 ? space_.moves_from() : UINT32_MAX;
}

bool BlockFile::should_move(const ChunkAddress& chunk) const {
  const std::lock_guard guard(mutex_);
  return chunk.page >= moves_from_;
}

Result<ChunkAddress> BlockFile::move(const ChunkAddress& chunk, std::span<const std::byte> bytes) {
  DIPTYCH_CHECK(chunk.bytes == bytes.size(), "a chunk moves as it is");
  ChunkAddress moved = chunk;
  {
    const std::lock_guard guard(mutex_);
    const std::optional<uint32_t> first = space_.allocate_before(moves_from_, chunk.pages());
    if (!first) return chunk;
    moved.page = *first;
  }
  if (Result<void> written = write_at(moved.offset(), bytes); !written) {
    release(moved);
    return written.error();
  }
  return moved;
}

BlockFile::Hold::Hold(BlockFile* file) : file_(file) {
  const std::lock_guard guard(file_->mutex_);
  ++file_->holds_;
}

BlockFile::Hold::~Hold() {
  const std::lock_guard guard(file_->mutex_);
  --file_->holds_;
}

uint64_t BlockFile::bytes() const {
  const std::lock_guard guard(mutex_);
  return file_bytes_;
}

uint64_t BlockFile::free_bytes() const {
  const std::lock_guard guard(mutex_);
  return space_.free_pages() * uint64_t{kFilePageBytes};
}

uint64_t BlockFile::held_bytes() const {
  const std::lock_guard guard(mutex_);
  return space_.held_pages() * uint64_t{kFilePageBytes};
}

}  // namespace diptych::storage
