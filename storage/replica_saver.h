// ReplicaSaver: the steps of save_replica (storage/manifest.h), so that a test can stop at any one.
//
//   kWriteTable (once a table) ─► kWriteManifest ─► kSwitch ─► kSyncDirectory ─► kRemoveOld
//
// Before kSwitch the old state is the one on disk, after it the new one. A failure up to and
// including kSwitch removes the files written so far. A failed kSyncDirectory is reported, but the
// state in the directory is then the new one, whole; a failure to remove old files is not an error:
// the next save removes them.

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "storage/manifest.h"

namespace diptych::storage {

enum class SaveStep : uint8_t { kWriteTable, kWriteManifest, kSwitch, kSyncDirectory, kRemoveOld };

// Called before each step; an error stops the save as a failure of the step would.
using BeforeSaveStep = std::function<base::Result<void>(SaveStep)>;

class ReplicaSaver {
 public:
  ReplicaSaver(std::string directory, const Replica& replica, BeforeSaveStep before);

  base::Result<Manifest> save(const std::vector<std::string>& ddl);

 private:
  base::Result<void> write_tables();
  base::Result<void> write_manifest_file();
  void remove_files_but(const std::vector<ManifestTable>& kept) const;
  std::string path(const std::string& name) const { return directory_ + "/" + name; }

  std::string directory_;
  const Replica* replica_;
  BeforeSaveStep before_;
  Manifest manifest_;
};

// The manifest as the text of manifest.json, checksum included. kInvalidArgument: not UTF-8.
base::Result<std::string> manifest_to_text(const Manifest& manifest);

}  // namespace diptych::storage
