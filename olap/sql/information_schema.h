// The tables of the schema information_schema (ISO/IEC 9075-11), in which programs look up which
// tables and columns there are, and the names of the session that they ask for with them. The
// tables have those of the standard's columns that say something about this engine.
//
// Threads    any.

#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/schema.h"
#include "olap/system_table.h"

namespace diptych::olap {

inline constexpr std::string_view kInformationSchema = "information_schema";

// "tables", "columns" or "views"; otherwise nullopt. The rows list the catalog's tables and views,
// the system tables and these three, all of which are views. The arguments outlive the result.
std::optional<SystemTable> information_schema_table(std::string_view name,
                                                    const base::Catalog& catalog,
                                                    std::span<const SystemTable> system_tables);
std::vector<std::string> information_schema_names();

// The value of current_schema, current_catalog, current_user and the like; otherwise nullopt. There
// is one schema and one user, and a database has no name of its own.
std::optional<std::string_view> session_name(std::string_view function);

}  // namespace diptych::olap
