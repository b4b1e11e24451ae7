// The log's files, from the first to those that a checkpoint covers.

#include "dispatcher/command_log/log_files.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <span>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace diptych::dispatcher
