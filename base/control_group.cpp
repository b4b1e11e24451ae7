#include "base/control_group.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string_view>

#include <fmt/format.h>

namespace diptych::base {
namespace {

// The limit that a control group's file states; SIZE_MAX where there is none ("max", or no file).
size_t memory_limit(const std::string& path) {
  size_t bytes = SIZE_MAX;
  std::ifstream file(path);
  if (!(file >> bytes)) return SIZE_MAX;
  return bytes;
}

// Of the group, which is below `mount`, and of those above it, that of `mount` included. A
// container may see its own group at `mount`, and not have the path that the system names.
size_t least_memory_limit(const std::string& mount, std::string group, std::string_view file) {
  size_t bytes = SIZE_MAX;
  while (true) {
    bytes = std::min(bytes, memory_limit(fmt::format("{}{}/{}", mount, group, file)));
    const size_t slash = group.rfind('/');
    if (slash == std::string::npos) return bytes;
    group.resize(slash);
  }
}

}  // namespace

// A line is "hierarchy:controllers:/path"; that of version 2 names no controllers.
size_t control_group_memory_bytes(const std::string& root) {
  const std::string mount = root + "/sys/fs/cgroup";
  const auto of_version_2 = [&](const std::string& group) {
    return least_memory_limit(mount, group, "memory.max");
  };
  const auto of_version_1 = [&](const std::string& group) {
    return least_memory_limit(mount + "/memory", group, "memory.limit_in_bytes");
  };
  size_t bytes = std::min(of_version_2(""), of_version_1(""));
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string group = line.substr(second + 1);
    if (controllers == ",,") bytes = std::min(bytes, of_version_2(group));
    if (controllers.find(",memory,") != std::string::npos) {
      bytes = std::min(bytes, of_version_1(group));
    }
  }
  return bytes;
}

}  // namespace diptych::base
