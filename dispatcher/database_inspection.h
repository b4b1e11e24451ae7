// inspect_database: what a database at a path consists of, without opening it: no row is restored,
// and nothing is written. Meanwhile it is locked, as an open one is.
//
// Threads    any; one at a time for a directory.

#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/schema.h"
#include "storage/inspection.h"

namespace diptych::dispatcher {

using storage::ChunkSizes;
using storage::ChunkTotals;
using storage::ColumnInspection;
using storage::DamagedChunk;
using storage::TableInspection;
using storage::Temperature;
using storage::Verify;
using DatabaseInspection = storage::Inspection;

// kInUse: open elsewhere. kNotFound, kInvalidArgument: no database there. kCorrupt, kIo: manifest,
// block file or a leaf directory is damaged; damaged chunks are no error, but listed.
base::Result<DatabaseInspection> inspect_database(const std::string& path, Verify verify,
                                                  const std::function<void(double done)>& progress);

// The DDL that makes the database's schema anew, a statement a line or more, each ended by a
// semicolon. Of an older program's database it may have an index that DDL refuses now. Errors as
// inspect_database's, and kCorrupt: the DDL makes no schema.
base::Result<std::string> schema_script(const std::string& path);

// The catalog that the manifest's DDL makes. kCorrupt: it makes none; with the path.
base::Result<base::Catalog> catalog_of(const std::string& path, const storage::Manifest& manifest);
// By TableId, those of dropped tables too: as a manifest has them.
std::vector<const base::TableSchema*> schemas_of(const base::Catalog& catalog);

// Of by_encoding[i] and by_temperature[i]: "packed frame", "cold".
std::string_view encoding_name_at(size_t index);
std::string_view temperature_name_at(size_t index);

}  // namespace diptych::dispatcher
