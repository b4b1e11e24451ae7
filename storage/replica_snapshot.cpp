#include "storage/replica_snapshot.h"

#include <algorithm>
#include <mutex>
#include <new>
#include <random>
#include <utility>
#include <vector>

#include <xxhash.h>

#include "base/check.h"
#include "storage/block_file.h"
#include "storage/buffer_manager.h"
#include "storage/leaf_directory.h"

namespace diptych::storage {
namespace {

// So much is written before it is synced, where the save keeps a pace: what others want of the disk
// meanwhile (the log's syncs) waits behind this and not behind all of it. Behind 4 MiB that is
// longer than a batch runs (diptych bench tpcc --checkpoint-seconds).
constexpr size_t kSyncedBytes = size_t{512} << 10;

uint64_t random_id() {
  std::random_device device;
  const uint64_t id = (uint64_t{device()} << 32) | device();
  return id != 0 ? id : 1;
}

base::Error no_memory() {
  return {base::ErrorCode::kOutOfMemory, "there is no memory left to save the database with"};
}

// Its generation and id go on from the last one's, or begin.
base::Result<void> follow_last(const std::string& directory, Manifest* manifest) {
  const base::Result<Manifest> last = read_manifest(directory);
  if (last.ok()) {
    manifest->generation = last->generation + 1;
    manifest->id = last->id;
  } else if (last.code() == base::ErrorCode::kNotFound) {
    manifest->generation = 1;
    manifest->id = random_id();
  } else {
    return last.error();
  }
  return {};
}

// Whether a chunk in the file has these bytes.
bool is_of(const ChunkAddress& address, std::span<const std::byte> bytes) {
  return address.bytes == bytes.size() &&
         address.checksum == XXH3_64bits(bytes.data(), bytes.size());
}

// A directory that is as it was stays where it is: of thousands of tables few have changed. Those
// that were written are added to *written.
base::Result<ManifestTable> save_table(Table* table, const ChunkAddress& before, BlockFile* file,
                                       const SavePace& pace, std::vector<ChunkAddress>* written) {
  if (is_dropped(table->schema())) return ManifestTable();
  const base::Result<SavedTable> saved = table->save(pace);
  if (!saved.ok()) return saved.error();
  const auto has_no_leaf = [](const SavedPartition& partition) { return partition.empty(); };
  if (std::ranges::all_of(saved->partitions, has_no_leaf)) {
    return ManifestTable{.name = table->schema().name};
  }
  ManifestTable entry{table->schema().name, saved->live_rows(), before};
  const std::vector<std::byte> directory = write_directory(table->schema(), *saved);
  const bool is_there = before.is_set() && is_of(before, directory);
  if (is_there && !file->should_move(before)) return entry;
  const base::Result<ChunkAddress> address =
      is_there ? file->move(before, directory) : file->write(directory);
  if (!address.ok()) return address.error();
  if (is_there && address->page == before.page) return entry;
  written->push_back(*address);
  entry.directory = *address;
  const auto goes_on = keep_pace(pace, address->pages() * size_t{kFilePageBytes});
  if (!goes_on.ok()) return goes_on.error();
  return entry;
}

}  // namespace

ReplicaSnapshot::ReplicaSnapshot(Replica* replica, SnapshotUse use)
    : live_(replica), use_(use), image_(replica) {
  if (use == SnapshotUse::kSave) {
    AddedSchema& added = live_->added_schema();
    const std::lock_guard lock(added.mutex);
    added.ddl.reset();
    added.tables.clear();
  }
  live_->snapshots_.fetch_add(1, std::memory_order_relaxed);  // relaxed: a count
}

ReplicaSnapshot::~ReplicaSnapshot() {
  image_.tables_.clear();
  // release: pairs with the acquire in reclaim; the pages are there to be taken.
  live_->reclaims_.store(true, std::memory_order_release);
  // release: pairs with the acquire in snapshots; from here on the replica may go.
  live_->snapshots_.fetch_sub(1, std::memory_order_release);
}

base::Result<Manifest> ReplicaSnapshot::save(const std::string& directory,
                                             const std::vector<std::string>& ddl,
                                             const BeforeFileStep& before_step,
                                             const SavePace& pace) try {
  DIPTYCH_CHECK(image_.buffers() != nullptr, "a replica in memory has nowhere to be saved");
  DIPTYCH_CHECK(use_ == SnapshotUse::kSave, "what is saved was cut for it");
  BlockFile& file = image_.buffers()->file();
  Manifest manifest;
  manifest.vid = vid();
  manifest.partitions = image_.options().partitions;
  manifest.block_rows = image_.options().block_rows;
  manifest.ddl = ddl;
  file.begin_moves();
  size_t unsynced_bytes = 0;
  const SavePace in_pieces = [&](size_t bytes) -> base::Result<void> {
    unsynced_bytes += bytes;
    if (unsynced_bytes >= kSyncedBytes) {
      unsynced_bytes = 0;
      if (const auto synced = file.sync(); !synced.ok()) return synced;
    }
    return pace(bytes);
  };
  std::vector<ChunkAddress> directories;
  std::vector<ChunkAddress> written;
  const auto write_tables = [&]() -> base::Result<void> {
    for (uint32_t i = 0; i < image_.table_count(); ++i) {
      const ChunkAddress before =
          i < live_->directories_.size() ? live_->directories_[i] : ChunkAddress();
      const auto table = save_table(&image_.table(base::TableId(i)), before, &file,
                                    pace ? in_pieces : SavePace(), &written);
      if (!table.ok()) return table.error();
      manifest.tables.push_back(*table);
      directories.push_back(table->directory);
    }
    return file.sync();
  };
  base::Result<void> all_written;
  try {
    all_written = write_tables();
  } catch (const std::bad_alloc&) {
    all_written = no_memory();
  }
  if (!all_written.ok()) {
    for (const ChunkAddress& address : written) file.release(address);
    return all_written.error();
  }
  // From here on the file keeps what the old manifest names and what the new one does, until one
  // commit succeeds. What the live replica has written there meanwhile is kept with it.
  live_->replace_directories(std::move(directories));
  file.begin_commit();
  if (const auto done = make_manifest(directory, before_step, &manifest); !done.ok()) {
    return done.error();
  }
  // The state is durable. What fails here is to give space back: it stays in the file, free.
  static_cast<void>(file.commit());
  return manifest;
} catch (const std::bad_alloc&) {
  return no_memory();
}

base::Result<void> ReplicaSnapshot::make_manifest(const std::string& directory,
                                                  const BeforeFileStep& before_step,
                                                  Manifest* manifest) {
  AddedSchema& added = live_->added_schema();
  const std::lock_guard one_at_a_time(added.mutex);
  if (const auto follows = follow_last(directory, manifest); !follows.ok()) return follows;
  if (added.ddl) manifest->ddl = *added.ddl;
  for (const std::string& name : added.tables) manifest->tables.push_back({.name = name});
  return write_manifest(directory, *manifest, before_step);
}

}  // namespace diptych::storage
