// Manifest and table files: the replica on disk at one VID (a simple whole snapshot).
//
//   DIRECTORY/manifest.json              names the state: format, vid, DDL, files and checksums
//   DIRECTORY/<table>-<generation>.dtf   one table's rows (storage/table_file.h has the format);
//                                        bytes of the name other than a-z, 0-9, _ stand as %XX
//   DIRECTORY/lock                       flock'ed by the process that has the database open
//
// save: every table file is written and synced under a new generation, then the manifest is written
// to manifest.json.new, synced, renamed over manifest.json and the directory synced; only then are
// the old generation's files removed. A failure at any point leaves the previous state readable.
//
// manifest.json has a checksum over its contents (XXH3-64 of the JSON without the checksum, keys
// sorted, no blanks), so that damage to the DDL is noticed too.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "storage/table.h"

namespace diptych::storage {

struct ManifestTable {
  std::string name;
  std::string file;  // in the manifest's directory
  uint64_t rows = 0;
  uint64_t bytes = 0;
  uint64_t checksum = 0;  // XXH3-64 of the file
};

struct Manifest {
  uint32_t format = 1;
  uint64_t generation = 0;
  base::Vid vid;
  uint32_t partitions = 0;
  std::vector<std::string> ddl;  // the statements that made the catalog, in order
  std::vector<ManifestTable> tables;
};

// kNotFound: no database there. kCorrupt: names file, place and what is wrong. kUnsupported:
// written by a newer program.
base::Result<Manifest> read_manifest(const std::string& directory);

// Saves all tables of the replica and switches the manifest. Returns what it wrote. Errors:
// kNoSpace, kIo, with the path; the previous state stays valid and the partial files are removed.
base::Result<Manifest> save_replica(const std::string& directory, const Replica& replica,
                                    const std::vector<std::string>& ddl);

// Fills the replica's (empty) tables from the manifest's files. The catalog must have been rebuilt
// from the manifest's DDL. kCorrupt: names file, offset and what is wrong; the replica is then
// half filled and must be discarded.
base::Result<void> load_replica(const std::string& directory, const Manifest& manifest,
                                Replica* replica);

// The lock of an open database directory; released on destruction.
class DirectoryLock {
 public:
  // kInUse: another process has it open. kNotFound, kIo: with the path.
  static base::Result<DirectoryLock> acquire(const std::string& directory);
  DirectoryLock(DirectoryLock&& other) noexcept;
  DirectoryLock& operator=(DirectoryLock&& other) noexcept;
  ~DirectoryLock();

 private:
  explicit DirectoryLock(int file) : file_(file) {}
  int file_ = -1;
};

}  // namespace diptych::storage
