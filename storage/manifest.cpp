#include "storage/manifest.h"

#include <bit>
#include <cerrno>
#include <cstdio>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/quoted.h"
#include "storage/file.h"
#include "storage/storage_options.h"

namespace diptych::storage {
namespace {

using nlohmann::json;

constexpr uint32_t kFormatMin = 2;
constexpr uint32_t kFormatMax = 4;
constexpr const char* kManifestName = "manifest.json";
constexpr const char* kNewManifestName = "manifest.json.new";
constexpr uint64_t kTableBytes = 256;  // but for its name

std::string hex(uint64_t bits) {
  return fmt::format("{:016x}", bits);
}

std::string checksum_of(const json& contents) {
  const std::string text = contents.dump();
  return hex(XXH3_64bits(text.data(), text.size()));
}

// Takes fields out of the manifest's JSON one by one; the first that is wrong is the error.
class FieldReader {
 public:
  explicit FieldReader(std::string path) : path_(std::move(path)) {}

  const std::optional<base::Error>& error() const { return error_; }
  void fail(const std::string& what) {
    if (error_) return;
    error_ = base::Error(base::ErrorCode::kCorrupt,
                         fmt::format("{}: {}; restore the directory from a backup", path_, what));
  }

  const json* field(const json& object, const char* name) {
    const auto found = object.find(name);
    if (found != object.end()) return &*found;
    fail(fmt::format("field \"{}\" is missing", name));
    return nullptr;
  }
  uint64_t number(const json& object, const char* name, uint64_t max) {
    const json* const value = field(object, name);
    if (value == nullptr) return 0;
    if (!value->is_number_unsigned() || value->get<uint64_t>() > max) {
      fail(fmt::format("field \"{}\" is not a number from 0 to {}", name, max));
      return 0;
    }
    return value->get<uint64_t>();
  }
  std::string text(const json& object, const char* name) {
    const json* const value = field(object, name);
    if (value == nullptr) return {};
    if (value->is_string()) return value->get<std::string>();
    fail(fmt::format("field \"{}\" is not a string", name));
    return {};
  }
  // An empty array where the field is wrong.
  const json& array(const json& object, const char* name) {
    static const json kNone = json::array();
    const json* const value = field(object, name);
    if (value == nullptr) return kNone;
    if (value->is_array()) return *value;
    fail(fmt::format("field \"{}\" is not an array", name));
    return kNone;
  }

 private:
  std::string path_;
  std::optional<base::Error> error_;
};

// As a string of JSON on a line of its own.
uint64_t json_bytes_at_most(std::string_view text) {
  constexpr uint64_t kRoundIt = 16;
  uint64_t bytes = kRoundIt + text.size();
  for (const char c : text) {
    if (c == '"' || c == '\\') bytes += 1;
    if (static_cast<unsigned char>(c) < ' ') bytes += 5;  // "\u001f"
  }
  return bytes;
}

bool is_hex(const std::string& text) {
  return text.size() == 16 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

uint64_t id_of(const json& contents, FieldReader* fields) {
  if (!contents.contains("id")) return 0;
  const std::string id = fields->text(contents, "id");
  if (is_hex(id)) return std::stoull(id, nullptr, 16);
  fields->fail("field \"id\" is not 16 hexadecimal digits");
  return 0;
}

ManifestTable table_of(const json& entry, FieldReader* fields) {
  ManifestTable table;
  if (!entry.is_object()) {
    fields->fail("an entry of \"tables\" is not an object");
    return table;
  }
  table.name = fields->text(entry, "name");
  if (!entry.contains("page")) return table;
  table.rows = fields->number(entry, "rows", UINT64_MAX);
  table.directory.page = static_cast<uint32_t>(fields->number(entry, "page", UINT32_MAX));
  table.directory.bytes = static_cast<uint32_t>(fields->number(entry, "bytes", UINT32_MAX));
  const std::string checksum = fields->text(entry, "checksum");
  if (table.directory.page == 0 || table.directory.bytes == 0) {
    fields->fail(fmt::format("table {} has no place in the block file", base::quoted(table.name)));
  }
  if (!is_hex(checksum)) {
    fields->fail(fmt::format("table {}: the checksum is not 16 hexadecimal digits",
                             base::quoted(table.name)));
    return table;
  }
  table.directory.checksum = std::stoull(checksum, nullptr, 16);
  return table;
}

}  // namespace

uint64_t manifest_bytes_at_most(std::string_view statement, std::string_view table) {
  return json_bytes_at_most(statement) +
         (table.empty() ? 0 : json_bytes_at_most(table) + kTableBytes);
}

base::Result<std::string> manifest_to_text(const Manifest& manifest) {
  json tables = json::array();
  for (const ManifestTable& table : manifest.tables) {
    if (!table.directory.is_set()) {
      tables.push_back({{"name", table.name}});
      continue;
    }
    tables.push_back({{"name", table.name},
                      {"rows", table.rows},
                      {"page", table.directory.page},
                      {"bytes", table.directory.bytes},
                      {"checksum", hex(table.directory.checksum)}});
  }
  json contents = {{"format", manifest.format},         {"generation", manifest.generation},
                   {"vid", manifest.vid.value},         {"partitions", manifest.partitions},
                   {"block_rows", manifest.block_rows}, {"ddl", manifest.ddl},
                   {"tables", std::move(tables)}};
  if (manifest.id != 0) contents["id"] = hex(manifest.id);
  try {
    contents["checksum"] = checksum_of(contents);
    std::string text = contents.dump(2) + "\n";
    if (text.size() <= kManifestBytesMax) return text;
    return base::Error(base::ErrorCode::kUnsupported,
                       fmt::format("the DDL cannot be saved: the manifest would have {} bytes, and "
                                   "may have {}",
                                   text.size(), kManifestBytesMax));
  } catch (const json::exception& error) {
    return base::Error(base::ErrorCode::kInvalidArgument,
                       fmt::format("the DDL cannot be saved as it is not UTF-8: {}", error.what()));
  }
}

base::Result<Manifest> manifest_from_text(const std::string& path, const std::string& text) {
  FieldReader fields(path);
  // What nests deeper is left out, so that the checksum is wrong: to write it takes stack.
  constexpr int kDepthMax = 8;
  const json::parser_callback_t no_deeper = [](int depth, json::parse_event_t /*event*/,
                                               json& /*parsed*/) { return depth <= kDepthMax; };
  json contents = json::parse(text, no_deeper, /*allow_exceptions=*/false);
  if (contents.is_discarded() || !contents.is_object()) {
    fields.fail("not a JSON object");
    return *fields.error();
  }
  const std::string checksum = fields.text(contents, "checksum");
  if (fields.error()) return *fields.error();
  contents.erase("checksum");
  if (checksum != checksum_of(contents)) {
    fields.fail("the checksum does not match the contents");
    return *fields.error();
  }
  Manifest manifest;
  manifest.format = static_cast<uint32_t>(fields.number(contents, "format", UINT32_MAX));
  const bool is_known = kFormatMin <= manifest.format && manifest.format <= kFormatMax;
  if (!fields.error() && !is_known) {
    return base::Error(base::ErrorCode::kUnsupported,
                       fmt::format("{}: format {}, this program reads formats {} to {}; use the "
                                   "program that wrote it",
                                   path, manifest.format, kFormatMin, kFormatMax));
  }
  manifest.generation = fields.number(contents, "generation", UINT64_MAX);
  manifest.id = id_of(contents, &fields);
  manifest.vid = base::Vid(fields.number(contents, "vid", UINT64_MAX));
  manifest.partitions = static_cast<uint32_t>(fields.number(contents, "partitions", UINT32_MAX));
  manifest.block_rows = static_cast<uint32_t>(fields.number(contents, "block_rows", UINT32_MAX));
  for (const json& statement : fields.array(contents, "ddl")) {
    if (!statement.is_string()) {
      fields.fail("an entry of \"ddl\" is not a string");
      break;
    }
    manifest.ddl.push_back(statement.get<std::string>());
  }
  for (const json& entry : fields.array(contents, "tables")) {
    manifest.tables.push_back(table_of(entry, &fields));
  }
  if (manifest.partitions == 0) fields.fail("a table has no partitions");
  if (!std::has_single_bit(manifest.block_rows) || manifest.block_rows < kBlockRowsMin ||
      manifest.block_rows > kBlockRowsMax) {
    fields.fail(fmt::format("blocks of {} rows", manifest.block_rows));
  }
  if (fields.error()) return *fields.error();
  return manifest;
}

base::Result<Manifest> read_manifest(const std::string& directory) {
  const std::string path = directory + "/manifest.json";
  base::Result<InputFile> file = InputFile::open(path);
  if (!file.ok()) {
    if (file.code() != base::ErrorCode::kNotFound) return file.error();
    return base::Error(base::ErrorCode::kNotFound,
                       fmt::format("no database in {}: there is no manifest.json", directory));
  }
  if (file->size() > kManifestBytesMax) {
    return base::Error(base::ErrorCode::kCorrupt,
                       fmt::format("{}: {} bytes, more than any manifest has", path, file->size()));
  }
  std::string text(file->size(), '\0');
  const base::Result<void> read = file->read(std::as_writable_bytes(std::span(text)));
  if (!read.ok()) return read.error();
  return manifest_from_text(path, text);
}

base::Result<void> write_manifest(const std::string& directory, const Manifest& manifest,
                                  const BeforeFileStep& before_step) {
  const std::string path = directory + "/" + kManifestName;
  const std::string new_path = directory + "/" + kNewManifestName;
  const base::Result<std::string> text = manifest_to_text(manifest);
  if (!text.ok()) return text.error();
  const auto go = [&](FileStep step) { return announce(before_step, step); };
  const auto write = [&]() -> base::Result<void> {
    base::Result<void> done = go(FileStep::kGrow);
    if (!done.ok()) return done;
    base::Result<OutputFile> file = OutputFile::create(new_path);
    if (!file.ok()) return file.error();
    if (done = go(FileStep::kWrite); !done.ok()) return done;
    if (done = file->write(std::as_bytes(std::span(*text))); !done.ok()) return done;
    if (done = go(FileStep::kSync); !done.ok()) return done;
    return file->keep();
  };
  base::Result<void> done = write();
  if (!done.ok()) return done;
  done = go(FileStep::kRename);
  if (done.ok() && std::rename(new_path.c_str(), path.c_str()) != 0) {
    done = system_error("rename to manifest.json", new_path, errno);
  }
  if (!done.ok()) {
    ::unlink(new_path.c_str());  // what is left of a save that failed harms nobody
    return done;
  }
  done = go(FileStep::kSyncDirectory);
  return done.ok() ? sync_directory(directory) : done;
}

namespace {

base::Error in_use(const std::string& directory) {
  return {base::ErrorCode::kInUse,
          fmt::format("this or another process has {} open; close it first", directory)};
}

}  // namespace

DirectoryIdentity::DirectoryIdentity(const std::string& directory, int lock_file)
    : directory_(directory) {
  struct stat locked {};
  if (::fstat(lock_file, &locked) != 0) return;  // then it is nowhere in place
  device_ = locked.st_dev;
  inode_ = locked.st_ino;
}

base::Result<void> DirectoryIdentity::check() const {
  if (directory_.empty()) return {};
  struct stat there {};
  if (::stat((directory_ + "/lock").c_str(), &there) == 0 && there.st_dev == device_ &&
      there.st_ino == inode_) {
    return {};
  }
  return base::Error(
      base::ErrorCode::kIo,
      fmt::format("the directory of this database was moved or replaced while it was open, or its "
                  "lock was removed: it is not at {} any more, and nothing is changed there",
                  directory_));
}

base::Result<DirectoryLock> DirectoryLock::acquire(const std::string& directory) {
  return lock_the_one_there(directory, &DirectoryLock::lock_to_write);
}

base::Result<DirectoryLock> DirectoryLock::acquire_to_read(const std::string& directory) {
  return lock_the_one_there(directory, &DirectoryLock::lock_to_read);
}

base::Result<DirectoryLock> DirectoryLock::lock_the_one_there(
    const std::string& directory, base::Result<DirectoryLock> (*lock_once)(const std::string&)) {
  constexpr int kTries = 100;  // each after another process has come and gone in between
  for (int i = 0; i < kTries; ++i) {
    auto lock = lock_once(directory);
    if (!lock.ok() || lock->identity_.check().ok()) return lock;
  }
  return in_use(directory);
}

base::Result<DirectoryLock> DirectoryLock::lock_to_write(const std::string& directory) {
  const std::string path = directory + "/lock";
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) {
    const int error_number = errno;
    base::Error error = system_error("open", path, error_number);
    if (error_number == EACCES || error_number == EPERM || error_number == EROFS) {
      error.message +=
          "; to open a database, if only to query it, needs write access: it is locked, so that "
          "one process has it at a time";
    }
    return error;
  }
  DirectoryLock lock(directory, file);
  if (::flock(file, LOCK_EX | LOCK_NB) == 0) return lock;
  if (errno != EWOULDBLOCK) return system_error("lock", path, errno);
  return in_use(directory);
}

base::Result<DirectoryLock> DirectoryLock::lock_to_read(const std::string& directory) {
  const std::string path = directory + "/lock";
  const int writable = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (writable >= 0) {
    ::close(writable);
    return lock_to_write(directory);
  }
  if (errno == ENOENT) return system_error("open", path, errno);
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // as of a pipe
  if (file < 0) {
    if (errno == ENOENT) return DirectoryLock();
    return system_error("open", path, errno);
  }
  DirectoryLock lock(directory, file);
  if (::flock(file, LOCK_EX | LOCK_NB) == 0) return lock;
  if (errno == EWOULDBLOCK) return in_use(directory);
  // Some network file systems lock exclusively only what is open for writing.
  if (::flock(file, LOCK_SH | LOCK_NB) == 0) return lock;
  if (errno == EWOULDBLOCK) return in_use(directory);
  return system_error("lock", path, errno);
}

DirectoryLock::DirectoryLock(DirectoryLock&& other) noexcept
    : file_(std::exchange(other.file_, -1)), identity_(std::move(other.identity_)) {}

DirectoryLock& DirectoryLock::operator=(DirectoryLock&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(identity_, other.identity_);
  return *this;
}

DirectoryLock::~DirectoryLock() {
  if (file_ >= 0) ::close(file_);  // which releases the lock
}

}  // namespace diptych::storage
