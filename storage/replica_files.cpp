#include "storage/replica_files.h"

#include <mutex>
#include <new>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/quoted.h"
#include "storage/block_file.h"
#include "storage/buffer_manager.h"
#include "storage/leaf_directory.h"
#include "storage/replica_snapshot.h"

namespace diptych::storage {
namespace {

base::Error corrupt(const std::string& path, const std::string& what) {
  return {base::ErrorCode::kCorrupt,
          fmt::format("{}: {}; restore the directory from a backup", path, what)};
}

}  // namespace

base::Result<SavedTable> read_table(const ManifestTable& entry, const Manifest& manifest,
                                    const base::TableSchema& schema, BlockFile* file) {
  if (!entry.directory.is_set() || is_dropped(schema)) {
    SavedTable empty;
    empty.block_rows = manifest.block_rows;
    empty.partitions.resize(manifest.partitions);
    return empty;
  }
  if (const auto adopted = file->adopt(entry.directory); !adopted.ok()) return adopted.error();
  const base::Result<ChunkMemory> bytes = file->read(entry.directory);
  if (!bytes.ok()) {
    return bytes.error().within(
        fmt::format("the directory of table {}", base::quoted(schema.name)));
  }
  base::Result<SavedTable> saved = read_directory(schema, bytes->bytes());
  if (!saved.ok()) return saved.error().within(file->path());
  if (saved->block_rows != manifest.block_rows || saved->partitions.size() != manifest.partitions ||
      saved->live_rows() != entry.rows) {
    return corrupt(file->path(),
                   fmt::format("the directory of table {} is not what the manifest says",
                               base::quoted(entry.name)));
  }
  for (const SavedPartition& partition : saved->partitions) {
    for (const SavedLeaf& leaf : partition) {
      for (const SavedColumn& column : leaf.columns) {
        const auto adopted = file->adopt(column.chunk.address);
        if (!adopted.ok()) return adopted.error();
      }
    }
  }
  return saved;
}

base::Result<void> check_tables(const std::string& directory, const Manifest& manifest,
                                std::span<const base::TableSchema* const> schemas) {
  const std::string path = directory + "/manifest.json";
  if (manifest.tables.size() != schemas.size()) {
    return corrupt(path, fmt::format("names {} tables, its DDL makes {}", manifest.tables.size(),
                                     schemas.size()));
  }
  for (size_t i = 0; i < schemas.size(); ++i) {
    // Before format 3 it has its name, and an empty directory.
    if (is_dropped(*schemas[i])) continue;
    if (manifest.tables[i].name == schemas[i]->name) continue;
    return corrupt(
        path, fmt::format("table {} is {}, its DDL makes {}", i,
                          base::quoted(manifest.tables[i].name), base::quoted(schemas[i]->name)));
  }
  return {};
}

base::Result<Manifest> save_replica(const std::string& directory, Replica* replica,
                                    const std::vector<std::string>& ddl,
                                    const BeforeFileStep& before_step) {
  return ReplicaSnapshot(replica).save(directory, ddl, before_step);
}

base::Result<void> save_schema(const std::string& directory, Replica* replica,
                               const std::vector<std::string>& ddl,
                               const BeforeFileStep& before_step) try {
  AddedSchema& added = replica->added_schema();
  const std::lock_guard one_at_a_time(added.mutex);
  base::Result<Manifest> manifest = read_manifest(directory);
  if (!manifest.ok()) return manifest.error();
  std::optional statements(ddl);
  std::vector<std::string> tables = added.tables;
  manifest->ddl = ddl;
  for (size_t i = manifest->tables.size(); i < replica->table_count(); ++i) {
    const base::TableId id(static_cast<uint32_t>(i));
    tables.push_back(replica->table(id).schema().name);
    manifest->tables.push_back({.name = tables.back()});
  }
  manifest->format = Manifest().format;
  ++manifest->generation;
  if (const auto done = write_manifest(directory, *manifest, before_step); !done.ok()) return done;
  added.ddl.swap(statements);
  added.tables.swap(tables);
  return {};
} catch (const std::bad_alloc&) {
  return base::Error(base::ErrorCode::kOutOfMemory, "there is no memory left to save the DDL with");
}

base::Result<void> load_replica(const std::string& directory, const Manifest& manifest,
                                Replica* replica, const base::ForEach& for_each) {
  DIPTYCH_CHECK(replica->buffers() != nullptr, "there is a block file to read from");
  DIPTYCH_CHECK(replica->options().partitions == manifest.partitions &&
                    replica->options().block_rows == manifest.block_rows,
                "a database keeps what it was created with");
  std::vector<const base::TableSchema*> schemas;
  for (uint32_t i = 0; i < replica->table_count(); ++i) {
    schemas.push_back(&replica->table(base::TableId(i)).schema());
  }
  if (const auto named = check_tables(directory, manifest, schemas); !named.ok()) return named;
  BlockFile& file = replica->buffers()->file();
  std::vector<ChunkAddress> directories;
  std::vector<SavedTable> tables;
  for (uint32_t i = 0; i < replica->table_count(); ++i) {
    base::Result<SavedTable> table = read_table(manifest.tables[i], manifest, *schemas[i], &file);
    if (!table.ok()) return table.error();
    tables.push_back(std::move(*table));
    const bool is_there = !is_dropped(*schemas[i]);
    directories.push_back(is_there ? manifest.tables[i].directory : ChunkAddress());
  }
  const uint32_t partitions = manifest.partitions;
  std::vector<base::Result<void>> loaded(tables.size() * partitions);
  for_each(static_cast<uint32_t>(loaded.size()), [&](uint32_t i) {
    Partition& partition =
        replica->table(base::TableId(i / partitions)).partition(base::PartitionId(i % partitions));
    loaded[i] = partition.restore(std::move(tables[i / partitions].partitions[i % partitions]));
  });
  for (const base::Result<void>& each : loaded) {
    if (!each.ok()) return each;
  }
  replica->replace_directories(std::move(directories));
  file.begin_commit();
  static_cast<void>(file.commit());  // as in save_replica
  replica->set_snapshot(manifest.vid);
  return {};
}

}  // namespace diptych::storage
