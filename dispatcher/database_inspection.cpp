#include "dispatcher/database_inspection.h"

#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "base/schema.h"
#include "dispatcher/database_files.h"
#include "olap/query.h"
#include "storage/encoding/chunk.h"

namespace diptych::dispatcher {
namespace {

base::Result<void> apply(olap::DdlChange change, base::Catalog* catalog) {
  if (auto* const table = std::get_if<olap::CreateTable>(&change)) {
    const auto added = catalog->add_table(std::move(table->schema));
    return added ? base::Result<void>() : added.error();
  }
  auto& index = std::get<olap::CreateIndex>(change);
  const base::TableSchema* const table = catalog->find_table(index.table);
  if (table == nullptr) {
    return base::Error(base::ErrorCode::kNotFound, fmt::format("no table \"{}\"", index.table));
  }
  const auto added = catalog->add_index(table->id, std::move(index.index));
  return added ? base::Result<void>() : added.error();
}

}  // namespace

base::Result<base::Catalog> catalog_of(const std::string& path, const storage::Manifest& manifest) {
  base::Catalog catalog;
  for (size_t i = 0; i < manifest.ddl.size(); ++i) {
    auto change = olap::parse_ddl(manifest.ddl[i], catalog);
    const auto applied = change ? apply(std::move(*change), &catalog) : change.error();
    if (!applied) {
      return base::Error(base::ErrorCode::kCorrupt,
                         fmt::format("{}/manifest.json: DDL statement {}: {}", path, i + 1,
                                     applied.error().to_string()));
    }
  }
  return catalog;
}

base::Result<DatabaseInspection> inspect_database(
    const std::string& path, Verify verify, const std::function<void(double done)>& progress) {
  const auto directory = open_directory_to_read(path);
  if (!directory) return directory.error();
  if (!directory->manifest) {
    return base::Error(base::ErrorCode::kNotFound,
                       fmt::format("{}: the directory holds no database", path));
  }
  const auto catalog = catalog_of(path, *directory->manifest);
  if (!catalog) return catalog.error();
  std::vector<const base::TableSchema*> schemas;
  for (const base::TableSchema& schema : catalog->tables()) schemas.push_back(&schema);
  return storage::inspect_replica(path, *directory->manifest, schemas, verify, progress);
}

std::string_view encoding_name_at(size_t index) {
  return storage::encoding::encoding_name(static_cast<storage::encoding::Encoding>(index));
}

std::string_view temperature_name_at(size_t index) {
  return storage::temperature_name(static_cast<Temperature>(index));
}

}  // namespace diptych::dispatcher
