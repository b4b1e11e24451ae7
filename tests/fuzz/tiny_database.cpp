#include "tests/fuzz/tiny_database.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <ranges>
#include <utility>

#include <fmt/format.h>
#include <xxhash.h>

#include "base/alignment.h"
#include "base/check.h"
#include "dispatcher/command_log/log_format.h"
#include "storage/block_file.h"
#include "storage/leaf_directory.h"
#include "storage/manifest.h"
#include "storage/replica_files.h"
#include "tests/temporary_directory.h"

namespace diptych::fuzz {
namespace {

using dispatcher::Database;
using dispatcher::LogMode;

constexpr int32_t kThings = static_cast<int32_t>(storage::kBlockRowsMin) + 40;
constexpr int32_t kSavedCalls = 30;

void load_things(Database* database) {
  const auto things = database->bind_table<Thing>("thing");
  DIPTYCH_CHECK(things.ok(), "the table is as the struct");
  std::vector<std::string> texts;
  for (int32_t i = 0; i < kThings; ++i) texts.push_back(text_of(i));
  std::vector<Thing> rows;
  for (int32_t i = 0; i < kThings; ++i) rows.push_back(thing_of(i, texts[i]));
  bool given = false;
  const auto loaded = database->load(things->table, [&]() -> dispatcher::RowBatch {
    if (std::exchange(given, true)) return {};
    return {reinterpret_cast<const std::byte*>(rows.data()), rows.size()};
  });
  DIPTYCH_CHECK(loaded.ok(), "rows can be loaded");
}

void call(Database* database, const WriteProcedure& write, int32_t id) {
  const std::string text = text_of(id + 3);
  const auto done = database->call(write, {.id = id, .text = base::Text(text)}).get();
  DIPTYCH_CHECK(done.ok(), "a call can be made");
}

std::unique_ptr<Database> opened(const std::string& path, LogMode log) {
  auto database = Database::open(options_for(path, log));
  DIPTYCH_CHECK(database.ok(), "an undamaged database opens");
  return std::move(*database);
}

uint64_t state_of(Database* database) {
  const auto digest = digest_of(database);
  DIPTYCH_CHECK(digest.ok(), "an undamaged database can be read");
  return *digest;
}

Files files_of(const std::string& directory) {
  Files files;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const std::string name = entry.path().filename();
    if (name == "lock") continue;
    std::string bytes = diptych::test::read_bytes(entry.path());
    const size_t size = bytes.size();
    const size_t used = bytes.find_last_not_of('\0') + 1;
    bytes.resize(std::min(size, base::round_up(used, dispatcher::kLogSectorBytes)));
    bytes.shrink_to_fit();
    files[name] = {std::move(bytes), size};
  }
  return files;
}

// Where the columns' entries of a leaf directory lie in it (leaf_directory.h draws it).
std::vector<size_t> entries_of(const storage::SavedTable& table) {
  constexpr size_t kHeader = 32;
  constexpr size_t kLeaf = 16;
  constexpr size_t kColumn = 88;
  std::vector<size_t> entries;
  size_t at = kHeader + (table.partitions.size() + 1) / 2 * 2 * sizeof(uint32_t);
  for (const storage::SavedPartition& partition : table.partitions) {
    for (const storage::SavedLeaf& leaf : partition) {
      at += kLeaf;
      if (leaf.live_rows() != leaf.rows) at += leaf.live_bits.size() * sizeof(uint64_t);
      for (size_t c = 0; c < leaf.columns.size(); ++c, at += kColumn) entries.push_back(at);
    }
  }
  return entries;
}

// Of the block file, whose other pages nothing names.
void note_places(const std::string& directory, const base::Catalog& catalog,
                 DirectoryImage* image) {
  const std::string blocks = "blocks.dtb";
  const auto manifest = storage::read_manifest(directory);
  const auto file = storage::BlockFile::open(directory, {}, storage::ReadCache::kUse);
  DIPTYCH_CHECK(manifest.ok() && file.ok(), "an undamaged database can be read");
  image->places.push_back({blocks, 0, storage::kFilePageBytes});
  for (size_t t = 0; t < manifest->tables.size(); ++t) {
    const storage::ChunkAddress& at = manifest->tables[t].directory;
    const auto table =
        storage::read_table(manifest->tables[t], *manifest,
                            catalog.table(base::TableId(static_cast<uint32_t>(t))), file->get());
    DIPTYCH_CHECK(table.ok(), "an undamaged table can be read");
    image->places.push_back({blocks, at.offset(), at.bytes});
    const std::vector<size_t> entries = entries_of(*table);
    size_t next = 0;
    for (const storage::SavedLeaf& leaf : std::views::join(table->partitions)) {
      for (const storage::SavedColumn& column : leaf.columns) {
        const storage::ChunkAddress& address = column.chunk.address;
        image->chunks.push_back({at.offset() + entries[next++], address.offset(), address.bytes});
        image->places.push_back({blocks, address.offset(), address.bytes});
      }
    }
  }
}

// Files as a whole, and the frames of the log.
void note_files(DirectoryImage* image) {
  for (const auto& [name, file] : image->files) {
    image->places.push_back({name, 0, file.bytes.size()});
    if (!name.ends_with(".dtl")) continue;
    for (size_t at = dispatcher::kLogHeaderBytes; at < file.bytes.size();
         at += dispatcher::kLogSectorBytes) {
      if (file.bytes.compare(at, 4, "DTGR") != 0) continue;
      image->places.push_back({name, at, dispatcher::kLogSectorBytes});
    }
  }
}

DirectoryImage image_of(const std::string& directory, const base::Catalog& catalog, LogMode log) {
  DirectoryImage image{.log = log, .files = files_of(directory)};
  note_places(directory, catalog, &image);
  note_files(&image);
  return image;
}

}  // namespace

std::array<DirectoryImage, 3> make_images(const std::string& scratch) {
  const std::string path = scratch + "/whole";
  {
    const auto database = opened(path, LogMode::kCommand);
    DIPTYCH_CHECK(database->execute_ddl(kTinyDdl).ok(), "the tables can be made");
    load_things(database.get());
    const auto write = register_write(database.get());
    DIPTYCH_CHECK(write.ok(), "the tables are as the structs");
    for (int32_t id = 1; id <= kSavedCalls; ++id) call(database.get(), *write, id);
    DIPTYCH_CHECK(database->close().ok(), "it can be saved");
  }
  std::array<DirectoryImage, 3> images;
  for (const LogMode log : {LogMode::kNone, LogMode::kCommand, LogMode::kPhysical}) {
    const std::string crashed = fmt::format("{}/{}", scratch, to_string(log));
    std::filesystem::copy(path, crashed);
    DirectoryImage& image = images[log == LogMode::kNone ? 0 : log == LogMode::kCommand ? 1 : 2];
    const auto database = opened(crashed, log);
    std::vector<uint64_t> states = {state_of(database.get())};
    if (log != LogMode::kNone) {
      const auto write = register_write(database.get());
      for (int32_t i = 1; i <= kLoggedCalls; ++i) {
        call(database.get(), *write, kSavedCalls + i);
        states.push_back(state_of(database.get()));
      }
    }
    image = image_of(crashed, database->catalog(), log);
    image.states = std::move(states);
    static_cast<void>(database->discard());
  }
  return images;
}

dispatcher::DatabaseOptions options_for(const std::string& directory, LogMode log) {
  return {.path = directory,
          .placement = {.oltp_workers = 1, .olap_threads = 1},
          .block_rows = storage::kBlockRowsMin,
          .partitions = 1,
          .query_memory_bytes_max = size_t{64} << 20,
          .slow_procedure_ns = 0,
          .log = log == LogMode::kNone ? LogMode::kCommand : log,
          .log_file_bytes = size_t{64} << 10,
          .random_seed = 1};
}

base::Result<WriteProcedure> register_write(Database* database) {
  const auto writer = bind_writer(database->catalog(), kThings);
  if (!writer) return writer.error();
  return database->register_procedure<WriteArguments, oltp::Nothing>("write", *writer);
}

base::Result<uint64_t> digest_of(Database* database) {
  uint64_t digest = 0;
  for (const char* const table : {"thing", "letter", "nobody"}) {
    const auto result = database->query(fmt::format("SELECT * FROM {} ORDER BY id", table));
    if (!result) return result.error();
    std::string text;
    for (const auto& row : result->rows) {
      for (const base::Value& value : row) text += base::to_string(value) + '\n';
    }
    digest = XXH3_64bits_withSeed(text.data(), text.size(), digest);
  }
  return digest;
}

}  // namespace diptych::fuzz
