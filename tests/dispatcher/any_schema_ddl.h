// Random DDL for any_schema.h: tables whose keys, nullable columns, types and column groups differ,
// and indexes on them. All of it is valid: an index is only refused for the rows that are there.

#pragma once

#include <optional>
#include <string>

#include "tests/dispatcher/any_schema.h"

namespace diptych::dispatcher::any_schema {

// kWide: with up to 250 columns more, and as many column groups as a table may have.
enum class TableWidth : uint8_t { kNarrow, kWide };

// `keys_min`: that the primary key has about so many values, or many more.
std::string random_table_ddl(const std::string& name, TableWidth width, uint64_t keys_min,
                             const Below& below);

// Nothing where the columns that were drawn cannot be indexed.
std::optional<IndexSchema> random_index(const base::TableSchema& table, const std::string& name,
                                        const Below& below);
std::string ddl_of(const base::TableSchema& table, const IndexSchema& index);

}  // namespace diptych::dispatcher::any_schema
