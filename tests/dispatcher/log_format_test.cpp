// The log's bytes: what is written is read, and what nobody wrote is refused.

#include <cstring>
#include <filesystem>
#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <xxhash.h>

#include "tests/dispatcher/log_format_fixture.h"
#include "tests/sanitizers.h"

namespace diptych::dispatcher {
namespace {

using base::ErrorCode;
using ::testing::HasSubstr;

TEST_F(LogFormat, WhatIsWrittenIsRead) {
  begin_file(1, 0, 1);
  append(0, 5);
  append(5, 3);
  begin_file(2, 8, sequence_);
  append(8, 4);
  const auto lines = read();
  ASSERT_TRUE(lines.ok()) << lines.error().to_string();
  ASSERT_EQ(lines->size(), 12u);
  EXPECT_EQ((*lines)[0], "1 reads 0 plain at -1000 seed 3 number 5 row 7");
  EXPECT_EQ((*lines)[1], "2 reads 1 text at -2000 seed 6 text tt row 14 row 15 row 1");
  EXPECT_EQ((*lines)[2], "3 reads 1 plain at -3000 seed 9 number 15 row 21 row 22 row 1");
  EXPECT_EQ((*lines)[3], "4 reads 3 text at -4000 seed 12 null row 28 row 29 row 2");
  EXPECT_EQ(contents_.last, base::Vid(12));
  EXPECT_EQ(contents_.transactions, 12u);
  EXPECT_EQ(contents_.next_number, 3u);
  EXPECT_EQ(contents_.next_sequence, 4u);
  ASSERT_EQ(contents_.procedures.size(), 2u);
  EXPECT_EQ(contents_.procedures[0].name, "plain");
  EXPECT_EQ(contents_.procedures[0].version, 7u);
  EXPECT_EQ(contents_.procedures[1].version, 0u);
  EXPECT_FALSE(contents_.torn);
}

TEST_F(LogFormat, OnlyWhatFollowsTheVidIsReadAndCoveredFilesAreNotLookedInto) {
  begin_file(1, 0, 1);
  append(0, 5);
  begin_file(2, 5, sequence_);
  append(5, 3);
  append(8, 4);
  write_contents(log_file_path(path(), 1), "damaged");
  const auto lines = read(8);
  ASSERT_TRUE(lines.ok()) << lines.error().to_string();
  EXPECT_EQ(lines->size(), 4u);
  EXPECT_EQ(contents_.first_needed, 1u);
  EXPECT_EQ(read(12)->size(), 0u);
  const auto from_its_beginning = read(5);
  ASSERT_TRUE(from_its_beginning.ok()) << from_its_beginning.error().to_string();
  EXPECT_EQ(from_its_beginning->size(), 7u);
  const auto all = read(0);
  ASSERT_FALSE(all.ok());
  EXPECT_THAT(all.error().message, HasSubstr(log_file_path(path(), 1)));
}

TEST(LogHeader, OfAnotherVersionIsRefused) {
  auto bytes = header_bytes({.number = 1, .start = base::Vid(0), .first_sequence = 1});
  ASSERT_TRUE(read_header(bytes));
  constexpr size_t kVersionAt = 8;
  constexpr size_t kHeaderChecksumAt = kLogHeaderBytes - 8;
  bytes[kVersionAt] = std::byte{2};
  EXPECT_EQ(read_header(bytes).code(), base::ErrorCode::kCorrupt) << "under the old checksum";
  const uint64_t checksum = XXH3_64bits(bytes.data(), kHeaderChecksumAt);
  std::memcpy(bytes.data() + kHeaderChecksumAt, &checksum, sizeof checksum);
  const auto read = read_header(bytes);
  EXPECT_EQ(read.code(), base::ErrorCode::kUnsupported);
  EXPECT_THAT(read.error().message,
              ::testing::HasSubstr("version 2, this program reads versions 3 to 4"));
}

TEST(LogHeader, OfTheVersionBeforeIsRead) {
  auto bytes = header_bytes({.number = 5, .start = base::Vid(7), .first_sequence = 9});
  constexpr size_t kHeaderChecksumAt = kLogHeaderBytes - 8;
  bytes[8] = std::byte{3};
  const uint64_t checksum = XXH3_64bits(bytes.data(), kHeaderChecksumAt);
  std::memcpy(bytes.data() + kHeaderChecksumAt, &checksum, sizeof checksum);
  const auto read = read_header(bytes);
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  EXPECT_EQ(read->start, base::Vid(7));
}

// What lay in a block of the disk before may be a frame of another file, at the same place.
TEST(LogFrame, IsOfTheFileThatItWasWrittenFor) {
  FrameWriter frame;
  frame.begin_batch(base::Vid(0));
  frame.add(kPlainProcedure, {}, 0, base::Vid(0), base::Vid(1), {}, {}, {});
  const auto sealed = frame.seal(6, 1);
  EXPECT_TRUE(frame_at(sealed, 0, 6));
  EXPECT_FALSE(frame_at(sealed, 0, 7));
}

// In memory that takes no pages but for its first: all of it but the header is zero.
TEST(LogFrame, MayHaveMoreThanFourGiB) {
  if (diptych::test::kSanitized) GTEST_SKIP() << "a checksum of gigabytes takes too long";
  constexpr size_t kBytes = (size_t{4} << 30) + 3 * kLogSectorBytes;
  constexpr size_t kDefinitions = kBytes - 100;
  constexpr uint64_t kFileNumber = 6;
  void* const memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  ::madvise(memory, kBytes, MADV_HUGEPAGE);
  const std::span bytes(static_cast<std::byte*>(memory), kBytes);
  std::memcpy(bytes.data(), "DTGR", 4);
  const auto put = [&](size_t at, auto number) {
    std::memcpy(bytes.data() + at, &number, sizeof number);
  };
  put(4, static_cast<uint32_t>(kBytes));
  put(8, uint64_t{17});
  put(16, static_cast<uint32_t>(kDefinitions));
  put(20, static_cast<uint16_t>(kBytes >> 32));
  put(22, static_cast<uint16_t>(kDefinitions >> 32));
  const uint64_t head = XXH3_64bits_withSeed(bytes.data(), 24, kFileNumber);
  put(24, XXH3_64bits_withSeed(bytes.data() + kFrameHeaderBytes, kBytes - kFrameHeaderBytes, head));
  const auto frame = frame_at(bytes, 0, kFileNumber);
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->sequence, 17u);
  EXPECT_EQ(frame->bytes.size(), kBytes);
  EXPECT_FALSE(frame_at(bytes.first(kBytes - 1), 0, kFileNumber));
  EXPECT_EQ(last_vid_of(*frame).code(), ErrorCode::kCorrupt) << "a batch of 0 transactions";
  ::munmap(memory, kBytes);
}

// Updates of two workers to one table, and of one to another.
std::vector<std::byte> updates_frame(uint64_t start, uint64_t sequence) {
  propagation::UpdateChunks chunks;
  propagation::UpdateSet sets[3] = {propagation::UpdateSet(&chunks),
                                    propagation::UpdateSet(&chunks),
                                    propagation::UpdateSet(&chunks)};
  for (uint64_t vid = start + 1; vid <= start + 6; ++vid) {
    sets[vid % 2].append_delete(base::Vid(vid), base::RowId(vid * 10));
    if (vid % 3 == 0) sets[2].append_delete(base::Vid(vid), base::RowId(vid));
  }
  FrameWriter frame;
  frame.begin_batch(base::Vid(start));
  std::vector<propagation::RecordRun> runs;
  for (size_t i = 0; i < 3; ++i) {
    const auto& chunk = sets[i].chunks().front();
    runs.push_back({base::TableId(i == 2 ? 7 : 4), {chunk.data, chunk.used}});
  }
  frame.add_updates(6, runs);
  const auto sealed = frame.seal(1, sequence);
  return {sealed.begin(), sealed.end()};
}

TEST_F(LogFormat, UpdatesAreReadAsTheyWereWritten) {
  begin_file(1, 0, 1);
  ASSERT_TRUE(file_->append(updates_frame(0, 1), &ring_));
  sequence_ = 2;
  append(6, 3);
  ASSERT_TRUE(file_->append(updates_frame(9, 3), &ring_));
  const auto contents = scan_log(path(), base::Vid(0));
  ASSERT_TRUE(contents.ok()) << contents.error().to_string();
  EXPECT_EQ(contents->last, base::Vid(15));
  EXPECT_EQ(contents->transactions, 15u);
  const auto lines_after = [&](uint64_t vid) {
    Lines lines;
    EXPECT_TRUE(read_calls(*contents, base::Vid(vid), [&](LoggedBatch& batch) {
      for (const propagation::BatchRuns& updates : batch.updates) {
        for (const propagation::RecordRun& run : updates.runs) {
          propagation::for_each_record(run.records, [&](const propagation::UpdateRecord& record) {
            lines.push_back(fmt::format("{}: table {} row {}", record.vid.value, run.table.value,
                                        record.row_id.value));
          });
        }
      }
      if (batch.updates.empty()) lines.push_back(fmt::format("{} calls", batch.calls.size()));
      return base::Result<void>();
    }));
    return lines;
  };
  EXPECT_THAT(
      lines_after(6),
      ::testing::ElementsAre("3 calls", "10: table 4 row 100", "12: table 4 row 120",
                             "14: table 4 row 140", "11: table 4 row 110", "13: table 4 row 130",
                             "15: table 4 row 150", "12: table 7 row 12", "15: table 7 row 15"));
  const Lines all = lines_after(0);
  ASSERT_EQ(all.size(), 17u);
  EXPECT_EQ(all[0], "2: table 4 row 20");
  EXPECT_EQ(all[8], "3 calls") << "after the updates that were logged before them";
}

TEST_F(LogFormat, AProcedureIsNamedOnceForEachOfItsVersionsAndOfItsArguments) {
  begin_file(1, 0, 1);
  const std::pair<uint64_t, uint64_t> signatures_and_versions[] = {{1, 7}, {1, 7}, {1, 8}, {2, 8}};
  for (uint64_t i = 0; i < std::size(signatures_and_versions); ++i) {
    const auto [signature, version] = signatures_and_versions[i];
    FrameWriter frame;
    frame.begin_batch(base::Vid(i));
    add_call(&frame, i + 1, false);
    frame.define({.id = kPlainProcedure,
                  .name = "plain",
                  .argument_bytes = 8,
                  .signature = signature,
                  .version = version});
    ASSERT_TRUE(file_->append(frame.seal(1, i + 1), &ring_));
  }
  const auto contents = scan_log(path(), base::Vid(0));
  ASSERT_TRUE(contents.ok()) << contents.error().to_string();
  Lines named;
  for (const ProcedureInLog& one : contents->procedures) {
    named.push_back(fmt::format("{} {} {}: {}", one.name, one.signature, one.version, one.calls));
  }
  EXPECT_THAT(named, ::testing::ElementsAre("plain 1 7: 2", "plain 1 8: 1", "plain 2 8: 1"));
}

// A frame that is cut at a VID has what it had up to there, whatever it is made of.
TEST_F(LogFormat, AFrameIsCutAtAnyVid) {
  for (uint64_t last = 0; last <= 12; ++last) {
    std::filesystem::remove_all(path());
    std::filesystem::create_directory(path());
    begin_file(1, 0, 1);
    FrameWriter frame;
    frame.begin_batch(base::Vid(0));
    for (uint64_t vid = 1; vid <= 5; ++vid) add_call(&frame, vid, vid % 2 == 0);
    frame.begin_batch(base::Vid(5));
    for (uint64_t vid = 6; vid <= 9; ++vid) add_call(&frame, vid, false);
    frame.define({.id = kPlainProcedure, .name = "plain", .argument_bytes = 8, .signature = 1});
    frame.define({.id = kTextProcedure,
                  .name = "text",
                  .argument_bytes = sizeof(TextArguments),
                  .texts = 1,
                  .signature = 2});
    const auto sealed = frame.seal(1, 1);
    const auto cut = frame_up_to({.sequence = 1, .bytes = sealed}, base::Vid(last), 1);
    ASSERT_TRUE(cut.ok()) << cut.error().to_string();
    ASSERT_EQ(cut->empty(), last == 0);
    if (last == 0) continue;
    ASSERT_TRUE(file_->append(*cut, &ring_));
    const auto lines = read();
    ASSERT_TRUE(lines.ok()) << lines.error().to_string();
    ASSERT_EQ(lines->size(), std::min<uint64_t>(last, 9));
    EXPECT_EQ((*lines)[0], "1 reads 0 plain at -1000 seed 3 number 5 row 7");
    const auto updates = updates_frame(0, 1);
    const auto cut_updates = frame_up_to({.sequence = 1, .bytes = updates}, base::Vid(last), 1);
    ASSERT_TRUE(cut_updates.ok());
    const auto found = frame_at(*cut_updates, 0, 1);
    ASSERT_TRUE(found);
    class Counter : public FrameVisitor {
     public:
      base::Result<void> define(const LoggedProcedure&) override { return {}; }
      const LoggedProcedure* find(uint32_t) const override { return nullptr; }
      base::Result<void> begin_batch(base::Vid, uint32_t count) override {
        transactions = count;
        return {};
      }
      base::Result<void> visit(LoggedCall&) override { return {}; }
      base::Result<void> visit_updates(const propagation::RecordRun& run) override {
        propagation::for_each_record(run.records, [&](const auto&) { ++records; });
        return {};
      }
      base::Result<void> end_batch() override { return {}; }
      uint64_t transactions = 0;
      uint64_t records = 0;
    } counter;
    ASSERT_TRUE(visit_frame(*found, &counter));
    const uint64_t kept = std::min<uint64_t>(last, 6);
    EXPECT_EQ(counter.transactions, kept);
    EXPECT_EQ(counter.records, kept + kept / 3);
  }
}

// Frames under checksums that are right, of bytes that nobody wrote.
TEST_F(LogFormat, NonsenseUnderARightChecksumIsRefused) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 300; ++i) {
    FrameWriter frame;
    frame.begin_batch(base::Vid(0));
    add_call(&frame, 1, random() % 2 == 0);
    add_call(&frame, 2, random() % 2 == 0);
    frame.define({.id = kPlainProcedure, .name = "plain", .argument_bytes = 8, .signature = 1});
    const auto sealed = frame.seal(1, 1);
    std::vector<std::byte> bytes(sealed.begin(), sealed.end());
    if (i % 3 == 0) bytes = updates_frame(0, 1);
    for (uint64_t changes = 1 + random() % 4; changes != 0; --changes) {
      bytes[16 + random() % 300] = static_cast<std::byte>(random());
    }
    class Nobody : public FrameVisitor {
     public:
      base::Result<void> define(const LoggedProcedure& procedure) override {
        procedure_ = procedure;
        return {};
      }
      const LoggedProcedure* find(uint32_t) const override { return &procedure_; }
      base::Result<void> begin_batch(base::Vid, uint32_t) override { return {}; }
      base::Result<void> visit(LoggedCall&) override { return {}; }
      base::Result<void> visit_updates(const propagation::RecordRun&) override { return {}; }
      base::Result<void> end_batch() override { return {}; }

     private:
      LoggedProcedure procedure_;
    } nobody;
    const auto visited = visit_frame({.sequence = 1, .bytes = bytes}, &nobody);
    EXPECT_TRUE(visited.ok() || visited.code() == ErrorCode::kCorrupt);
  }
}

TEST_F(LogFormat, BothWaysOfWritingAndShortWritesMakeTheSameFile) {
  const auto make = [&](LogWay way, size_t write_bytes_max) {
    faults_.log_write_bytes_max = write_bytes_max;
    LogRing ring(way);
    file_ = *LogFile::prepare({path()}, 1, 64 << 10, &faults_);
    EXPECT_TRUE(file_->begin(base::Vid(0), 1));
    for (uint64_t i = 0; i < 3; ++i) {
      FrameWriter frame;
      frame.begin_batch(base::Vid(i));
      add_call(&frame, i + 1, false);
      EXPECT_TRUE(file_->append(frame.seal(1, i + 1), &ring));
    }
    return contents_of(log_file_path(path(), 1));
  };
  const std::string by_calls = make(LogWay::kCalls, SIZE_MAX);
  EXPECT_EQ(make(LogWay::kRing, SIZE_MAX), by_calls);
  EXPECT_EQ(make(LogWay::kCalls, 7), by_calls);
}

}  // namespace
}  // namespace diptych::dispatcher
