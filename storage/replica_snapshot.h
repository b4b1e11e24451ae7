// ReplicaSnapshot: all tables of the replica as they are at one VID, readable while the applier
// goes on.
//
//   ReplicaSnapshot snapshot(&replica);        between two batches
//   ... snapshot.replica() is read, or saved, by any thread, beside applies ...
//
// A cut copies a pointer for each leaf (storage/partition_image.h), and nothing else. What it then
// costs is what is written while it lives: the first write to a page copies the page and its
// strings, the first one to a column of a compressed block that column's chunk; whatever else
// happens to a leaf (melting, compaction, dropping) leaves the snapshot the old one. Where no
// snapshot lives, a write compares one number of the leaf that it is about to touch.
//
// Memory     what snapshots alone have: Replica::snapshot_bytes(). Chunks of compressed blocks that
//            are in the block file may leave memory as others do, and keep their place in the file.
// Threads    the constructor: between two batches. All else: any thread; save() is one at a time
//            for all snapshots of a replica. Several may live at once.
//
// Invariants
//   V1  What replica() shows does not change.
//   V2  It goes before the replica that it was cut from.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "storage/file_step.h"
#include "storage/manifest.h"
#include "storage/save_pace.h"
#include "storage/table.h"

namespace diptych::storage {

enum class SnapshotUse : uint8_t {
  kSave,  // one at a time, each from its cut on; it may also be read
  kRead,
};

class ReplicaSnapshot {
 public:
  explicit ReplicaSnapshot(Replica* replica, SnapshotUse use = SnapshotUse::kSave);
  ~ReplicaSnapshot();
  ReplicaSnapshot(const ReplicaSnapshot&) = delete;
  ReplicaSnapshot& operator=(const ReplicaSnapshot&) = delete;

  const Replica& replica() const { return image_; }
  base::Vid vid() const { return image_.snapshot(); }

  // Makes it the directory's state, as save_replica does, with its errors
  // (storage/replica_files.h). `ddl`: as of the cut; save_schema's since then takes its place.
  base::Result<Manifest> save(const std::string& directory, const std::vector<std::string>& ddl,
                              const BeforeFileStep& before_step = {}, const SavePace& pace = {});

 private:
  base::Result<void> make_manifest(const std::string& directory, const BeforeFileStep& before_step,
                                   Manifest* manifest);

  Replica* const live_;
  const SnapshotUse use_;
  Replica image_;
};

}  // namespace diptych::storage
