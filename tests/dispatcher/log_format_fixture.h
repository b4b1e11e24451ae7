// A log that a test writes frame by frame, and reads.

#pragma once

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "dispatcher/command_log/log_file.h"
#include "dispatcher/command_log/log_reader.h"
#include "tests/dispatcher/bank_fixture.h"

namespace diptych::dispatcher {

inline constexpr uint32_t kTextProcedure = 3;
inline constexpr uint32_t kPlainProcedure = 9;

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
  static constexpr size_t kFileBytes = 64 << 10;

  LogFormat() { std::filesystem::create_directory(path()); }

  void begin_file(uint64_t number, uint64_t start, uint64_t sequence) {
    file_ = *LogFile::prepare({path(), database_id_}, number, kFileBytes, &faults_);
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
      const oltp::TextCell cell{0, offsetof(TextArguments, is_null)};
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
    auto contents = scan_log(path(), base::Vid(after), database_id_);
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

  uint64_t database_id_ = 0;
  DiskFaults faults_;
  LogRing ring_{LogWay::kRing};
  std::unique_ptr<LogFile> file_;
  uint64_t sequence_ = 1;
  std::vector<size_t> frame_begins_;
  LogContents contents_;
};

}  // namespace diptych::dispatcher
