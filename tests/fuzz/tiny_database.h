// The directories of a tiny database, in memory: what open_fuzz damages. Its things are a block, of
// which some rows are erased or updated, and rows in pages.
//
// In the directory of a database that was closed there is no log. In the others, which were not,
// the last kLoggedCalls calls are in the log alone: as calls, or as their updates.

#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "dispatcher/database.h"
#include "tests/fuzz/tiny_tables.h"

namespace diptych::fuzz {

inline constexpr int kLoggedCalls = 8;

// What is damaged by itself: a file, or a part of one with a checksum.
struct Place {
  std::string file;
  size_t begin = 0;
  size_t bytes = 0;
};

// A chunk in the block file, and where the leaf directory says so.
struct ChunkPlace {
  size_t entry = 0;  // in the block file: page u32 | bytes u32 | checksum u64 | ... | header
  size_t begin = 0;
  size_t bytes = 0;
};

struct File {
  std::string bytes;
  uint64_t size = 0;  // what is behind the bytes is zeroes
};
using Files = std::map<std::string, File>;  // by name

struct DirectoryImage {
  dispatcher::LogMode log = dispatcher::LogMode::kNone;  // none: it was closed
  Files files;
  std::vector<Place> places;
  std::vector<ChunkPlace> chunks;  // of all tables
  // What digest_of says of the database as it was saved, and after each call that it logged.
  std::vector<uint64_t> states;
};

// Of a database that was closed, with calls in its log, and with updates in it. `scratch`: an empty
// directory.
std::array<DirectoryImage, 3> make_images(const std::string& scratch);

dispatcher::DatabaseOptions options_for(const std::string& directory, dispatcher::LogMode log);

// The procedure that the log names. kNotFound, kInvalidArgument: the tables are others.
using WriteProcedure = dispatcher::ProcedureRef<WriteArguments, oltp::Nothing>;
base::Result<WriteProcedure> register_write(dispatcher::Database* database);

// Of all rows of all tables, as queries give them. An error: the first query's that fails.
base::Result<uint64_t> digest_of(dispatcher::Database* database);

}  // namespace diptych::fuzz
