// A log that was damaged or cut off: it is told, and where; but what a crash may leave is the log's
// end, and made whole.

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/dispatcher/log_format_fixture.h"

namespace diptych::dispatcher {
namespace {

using base::ErrorCode;
using ::testing::HasSubstr;

class LogDamage : public LogFormat {
 protected:
  // Changes a byte of the newest frame, which file 1 has. Returns the file's contents.
  std::string tear_end() {
    const std::string file = log_file_path(path(), 1);
    std::string torn = contents_of(file);
    torn[file_->used_bytes() - 600] ^= 1;
    write_contents(file, torn);
    return torn;
  }
};

// Found by log_fuzz: file 3 has file 2's header, and so nothing of file 3; taken for one that
// covers those before, it was left out, and the damage before it met only once it was removed.
TEST_F(LogDamage, AFileWithTheHeaderOfAnotherCoversNothing) {
  begin_file(1, 0, 1);
  append(0, 3);
  begin_file(2, 3, 2);
  append(3, 2);
  std::filesystem::rename(log_file_path(path(), 2), log_file_path(path(), 3));
  write_contents(log_file_path(path(), 2), "");
  write_contents(log_file_path(path(), 1), std::string(8192, 'x'));
  const auto lines = read(100);
  ASSERT_FALSE(lines);
  EXPECT_EQ(lines.code(), ErrorCode::kCorrupt);
  EXPECT_THAT(lines.error().to_string(), HasSubstr(log_file_path(path(), 1)));
}

TEST_F(LogDamage, AGapInTheVidsIsAnError) {
  begin_file(1, 0, 1);
  append(0, 5);
  append(6, 2);
  const auto lines = read();
  ASSERT_EQ(lines.code(), ErrorCode::kCorrupt);
  EXPECT_THAT(lines.error().message, HasSubstr("goes on after VID 6"));
}

// Of this log are files whose numbers are written as it writes them.
TEST_F(LogDamage, AFileWhoseNameHasAnotherFormIsNoneOfTheLogs) {
  begin_file(1, 0, 1);
  append(0, 5);
  for (const std::string name : {"log-2.dtl", "log-00000000002.dtl", "log-.dtl", "log-2x.dtl"}) {
    write_contents(path() + "/" + name, "not of a log");
  }
  const auto lines = read();
  ASSERT_TRUE(lines.ok()) << lines.error().to_string();
  EXPECT_EQ(lines->size(), 5u);
}

// The file may be the first that is read, so that nobody has seen the others' definitions.
TEST_F(LogDamage, ACallOfAProcedureThatItsOwnFileDoesNotDefineIsAnError) {
  begin_file(1, 0, 1);
  append(0, 2);
  begin_file(2, 2, sequence_);
  FrameWriter frame;
  frame.begin_batch(base::Vid(2));
  add_call(&frame, 3, false);
  ASSERT_TRUE(file_->append(frame.seal(2, sequence_), &ring_));
  const auto contents = scan_log(path(), base::Vid(0));
  ASSERT_EQ(contents.code(), ErrorCode::kCorrupt);
  EXPECT_THAT(contents.error().message,
              HasSubstr(fmt::format("{}: byte {}: a call of procedure {}, which is not defined",
                                    log_file_path(path(), 2), kLogHeaderBytes, kPlainProcedure)));
}

TEST_F(LogDamage, ACallThatReadsAVersionBelowTheFirstIsAnError) {
  begin_file(1, 0, 1);
  FrameWriter frame;
  frame.begin_batch(base::Vid(0));
  const PlainArguments arguments;
  frame.add(kPlainProcedure, {}, 0, base::Vid(UINT64_MAX), base::Vid(1),
            std::as_bytes(std::span(&arguments, 1)), {}, {});
  frame.define({.id = kPlainProcedure, .name = "plain", .argument_bytes = 8, .signature = 1});
  ASSERT_TRUE(file_->append(frame.seal(1, 1), &ring_));
  EXPECT_EQ(scan_log(path(), base::Vid(0)).code(), ErrorCode::kCorrupt);
}

TEST_F(LogDamage, AMissingFileIsAnError) {
  begin_file(1, 0, 1);
  append(0, 5);
  begin_file(2, 5, sequence_);
  append(5, 3);
  begin_file(3, 8, sequence_);
  append(8, 4);
  std::filesystem::remove(log_file_path(path(), 2));
  EXPECT_EQ(read().code(), ErrorCode::kCorrupt);
}

TEST_F(LogDamage, AFileThatWasMadeReadyAndNotBegunCountsForNothing) {
  begin_file(1, 0, 1);
  append(0, 5);
  auto next = LogFile::prepare({path()}, 2, kFileBytes, &faults_);
  ASSERT_TRUE(next.ok());
  EXPECT_EQ(read()->size(), 5u);
  EXPECT_EQ(contents_.unused.size(), 1u);
  ASSERT_TRUE(trim_log(path(), contents_));
  EXPECT_FALSE(std::filesystem::exists(log_file_path(path(), 2)));
}

// A process that was killed may have written what it had not synced, and a power cut take it.
TEST_F(LogDamage, WhatWasFoundIsMadeDurableBeforeTheLogGoesOn) {
  begin_file(1, 0, 1);
  const std::string header_alone = contents_of(log_file_path(path(), 1));
  append(0, 5);
  append(5, 3);
  const std::string whole = contents_of(log_file_path(path(), 1));
  using storage::FileStep;
  for (const std::string& bytes : {header_alone, whole}) {
    write_contents(log_file_path(path(), 1), bytes);
    ASSERT_TRUE(read().ok());
    std::vector<FileStep> steps;
    std::optional<FileStep> refused;
    const auto note = [&](FileStep step) -> base::Result<void> {
      steps.push_back(step);
      if (step == refused) return base::Error(ErrorCode::kIo, "the test's disk refuses");
      return {};
    };
    ASSERT_TRUE(trim_log(path(), contents_, note));
    EXPECT_EQ(steps, (std::vector{FileStep::kWrite, FileStep::kSync, FileStep::kSyncDirectory}));
    EXPECT_EQ(contents_of(log_file_path(path(), 1)), bytes);
    for (const FileStep step : {FileStep::kWrite, FileStep::kSync, FileStep::kSyncDirectory}) {
      refused = step;
      EXPECT_EQ(trim_log(path(), contents_, note).code(), ErrorCode::kIo);
    }
  }
  // Names alone: the manifest's may not be durable either.
  std::filesystem::remove(log_file_path(path(), 1));
  ASSERT_TRUE(read().ok());
  int steps = 0;
  ASSERT_TRUE(trim_log(path(), contents_, [&](FileStep step) {
    EXPECT_EQ(step, FileStep::kSyncDirectory);
    ++steps;
    return base::Result<void>();
  }));
  EXPECT_EQ(steps, 1);
}

// Wherever the last write was cut, what was durable before it is read, and the rest is told of.
TEST_F(LogDamage, ATornFrameIsCutWhereverItWasTorn) {
  begin_file(1, 0, 1);
  append(0, 5);
  append(5, 30);
  const std::string file = log_file_path(path(), 1);
  const std::string whole = contents_of(file);
  const size_t begin = frame_begins_[1];
  const size_t end = file_->used_bytes();
  for (size_t cut = begin; cut < end; cut += cut < begin + 40 ? 1 : 97) {
    std::string torn = whole;
    std::fill(torn.begin() + static_cast<std::ptrdiff_t>(cut), torn.end(), '\0');
    if (torn == whole) continue;
    write_contents(file, torn);
    const auto lines = read();
    ASSERT_TRUE(lines.ok()) << cut << ": " << lines.error().to_string();
    ASSERT_EQ(lines->size(), 5u) << cut;
    EXPECT_EQ(contents_.torn.has_value(), cut > begin);
    EXPECT_EQ(contents_.last, base::Vid(5));
    ASSERT_TRUE(trim_log(path(), contents_));
    EXPECT_EQ(read()->size(), 5u);
    EXPECT_FALSE(contents_.torn);
  }
}

// Every damaged byte is met.
TEST_F(LogDamage, IsNamedWithFileAndByteWhereverItIs) {
  begin_file(1, 0, 1);
  append(0, 2);
  append(2, 2);
  append(4, 2);
  const std::string file = log_file_path(path(), 1);
  const std::string whole = contents_of(file);
  for (size_t at = 0; at<file_->used_bytes(); at += at> 48 && at < 4000 ? 61 : 1) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    write_contents(file, damaged);
    const auto lines = read();
    // Of which only magic and length say that it is of one sector, and so cannot have been torn.
    if (at >= frame_begins_[2] && at < frame_begins_[2] + 8) {
      ASSERT_TRUE(lines.ok()) << at;
      ASSERT_EQ(lines->size(), 4u) << at;
      EXPECT_TRUE(contents_.torn);
      continue;
    }
    ASSERT_EQ(lines.ok() ? ErrorCode::kClosed : lines.code(), ErrorCode::kCorrupt) << at;
    EXPECT_THAT(lines.error().message, HasSubstr(file));
    const size_t begin = at < kLogHeaderBytes ? 0 : at / kLogSectorBytes * kLogSectorBytes;
    EXPECT_THAT(lines.error().message, HasSubstr("byte " + std::to_string(begin) + ":"));
  }
}

TEST_F(LogDamage, AFileShorterThanItWasMadeIsAnError) {
  begin_file(1, 0, 1);
  append(0, 5);
  append(5, 3);
  const std::string file = log_file_path(path(), 1);
  // Behind the last frame, behind the first, and of the header's alone.
  for (const size_t bytes : {kFileBytes - 1, frame_begins_[1], kLogHeaderBytes}) {
    std::filesystem::resize_file(file, bytes);
    const auto lines = read();
    ASSERT_EQ(lines.code(), ErrorCode::kCorrupt);
    EXPECT_THAT(lines.error().message,
                HasSubstr(fmt::format("{}: byte {}: it is cut off: has {} of {} bytes", file, bytes,
                                      bytes, kFileBytes)));
  }
}

// Whose headers do not say how long they are.
TEST_F(LogDamage, AnOlderProgramsFileCutOffWhereAnotherGoesOnIsAnError) {
  begin_file(1, 0, 1);
  append(0, 5);
  append(5, 3);
  begin_file(2, 8, sequence_);
  append(8, 4);
  for (const uint64_t number : {1U, 2U}) {
    const std::string file = log_file_path(path(), number);
    std::string bytes = contents_of(file);
    LogFileHeader header = *read_header(std::as_bytes(std::span(bytes)));
    EXPECT_EQ(header.file_bytes, kFileBytes);
    header.file_bytes = 0;
    const auto older = header_bytes(header);
    std::memcpy(bytes.data(), older.data(), older.size());
    write_contents(file, bytes);
  }
  EXPECT_EQ(read()->size(), 12u);
  std::filesystem::resize_file(log_file_path(path(), 1), frame_begins_[1]);
  const auto lines = read();
  ASSERT_EQ(lines.code(), ErrorCode::kCorrupt);
  EXPECT_THAT(lines.error().message, HasSubstr("goes on with frame 3"));
}

// What a crash leaves of a header whose sectors were written in any order.
TEST_F(LogDamage, AHeaderThatWasTornWasNeverBegun) {
  begin_file(1, 0, 1);
  append(0, 5);
  begin_file(2, 5, 2);
  const std::string file = log_file_path(path(), 2);
  const std::string whole = contents_of(file);
  for (int written = 0; written < 3; ++written) {  // neither the first sector nor the last; one
    std::string torn = whole;
    if (written != 1) std::fill_n(torn.begin(), kLogSectorBytes, '\0');
    if (written != 2) std::fill_n(torn.begin() + kLogHeaderBytes - 8, 8, '\0');
    write_contents(file, torn);
    const auto lines = read();
    ASSERT_TRUE(lines.ok()) << written << ": " << lines.error().to_string();
    EXPECT_EQ(lines->size(), 5u);
    EXPECT_EQ(contents_.unused, std::vector{file});
  }
}

// No crash leaves that: the file may have had what somebody was told of.
TEST_F(LogDamage, OfTheNewestFilesHeaderIsNoFileThatWasNeverBegun) {
  begin_file(1, 0, 1);
  append(0, 5);
  begin_file(2, 5, 2);
  const std::string file = log_file_path(path(), 2);
  const std::string header_alone = contents_of(file);
  append(5, 3);
  const std::string whole = contents_of(file);
  const auto expect_refused = [&](const std::string& bytes, const std::string& what) {
    write_contents(file, bytes);
    const auto lines = read();
    ASSERT_FALSE(lines.ok()) << what;
    EXPECT_EQ(lines.code(), ErrorCode::kCorrupt) << what;
    EXPECT_THAT(lines.error().message, HasSubstr(file + ": byte ")) << what;
  };
  for (const std::string* const bytes : {&whole, &header_alone}) {
    for (size_t at = 0; at < kLogHeaderBytes; at += at < 64 || at > 4080 ? 1 : 173) {
      std::string damaged = *bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
      ASSERT_NO_FATAL_FAILURE(expect_refused(damaged, "byte " + std::to_string(at)));
    }
    for (const size_t size : {size_t{100}, kLogHeaderBytes - 1, kLogHeaderBytes}) {
      ASSERT_NO_FATAL_FAILURE(expect_refused(bytes->substr(0, size), "cut off"));
    }
  }
  // The frame without a header, whose first sectors are zero or somebody's.
  std::string without = whole;
  std::fill_n(without.begin(), kLogHeaderBytes, '\0');
  ASSERT_NO_FATAL_FAILURE(expect_refused(without, "no header"));
  std::fill_n(without.begin(), kLogSectorBytes, 'x');
  ASSERT_NO_FATAL_FAILURE(expect_refused(without, "another's header"));
  std::string first_sector = header_alone;
  std::fill_n(first_sector.begin() + kLogHeaderBytes - 8, 8, '\0');
  first_sector[16] = 3;
  ASSERT_NO_FATAL_FAILURE(expect_refused(first_sector, "another file's number"));
}

TEST_F(LogDamage, FilesThatAreMissingBeforeThatGoOnAreNamed) {
  begin_file(1, 0, 1);
  append(0, 5);
  begin_file(2, 5, sequence_);
  append(5, 3);
  begin_file(3, 8, sequence_);  // without a frame
  std::filesystem::remove(log_file_path(path(), 2));
  for (const bool first_is_there : {true, false}) {
    if (!first_is_there) std::filesystem::remove(log_file_path(path(), 1));
    const auto lines = read();
    ASSERT_EQ(lines.code(), ErrorCode::kCorrupt);
    EXPECT_THAT(lines.error().message,
                HasSubstr(fmt::format("{}: byte 0: the file goes on after VID 8, but what is there "
                                      "ends with VID {}",
                                      log_file_path(path(), 3), first_is_there ? 5 : 0)));
  }
  EXPECT_TRUE(read(8).ok()) << "a checkpoint has what they had";
}

TEST_F(LogDamage, TheLogOfAnotherDatabaseIsRefused) {
  database_id_ = 7;
  begin_file(1, 0, 1);
  append(0, 5);
  EXPECT_EQ(read()->size(), 5u);
  for (const uint64_t unknown : {0U, 7U}) {
    database_id_ = unknown;
    begin_file(2, 5, 2);
    database_id_ = 7;
    EXPECT_EQ(read()->size(), 5u);
  }
  database_id_ = 8;
  const auto lines = read();
  ASSERT_EQ(lines.code(), ErrorCode::kCorrupt);
  EXPECT_THAT(lines.error().message,
              HasSubstr(log_file_path(path(), 1) + ": byte 0: the log of another database"));
}

// A frame of one sector, of which a crash leaves all or nothing.
TEST_F(LogDamage, OfALastFrameOfOneSectorIsNoTornEnd) {
  begin_file(1, 0, 1);
  append(0, 2);
  append(2, 2);
  ASSERT_EQ(file_->used_bytes(), frame_begins_[1] + kLogSectorBytes);
  const std::string file = log_file_path(path(), 1);
  const std::string whole = contents_of(file);
  std::string damaged = whole;
  damaged[frame_begins_[1] + 100] ^= 1;
  write_contents(file, damaged);
  const auto lines = read();
  ASSERT_EQ(lines.code(), ErrorCode::kCorrupt);
  EXPECT_THAT(lines.error().message,
              HasSubstr(fmt::format("{}: byte {}: ", file, frame_begins_[1])));
}

// What an older program has cut off by its own means, and gone on after.
TEST_F(LogDamage, ATornEndThatTheNextFileGoesOnAfterIsNotTheLogs) {
  begin_file(1, 0, 1);
  append(0, 5);
  append(5, 30);
  tear_end();
  begin_file(2, 5, 2);
  append(5, 3);
  EXPECT_EQ(read()->size(), 8u);
  EXPECT_FALSE(contents_.torn);
}

// More than is read and written at once.
TEST_F(LogDamage, AnEndOfMegabytesIsMadeWholeAllOfIt) {
  constexpr size_t kLargeFileBytes = size_t{8} << 20;
  constexpr uint64_t kCalls = 40'000;
  file_ = *LogFile::prepare({path()}, 1, kLargeFileBytes, &faults_);
  ASSERT_TRUE(file_->begin(base::Vid(0), 1));
  append(0, kCalls);
  const std::string file = log_file_path(path(), 1);
  const std::string whole = contents_of(file);
  const size_t end = file_->used_bytes();
  ASSERT_GT(end, size_t{2} << 20) << "a frame of several pieces";
  append(kCalls, kCalls);
  tear_end();
  ASSERT_EQ(read()->size(), kCalls);
  ASSERT_TRUE(contents_.torn);
  ASSERT_TRUE(trim_log(path(), contents_));
  EXPECT_TRUE(contents_of(file) == whole);
}

// Not by its size, which its header has.
TEST_F(LogDamage, ATornEndIsCutByZeroes) {
  begin_file(1, 0, 1);
  append(0, 5);
  append(5, 30);
  std::string torn = tear_end();
  ASSERT_TRUE(read().ok());
  ASSERT_TRUE(contents_.torn);
  std::vector<storage::FileStep> steps;
  ASSERT_TRUE(trim_log(path(), contents_, [&](storage::FileStep step) {
    steps.push_back(step);
    return base::Result<void>();
  }));
  using storage::FileStep;
  EXPECT_EQ(steps, (std::vector{FileStep::kWrite, FileStep::kWrite, FileStep::kSync,
                                FileStep::kSyncDirectory}));
  std::fill(torn.begin() + static_cast<std::ptrdiff_t>(frame_begins_[1]), torn.end(), '\0');
  EXPECT_EQ(contents_of(log_file_path(path(), 1)), torn);
}

}  // namespace
}  // namespace diptych::dispatcher
