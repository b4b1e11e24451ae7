#include "dispatcher/log_inspection.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "dispatcher/command_log/log_reader.h"
#include "dispatcher/database_files.h"

namespace diptych::dispatcher {

base::Result<LogInspection> inspect_log(const std::string& path) {
  const auto directory = open_directory_to_read(path);
  if (!directory) return directory.error();
  const base::Vid saved = directory->manifest->vid;
  const auto contents = scan_log(path, saved, directory->manifest->id);
  if (!contents) return contents.error();
  LogInspection inspection{.saved = saved,
                           .last = contents->last,
                           .files = contents->files.size() - contents->first_needed,
                           .bytes = contents->bytes,
                           .transactions = contents->transactions,
                           .unused = contents->unused};
  for (const ProcedureInLog& procedure : contents->procedures) {
    inspection.procedures.push_back({procedure.name, procedure.version, procedure.calls});
  }
  std::ranges::sort(inspection.procedures, {}, [](const ProcedureToReplay& procedure) {
    return std::tie(procedure.name, procedure.version);
  });
  if (contents->torn) {
    inspection.torn_tail = fmt::format("{}: byte {}", contents->torn->path, contents->torn->offset);
  }
  return inspection;
}

}  // namespace diptych::dispatcher
