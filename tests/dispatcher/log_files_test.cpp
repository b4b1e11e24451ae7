// The log's files, from the first to those that a checkpoint covers.

#include "dispatcher/command_log/log_files.h"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <span>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "dispatcher/command_log/log_format.h"
#include "tests/dispatcher/bank_fixture.h"

namespace diptych::dispatcher {
namespace {

class LogFileSet : public DirectoryFixture {
 protected:
  static constexpr size_t kFileBytes = 8 << 10;

  // Three, which begin behind VIDs 0, 10 and 20.
  void SetUp() override {
    for (uint64_t i = 0; i < 3; ++i) {
      ASSERT_TRUE(files_.begin_next(base::Vid(i * 10), i + 1, 512).ok());
    }
  }
  size_t on_disk() const {
    size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
      count += entry.path().extension() == ".dtl" ? 1 : 0;
    }
    return count;
  }

  // A group of one call, to the current file.
  void append(uint64_t sequence) {
    FrameWriter frame;
    frame.begin_batch(base::Vid(sequence));
    frame.add(0, {}, 0, base::Vid(sequence), base::Vid(sequence + 1), {}, {}, {});
    const uint64_t number = files_.current()->header().number;
    ASSERT_TRUE(files_.append(frame.seal(number, sequence), &ring_).ok());
  }
  base::Result<LogFileHeader> header_of(uint64_t number) const {
    std::ifstream file(log_file_path(directory_, number), std::ios::binary);
    std::vector<char> bytes(kLogHeaderBytes);
    file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return read_header(std::as_bytes(std::span(bytes)));
  }

  DiskFaults faults_;
  LogRing ring_{LogWay::kCalls};
  LogFiles files_{{directory_}, kFileBytes, &faults_};
};

TEST_F(LogFileSet, FilesGoWhenTheirSuccessorsBeginningIsCovered) {
  ASSERT_TRUE(files_.drop_covered(base::Vid(9)).ok());
  EXPECT_EQ(on_disk(), 3u);
  ASSERT_TRUE(files_.drop_covered(base::Vid(10)).ok());
  EXPECT_EQ(on_disk(), 2u);
  ASSERT_TRUE(files_.drop_covered(base::Vid(100)).ok());
  EXPECT_EQ(on_disk(), 1u) << "the current one stays";
  EXPECT_EQ(files_.file_count(), 1u);
}

TEST_F(LogFileSet, TheLastReleaseDropsWhatWasCoveredMeanwhile) {
  files_.hold();
  files_.hold();
  ASSERT_TRUE(files_.drop_covered(base::Vid(15)).ok());
  EXPECT_EQ(on_disk(), 3u);
  files_.release();
  EXPECT_EQ(on_disk(), 3u);
  files_.release();
  EXPECT_EQ(on_disk(), 2u);
  EXPECT_EQ(files_.file_count(), 2u);
}

// Who needs the next file may come before the thread that makes it ready has begun, and makes it
// then: made twice, it would lose what it has.
TEST_F(LogFileSet, AFileIsMadeOnceThoughItIsNeededAsSoonAsItIsWanted) {
  // The thread would come while the file is being made here.
  const std::thread::id here = std::this_thread::get_id();
  faults_.before_step = [here](storage::FileStep step) -> base::Result<void> {
    if (step == storage::FileStep::kGrow && std::this_thread::get_id() == here) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return {};
  };
  for (uint64_t i = 4; i <= 40; ++i) {
    append(i);  // which wants the next one
    ASSERT_TRUE(files_.begin_next(base::Vid(i * 10), i + 1, 512).ok());
  }
  files_.stop();
  ASSERT_EQ(files_.file_count(), 40u);
  for (const BegunFile& file : files_.begun()) {
    const auto header = header_of(file.number);
    ASSERT_TRUE(header.ok()) << file.number << ": " << header.error().to_string();
    EXPECT_EQ(header->number, file.number);
    EXPECT_EQ(header->start, file.start);
  }
}

TEST_F(LogFileSet, AFileThatWasMadeReadyTooSmallIsMadeAnew) {
  constexpr size_t kGroupBytes = 5 * kFileBytes;
  append(4);
  while (!files_.next_is_ready(1'000'000'000)) {
  }
  ASSERT_TRUE(files_.begin_next(base::Vid(30), 5, kGroupBytes).ok());
  EXPECT_TRUE(files_.current()->has_room(kGroupBytes));
  const auto header = header_of(4);
  ASSERT_TRUE(header.ok()) << header.error().to_string();
  EXPECT_EQ(header->file_bytes, files_.current()->bytes());
  EXPECT_EQ(std::filesystem::file_size(log_file_path(directory_, 4)), header->file_bytes);
}

// Stands for a disk with so much space: while it lives no file grows beyond that.
class FileBytesLimit {
 public:
  explicit FileBytesLimit(size_t bytes) : before_signal_(std::signal(SIGXFSZ, SIG_IGN)) {
    EXPECT_EQ(getrlimit(RLIMIT_FSIZE, &before_), 0);
    const rlimit tight{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &tight), 0);
  }
  ~FileBytesLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, before_signal_);
  }
  FileBytesLimit(const FileBytesLimit&) = delete;
  FileBytesLimit& operator=(const FileBytesLimit&) = delete;

 private:
  void (*before_signal_)(int);
  rlimit before_{};
};

// The third would have 8 MiB: without space for it, and for its half, it has a quarter.
TEST_F(LogFileSet, WhereThereIsNoSpaceForALargeFileASmallerOneIsMade) {
  constexpr size_t kMiB = size_t{1} << 20;
  LogFiles files({path("large")}, 8 * kMiB, &faults_);
  std::filesystem::create_directory(path("large"));
  ASSERT_TRUE(files.begin_next(base::Vid(0), 1, 512).ok());
  ASSERT_TRUE(files.begin_next(base::Vid(10), 2, 512).ok());
  ASSERT_EQ(files.current()->bytes(), 4 * kMiB);
  {
    const FileBytesLimit limit(3 * kMiB);
    ASSERT_TRUE(files.begin_next(base::Vid(20), 3, 512).ok());
    EXPECT_EQ(files.current()->bytes(), 2 * kMiB);
    // The one that is made ready ahead, too.
    const std::vector<std::byte> group(kMiB + kLogSectorBytes);
    ASSERT_TRUE(files.append(group, &ring_).ok());
    EXPECT_TRUE(files.next_is_ready(60'000'000'000));
    ASSERT_TRUE(files.begin_next(base::Vid(30), 4, 512).ok());
    EXPECT_EQ(files.current()->bytes(), 2 * kMiB);
    // Not smaller than the group that needs it.
    ASSERT_TRUE(files.begin_next(base::Vid(40), 5, 5 * kMiB / 2).ok());
    EXPECT_TRUE(files.current()->has_room(5 * kMiB / 2));
    const auto refused = files.begin_next(base::Vid(50), 6, 3 * kMiB);
    ASSERT_EQ(refused.code(), base::ErrorCode::kNoSpace);
    EXPECT_THAT(refused.error().message, ::testing::HasSubstr("3149824 bytes"));
  }
  const FileBytesLimit limit(kMiB - 1);
  const auto refused = files.begin_next(base::Vid(50), 6, 512);
  ASSERT_EQ(refused.code(), base::ErrorCode::kNoSpace);
  EXPECT_THAT(refused.error().message, ::testing::HasSubstr("1048576 bytes"));
}

}  // namespace
}  // namespace diptych::dispatcher
