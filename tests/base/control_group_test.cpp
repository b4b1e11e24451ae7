#include "base/control_group.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "tests/temporary_directory.h"

namespace diptych::base {
namespace {

class ControlGroup : public ::testing::Test {
 protected:
  // A file below the root, with its directories.
  void put(const std::string& path, const std::string& text) const {
    const std::filesystem::path whole = root_.path() + path;
    std::filesystem::create_directories(whole.parent_path());
    std::ofstream(whole) << text;
  }
  size_t bytes() const { return control_group_memory_bytes(root_.path()); }

  const test::TemporaryDirectory root_;
};

TEST_F(ControlGroup, OfVersion2HasTheLeastLimitUpToTheRoot) {
  EXPECT_EQ(bytes(), SIZE_MAX);
  put("/proc/self/cgroup", "0::/system.slice/db.service\n");
  put("/sys/fs/cgroup/system.slice/db.service/memory.max", "3000\n");
  put("/sys/fs/cgroup/system.slice/memory.max", "max\n");
  EXPECT_EQ(bytes(), 3000U);
  put("/sys/fs/cgroup/system.slice/memory.max", "2000\n");
  EXPECT_EQ(bytes(), 2000U);
  put("/sys/fs/cgroup/memory.max", "1000\n");
  EXPECT_EQ(bytes(), 1000U);
}

TEST_F(ControlGroup, OfVersion1IsThatOfTheMemory) {
  put("/proc/self/cgroup", "7:cpu:/a\n4:hugetlb,memory:/a/b:c\n1:name=systemd:/d\n0::/\n");
  put("/sys/fs/cgroup/memory/d/memory.limit_in_bytes", "10\n");
  EXPECT_EQ(bytes(), SIZE_MAX);
  put("/sys/fs/cgroup/memory/a/b:c/memory.limit_in_bytes", "3000\n");
  EXPECT_EQ(bytes(), 3000U);
  put("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "2000\n");
  EXPECT_EQ(bytes(), 2000U);
}

// As a container sees it whose namespace hides where its group is.
TEST_F(ControlGroup, ThatIsNotFoundLeavesThatOfTheRoot) {
  put("/proc/self/cgroup", "0::/../../kubepods/pod\n");
  put("/sys/fs/cgroup/memory.max", "1000\n");
  EXPECT_EQ(bytes(), 1000U);
}

}  // namespace
}  // namespace diptych::base
