// The log's bytes: what is written is read; what is damaged or cut off is told, and where.

#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <xxhash.h>

#include "dispatcher/command_log/log_file.h"
#include "dispatcher/command_log/log_reader.h"
#include "tests/dispatcher/bank_fixture.h"

namespace diptych::dispatcher {
namespace {

using base::ErrorCode;
using ::testing::HasSubstr;

constexpr uint32_t kTextProcedure = 3;
constexpr uint32_t kPlainProcedure = 9;

struct PlainArguments {
  uint64_t number = 0;
};
struct TextArguments {
  base::Text text;
  uint64_t is_null = 0;  // as a cell's null byte
};

// What was read, one line a call.
using Lines = std::vector<std::string>;

class LogFormat : public DirectoryFixture {
 protected:
  LogFormat() { std::filesystem::create_directory(path()); }

  void begin_file(uint64_t number, uint64_t start, uint64_t sequence) {
    file_ = std::move(*LogFile::prepare(path(), number, 64 << 10, &faults_));
    ASSERT_TRUE(file_->begin(base::Vid(start), sequence));
    sequence_ = sequence;
  }

  // A group of one batch whose calls have these VIDs.
  void append(uint64_t start, uint64_t count) {
    FrameWriter frame;
    frame.begin_batch(base::Vid(start));
    for (uint64_t vid = start + 1; vid <= start + count; ++vid) {
      add_call(&frame, vid, vid % 2 == 0);
    }
    frame.define({.id = kPlainProcedure,
                  .name = "plain",
                  .argument_bytes = 8,
                  .signature = 1,
                  .version = 7});
    frame.define({.id = kTextProcedure,
                  .name = "text",
                  .argument_bytes = sizeof(TextArguments),
                  .texts = 1,
                  .signature = 2});
    const auto bytes = frame.seal(file_->header().number, sequence_++);
    frame_begins_.push_back(file_->used_bytes());
    ASSERT_TRUE(file_->append(bytes, &ring_));
  }

  void add_call(FrameWriter* frame, uint64_t vid, bool with_text) {
    const base::Timestamp now{static_cast<int64_t>(vid) * -1000};
    const std::vector<base::RowId> rows = {base::RowId(vid * 7), base::RowId(vid * 7 + 1),
                                           base::RowId(vid / 2)};
    const base::Vid read(vid - 1 - (vid % 3 == 0 ? 1 : 0));
    if (with_text) {
      const std::string text(vid % 50, 't');
      const TextArguments arguments{base::Text(text), vid % 4 == 0 ? 1U : 0U};
      const FrameWriter::TextCell cell{0, offsetof(TextArguments, is_null)};
      frame->add(kTextProcedure, now, vid * 3, read, base::Vid(vid),
                 std::as_bytes(std::span(&arguments, 1)), {&cell, 1}, rows);
    } else {
      const PlainArguments arguments{vid * 5};
      frame->add(kPlainProcedure, now, vid * 3, read, base::Vid(vid),
                 std::as_bytes(std::span(&arguments, 1)), {}, {rows.data(), vid % 4});
    }
  }

  static std::string line_of(const LoggedCall& call, const std::string& procedure) {
    std::string text = std::to_string(call.commit_vid.value) + " reads " +
                       std::to_string(call.read_vid.value) + " " + procedure + " at " +
                       std::to_string(call.now.micros) + " seed " +
                       std::to_string(call.random_seed);
    if (call.arguments.size() == 8) {
      uint64_t number = 0;
      std::memcpy(&number, call.arguments.data(), 8);
      text += " number " + std::to_string(number);
    }
    for (const auto& each : call.texts) text += each ? " text " + std::string(*each) : " null";
    for (const base::RowId row : call.inserted) text += " row " + std::to_string(row.value);
    return text;
  }

  base::Result<Lines> read(uint64_t after = 0) {
    auto contents = scan_log(path(), base::Vid(after));
    if (!contents) return contents.error();
    contents_ = std::move(*contents);
    Lines lines;
    auto done = read_calls(contents_, base::Vid(after), [&](LoggedBatch& batch) {
      for (const LoggedCall& call : batch.calls) {
        lines.push_back(line_of(call, batch.procedures->at(call.procedure).name));
      }
      return base::Result<void>();
    });
    if (!done) return done.error();
    return lines;
  }

  static std::string contents_of(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  // In place where it can be: some file systems write a file out that is cut and written anew.
  static void write_contents(const std::string& file, const std::string& bytes) {
    const bool same_size =
        std::filesystem::exists(file) && std::filesystem::file_size(file) == bytes.size();
    const auto in_place = same_size ? std::ios::in : std::ios::trunc;
    std::ofstream(file, std::ios::binary | std::ios::out | in_place) << bytes;
  }

  DiskFaults faults_;
  LogRing ring_{LogWay::kRing};
  std::unique_ptr<LogFile> file_;
  uint64_t sequence_ = 1;
  std::vector<size_t> frame_begins_;
  LogContents contents_;
};

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
  const auto all = read(0);
  ASSERT_FALSE(all.ok());
  EXPECT_THAT(all.error().message, HasSubstr(log_file_path(path(), 1)));
}

// Found by log_fuzz: file 3 has file 2's header, and so nothing of file 3; taken for one that
// covers those before, it was left out, and the damage before it met only once it was removed.
TEST_F(LogFormat, AFileWithTheHeaderOfAnotherCoversNothing) {
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

TEST_F(LogFormat, AGapInTheVidsIsAnError) {
  begin_file(1, 0, 1);
  append(0, 5);
  append(6, 2);
  const auto lines = read();
  ASSERT_EQ(lines.code(), ErrorCode::kCorrupt);
  EXPECT_THAT(lines.error().message, HasSubstr("goes on after VID 6"));
}

TEST_F(LogFormat, AMissingFileIsAnError) {
  begin_file(1, 0, 1);
  append(0, 5);
  begin_file(2, 5, sequence_);
  append(5, 3);
  begin_file(3, 8, sequence_);
  append(8, 4);
  std::filesystem::remove(log_file_path(path(), 2));
  EXPECT_EQ(read().code(), ErrorCode::kCorrupt);
}

TEST_F(LogFormat, AFileThatWasMadeReadyAndNotBegunCountsForNothing) {
  begin_file(1, 0, 1);
  append(0, 5);
  auto next = LogFile::prepare(path(), 2, 64 << 10, &faults_);
  ASSERT_TRUE(next.ok());
  EXPECT_EQ(read()->size(), 5u);
  EXPECT_EQ(contents_.unused.size(), 1u);
  ASSERT_TRUE(settle_log(path(), contents_));
  EXPECT_FALSE(std::filesystem::exists(log_file_path(path(), 2)));
}

// A process that was killed may have written what it had not synced, and a power cut take it.
TEST_F(LogFormat, WhatWasFoundIsMadeDurableBeforeTheLogGoesOn) {
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
    ASSERT_TRUE(settle_log(path(), contents_, note));
    EXPECT_EQ(steps, (std::vector{FileStep::kWrite, FileStep::kSync, FileStep::kSyncDirectory}));
    EXPECT_EQ(contents_of(log_file_path(path(), 1)), bytes);
    for (const FileStep step : {FileStep::kWrite, FileStep::kSync, FileStep::kSyncDirectory}) {
      refused = step;
      EXPECT_EQ(settle_log(path(), contents_, note).code(), ErrorCode::kIo);
    }
  }
  // Names alone: the manifest's may not be durable either.
  std::filesystem::remove(log_file_path(path(), 1));
  ASSERT_TRUE(read().ok());
  int steps = 0;
  ASSERT_TRUE(settle_log(path(), contents_, [&](FileStep step) {
    EXPECT_EQ(step, FileStep::kSyncDirectory);
    ++steps;
    return base::Result<void>();
  }));
  EXPECT_EQ(steps, 1);
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
              ::testing::HasSubstr("version 2, this program reads version 3"));
}

// Wherever the last write was cut, what was durable before it is read, and the rest is told of.
TEST_F(LogFormat, ATornFrameIsCutWhereverItWasTorn) {
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
    ASSERT_TRUE(settle_log(path(), contents_));
    EXPECT_EQ(read()->size(), 5u);
    EXPECT_FALSE(contents_.torn);
  }
}

// Every damaged byte but those of the last frame, which may have been torn, is met.
TEST_F(LogFormat, DamageBeforeTheLastFrameIsNamedWithFileAndByte) {
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
    if (at >= frame_begins_[2]) {
      ASSERT_TRUE(lines.ok()) << at;
      ASSERT_EQ(lines->size(), 4u) << at;
      EXPECT_TRUE(contents_.torn);
      continue;
    }
    ASSERT_EQ(lines.ok() ? ErrorCode::kClosed : lines.code(), ErrorCode::kCorrupt) << at;
    EXPECT_THAT(lines.error().message, HasSubstr(file));
    const size_t begin = at < kLogHeaderBytes    ? 0
                         : at < frame_begins_[1] ? frame_begins_[0]
                                                 : frame_begins_[1];
    EXPECT_THAT(lines.error().message, HasSubstr("byte " + std::to_string(begin) + ":"));
  }
}

TEST_F(LogFormat, AFileCutOffWhereAnotherGoesOnIsAnError) {
  begin_file(1, 0, 1);
  append(0, 5);
  append(5, 3);
  begin_file(2, 8, sequence_);
  append(8, 4);
  std::filesystem::resize_file(log_file_path(path(), 1), frame_begins_[1]);
  const auto lines = read();
  ASSERT_EQ(lines.code(), ErrorCode::kCorrupt);
  EXPECT_THAT(lines.error().message, HasSubstr("goes on with frame 3"));
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
  Lines lines;
  ASSERT_TRUE(read_calls(*contents, base::Vid(6), [&](LoggedBatch& batch) {
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
  EXPECT_THAT(lines, ::testing::ElementsAre("3 calls", "10: table 4 row 100", "12: table 4 row 120",
                                            "14: table 4 row 140", "11: table 4 row 110",
                                            "13: table 4 row 130", "15: table 4 row 150",
                                            "12: table 7 row 12", "15: table 7 row 15"));
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
    file_ = std::move(*LogFile::prepare(path(), 1, 64 << 10, &faults_));
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
