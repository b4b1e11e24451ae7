#include "dispatcher/database_inspection.h"

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/schema.h"
#include "dispatcher/database_files.h"
#include "olap/query.h"
#include "storage/encoding/chunk.h"

namespace diptych::dispatcher {
namespace {

// Locked until it goes; with a manifest.
base::Result<DatabaseDirectory> open_to_inspect(const std::string& path) {
  auto directory = open_directory_to_read(path);
  if (!directory || directory->manifest) return directory;
  return base::Error(base::ErrorCode::kNotFound,
                     fmt::format("{}: the directory holds no database", path));
}

}  // namespace

base::Result<base::Catalog> catalog_of(const std::string& path, const storage::Manifest& manifest) {
  base::Catalog catalog;
  for (size_t i = 0; i < manifest.ddl.size(); ++i) {
    if (manifest.ddl[i] == storage::kDroppedTable) {
      catalog.pass_table_id();
      continue;
    }
    auto change = olap::parse_ddl(manifest.ddl[i], catalog);
    const auto applied = change ? olap::apply_to(&catalog, *std::move(change)) : change.error();
    if (!applied) {
      return base::Error(base::ErrorCode::kCorrupt,
                         fmt::format("{}/manifest.json: DDL statement {}: {}", path, i + 1,
                                     applied.error().to_string()));
    }
  }
  return catalog;
}

std::vector<const base::TableSchema*> schemas_of(const base::Catalog& catalog) {
  std::vector<const base::TableSchema*> schemas;
  for (uint32_t id = 0; id < catalog.table_count(); ++id) {
    const base::TableSchema* const schema = catalog.find_table(base::TableId(id));
    schemas.push_back(schema != nullptr ? schema : &base::dropped_table());
  }
  return schemas;
}

base::Result<DatabaseInspection> inspect_database(
    const std::string& path, Verify verify, const std::function<void(double done)>& progress) {
  const auto directory = open_to_inspect(path);
  if (!directory) return directory.error();
  const auto catalog = catalog_of(path, *directory->manifest);
  if (!catalog) return catalog.error();
  return storage::inspect_replica(path, *directory->manifest, schemas_of(*catalog), verify,
                                  progress);
}

base::Result<std::string> schema_script(const std::string& path) {
  const auto directory = open_to_inspect(path);
  if (!directory) return directory.error();
  const auto catalog = catalog_of(path, *directory->manifest);
  if (!catalog) return catalog.error();
  std::string script;
  for (const std::string& statement : directory->manifest->ddl) {
    if (statement == storage::kDroppedTable) continue;
    script += statement;  // which ends with its last token, not with a comment
    script += ";\n";
  }
  return script;
}

std::string_view encoding_name_at(size_t index) {
  return storage::encoding::encoding_name(static_cast<storage::encoding::Encoding>(index));
}

std::string_view temperature_name_at(size_t index) {
  return storage::temperature_name(static_cast<Temperature>(index));
}

}  // namespace diptych::dispatcher
