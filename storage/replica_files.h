// Saving a replica to its block file and manifest, and reading it back.
//
//   save   chunks that changed ─► block file    pages ─► chunks ─► block file
//          leaf directories    ─► block file    sync ─► manifest: switch ─► old places are free
//
// What is saved is a snapshot (storage/replica_snapshot.h): save_replica cuts one and saves it
// while its caller keeps writers away; a checkpoint does it beside them.
//
// Both replicas of a database are read from it: the other one from this one's rows.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/for_each.h"
#include "base/result.h"
#include "base/schema.h"
#include "storage/file_step.h"
#include "storage/leaf_directory.h"
#include "storage/manifest.h"
#include "storage/table.h"

namespace diptych::storage {

// Saves a replica that has a block file. kNoSpace, kIo, with the path, and kOutOfMemory: the
// previous state stays valid, unless it is the last step, the directory's sync, that failed; it can
// be tried again.
base::Result<Manifest> save_replica(const std::string& directory, Replica* replica,
                                    const std::vector<std::string>& ddl,
                                    const BeforeFileStep& before_step = {});

// For DDL beside which the state at the manifest's VID, and what the log has after it, stay what
// they are: the manifest gets these statements in place of its own, which made the same tables, and
// those that were added to the replica, without rows. A snapshot that was cut before and is saved
// later gets them, too. Errors as save_replica's; after one, a save of the replica has the
// statements. Between batches.
base::Result<void> save_schema(const std::string& directory, Replica* replica,
                               const std::vector<std::string>& ddl,
                               const BeforeFileStep& before_step = {});

// Fills the replica's (empty) tables from the manifest's state. The catalog must have been rebuilt
// from the manifest's DDL. Chunks of compressed blocks stay in the file until they are read; each
// partition's finish_restore() is left to the caller.
// kCorrupt: names file, offset and what is wrong; the replica must then be discarded.
base::Result<void> load_replica(const std::string& directory, const Manifest& manifest,
                                Replica* replica, const base::ForEach& for_each = base::in_turn);

// What load_replica does first, for whoever else reads a directory. kCorrupt: the manifest names
// other tables than these, which its DDL makes.
base::Result<void> check_tables(const std::string& directory, const Manifest& manifest,
                                std::span<const base::TableSchema* const> schemas);
// Where all chunks of a table lie: nowhere, where it was dropped or has no directory. They and the
// leaf directory are adopted (block_file.h); none of them is read. kCorrupt, kIo: names file, place
// and what is wrong.
base::Result<SavedTable> read_table(const ManifestTable& entry, const Manifest& manifest,
                                    const base::TableSchema& schema, BlockFile* file);

}  // namespace diptych::storage
