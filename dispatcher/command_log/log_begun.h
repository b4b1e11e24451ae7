// DIRECTORY/log.begun: which file of the command log was begun last. Without it, nobody would miss
// the newest files of a log if they are lost as a whole: what is left ends as a log does. Nor would
// anybody tell files of an earlier log, whose numbers were higher, from those of this one.
//
//   sector  0 magic "DTLOGBGN" | 8 number of the file u64 | 16 id of the database u64 | zeroes |
//           504 XXH3-64 of the bytes before; numbers are little-endian
//
//   LogFiles::begin_next   after the file's header is durable, and before any frame of it
//   restore_database       after all files of the log are durable, and before the manifest is
//   LogFiles::remove_all   removed before the files are: a manifest has all
//
// It is written in place, as one sector. A directory without it, or with one that was never written
// to its end, says nothing: an older program's, or a backup's, whose mark says what its log has.
//
// Errors     kNoSpace: it is as it was, or absent. kIo, kCorrupt; all name the path.

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "dispatcher/command_log/log_file.h"

namespace diptych::dispatcher {

std::string log_begun_path(const std::string& directory);

// Durable when it returns.
base::Result<void> write_log_begun(const LogPlace& place, uint64_t number,
                                   const storage::BeforeFileStep& before_step);
// As it is in the directory of a database with this id; 0: of any.
base::Result<std::optional<uint64_t>> read_log_begun(const std::string& directory,
                                                     uint64_t database_id);
// Durably. That it is not there is no error.
base::Result<void> remove_log_begun(const LogPlace& place,
                                    const storage::BeforeFileStep& before_step);

}  // namespace diptych::dispatcher
