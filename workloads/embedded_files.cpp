#include "workloads/embedded_files.h"

#include "base/check.h"

namespace diptych::workloads {

std::string_view embedded_file(std::string_view path) {
  for (const EmbeddedFile& file : embedded_files()) {
    if (file.path == path) return file.text;
  }
  DIPTYCH_CHECK(false, "only files of workloads/ are asked for by path");
  return {};
}

}  // namespace diptych::workloads
