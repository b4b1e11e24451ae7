#include "dispatcher/command_log/log_reader.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "dispatcher/command_log/log_begun.h"
#include "dispatcher/command_log/log_file.h"
#include "storage/file.h"

namespace diptych::dispatcher {
namespace {

base::Error damaged(const std::string& path, uint64_t offset, std::string_view what) {
  return {base::ErrorCode::kCorrupt,
          fmt::format("{}: byte {}: {}; restore the directory from a backup, or move this and all "
                      "later log files, and log.begun, away to go on with what was committed "
                      "before",
                      path, offset, what)};
}

base::Error newest_is_missing(const std::string& directory, uint64_t number) {
  return {base::ErrorCode::kCorrupt,
          fmt::format("{} is missing, though the log had gone on in it; put it back, restore the "
                      "directory from a backup, or remove {} to go on with what was committed "
                      "before",
                      log_file_path(directory, number), log_begun_path(directory))};
}

base::Error is_of_another_log(const std::string& directory, uint64_t number, uint64_t newest) {
  return {base::ErrorCode::kCorrupt,
          fmt::format("{} holds transactions, though the log had not gone on behind {}: it may be "
                      "left from an earlier log, or copied here; move it away to go on with what "
                      "the log has, restore the directory from a backup, or remove {} where this "
                      "file is the log's",
                      log_file_path(directory, number), log_file_path(directory, newest),
                      log_begun_path(directory))};
}

// The bytes of a file, in memory that is used again for the next one.
class FileBytes {
 public:
  // They stay until the next call.
  base::Result<std::span<const std::byte>> read(const std::string& path) {
    auto file = storage::InputFile::open(path);
    if (!file) return file.error();
    if (file->size() > capacity_) {
      capacity_ = file->size();
      memory_ = std::make_unique_for_overwrite<std::byte[]>(capacity_);
    }
    const std::span bytes(memory_.get(), file->size());
    if (auto read = file->read(bytes); !read) return read.error();
    return std::span<const std::byte>(bytes);
  }

 private:
  std::unique_ptr<std::byte[]> memory_;
  size_t capacity_ = 0;
};

// "log-0000000017.dtl" -> 17.
std::optional<uint64_t> number_of(const std::string& name) {
  if (!name.starts_with("log-") || !name.ends_with(".dtl") || name.size() < 9) return std::nullopt;
  uint64_t number = 0;
  for (const char c : name.substr(4, name.size() - 8)) {
    if (c < '0' || c > '9' || number > UINT64_MAX / 10 - 9) return std::nullopt;
    number = number * 10 + static_cast<uint64_t>(c - '0');
  }
  return number;
}

base::Result<std::vector<uint64_t>> file_numbers(const std::string& directory) {
  std::vector<uint64_t> numbers;
  std::error_code failed;
  for (std::filesystem::directory_iterator entry(directory, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    if (const auto number = number_of(entry->path().filename().string())) {
      if (log_file_path(directory, *number) == directory + "/" + entry->path().filename().string())
        numbers.push_back(*number);
    }
  }
  if (failed) return storage::system_error("read", directory, failed.value());
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

// The first whole frame from `at` on, where one with a later sequence lies.
std::optional<size_t> later_frame(std::span<const std::byte> file, size_t at, uint64_t number,
                                  uint64_t sequence) {
  for (; at + kFrameHeaderBytes <= file.size(); at += kLogSectorBytes) {
    const auto frame = frame_at(file, at, number);
    if (frame && frame->sequence >= sequence) return at;
  }
  return std::nullopt;
}

ProcedureInLog in_log(const LoggedProcedure& procedure) {
  return {std::string(procedure.name), procedure.argument_bytes, procedure.texts,
          procedure.signature,         procedure.version,        0};
}

// Collects what the scan wants of a file's frames.
class Scanner : public FrameVisitor {
 public:
  Scanner(base::Vid after, LogContents* contents) : after_(after), contents_(contents) {}

  void next_file() { defined_.clear(); }

  base::Result<void> define(const LoggedProcedure& procedure) override {
    defined_[procedure.id] = procedure;
    names_[procedure.id] = std::string(procedure.name);
    defined_[procedure.id].name = names_[procedure.id];
    return {};
  }
  const LoggedProcedure* find(uint32_t procedure) const override {
    const auto found = defined_.find(procedure);
    return found == defined_.end() ? nullptr : &found->second;
  }
  base::Result<void> begin_batch(base::Vid start, uint32_t transactions) override {
    const base::Vid last(start.value + transactions);
    wanted_ = last > after_;
    if (!wanted_) return {};
    if (start != contents_->last) {
      return base::Error(
          base::ErrorCode::kCorrupt,
          fmt::format("a batch goes on after VID {}, but what is there ends with VID {}",
                      start.value, contents_->last.value));
    }
    contents_->last = last;
    contents_->transactions += transactions;
    return {};
  }
  base::Result<void> visit(LoggedCall& call) override {
    if (!wanted_) return {};
    const LoggedProcedure& procedure = *find(call.procedure);
    for (ProcedureInLog& known : contents_->procedures) {
      if (known.name == procedure.name && known.signature == procedure.signature &&
          known.version == procedure.version) {
        ++known.calls;
        return {};
      }
    }
    contents_->procedures.push_back(in_log(procedure));
    contents_->procedures.back().calls = 1;
    return {};
  }
  base::Result<void> visit_updates(const propagation::RecordRun&) override { return {}; }
  base::Result<void> end_batch() override { return {}; }

 private:
  const base::Vid after_;
  LogContents* const contents_;
  std::map<uint32_t, LoggedProcedure> defined_;
  std::map<uint32_t, std::string> names_;
  bool wanted_ = false;
};

// The file's whole frames. False: another file may follow only where it goes on with the sequence.
base::Result<void> scan_frames(std::span<const std::byte> bytes, Scanner* scanner,
                               LogFileFound* file, LogContents* contents) {
  size_t at = kLogHeaderBytes;
  while (const auto frame = frame_at(bytes, at, file->header.number)) {
    if (frame->sequence != contents->next_sequence) {
      return damaged(
          file->path, at,
          fmt::format("frame {} follows frame {}", frame->sequence, contents->next_sequence - 1));
    }
    if (auto visited = visit_frame(*frame, scanner); !visited) {
      return damaged(file->path, at, visited.error().message);
    }
    file->last_frame = at;
    at += frame->bytes.size();
    ++contents->next_sequence;
    ++file->frames;
  }
  file->bytes = at;
  if (all_zero(bytes.subspan(std::min(at, bytes.size())))) return {};
  // A sector is written as a whole or not at all, and nothing was written behind this one.
  if (is_one_sector_frame(bytes, at) && all_zero(bytes.subspan(at + kLogSectorBytes))) {
    return damaged(file->path, at,
                   "the last frame's checksum is wrong, though it is of one sector");
  }
  if (const auto later = later_frame(bytes, at, file->header.number, contents->next_sequence)) {
    return damaged(file->path, at,
                   fmt::format("no whole frame, but one follows at byte {}", *later));
  }
  contents->torn = TornTail{file->path, at};
  return {};
}

// What is wrong with a file that has no header of its own.
std::string what_is_no_header(std::span<const std::byte> bytes,
                              const base::Result<LogFileHeader>& header) {
  if (header) return "the header is another file's";
  if (all_zero(bytes.first(std::min(bytes.size(), kLogHeaderBytes)))) return "no header";
  return header.error().message;
}

// An older program's file, or manifest, does not say its database's id.
bool is_of_another(uint64_t id_of_file, uint64_t database_id) {
  return id_of_file != 0 && database_id != 0 && id_of_file != database_id;
}

// Whether the file is one of this log, and goes on where the files before it end.
base::Result<void> check_header(const std::string& path, const LogFileHeader& header,
                                uint64_t bytes, uint64_t database_id, const LogContents& contents) {
  if (is_of_another(header.database_id, database_id)) {
    return damaged(path, 0, "the log of another database");
  }
  if (bytes < header.file_bytes) {
    return damaged(path, bytes,
                   fmt::format("it is cut off: has {} of {} bytes", bytes, header.file_bytes));
  }
  const bool is_first = contents.files.empty();
  const bool goes_on = is_first || header.first_sequence == contents.next_sequence;
  // Files are numbered one by one, so none is missing before the next number: that one is cut off.
  const bool is_next = !is_first && contents.files.back().header.number + 1 == header.number;
  if (header.start > contents.last && (goes_on || !is_next)) {
    return damaged(path, 0,
                   fmt::format("the file goes on after VID {}, but what is there ends with VID "
                               "{}: files between are missing",
                               header.start.value, contents.last.value));
  }
  if (goes_on) return {};
  return damaged(contents.files.back().path, contents.files.back().bytes,
                 fmt::format("the log ends with frame {}, but {} goes on with frame {}",
                             contents.next_sequence - 1, path, header.first_sequence));
}

base::Result<void> scan_file(const std::string& path, uint64_t number, bool may_be_unused,
                             uint64_t database_id, FileBytes* memory, Scanner* scanner,
                             LogContents* contents) {
  const auto bytes = memory->read(path);
  if (!bytes) return bytes.error();
  const auto header = read_header(*bytes);
  if (!header || header->number != number) {
    if (!header && header.code() == base::ErrorCode::kUnsupported)
      return header.error().within(path);
    // Frames come after the header is durable: without one, it was never used.
    if (may_be_unused && is_never_begun(*bytes, number)) {
      contents->unused.push_back(path);
      return {};
    }
    return damaged(path, 0, what_is_no_header(*bytes, header));
  }
  if (auto fits = check_header(path, *header, bytes->size(), database_id, *contents); !fits) {
    return fits;
  }
  LogFileFound file{.path = path, .header = *header, .file_bytes = bytes->size()};
  contents->next_sequence = header->first_sequence;
  contents->torn.reset();  // of a file that another one goes on after: it was cut then
  scanner->next_file();
  if (auto scanned = scan_frames(*bytes, scanner, &file, contents); !scanned) return scanned;
  contents->files.push_back(std::move(file));
  return {};
}

// Gathers batches for who replays them.
class BatchReader : public FrameVisitor {
 public:
  BatchReader(base::Vid after, const std::function<base::Result<void>(LoggedBatch&)>& replay)
      : after_(after), replay_(replay) {
    batch_.procedures = &defined_;
  }

  void next_file(const std::string& path) {
    defined_.clear();
    found_.clear();
    batch_.path = path;
  }

  base::Result<void> define(const LoggedProcedure& procedure) override {
    ProcedureInLog& own = defined_[procedure.id];
    own = in_log(procedure);
    LoggedProcedure& found = found_[procedure.id];
    found = procedure;
    found.name = own.name;
    return {};
  }
  const LoggedProcedure* find(uint32_t procedure) const override {
    const auto found = found_.find(procedure);
    return found == found_.end() ? nullptr : &found->second;
  }
  base::Result<void> begin_batch(base::Vid start, uint32_t transactions) override {
    wanted_ = start.value + transactions > after_.value;
    start_ = start;
    last_ = base::Vid(start.value + transactions);
    runs_.clear();
    count_ = 0;
    if (calls_.size() < transactions) calls_.resize(transactions);
    return {};
  }
  base::Result<void> visit(LoggedCall& call) override {
    if (wanted_) std::swap(calls_[count_++], call);
    return {};
  }
  base::Result<void> visit_updates(const propagation::RecordRun& run) override {
    if (wanted_) runs_.push_back(run);
    return {};
  }
  base::Result<void> end_batch() override {
    if (!wanted_) return {};
    if (!runs_.empty()) return add_updates();
    if (auto handed = hand_out_updates(); !handed) return handed;
    batch_.start = start_;
    batch_.last = last_;
    batch_.calls = std::span(calls_).first(count_);
    batch_.updates = {};
    return replay_(batch_);
  }
  base::Result<void> end_file() { return hand_out_updates(); }

 private:
  // Of updates, as many batches are handed out together: enough for several threads to share, and
  // little enough to stay in their caches.
  static constexpr size_t kUpdateBytes = size_t{1} << 20;

  base::Result<void> add_updates() {
    if (update_batches_ == 0) batch_.start = start_;
    batch_.last = last_;
    if (update_batches_ == updates_.size()) updates_.emplace_back();
    propagation::BatchRuns& added = updates_[update_batches_++];
    added.last = last_;
    std::swap(added.runs, runs_);
    for (const propagation::RecordRun& run : added.runs) update_bytes_ += run.records.size();
    return update_bytes_ < kUpdateBytes ? base::Result<void>() : hand_out_updates();
  }
  base::Result<void> hand_out_updates() {
    if (update_batches_ == 0) return {};
    batch_.calls = {};
    batch_.updates = std::span(updates_).first(update_batches_);
    update_batches_ = update_bytes_ = 0;
    return replay_(batch_);
  }

  const base::Vid after_;
  const std::function<base::Result<void>(LoggedBatch&)>& replay_;
  std::map<uint32_t, ProcedureInLog> defined_;
  std::map<uint32_t, LoggedProcedure> found_;
  LoggedBatch batch_;
  std::vector<LoggedCall> calls_;  // as many as any batch had: their memory is used again
  size_t count_ = 0;
  std::vector<propagation::BatchRuns> updates_;  // likewise
  size_t update_batches_ = 0;                    // of these, that wait to be handed out
  size_t update_bytes_ = 0;
  // The batch that is read.
  base::Vid start_;
  base::Vid last_;
  std::vector<propagation::RecordRun> runs_;
  bool wanted_ = false;
};

constexpr size_t kPieceBytes = size_t{1} << 20;

base::Result<void> write_all(int file, std::span<const std::byte> bytes, uint64_t at,
                             const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return storage::system_error("write", path, errno);
    bytes = bytes.subspan(static_cast<size_t>(written));
    at += static_cast<uint64_t>(written);
  }
  return {};
}

// Hands out the bytes [begin, end) of a file, a piece at a time, with its place.
base::Result<void> for_each_piece(
    int file, uint64_t begin, uint64_t end, const std::string& path,
    const std::function<base::Result<void>(std::span<std::byte>, uint64_t)>& body) {
  std::vector<std::byte> piece(std::min<uint64_t>(kPieceBytes, end - begin));
  while (begin < end) {
    const size_t wanted = std::min<uint64_t>(piece.size(), end - begin);
    const ssize_t read = ::pread(file, piece.data(), wanted, static_cast<off_t>(begin));
    if (read < 0 && errno == EINTR) continue;
    if (read <= 0) return storage::system_error("read", path, read < 0 ? errno : EIO);
    const auto bytes = static_cast<size_t>(read);
    if (auto done = body(std::span(piece).first(bytes), begin); !done) return done;
    begin += bytes;
  }
  return {};
}

// Of the log's last file. What is cut off becomes zeroes: the file keeps the size that its header
// has.
base::Result<void> trim_end(const LogFileFound& last, bool is_torn,
                            const storage::BeforeFileStep& before_step) {
  using storage::FileStep;
  const auto go = [&](FileStep step) { return storage::announce(before_step, step); };
  const base::Descriptor opened(::open(last.path.c_str(), O_RDWR | O_CLOEXEC));
  const int file = opened.get();
  if (file < 0) return storage::system_error("open", last.path, errno);
  // Where they are: what a cache has and the disk may not.
  const auto write_again = [&](std::span<std::byte> bytes, uint64_t at) {
    return write_all(file, bytes, at, last.path);
  };
  const auto clear = [&](std::span<std::byte> bytes, uint64_t at) -> base::Result<void> {
    if (all_zero(bytes)) return {};
    std::fill(bytes.begin(), bytes.end(), std::byte{0});
    return write_all(file, bytes, at, last.path);
  };
  auto done = go(FileStep::kWrite);
  if (done) done = for_each_piece(file, last.last_frame, last.bytes, last.path, write_again);
  if (done && is_torn) done = go(FileStep::kWrite);
  if (done && is_torn) {
    done = for_each_piece(file, last.bytes, last.file_bytes, last.path, clear);
    if (!done) done = done.error().within("the log's torn end is cut off");
  }
  if (done) done = go(FileStep::kSync);
  if (done && ::fsync(file) != 0) done = storage::system_error("sync", last.path, errno);
  return done;
}

// Nothing: the file has no header of its own.
base::Result<std::optional<LogFileHeader>> own_header(const std::string& path, uint64_t number) {
  auto file = storage::InputFile::open(path);
  if (!file) return file.error();
  std::vector<std::byte> bytes(std::min<uint64_t>(file->size(), kLogHeaderBytes));
  if (auto read = file->read(bytes); !read) return read.error();
  const auto header = read_header(bytes);
  if (!header || header->number != number) return std::optional<LogFileHeader>();
  return std::optional(*header);
}

// What log.begun says of the newest file: that one is there, and no later one has a frame, since
// the record is durable before any frame is written. Else a later file of an earlier log, whose
// VIDs the manifest has, would cover all that this log has.
base::Result<void> check_newest(const std::string& directory, const std::vector<uint64_t>& numbers,
                                uint64_t newest, uint64_t database_id) {
  if (newest == 0) return {};
  const auto found = std::ranges::lower_bound(numbers, newest);
  if (found == numbers.end() || *found != newest) return newest_is_missing(directory, newest);
  FileBytes memory;
  for (const uint64_t number : std::ranges::subrange(found + 1, numbers.end())) {
    const std::string path = log_file_path(directory, number);
    const auto header = own_header(path, number);
    if (!header) return header.error();
    // Another database's is told as that.
    if (!*header || is_of_another((*header)->database_id, database_id)) continue;
    const auto bytes = memory.read(path);
    if (!bytes) return bytes.error();
    if (!all_zero(bytes->subspan(std::min(bytes->size(), kLogHeaderBytes)))) {
      return is_of_another_log(directory, number, newest);
    }
  }
  return {};
}

}  // namespace

base::Result<LogContents> scan_log(const std::string& directory, base::Vid after,
                                   uint64_t database_id) {
  const auto numbers = file_numbers(directory);
  if (!numbers) return numbers.error();
  const auto begun = read_log_begun(directory, database_id);
  if (!begun) return begun.error();
  const uint64_t newest = begun->value_or(0);
  if (auto checked = check_newest(directory, *numbers, newest, database_id); !checked) {
    return checked.error();
  }
  LogContents contents;
  contents.last = after;
  // What a checkpoint covers is not looked into: damage there harms nobody.
  std::vector<LogFileFound> covered;
  size_t first = 0;
  for (size_t i = numbers->size(); i-- > 1;) {
    const auto header = own_header(log_file_path(directory, (*numbers)[i]), (*numbers)[i]);
    if (!header) return header.error();
    // One that is another file's says nothing of those before.
    if (!*header || (*header)->start > after) continue;
    first = i;
    break;
  }
  FileBytes memory;
  Scanner scanner(after, &contents);
  for (size_t i = first; i < numbers->size(); ++i) {
    const std::string path = log_file_path(directory, (*numbers)[i]);
    const bool is_last = i + 1 == numbers->size();
    auto scanned = scan_file(path, (*numbers)[i], is_last && (*numbers)[i] > newest, database_id,
                             &memory, &scanner, &contents);
    if (!scanned) return scanned.error();
  }
  for (const LogFileFound& file : contents.files) contents.bytes += file.bytes;
  // Those before are dropped with the first checkpoint.
  for (size_t i = 0; i < first; ++i) {
    covered.push_back({.path = log_file_path(directory, (*numbers)[i]),
                       .header = {.number = (*numbers)[i], .start = base::Vid()}});
  }
  contents.first_needed = covered.size();
  contents.files.insert(contents.files.begin(), covered.begin(), covered.end());
  if (!numbers->empty()) contents.next_number = numbers->back() + 1;
  return contents;
}

base::Result<void> read_calls(const LogContents& contents, base::Vid after,
                              const std::function<base::Result<void>(LoggedBatch&)>& replay) {
  FileBytes memory;
  BatchReader reader(after, replay);
  for (size_t i = contents.first_needed; i < contents.files.size(); ++i) {
    const LogFileFound& file = contents.files[i];
    const auto bytes = memory.read(file.path);
    if (!bytes) return bytes.error();
    reader.next_file(file.path);
    size_t at = kLogHeaderBytes;
    while (at < file.bytes) {
      const auto frame = frame_at(*bytes, at, file.header.number);
      if (!frame) return damaged(file.path, at, "it is not as it was when it was looked at first");
      if (auto visited = visit_frame(*frame, &reader); !visited) return visited;
      at += frame->bytes.size();
    }
    if (auto ended = reader.end_file(); !ended) return ended;
  }
  return {};
}

base::Result<void> trim_log(const std::string& directory, const LogContents& contents,
                            const storage::BeforeFileStep& before_step) {
  for (const std::string& path : contents.unused) {
    if (auto removed = remove_log_file(path, before_step); !removed) return removed;
  }
  if (contents.files.size() > contents.first_needed) {
    const LogFileFound& last = contents.files.back();
    auto trimmed = trim_end(last, contents.torn.has_value(), before_step);
    if (!trimmed) return trimmed;
  }
  auto may = storage::announce(before_step, storage::FileStep::kSyncDirectory);
  return may ? storage::sync_directory(directory) : may;
}

}  // namespace diptych::dispatcher
