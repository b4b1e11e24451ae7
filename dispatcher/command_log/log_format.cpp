#include "dispatcher/command_log/log_format.h"

#include <algorithm>
#include <cstring>
#include <string>

#include <fmt/format.h>
#include <xxhash.h>

#include "base/alignment.h"
#include "base/check.h"

namespace diptych::dispatcher {
namespace {

constexpr uint64_t kFileMagic = 0x474f4c444d435444;  // "DTCMDLOG"
constexpr uint32_t kFrameMagic = 0x52475444;         // "DTGR"
constexpr uint32_t kVersion = 4;
constexpr uint32_t kOldestVersion = 3;  // that is read
constexpr size_t kHeaderEnd = 56;       // of what is no zero, but for the checksum
constexpr size_t kHeaderChecksumAt = kLogHeaderBytes - 8;
constexpr size_t kFrameChecksumAt = 24;
constexpr size_t kKeptBytesMax = size_t{32} << 20;  // of memory, from group to group
constexpr size_t kBatchBytes = 16;
constexpr size_t kCallBytes = 32;
constexpr size_t kRunBytes = 16;

base::Error corrupt(std::string_view what) {
  return {base::ErrorCode::kCorrupt, std::string(what)};
}

template <class Number>
Number number_at(std::span<const std::byte> bytes, size_t at) {
  Number number;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

template <class Number>
void put_at(std::vector<std::byte>* bytes, size_t at, Number number) {
  std::memcpy(bytes->data() + at, &number, sizeof number);
}

bool is_read(uint32_t version) {
  return version >= kOldestVersion && version <= kVersion;
}

// A number of a frame's header: its lower bits and its upper ones lie apart.
uint64_t size_at(std::span<const std::byte> frame, size_t low_at, size_t high_at) {
  return number_at<uint32_t>(frame, low_at) | uint64_t{number_at<uint16_t>(frame, high_at)} << 32;
}

void put_size_at(std::vector<std::byte>* frame, size_t low_at, size_t high_at, size_t size) {
  put_at(frame, low_at, static_cast<uint32_t>(size));
  put_at(frame, high_at, static_cast<uint16_t>(size >> 32));
}

uint64_t frame_bytes_at(std::span<const std::byte> frame) {
  return size_at(frame, 4, 20);
}

// Of all but the checksum itself.
uint64_t frame_checksum(std::span<const std::byte> frame, uint64_t file_number) {
  const uint64_t head = XXH3_64bits_withSeed(frame.data(), kFrameChecksumAt, file_number);
  return XXH3_64bits_withSeed(frame.data() + kFrameHeaderBytes, frame.size() - kFrameHeaderBytes,
                              head);
}

// Takes numbers and bytes from the front; once something is missing, all is.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : left_(bytes) {}

  bool failed() const { return failed_; }
  size_t left() const { return left_.size(); }
  std::span<const std::byte> take(size_t count) {
    if (failed_ || count > left_.size()) {
      failed_ = true;
      return {};
    }
    const auto taken = left_.first(count);
    left_ = left_.subspan(count);
    return taken;
  }
  template <class Number>
  Number number() {
    const auto bytes = take(sizeof(Number));
    return failed_ ? Number{} : number_at<Number>(bytes, 0);
  }
  uint64_t varint() {
    uint64_t value = 0;
    for (uint32_t shift = 0; shift < 64; shift += 7) {
      const auto byte = number<uint8_t>();
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    failed_ = true;
    return 0;
  }

 private:
  std::span<const std::byte> left_;
  bool failed_ = false;
};

uint64_t zigzag(int64_t value) {
  return static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63);
}

uint64_t unzigzag(uint64_t value) {
  return value >> 1 ^ (~(value & 1) + 1);
}

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

base::Result<void> read_call(ByteReader reader, const FrameVisitor& visitor, LoggedCall* call) {
  call->procedure = reader.number<uint32_t>();
  call->now.micros = reader.number<int64_t>();
  call->random_seed = reader.number<uint64_t>();
  const auto lag = reader.number<uint32_t>();
  const auto rows = reader.number<uint32_t>();
  if (reader.failed() || lag >= call->commit_vid.value) return corrupt("a call is cut short");
  call->read_vid = base::Vid(call->commit_vid.value - 1 - lag);
  const LoggedProcedure* const procedure = visitor.find(call->procedure);
  if (procedure == nullptr) {
    return corrupt(fmt::format("a call of procedure {}, which is not defined", call->procedure));
  }
  call->arguments = reader.take(procedure->argument_bytes);
  call->texts.clear();
  for (uint32_t i = 0; i < procedure->texts && !reader.failed(); ++i) {
    const auto bytes = reader.number<uint32_t>();
    if (bytes == UINT32_MAX) {
      call->texts.emplace_back();
    } else {
      call->texts.emplace_back(as_text(reader.take(bytes)));
    }
  }
  call->inserted.clear();
  uint64_t next = 0;
  if (rows > reader.left()) return corrupt("a call is cut short");
  for (uint32_t i = 0; i < rows && !reader.failed(); ++i) {
    next += unzigzag(reader.varint());
    call->inserted.emplace_back(next++);
  }
  if (reader.failed() || reader.left() != 0) return corrupt("a call does not fit its bytes");
  return {};
}

base::Result<void> read_definitions(ByteReader reader, FrameVisitor* visitor) {
  while (reader.left() >= FrameWriter::kDefinitionBytes) {
    LoggedProcedure procedure;
    procedure.id = reader.number<uint32_t>();
    const auto name_bytes = reader.number<uint32_t>();
    procedure.argument_bytes = reader.number<uint32_t>();
    procedure.texts = reader.number<uint32_t>();
    procedure.signature = reader.number<uint64_t>();
    procedure.version = reader.number<uint64_t>();
    if (name_bytes == 0) break;  // the zeroes at the end
    procedure.name = as_text(reader.take(name_bytes));
    if (reader.failed()) return corrupt("a procedure's definition is cut short");
    if (auto defined = visitor->define(procedure); !defined) return defined;
  }
  return {};
}

// Where the definitions begin.
base::Result<size_t> definitions_of(const Frame& frame) {
  const uint64_t definitions = size_at(frame.bytes, 16, 22);
  if (definitions < kFrameHeaderBytes || definitions > frame.bytes.size()) {
    return corrupt("the definitions lie outside of the frame");
  }
  return definitions;
}

struct BatchHeader {
  uint32_t transactions = 0;
  uint32_t runs = 0;
  base::Vid start;
  base::Vid last() const { return base::Vid(start.value + transactions); }
};

base::Result<BatchHeader> read_batch(ByteReader* reader) {
  BatchHeader batch;
  batch.transactions = reader->number<uint32_t>();
  batch.runs = reader->number<uint32_t>();
  batch.start = base::Vid(reader->number<uint64_t>());
  // An update record is shorter than a call, but not by much.
  const size_t least = batch.runs == 0 ? kCallBytes : sizeof(propagation::UpdateRecord);
  if (reader->failed() || batch.transactions == 0 ||
      batch.start.value > UINT64_MAX - batch.transactions ||
      batch.transactions > reader->left() / least) {
    return corrupt(fmt::format("a batch of {} transactions", batch.transactions));
  }
  return batch;
}

base::Result<void> visit_calls(const BatchHeader& batch, ByteReader* reader,
                               FrameVisitor* visitor) {
  LoggedCall call;
  for (uint32_t i = 1; i <= batch.transactions; ++i) {
    const auto bytes = reader->number<uint32_t>();
    if (bytes < kCallBytes) return corrupt("a call is shorter than any");
    const ByteReader own(reader->take(bytes - sizeof bytes));
    if (reader->failed()) return corrupt("a call is cut short");
    call.commit_vid = base::Vid(batch.start.value + i);
    if (auto read = read_call(own, *visitor, &call); !read) return read;
    if (auto visited = visitor->visit(call); !visited) return visited;
  }
  return {};
}

base::Result<propagation::RecordRun> read_run(const BatchHeader& batch, ByteReader* reader) {
  propagation::RecordRun run;
  const auto table = reader->number<uint32_t>();
  static_cast<void>(reader->number<uint32_t>());
  const auto bytes = reader->number<uint64_t>();
  run.records = reader->take(bytes);
  if (reader->failed()) return corrupt("a run of updates is cut short");
  run.table = base::TableId(table);
  if (auto checked = propagation::check_records(run.records, batch.start, batch.last()); !checked) {
    return checked.error();
  }
  return run;
}

base::Result<void> visit_runs(const BatchHeader& batch, ByteReader* reader, FrameVisitor* visitor) {
  for (uint32_t i = 0; i < batch.runs; ++i) {
    const auto run = read_run(batch, reader);
    if (!run) return run.error();
    if (auto visited = visitor->visit_updates(*run); !visited) return visited;
  }
  return {};
}

void append_bytes(std::vector<std::byte>* to, std::span<const std::byte> bytes) {
  to->insert(to->end(), bytes.begin(), bytes.end());
}

base::Result<void> keep_calls(const BatchHeader& batch, base::Vid last, ByteReader* reader,
                              std::vector<std::byte>* kept) {
  for (uint64_t i = 1; i <= batch.transactions; ++i) {
    const auto bytes = reader->number<uint32_t>();
    if (bytes < kCallBytes) return corrupt("a call is shorter than any");
    const auto call = reader->take(bytes - sizeof bytes);
    if (reader->failed()) return corrupt("a call is cut short");
    if (batch.start.value + i > last.value) continue;
    append_bytes(kept, std::as_bytes(std::span(&bytes, 1)));
    append_bytes(kept, call);
  }
  return {};
}

// Runs are in the order of their VIDs.
base::Result<void> keep_runs(const BatchHeader& batch, base::Vid last, ByteReader* reader,
                             std::vector<std::byte>* kept) {
  for (uint32_t i = 0; i < batch.runs; ++i) {
    const auto run = read_run(batch, reader);
    if (!run) return run.error();
    size_t end = 0;
    propagation::for_each_record(run->records, [&](const propagation::UpdateRecord& record) {
      if (record.vid <= last) end += record.bytes;
    });
    const size_t begin = kept->size();
    kept->resize(begin + kRunBytes);
    put_at(kept, begin, uint32_t{run->table.value});
    put_at(kept, begin + 8, uint64_t{end});
    append_bytes(kept, run->records.first(end));
  }
  return {};
}

base::Result<void> skip_runs(const BatchHeader& batch, ByteReader* reader) {
  for (uint32_t i = 0; i < batch.runs; ++i) {
    if (auto run = read_run(batch, reader); !run) return run.error();
  }
  return {};
}

// Makes the header of what begins with one, and fills up to whole sectors.
void seal_frame(std::vector<std::byte>* bytes, size_t definitions, uint64_t file_number,
                uint64_t sequence) {
  bytes->resize(base::round_up(bytes->size(), kLogSectorBytes));
  // Which would pass for one of one sector.
  const bool is_long = bytes->size() > kLogSectorBytes;
  if (is_long && static_cast<uint32_t>(bytes->size()) == kLogSectorBytes) {
    bytes->resize(bytes->size() + kLogSectorBytes);
  }
  DIPTYCH_CHECK(bytes->size() <= kFrameBytesMax, "no memory has so many bytes");
  put_at(bytes, 0, kFrameMagic);
  put_size_at(bytes, 4, 20, bytes->size());
  put_at(bytes, 8, sequence);
  put_size_at(bytes, 16, 22, definitions);
  put_at(bytes, kFrameChecksumAt, frame_checksum(*bytes, file_number));
}

}  // namespace

bool all_zero(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

std::vector<std::byte> header_bytes(const LogFileHeader& header) {
  std::vector<std::byte> bytes(kLogHeaderBytes);
  put_at(&bytes, 0, kFileMagic);
  put_at(&bytes, 8, kVersion);
  put_at(&bytes, 16, header.number);
  put_at(&bytes, 24, header.start.value);
  put_at(&bytes, 32, header.first_sequence);
  put_at(&bytes, 40, header.file_bytes);
  put_at(&bytes, 48, header.database_id);
  put_at(&bytes, kHeaderChecksumAt, uint64_t{XXH3_64bits(bytes.data(), kHeaderChecksumAt)});
  return bytes;
}

base::Result<LogFileHeader> read_header(std::span<const std::byte> bytes) {
  if (bytes.size() < kLogHeaderBytes) return corrupt("too short for a header");
  if (number_at<uint64_t>(bytes, 0) != kFileMagic) return corrupt("no header of a command log");
  if (number_at<uint64_t>(bytes, kHeaderChecksumAt) !=
      XXH3_64bits(bytes.data(), kHeaderChecksumAt)) {
    return corrupt("the header's checksum is wrong");
  }
  if (const auto version = number_at<uint32_t>(bytes, 8); !is_read(version)) {
    return base::Error(base::ErrorCode::kUnsupported,
                       fmt::format("version {}, this program reads versions {} to {}; use the "
                                   "program that wrote it",
                                   version, kOldestVersion, kVersion));
  }
  return LogFileHeader{.number = number_at<uint64_t>(bytes, 16),
                       .start = base::Vid(number_at<uint64_t>(bytes, 24)),
                       .first_sequence = number_at<uint64_t>(bytes, 32),
                       .file_bytes = number_at<uint64_t>(bytes, 40),
                       .database_id = number_at<uint64_t>(bytes, 48)};
}

bool is_never_begun(std::span<const std::byte> file, uint64_t number) {
  if (all_zero(file)) return true;
  if (file.size() < kLogHeaderBytes || !all_zero(file.subspan(kLogHeaderBytes))) return false;
  const auto first = file.first(kLogSectorBytes);
  const auto last = file.first(kLogHeaderBytes).last(kLogSectorBytes);
  const auto between = file.first(kLogHeaderBytes - kLogSectorBytes).subspan(kLogSectorBytes);
  if (!all_zero(between) || !all_zero(last.first(kLogSectorBytes - 8))) return false;
  // With both the header is whole, and is one or is damaged.
  if (all_zero(first)) return true;
  return all_zero(last) && number_at<uint64_t>(first, 0) == kFileMagic &&
         is_read(number_at<uint32_t>(first, 8)) && number_at<uint32_t>(first, 12) == 0 &&
         number_at<uint64_t>(first, 16) == number && all_zero(first.subspan(kHeaderEnd));
}

void FrameWriter::clear() {
  if (bytes_.capacity() > kKeptBytesMax) bytes_ = std::vector<std::byte>();
  bytes_.assign(kFrameHeaderBytes, std::byte{0});
  batch_ = 0;
  definitions_ = 0;
}

void FrameWriter::put(const void* data, size_t bytes) {
  const auto* const from = static_cast<const std::byte*>(data);
  bytes_.insert(bytes_.end(), from, from + bytes);
}

void FrameWriter::begin_batch(base::Vid start) {
  DIPTYCH_CHECK(definitions_ == 0, "definitions come last");
  batch_ = bytes_.size();
  put(uint32_t{0});
  put(uint32_t{0});
  put(start.value);
}

void FrameWriter::add(uint32_t procedure, base::Timestamp now, uint64_t random_seed,
                      base::Vid read_vid, base::Vid commit_vid,
                      std::span<const std::byte> arguments, std::span<const oltp::TextCell> texts,
                      std::span<const base::RowId> inserted) {
  const auto transactions = number_at<uint32_t>(bytes_, batch_) + 1;
  DIPTYCH_CHECK(commit_vid.value == number_at<uint64_t>(bytes_, batch_ + 8) + transactions,
                "the log has every VID, in order");
  put_at(&bytes_, batch_, transactions);
  const size_t begin = bytes_.size();
  put(uint32_t{0});
  put(procedure);
  put(now.micros);
  put(random_seed);
  put(static_cast<uint32_t>(commit_vid.value - 1 - read_vid.value));
  put(static_cast<uint32_t>(inserted.size()));
  put(arguments.data(), arguments.size());
  for (const oltp::TextCell& cell : texts) {
    const bool null = cell.null_offset && arguments[*cell.null_offset] != std::byte{0};
    const auto text = null ? base::Text() : number_at<base::Text>(arguments, cell.offset);
    put(null ? UINT32_MAX : text.size);
    put(text.data, text.size);
  }
  put_row_ids(inserted);
  put_at(&bytes_, begin, static_cast<uint32_t>(bytes_.size() - begin));
}

void FrameWriter::add_updates(uint32_t transactions, std::span<const propagation::RecordRun> runs) {
  DIPTYCH_CHECK(!runs.empty(), "a transaction that commits has changed something");
  put_at(&bytes_, batch_, transactions);
  put_at(&bytes_, batch_ + 4, static_cast<uint32_t>(runs.size()));
  for (const propagation::RecordRun& run : runs) {
    put(uint32_t{run.table.value});
    put(uint32_t{0});
    put(uint64_t{run.records.size()});
    put(run.records.data(), run.records.size());
  }
}

void FrameWriter::put_row_ids(std::span<const base::RowId> rows) {
  uint64_t next = 0;
  for (const base::RowId row_id : rows) {
    uint64_t left = zigzag(static_cast<int64_t>(row_id.value - next));
    for (; left >= 0x80; left >>= 7) put(static_cast<uint8_t>(left | 0x80));
    put(static_cast<uint8_t>(left));
    next = row_id.value + 1;
  }
}

void FrameWriter::define(const LoggedProcedure& procedure) {
  DIPTYCH_CHECK(!procedure.name.empty(), "a procedure has a name");
  if (definitions_ == 0) definitions_ = bytes_.size();
  put(procedure.id);
  put(static_cast<uint32_t>(procedure.name.size()));
  put(procedure.argument_bytes);
  put(procedure.texts);
  put(procedure.signature);
  put(procedure.version);
  put(procedure.name.data(), procedure.name.size());
}

std::span<const std::byte> FrameWriter::seal(uint64_t file_number, uint64_t sequence) {
  if (definitions_ == 0) definitions_ = bytes_.size();
  seal_frame(&bytes_, definitions_, file_number, sequence);
  return bytes_;
}

std::optional<Frame> frame_at(std::span<const std::byte> file, size_t at, uint64_t file_number) {
  if (at > file.size() || file.size() - at < kFrameHeaderBytes) return std::nullopt;
  const auto rest = file.subspan(at);
  if (number_at<uint32_t>(rest, 0) != kFrameMagic) return std::nullopt;
  const uint64_t bytes = frame_bytes_at(rest);
  if (bytes < kFrameHeaderBytes || bytes % kLogSectorBytes != 0 || bytes > rest.size()) {
    return std::nullopt;
  }
  const auto frame = rest.first(bytes);
  if (number_at<uint64_t>(frame, kFrameChecksumAt) != frame_checksum(frame, file_number)) {
    return std::nullopt;
  }
  return Frame{.sequence = number_at<uint64_t>(frame, 8), .bytes = frame};
}

bool is_one_sector_frame(std::span<const std::byte> file, size_t at) {
  if (at > file.size() || file.size() - at < kLogSectorBytes) return false;
  const auto sector = file.subspan(at, kLogSectorBytes);
  return number_at<uint32_t>(sector, 0) == kFrameMagic &&
         number_at<uint32_t>(sector, 4) == kLogSectorBytes;  // a longer frame has others there
}

base::Result<void> visit_frame(const Frame& frame, FrameVisitor* visitor) {
  const auto definitions = definitions_of(frame);
  if (!definitions) return definitions.error();
  const auto defined = read_definitions(ByteReader(frame.bytes.subspan(*definitions)), visitor);
  if (!defined) return defined;
  ByteReader reader(frame.bytes.first(*definitions).subspan(kFrameHeaderBytes));
  while (reader.left() >= kBatchBytes) {
    const auto batch = read_batch(&reader);
    if (!batch) return batch.error();
    auto visited = visitor->begin_batch(batch->start, batch->transactions);
    if (visited) {
      visited = batch->runs == 0 ? visit_calls(*batch, &reader, visitor)
                                 : visit_runs(*batch, &reader, visitor);
    }
    if (visited) visited = visitor->end_batch();
    if (!visited) return visited;
  }
  if (reader.left() != 0) return corrupt("a batch is cut short");
  return {};
}

base::Result<base::Vid> last_vid_of(const Frame& frame) {
  const auto definitions = definitions_of(frame);
  if (!definitions) return definitions.error();
  ByteReader reader(frame.bytes.first(*definitions).subspan(kFrameHeaderBytes));
  base::Vid last;
  std::vector<std::byte> nothing;
  while (reader.left() >= kBatchBytes) {
    const auto batch = read_batch(&reader);
    if (!batch) return batch.error();
    last = batch->last();
    const auto passed = batch->runs == 0 ? keep_calls(*batch, batch->start, &reader, &nothing)
                                         : skip_runs(*batch, &reader);
    if (!passed) return passed.error();
  }
  return last;
}

base::Result<std::vector<std::byte>> frame_up_to(const Frame& frame, base::Vid last,
                                                 uint64_t file_number) {
  const auto definitions = definitions_of(frame);
  if (!definitions) return definitions.error();
  ByteReader reader(frame.bytes.first(*definitions).subspan(kFrameHeaderBytes));
  std::vector<std::byte> kept(frame.bytes.begin(), frame.bytes.begin() + kFrameHeaderBytes);
  while (reader.left() >= kBatchBytes) {
    const auto batch = read_batch(&reader);
    if (!batch) return batch.error();
    if (batch->start >= last) break;
    const uint64_t room = last.value - batch->start.value;
    const size_t begin = kept.size();
    kept.resize(begin + kBatchBytes);
    put_at(&kept, begin, static_cast<uint32_t>(std::min<uint64_t>(room, batch->transactions)));
    put_at(&kept, begin + 4, batch->runs);
    put_at(&kept, begin + 8, batch->start.value);
    const auto copied = batch->runs == 0 ? keep_calls(*batch, last, &reader, &kept)
                                         : keep_runs(*batch, last, &reader, &kept);
    if (!copied) return copied.error();
  }
  if (kept.size() == kFrameHeaderBytes) return std::vector<std::byte>();
  const size_t kept_definitions = kept.size();
  const auto names = frame.bytes.subspan(*definitions);
  kept.insert(kept.end(), names.begin(), names.end());
  seal_frame(&kept, kept_definitions, file_number, frame.sequence);
  return kept;
}

}  // namespace diptych::dispatcher
