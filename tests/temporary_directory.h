// A directory of a test's own, and whole files in one call.

#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

#include <stdlib.h>

#include "base/check.h"

namespace diptych::test {

// Of whoever asks, who also removes it.
inline std::string make_temporary_directory() {
  std::string name = std::filesystem::temp_directory_path() / "diptych-test-XXXXXX";
  DIPTYCH_CHECK(::mkdtemp(name.data()) != nullptr, "a temporary directory can be made");
  return name;
}

class TemporaryDirectory {
 public:
  TemporaryDirectory() : path_(make_temporary_directory()) {}
  ~TemporaryDirectory() {
    std::error_code ignored;  // a test's leftovers in /tmp harm nobody
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::string& path() const { return path_; }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      names.push_back(entry.path().filename());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  const std::string path_;
};

inline std::string read_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

inline void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

}  // namespace diptych::test
