// A command log that is accepted is read to its end, call by call, and the same twice. Input: a
// frame, whatever its checksum says; and again, as the files of a directory, one after the other,
// each with its length in front, and then the VID after which the log is read (none: all of it);
// these as they are, and under checksums and sequence numbers that are right.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "base/check.h"
#include "dispatcher/command_log/log_file.h"
#include "dispatcher/command_log/log_reader.h"
#include "tests/fuzz/signing.h"
#include "tests/temporary_directory.h"

namespace diptych::dispatcher {
namespace {

constexpr size_t kFilesMax = 3;

// Touches every byte that it is handed.
class Reader : public FrameVisitor {
 public:
  base::Result<void> define(const LoggedProcedure& procedure) override {
    if (procedures_.size() == kProceduresMax) procedures_.clear();
    names_.push_back(std::string(procedure.name));
    procedures_.push_back(procedure);
    return {};
  }
  const LoggedProcedure* find(uint32_t procedure) const override {
    const auto found =
        std::find_if(procedures_.begin(), procedures_.end(),
                     [&](const LoggedProcedure& each) { return each.id == procedure; });
    return found == procedures_.end() ? nullptr : &*found;
  }
  base::Result<void> begin_batch(base::Vid start, uint32_t transactions) override {
    start_ = start.value;
    last_ = start.value + transactions;
    calls_ = transactions;
    has_updates_ = false;
    return {};
  }
  base::Result<void> visit(LoggedCall& call) override {
    DIPTYCH_CHECK(call.commit_vid.value <= last_ && call.read_vid < call.commit_vid,
                  "a call reads before it commits, inside of its batch");
    for (const std::byte byte : call.arguments) sum_ += static_cast<uint8_t>(byte);
    for (const auto& text : call.texts) {
      if (text) {
        for (const char c : *text) sum_ += static_cast<uint8_t>(c);
      }
    }
    for (const base::RowId row : call.inserted) sum_ += row.value;
    --calls_;
    return {};
  }
  base::Result<void> visit_updates(const propagation::RecordRun& run) override {
    has_updates_ = true;
    propagation::for_each_record(run.records, [&](const propagation::UpdateRecord& record) {
      DIPTYCH_CHECK(record.vid.value > start_ && record.vid.value <= last_,
                    "a batch has the updates of its own transactions");
      for (const std::byte byte : std::span(record.body(), record.bytes - sizeof record)) {
        sum_ += static_cast<uint8_t>(byte);
      }
    });
    return {};
  }
  base::Result<void> end_batch() override {
    DIPTYCH_CHECK(has_updates_ || calls_ == 0, "a batch has the calls that it says");
    return {};
  }
  uint64_t sum() const { return sum_; }

 private:
  static constexpr size_t kProceduresMax = 64;
  std::vector<LoggedProcedure> procedures_;
  std::vector<std::string> names_;
  uint64_t start_ = 0;
  uint64_t last_ = 0;
  uint64_t calls_ = 0;
  bool has_updates_ = false;
  uint64_t sum_ = 0;
};

void check_refusal(const base::Error& error) {
  DIPTYCH_CHECK(
      error.code == base::ErrorCode::kCorrupt || error.code == base::ErrorCode::kUnsupported,
      "damage is kCorrupt, another version kUnsupported");
  DIPTYCH_CHECK(!error.message.empty(), "damage is described");
}

// The input as one frame, whatever its checksum says.
void check_frame(std::span<const std::byte> bytes) {
  if (bytes.size() < kFrameHeaderBytes) return;
  Reader first;
  Reader second;
  const Frame frame{.sequence = 1, .bytes = bytes};
  const auto visited = visit_frame(frame, &first);
  if (!visited) return check_refusal(visited.error());
  DIPTYCH_CHECK(visit_frame(frame, &second).ok() && first.sum() == second.sum(),
                "what was read is read again");
  const auto last = last_vid_of(frame);
  DIPTYCH_CHECK(last.ok(), "what was visited can be walked through");
  for (const uint64_t vid : {uint64_t{0}, last->value / 2, last->value - 1, last->value}) {
    const auto cut = frame_up_to(frame, base::Vid(vid), 1);
    if (!cut) {
      check_refusal(cut.error());
      continue;
    }
    DIPTYCH_CHECK(cut->empty() || frame_at(*cut, 0, 1), "a frame that was cut is one");
  }
}

void check_log(const std::string& directory, base::Vid after) {
  const auto contents = scan_log(directory, after);
  if (!contents) return check_refusal(contents.error());
  const auto all = scan_log(directory, base::Vid(0));
  DIPTYCH_CHECK(!all || contents->last == std::max(after, all->last),
                "a log that is whole from its beginning ends where it ends");
  uint64_t transactions = 0;
  const auto read = read_calls(*contents, after, [&](LoggedBatch& batch) {
    DIPTYCH_CHECK(batch.last > after, "what comes before is not handed out");
    transactions += batch.last.value - batch.start.value;
    DIPTYCH_CHECK(
        !batch.updates.empty() || batch.calls.size() == batch.last.value - batch.start.value,
        "a batch has calls or updates");
    return base::Result<void>();
  });
  DIPTYCH_CHECK(read.ok() && transactions == contents->transactions, "what was scanned is read");
  DIPTYCH_CHECK(trim_log(directory, *contents).ok(), "a tail can be cut");
  for (const LogFileFound& file : contents->files) {
    DIPTYCH_CHECK(std::filesystem::file_size(file.path) >= file.header.file_bytes,
                  "a file keeps the size that its header has");
  }
  const auto again = scan_log(directory, after);
  DIPTYCH_CHECK(again.ok() && again->last == contents->last && !again->torn,
                "what is left is whole, and the same");
}

enum class Signed : uint8_t { kAsTheyAre, kAnew };

void check_files(std::span<const std::byte> bytes, Signed are_signed) {
  static const diptych::test::TemporaryDirectory directory;
  std::error_code ignored;
  for (uint64_t number = 1; number <= kFilesMax; ++number) {
    std::filesystem::remove(log_file_path(directory.path(), number), ignored);
  }
  for (uint64_t number = 1; number <= kFilesMax && bytes.size() >= 4; ++number) {
    uint32_t size = 0;
    std::memcpy(&size, bytes.data(), sizeof size);
    bytes = bytes.subspan(4);
    const size_t taken = std::min<size_t>(size, bytes.size());
    std::string file(reinterpret_cast<const char*>(bytes.data()), taken);
    if (are_signed == Signed::kAnew) fuzz::sign_log_file(&file);
    diptych::test::write_bytes(log_file_path(directory.path(), number), file);
    bytes = bytes.subspan(taken);
  }
  uint64_t vid = 0;
  if (!bytes.empty()) std::memcpy(&vid, bytes.data(), std::min(sizeof vid, bytes.size()));
  check_log(directory.path(), base::Vid(vid));
}

}  // namespace
}  // namespace diptych::dispatcher

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  diptych::dispatcher::check_frame(bytes);
  using diptych::dispatcher::Signed;
  diptych::dispatcher::check_files(bytes, Signed::kAsTheyAre);
  diptych::dispatcher::check_files(bytes, Signed::kAnew);
  return 0;
}
