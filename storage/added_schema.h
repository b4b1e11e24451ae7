// AddedSchema: what DDL alone has made of the manifest (save_schema, storage/replica_files.h)
// since the snapshot was cut that is being saved, or will be: its manifest gets this, too.
//
// Threads    any; `mutex` is held by whoever reads the manifest and writes the next one.

#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace diptych::storage {

struct AddedSchema {
  std::mutex mutex;                             // guards the others
  std::optional<std::vector<std::string>> ddl;  // all of it; none: as of the cut
  std::vector<std::string> tables;              // the names of those that are new since then
};

}  // namespace diptych::storage
