// A directory of a database whose files were changed is refused with words, or opens as a database
// whose replicas agree, which runs queries and transactions, and which closes and opens again as
// the same. What is changed without making the checksums right again shows what was saved, or is
// in the log up to some call; or it is refused.
//
// Input: a byte that says whose directory (bits 0 and 1, tiny_database.h) and whether what has a
// checksum gets the right one (bit 2); then changes, each of kChangeBytes: which place (a file, or
// a part of one with a checksum), what is done to it, where in it (two bytes), and four bytes more.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "storage/block_file.h"
#include "tests/fuzz/signing.h"
#include "tests/fuzz/tiny_database.h"
#include "tests/temporary_directory.h"

namespace diptych::fuzz {
namespace {

using base::ErrorCode;
using dispatcher::Database;

constexpr size_t kChangeBytes = 8;
constexpr size_t kChangesMax = 16;

struct Change {
  uint8_t place;
  uint8_t kind;
  uint16_t at;
  uint32_t value;
};
static_assert(sizeof(Change) == kChangeBytes);

// At the ends of types, of what an id may be, and of sizes.
constexpr std::array<uint64_t, 12> kOddNumbers = {
    0,          1,          2,          0x7fffffff, 0x80000000,     0xffffffff,
    1ULL << 36, 1ULL << 48, 1ULL << 62, 1ULL << 63, UINT64_MAX - 1, UINT64_MAX};

// One number, text or list of a manifest, or of no other JSON, becomes another one.
void change_manifest(const Change& change, std::string* text) {
  const auto contents = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (contents.is_discarded() || !contents.is_object()) return;
  nlohmann::json flat = contents.flatten();
  auto each = flat.begin();
  std::advance(each, change.at % flat.size());
  const uint64_t odd = kOddNumbers[change.value % kOddNumbers.size()];
  if (each->is_number_unsigned()) {
    const uint64_t number = each->get<uint64_t>();
    *each = change.value % 2 == 0 ? odd : number + change.value % 256 - 128;
  } else {
    std::string string = each->is_string() ? each->get<std::string>() : "";
    // A statement's word or number.
    const size_t begin = std::min<size_t>(change.value >> 8 & 0xff, string.size());
    string.replace(begin, change.value >> 16 & 7, change.value % 3 == 0 ? "" : std::to_string(odd));
    *each = string;
  }
  try {
    *text = flat.unflatten().dump();
  } catch (const nlohmann::json::exception&) {  // it is no UTF-8 any more
  }
}

class Damage {
 public:
  explicit Damage(const DirectoryImage& image) : image_(image), files_(image.files) {}

  void apply(const Change& change) {
    const Place& place = image_.places[change.place % image_.places.size()];
    const auto found = files_.find(place.file);
    if (found == files_.end()) return;
    std::string& bytes = found->second.bytes;
    const size_t begin = std::min(place.begin, bytes.size());
    const size_t end = std::min(place.begin + place.bytes, bytes.size());
    if (begin == end) return;
    const size_t at = begin + change.at % (end - begin);
    const size_t room = end - at;
    switch (change.kind % 11) {
      case 0: bytes[at] = static_cast<char>(bytes[at] ^ (1 << change.value % 8)); break;
      case 1: put(&change.value, std::min<size_t>(room, 1), at, &bytes); break;
      case 2: put(&change.value, std::min<size_t>(room, 2), at, &bytes); break;
      case 3: put(&change.value, std::min<size_t>(room, 4), at, &bytes); break;
      case 4: {
        const uint64_t odd = kOddNumbers[change.value % kOddNumbers.size()];
        put(&odd, std::min<size_t>(room, change.value >> 8 & 1 ? 8 : 4), at, &bytes);
        break;
      }
      case 5: bytes[at] = static_cast<char>(bytes[at] + (change.value % 2 == 0 ? 1 : -1)); break;
      case 6:
        bytes.resize(at);
        found->second.size = at;
        break;
      case 7: {  // two runs of bytes change places
        const size_t other = begin + (change.value >> 16) % (end - begin);
        const size_t count = std::min({size_t{1} + change.value % 128, room, end - other});
        for (size_t i = 0; i < count; ++i) std::swap(bytes[at + i], bytes[other + i]);
        break;
      }
      case 8:
        std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                    std::min<size_t>(room, change.value % 1024), '\0');
        break;
      case 9: exchange(change, found); break;
      default:
        if (place.file == "manifest.json") change_manifest(change, &bytes);
    }
  }

  // From the inside to the outside.
  void sign() {
    File* const blocks = file("blocks.dtb");
    if (blocks != nullptr) sign_chunks(&blocks->bytes);
    if (File* const manifest = file("manifest.json"); manifest != nullptr) {
      sign_manifest(blocks == nullptr ? nullptr : &blocks->bytes, &manifest->bytes);
    }
    for (auto& [name, each] : files_) {
      if (name.ends_with(".dtl")) sign_log_file(&each.bytes);
      if (name == "log.begun" && each.bytes.size() >= dispatcher::kLogSectorBytes) {
        constexpr size_t kChecksumAt = dispatcher::kLogSectorBytes - sizeof(uint64_t);
        put_at(&each.bytes, kChecksumAt, uint64_t{XXH3_64bits(each.bytes.data(), kChecksumAt)});
      }
    }
  }

  void write(const std::string& directory) const {
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
      std::filesystem::remove_all(entry.path());
    }
    for (const auto& [name, each] : files_) {
      diptych::test::write_bytes(directory + "/" + name, each.bytes);
      std::filesystem::resize_file(directory + "/" + name, each.size);
    }
  }

  const Files& files() const { return files_; }

 private:
  static void put(const void* from, size_t count, size_t at, std::string* bytes) {
    std::memcpy(bytes->data() + at, from, count);
  }
  File* file(const std::string& name) {
    const auto found = files_.find(name);
    return found == files_.end() ? nullptr : &found->second;
  }

  // A file goes, or is another one.
  void exchange(const Change& change, Files::iterator found) {
    if (change.value % 2 == 0) {
      files_.erase(found);
      return;
    }
    auto other = files_.begin();
    std::advance(other, (change.value >> 8) % files_.size());
    std::swap(found->second, other->second);
  }

  // Of chunks where the directories have them, if that is within the file.
  void sign_chunks(std::string* blocks) const {
    sign_header(blocks);
    for (const ChunkPlace& chunk : image_.chunks) {
      if (chunk.entry + 24 > blocks->size()) continue;
      const uint64_t begin = number_at<uint32_t>(*blocks, chunk.entry) * storage::kFilePageBytes;
      const uint64_t bytes = number_at<uint32_t>(*blocks, chunk.entry + 4);
      if (begin > blocks->size() || bytes > blocks->size() - begin) continue;
      put_at(blocks, chunk.entry + 8, uint64_t{XXH3_64bits(blocks->data() + begin, bytes)});
      // A chunk's header is in the directory, too.
      constexpr size_t kHeader = sizeof(storage::encoding::ChunkHeader);
      if (bytes < kHeader || chunk.entry + 24 + kHeader > blocks->size()) continue;
      std::memmove(blocks->data() + chunk.entry + 24, blocks->data() + begin, kHeader);
    }
  }
  static void sign_manifest(const std::string* blocks, std::string* text) {
    auto contents = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
    if (contents.is_discarded() || !contents.is_object()) return;
    if (blocks != nullptr && contents.contains("tables") && contents["tables"].is_array()) {
      for (auto& table : contents["tables"]) sign_directory(*blocks, &table);
    }
    try {
      *text = with_right_checksum(contents.dump());
    } catch (const nlohmann::json::exception&) {
    }
  }
  static void sign_directory(const std::string& blocks, nlohmann::json* table) {
    const auto number = [&](const char* name) {
      const bool is_one =
          table->is_object() && table->contains(name) && (*table)[name].is_number_unsigned();
      return is_one ? (*table)[name].get<uint64_t>() : UINT64_MAX;
    };
    const uint64_t page = number("page");
    const uint64_t bytes = number("bytes");
    if (page > blocks.size() / storage::kFilePageBytes) return;
    const uint64_t begin = page * storage::kFilePageBytes;
    if (bytes > blocks.size() - begin) return;
    (*table)["checksum"] = fmt::format("{:016x}", XXH3_64bits(blocks.data() + begin, bytes));
  }

  const DirectoryImage& image_;
  Files files_;
};

void check_words(const base::Error& error) {
  DIPTYCH_CHECK(error.message.find(' ') != std::string::npos, "an error has words");
}

// Of opening, or of the replay.
void check_refusal(const base::Error& error, const std::string& directory) {
  DIPTYCH_CHECK(error.code == ErrorCode::kCorrupt || error.code == ErrorCode::kUnsupported ||
                    error.code == ErrorCode::kNotFound || error.code == ErrorCode::kInvalidArgument,
                "damage is no failure of the disk or the memory");
  check_words(error);
  DIPTYCH_CHECK(error.message.find(directory) != std::string::npos, "an error names a file");
}

// What is refused is left as it is: manifest and log.
void check_left_alone(const Files& files, const std::string& directory) {
  for (const auto& [name, file] : files) {
    if (name == "blocks.dtb") continue;
    std::string bytes = diptych::test::read_bytes(directory + "/" + name);
    DIPTYCH_CHECK(bytes.size() == file.size, "what is refused keeps its files");
    bytes.resize(file.bytes.size());
    DIPTYCH_CHECK(bytes == file.bytes, "what is refused stays as it is");
  }
}

enum class Signed : uint8_t { kAsItIs, kAnew };
enum class End : uint8_t { kCrash, kClose };

// Of what was opened and replayed. False: it cannot be read, which is said.
bool read_and_compare(Database* database, const DirectoryImage& image, Signed is_signed) {
  const auto digest = digest_of(database);
  if (!digest) check_words(digest.error());
  if (digest && is_signed == Signed::kAsItIs) {
    DIPTYCH_CHECK(std::ranges::count(image.states, *digest) != 0,
                  "what is under a checksum is as it was");
  }
  const auto compared = database->compare_replicas();
  if (!compared) check_words(compared.error());
  if (compared && compared->differences != 0) {
    for (const dispatcher::ReplicaDifference& each : compared->first) {
      fmt::print(stderr, "table {}, row {}: {}\n", each.table, each.row_id.value, each.what);
    }
  }
  DIPTYCH_CHECK(!compared || compared->differences == 0, "the replicas agree");
  return digest.ok() && compared.ok();
}

base::Result<std::unique_ptr<Database>> opened(const std::string& directory,
                                               const DirectoryImage& image) {
  dispatcher::DatabaseOptions options = options_for(directory, image.log);
  options.mode = dispatcher::OpenMode::kOpen;
  return Database::open(options);
}

// What is saved opens as it was.
void check_close(std::unique_ptr<Database> database, const std::string& directory,
                 const DirectoryImage& image) {
  const auto before = digest_of(database.get());
  DIPTYCH_CHECK(before.ok(), "what was read is read again");
  if (const auto closed = database->close(); !closed) {
    check_words(closed.error());
    static_cast<void>(database->discard());
    return;
  }
  const auto again = opened(directory, image);
  if (!again) fmt::print(stderr, "{}\n", again.error().to_string());
  DIPTYCH_CHECK(again.ok(), "what was saved opens");
  const auto after = digest_of(again->get());
  DIPTYCH_CHECK(after.ok() && *after == *before, "what was saved is as it was");
  static_cast<void>((*again)->discard());
}

void check_directory(const std::string& directory, const DirectoryImage& image,
                     const Damage& damage, Signed is_signed, End end) {
  damage.write(directory);
  auto database = opened(directory, image);
  if (!database) {
    check_refusal(database.error(), directory);
    return check_left_alone(damage.files(), directory);
  }
  const auto write = register_write(database->get());
  if (const auto recovered = (*database)->recover(); !recovered) {
    check_refusal(recovered.error(), directory);
    static_cast<void>((*database)->discard());
    return check_left_alone(damage.files(), directory);
  }
  const bool is_whole = read_and_compare(database->get(), image, is_signed);
  if (write && is_whole) {
    const std::string text = "text behind the damage";
    const auto done = (*database)->call(*write, {.id = 10'000, .text = base::Text(text)}).get();
    if (!done) check_words(done.error());
  }
  if (is_whole && end == End::kClose) return check_close(std::move(*database), directory, image);
  static_cast<void>((*database)->discard());
}

}  // namespace
}  // namespace diptych::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace diptych;  // NOLINT: one function
  static const diptych::test::TemporaryDirectory scratch;
  static const auto images = fuzz::make_images(scratch.path());
  static const diptych::test::TemporaryDirectory directory;
  if (size == 0) return 0;
  const fuzz::DirectoryImage& image = images[data[0] % 4 % images.size()];
  const bool is_signed = (data[0] & 4) != 0;
  const bool closes = (data[0] & 8) != 0;
  fuzz::Damage damage(image);
  for (size_t at = 1, changes = 0; at + fuzz::kChangeBytes <= size && changes < fuzz::kChangesMax;
       at += fuzz::kChangeBytes, ++changes) {
    fuzz::Change change;
    std::memcpy(&change, data + at, sizeof change);
    damage.apply(change);
  }
  if (is_signed) damage.sign();
  fuzz::check_directory(directory.path(), image, damage,
                        is_signed ? fuzz::Signed::kAnew : fuzz::Signed::kAsItIs,
                        closes ? fuzz::End::kClose : fuzz::End::kCrash);
  return 0;
}
