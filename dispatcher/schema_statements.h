// SchemaStatements: the DDL that makes the catalog, as the manifest keeps it (storage/manifest.h).
//
// It grows with what is there, not with what has ever been: in place of a dropped table's statement
// stands kDroppedTable, which keeps its id's place, and of a dropped index nothing is left. But a
// unique index may be what a foreign key's statement needed, whatever keys there are by now, so its
// statements stay for as long as its table. A view stands behind what it uses, of which one that is
// replaced may use more than it did.
//
// Threads    the gate's holder.
// Errors     none; std::bad_alloc from reserve() alone.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/schema.h"
#include "storage/manifest.h"

namespace diptych::dispatcher {

class SchemaStatements {
 public:
  const std::vector<std::string>& texts() const { return texts_; }
  // Another number after each change.
  uint64_t version() const { return version_; }
  // Of a manifest with them, at most.
  uint64_t manifest_bytes() const { return manifest_bytes_; }

  // For so many more; before anything is done that is added afterwards.
  void reserve(size_t more);
  void add_table(std::string statement, const base::TableSchema& table) noexcept;
  void add_index(std::string statement, base::TableId table, base::IndexId index) noexcept;
  void add_dropped_table(base::TableId table) noexcept;
  void add_view(std::string statement, std::string name) noexcept;

  void drop_table(base::TableId table) noexcept;
  void drop_index(base::IndexId index) noexcept;
  void drop_view(std::string_view name) noexcept;
  // One that is there gets behind all others.
  void move_view_to_end(std::string_view name) noexcept;
  // Of a unique index; `statement` drops it and nothing else.
  void drop_unique_index(std::string statement, base::TableId table) noexcept;

 private:
  enum class Makes : uint8_t { kTable, kIndex, kView, kNothing };
  struct Entry {
    Makes makes;
    base::TableId table;  // not of a view
    base::IndexId index;
    uint64_t bytes;    // of the manifest
    std::string view;  // its name
  };

  void add(std::string statement, Entry entry) noexcept;
  template <class Goes>
  void erase(const Goes& goes) noexcept;

  std::vector<std::string> texts_;
  std::vector<Entry> entries_;  // of the same
  uint64_t version_ = 0;
  uint64_t manifest_bytes_ = storage::kManifestFieldBytes;
};

}  // namespace diptych::dispatcher
