// Control groups: what a container or a service may use.

#pragma once

#include <cstddef>
#include <string>

namespace diptych::base {

// The least memory limit of the groups that "/proc/self/cgroup" below `root` names, and of those
// above them, of either version; SIZE_MAX: there is none. `root`: "", or for tests, where /proc and
// /sys are.
size_t control_group_memory_bytes(const std::string& root);

}  // namespace diptych::base
