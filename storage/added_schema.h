// AddedSchema: what DDL alone has added to the manifest (add_schema, storage/replica_files.h) since
// the snapshot was cut that is being saved, or will be: its manifest gets this, too.
//
// Threads    any; `mutex` is held by whoever reads the manifest and writes the next one.

#pragma once

#include <mutex>
#include <string>
#include <vector>

namespace diptych::storage {

struct AddedSchema {
  std::mutex mutex;  // guards the others
  std::vector<std::string> ddl;
  std::vector<std::string> tables;  // the names of those that it has made
};

}  // namespace diptych::storage
