// Manifest: the small file that names a state of the columnar replica at one VID.
//
//   DIRECTORY/manifest.json   format, id, vid, the DDL, and by table where in the block file its
//                             leaf directory lies (storage/leaf_directory.h), if it has rows
//   DIRECTORY/blocks.dtb      the block file (storage/block_file.h)
//   DIRECTORY/lock            flock'ed by the process that has the database open
//
// Written anew to manifest.json.new, synced, renamed over manifest.json and the directory synced: a
// failure at any point leaves the previous manifest readable, and shadow paging leaves all that it
// names in the block file.
//
// It has a checksum over its contents (XXH3-64 of the JSON without the checksum, keys sorted, no
// blanks), so that damage to the DDL is noticed too.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "storage/chunk_address.h"
#include "storage/file_step.h"

namespace diptych::storage {

struct ManifestTable {
  std::string name;  // empty: of a table that was dropped
  uint64_t rows = 0;
  ChunkAddress directory;  // not set: the table has no rows, or has gone
};

// In the DDL, in place of the statement that made a table, once that was dropped: what is left of
// it is its id.
inline constexpr std::string_view kDroppedTable;

struct Manifest {
  // Before 4 there are no views; before 3 every table has a directory, and none stands as
  // kDroppedTable.
  uint32_t format = 4;
  uint64_t generation = 0;
  // Of the database, from its creation on; backups and what is restored of them have it too. It is
  // in the log's files, so that another database's are not taken for its own. 0: an older program
  // made it, and it has none.
  uint64_t id = 0;
  base::Vid vid;
  uint32_t partitions = 0;
  uint32_t block_rows = 0;
  std::vector<std::string> ddl;  // the statements that made the catalog, in order
  std::vector<ManifestTable> tables;
};

// Of its text. A larger one is neither written nor read: who adds to the DDL asks before, with
// manifest_bytes_at_most of all that there is.
inline constexpr uint64_t kManifestBytesMax = uint64_t{64} << 20;
inline constexpr uint64_t kManifestFieldBytes = 4096;  // but for the DDL and the tables
inline constexpr uint64_t kDroppedTableBytes = 64;     // in both
// Of a statement of the DDL and, where it makes one, of its table. `table` is empty, or its name.
uint64_t manifest_bytes_at_most(std::string_view statement, std::string_view table);

// kNotFound: no database there. kCorrupt: names file, place and what is wrong. kUnsupported:
// written by a newer program.
base::Result<Manifest> read_manifest(const std::string& directory);

// Of the text of manifest.json; `path` is for errors, which are as read_manifest's.
base::Result<Manifest> manifest_from_text(const std::string& path, const std::string& text);

// Makes it the directory's manifest. kNoSpace, kIo, with the path: the previous one stays, unless
// the error is of the last step, the directory's sync: then the new one is there, whole.
// kInvalidArgument: the DDL is not UTF-8. kUnsupported: it is too large.
base::Result<void> write_manifest(const std::string& directory, const Manifest& manifest,
                                  const BeforeFileStep& before_step = {});

// The text of manifest.json. Errors: the DDL's, as write_manifest's.
base::Result<std::string> manifest_to_text(const Manifest& manifest);

// Which directory is locked, in case its path comes to lead elsewhere: an open database makes,
// replaces and removes files by path, and may not do that to another's.
class DirectoryIdentity {
 public:
  DirectoryIdentity() = default;  // of none, which is always in place
  // kIo: the directory was moved, removed or replaced, or its lock was, since it was locked.
  base::Result<void> check() const;

 private:
  friend class DirectoryLock;
  DirectoryIdentity(const std::string& directory, int lock_file);

  std::string directory_;
  uint64_t device_ = 0;  // of the lock's file, as the next
  uint64_t inode_ = 0;   // stays its own while it is open
};

// The lock of an open database directory; released on destruction.
class DirectoryLock {
 public:
  // kInUse: another process has it open. kNotFound, kIo: with the path.
  static base::Result<DirectoryLock> acquire(const std::string& directory);
  // Of who changes nothing: the same, but where the lock's file cannot be opened for writing, or
  // made, as on read-only media, it is locked as it is; where there is none, nothing is.
  static base::Result<DirectoryLock> acquire_to_read(const std::string& directory);
  DirectoryLock(DirectoryLock&& other) noexcept;
  DirectoryLock& operator=(DirectoryLock&& other) noexcept;
  ~DirectoryLock();

  const DirectoryIdentity& identity() const { return identity_; }

 private:
  DirectoryLock() = default;
  DirectoryLock(const std::string& directory, int file) : file_(file), identity_(directory, file) {}
  // Whoever held it may have removed the file between its opening and its locking: then `lock_once`
  // is tried again, with the file that is there.
  static base::Result<DirectoryLock> lock_the_one_there(
      const std::string& directory, base::Result<DirectoryLock> (*lock_once)(const std::string&));
  static base::Result<DirectoryLock> lock_to_write(const std::string& directory);
  static base::Result<DirectoryLock> lock_to_read(const std::string& directory);

  int file_ = -1;  // -1: nothing is locked
  DirectoryIdentity identity_;
};

}  // namespace diptych::storage
