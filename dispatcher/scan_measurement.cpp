#include "dispatcher/scan_measurement.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/arena.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/split_mix.h"
#include "dispatcher/database_state.h"
#include "storage/buffer_manager.h"
#include "storage/buffered_chunk.h"
#include "storage/chunk_reader.h"
#include "storage/compressed_block.h"
#include "storage/encoding/column.h"
#include "storage/leaf.h"
#include "storage/settling.h"

namespace diptych::dispatcher {
namespace {

using base::Result;
using storage::kVectorRows;
using storage::Leaf;

constexpr size_t kBufferBytes = size_t{256} << 20;
constexpr size_t kBufferPieceBytes = size_t{1} << 20;
constexpr uint32_t kMorselRows = 16 * kVectorRows;  // as a query's scan has them
constexpr uint32_t kReadDepth = 32;                 // as the buffer manager's
constexpr double kNanosecond = 1e-9;

struct Morsel {
  const Leaf* leaf;
  uint32_t first;
  uint32_t count;
};

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double seconds_since(uint64_t start_ns) {
  return static_cast<double>(base::steady_ns() - start_ns) * kNanosecond;
}

// Modulo 2^64, as all sums of any column: they are there so that every value is looked at.
uint64_t sum_words(const uint64_t* words, size_t count) {
  uint64_t sum = 0;
  for (size_t i = 0; i < count; ++i) sum += words[i];
  return sum;
}

// In two halves, each of which fits 32 bits for so few values: lanes need not be widened, which
// took longer than some decoding does (78 against 48 GB/s from the first-level cache).
int64_t sum_values(const int32_t* values, uint32_t count) {
  static_assert(kVectorRows <= 1U << 16, "neither half overflows");
  uint32_t low = 0;
  int32_t high = 0;
  for (uint32_t i = 0; i < count; ++i) {
    low += static_cast<uint32_t>(values[i]) & 0xffff;
    high += values[i] >> 16;
  }
  return int64_t{high} * (1 << 16) + low;
}

// The sum of a vector, nulls included (they decode to something), or of its texts' lengths.
uint64_t sum_any(const storage::ColumnView& view, storage::encoding::ValueKind kind) {
  using storage::encoding::ValueKind;
  uint64_t sum = 0;
  switch (kind) {
    case ValueKind::kInt32:
      return static_cast<uint64_t>(sum_values(view.as<int32_t>(), view.count));
    case ValueKind::kInt64:
    case ValueKind::kDouble: return sum_words(view.as<uint64_t>(), view.count);
    case ValueKind::kBoolean:
      for (uint32_t i = 0; i < view.count; ++i) sum += view.as<uint8_t>()[i];
      return sum;
    case ValueKind::kText:
      for (uint32_t i = 0; i < view.count; ++i) sum += view.as<base::StringRef>()[i].size();
      return sum;
  }
  return sum;
}

uint64_t decoded_bytes(const storage::ColumnView& view, storage::encoding::ValueKind kind,
                       uint64_t sum) {
  if (kind != storage::encoding::ValueKind::kText) {
    return view.count * storage::encoding::value_bytes(kind);
  }
  return view.count * sizeof(uint32_t) + sum;
}

// The first error of several threads.
class FirstError {
 public:
  void set(const base::Error& error) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = error;
  }
  Result<void> result() const { return error_ ? Result<void>(*error_) : Result<void>(); }

 private:
  std::mutex mutex_;
  std::optional<base::Error> error_;
};

// A column of a block, as the scan of a file goes through them.
struct BlockColumn {
  const Leaf* leaf;
  base::ColumnId column;
  storage::encoding::ValueKind kind;
};

bool has_thawed(const storage::Partition& partition, const base::TableSchema& schema) {
  for (size_t l = 0; l < partition.leaf_count(); ++l) {
    for (uint16_t c = 0; c < schema.columns.size(); ++c) {
      const Leaf& leaf = partition.leaf(l);
      if (leaf.form() == storage::LeafForm::kCompressed && leaf.storage(base::ColumnId(c)).thawed) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace

struct ScanMeasurement::Parts {
  explicit Parts(Database::State* database_state)
      : state(*database_state), held(database_state->gate.exclude()) {}

  storage::Table& table(base::TableId id) { return state.replica.table(id); }

  template <class Visit>  // of (leaf)
  void for_leaves(base::TableId id, const Visit& visit) {
    for (uint32_t p = 0; p < table(id).partition_count(); ++p) {
      const storage::Partition& partition = table(id).partition(base::PartitionId(p));
      for (size_t l = 0; l < partition.leaf_count(); ++l) visit(partition.leaf(l));
    }
  }
  std::vector<Morsel> morsels(base::TableId id) {
    std::vector<Morsel> all;
    for_leaves(id, [&](const Leaf& leaf) {
      if (leaf.form() != storage::LeafForm::kCompressed) return;
      for (uint32_t first = 0; first < leaf.row_slots(); first += kMorselRows) {
        all.push_back({&leaf, first, std::min(kMorselRows, leaf.row_slots() - first)});
      }
    });
    return all;
  }

  // body(item, its thread's buffer) once for each of `count` items, in their order, by all threads.
  using Body = std::function<void(size_t, storage::DecodeBuffer*)>;
  void share_out(size_t count, const Body& body) {
    std::atomic<size_t> next{0};
    state.executor.run_parallel(state.placement.olap.threads, [&](uint32_t) {
      storage::DecodeBuffer buffer_of_thread;
      // relaxed: it hands out numbers, nothing is read behind it.
      for (size_t i = next.fetch_add(1, std::memory_order_relaxed); i < count;
           i = next.fetch_add(1, std::memory_order_relaxed)) {
        body(i, &buffer_of_thread);
      }
    });
  }

  double read_buffer() {
    if (buffer.size() == 0) {
      buffer = base::Region(kBufferBytes, state.placement.olap.node);
      std::fill_n(buffer.data(), buffer.size(), std::byte{1});  // or all pages are one of zeroes
    }
    const uint64_t start = base::steady_ns();
    share_out(kBufferBytes / kBufferPieceBytes, [&](size_t piece, storage::DecodeBuffer*) {
      const auto* const words =
          reinterpret_cast<const uint64_t*>(buffer.data() + piece * kBufferPieceBytes);
      // relaxed: a sum that nobody waits for.
      sums.fetch_add(sum_words(words, kBufferPieceBytes / sizeof(uint64_t)),
                     std::memory_order_relaxed);
    });
    return static_cast<double>(kBufferBytes) / seconds_since(start);
  }

  Result<double> read_column(const std::vector<Morsel>& all, base::ColumnId column) {
    FirstError failed;
    const uint64_t start = base::steady_ns();
    share_out(all.size(), [&](size_t i, storage::DecodeBuffer* decoded) {
      const Morsel& morsel = all[i];
      const auto pinned = morsel.leaf->pin(column);
      if (!pinned.ok()) return failed.set(pinned.error());
      int64_t sum = 0;
      const uint32_t end = morsel.first + morsel.count;
      for (uint32_t first = morsel.first; first < end; first += kVectorRows) {
        const uint32_t count = std::min(kVectorRows, end - first);
        sum += sum_values(pinned->view(first, count, decoded).as<int32_t>(), count);
      }
      sums.fetch_add(static_cast<uint64_t>(sum), std::memory_order_relaxed);  // relaxed: as above
    });
    const double seconds = seconds_since(start);
    if (const auto read = failed.result(); !read.ok()) return read.error();
    return seconds;
  }

  // One pass over the columns of blocks, read ahead as a query's scan does. Decoded bytes.
  Result<uint64_t> read_file(const std::vector<BlockColumn>& all) {
    FirstError failed;
    std::atomic<uint64_t> decoded_bytes_read{0};
    std::mutex ahead_mutex;
    size_t ahead = 0;
    const auto reach = [&](size_t at) {
      const std::unique_lock lock(ahead_mutex, std::try_to_lock);
      if (!lock.owns_lock()) return;
      ahead = std::max(ahead, at);
      while (ahead < all.size() && all[ahead].leaf->read_ahead(all[ahead].column)) ++ahead;
    };
    share_out(all.size(), [&](size_t i, storage::DecodeBuffer* decoded) {
      reach(i);
      const auto pinned = all[i].leaf->pin(all[i].column);
      if (!pinned.ok()) return failed.set(pinned.error());
      uint64_t bytes = 0;
      uint64_t sum = 0;
      const uint32_t rows = all[i].leaf->row_slots();
      for (uint32_t first = 0; first < rows; first += kVectorRows) {
        const auto view = pinned->view(first, std::min(kVectorRows, rows - first), decoded);
        const uint64_t of_view = sum_any(view, all[i].kind);
        bytes += decoded_bytes(view, all[i].kind, of_view);
        sum += of_view;
      }
      sums.fetch_add(sum, std::memory_order_relaxed);                  // relaxed: as above
      decoded_bytes_read.fetch_add(bytes, std::memory_order_relaxed);  // relaxed: read at the end
    });
    if (const auto read = failed.result(); !read.ok()) return read.error();
    // relaxed: share_out has returned, all that was added is there.
    return decoded_bytes_read.load(std::memory_order_relaxed);
  }

  // The same chunks, by the chunk reader alone. Bytes of chunks.
  static Result<uint64_t> read_raw(const std::vector<storage::ChunkAddress>& chunks,
                                   storage::ChunkReader* reader) {
    std::vector<std::unique_ptr<storage::ChunkRead>> reads(chunks.size());
    uint64_t bytes = 0;
    const auto start = [&](size_t i) {
      reads[i] = std::make_unique<storage::ChunkRead>();
      reads[i]->address = chunks[i];
      reader->start(reads[i].get());
    };
    for (size_t i = 0; i < std::min<size_t>(kReadDepth, chunks.size()); ++i) start(i);
    for (size_t i = 0; i < chunks.size(); ++i) {
      if (const auto done = reader->wait(reads[i].get()); !done.ok()) return done.error();
      bytes += chunks[i].bytes;
      reads[i] = nullptr;
      if (i + kReadDepth < chunks.size()) start(i + kReadDepth);
    }
    return bytes;
  }

  static constexpr size_t kRawArenaBytes = size_t{64} << 20;

  Database::State& state;
  const BatchGate::Exclusive held;
  base::Region buffer;
  std::atomic<uint64_t> sums{0};  // writers: all threads; so that nothing is optimised away
};

ScanMeasurement::ScanMeasurement(Database* database)
    : parts_(std::make_unique<Parts>(database->state_.get())) {}

ScanMeasurement::~ScanMeasurement() = default;

uint32_t ScanMeasurement::threads() const {
  return parts_->state.placement.olap.threads;
}

ColumnForms ScanMeasurement::forms(base::TableId table, base::ColumnId column) const {
  ColumnForms forms;
  parts_->for_leaves(table, [&](const Leaf& leaf) {
    if (leaf.form() != storage::LeafForm::kCompressed) return;
    const storage::ColumnStorage storage = leaf.storage(column);
    forms.rows += leaf.row_slots();
    ++forms.blocks[std::string(storage.encoding)];
    forms.thawed += storage.thawed ? 1 : 0;
  });
  return forms;
}

namespace {

// What is measured beside a scan, in turns with it.
class Yardstick {
 public:
  void add(double speed, double reference) {
    references_.push_back(reference);
    shares_.push_back(speed / reference);
  }
  double reference() const { return median(references_); }
  double share() const { return median(shares_); }

 private:
  std::vector<double> references_;
  std::vector<double> shares_;
};

// A scan and its yardstick.
class Rounds {
 public:
  void add(double speed, double reference) {
    speeds_.push_back(speed);
    yardstick_.add(speed, reference);
  }
  void report(ScanSpeed* speed) const {
    speed->passes = speeds_.size();
    speed->bytes_per_second = median(speeds_);
    speed->reference = yardstick_.reference();
    speed->share = yardstick_.share();
  }

 private:
  std::vector<double> speeds_;
  Yardstick yardstick_;
};

}  // namespace

Result<ScanSpeed> ScanMeasurement::sum(base::TableId table, base::ColumnId column, double seconds) {
  const std::vector<Morsel> morsels = parts_->morsels(table);
  Rounds rounds;
  ScanSpeed speed;
  speed.reference_bytes = kBufferBytes;
  for (const Morsel& morsel : morsels) speed.bytes += morsel.count * sizeof(int32_t);
  parts_->read_buffer();  // the first touch
  const uint64_t start = base::steady_ns();
  do {
    const double memory = parts_->read_buffer();
    const auto pass = parts_->read_column(morsels, column);
    if (!pass.ok()) return pass.error();
    rounds.add(static_cast<double>(speed.bytes) / *pass, memory);
  } while (seconds_since(start) < seconds);
  rounds.report(&speed);
  return speed;
}

Result<uint64_t> ScanMeasurement::update_half(base::TableId id, base::ColumnId column,
                                              uint64_t seed) try {
  storage::Table& table = parts_->table(id);
  const base::ColumnLayout& cell = table.layout().column(column);
  int64_t least = INT32_MAX;
  int64_t largest = INT32_MIN;
  parts_->for_leaves(id, [&](const Leaf& leaf) {
    const storage::ColumnSummary summary = leaf.summary(column);
    if (!summary.known || summary.min > summary.max) return;
    least = std::min(least, summary.min);
    largest = std::max(largest, summary.max);
  });
  if (least > largest) return uint64_t{0};
  const auto span = static_cast<uint64_t>(std::min<int64_t>(largest + 1, INT32_MAX) - least + 1);
  uint64_t written = 0;
  uint64_t random = base::split_mix(seed);
  std::vector<std::byte> rows(size_t{kVectorRows} * table.layout().bytes);
  std::vector<const std::byte*> records;
  std::vector<uint32_t> ordinals;
  std::vector<storage::RowPlace> places(kVectorRows);
  for (uint32_t p = 0; p < table.partition_count(); ++p) {
    storage::Partition& partition = table.partition(base::PartitionId(p));
    const auto write = [&] {
      partition.find(ordinals, places.data());
      const auto found = std::span(places).first(ordinals.size());
      // A place that moved is found anew with the next vector.
      static_cast<void>(partition.update(found, column, records, cell.offset));
      partition.find(ordinals, places.data());
      partition.note_writes(found);
      written += ordinals.size();
      ordinals.clear();
      records.clear();
    };
    // Leaves may move where a block becomes pages: ordinals stay.
    uint64_t end = 0;
    for (size_t l = 0; l < partition.leaf_count(); ++l) {
      end = uint64_t{partition.leaf(l).first_ordinal()} + partition.leaf(l).row_slots();
    }
    for (uint32_t ordinal = 0; ordinal < end; ordinal += 2) {
      uint32_t position = 0;
      if (!partition.leaf_of(ordinal, &position).lives(position)) continue;
      std::byte* const row = rows.data() + ordinals.size() * table.layout().bytes;
      random += base::kSplitMixStep;
      const auto value =
          static_cast<int32_t>(least + static_cast<int64_t>(base::split_mix(random) % span));
      std::memcpy(row + cell.offset, &value, sizeof value);
      ordinals.push_back(ordinal);
      records.push_back(row);
      if (ordinals.size() == kVectorRows) write();
    }
    if (!ordinals.empty()) write();
  }
  return written;
} catch (const storage::ChunkFailure& failure) {
  return failure.error();
}

Result<void> ScanMeasurement::freeze(base::TableId id) try {
  storage::Table& table = parts_->table(id);
  constexpr int kQuietCallsMax = 2 * storage::CompressedBlock::kQuietLooksMax;
  for (uint32_t p = 0; p < table.partition_count(); ++p) {
    storage::Partition& partition = table.partition(base::PartitionId(p));
    // A call that found nothing quiet counts as a look, of which a column needs some.
    for (int quiet = 0; quiet < kQuietCallsMax; ++quiet) {
      if (partition.compact() != 0) quiet = 0;
      if (!has_thawed(partition, table.schema())) break;
    }
  }
  return {};
} catch (const storage::ChunkFailure& failure) {
  return failure.error();
}

Result<void> ScanMeasurement::settle(base::TableId id) try {
  storage::Table& table = parts_->table(id);
  for (uint32_t p = 0; p < table.partition_count(); ++p) {
    storage::Partition& partition = table.partition(base::PartitionId(p));
    // A call looks at some of the blocks; and a column may have been thawed before.
    const size_t rounds = partition.leaf_count() / storage::kBlocksALook + 1;
    const size_t calls = rounds * storage::kQuietFactor * 2 * storage::CompressedBlock::kQuietLooks;
    for (size_t quiet = 0; quiet < calls; ++quiet) {
      if (partition.compact() != 0) quiet = 0;
    }
  }
  return {};
} catch (const storage::ChunkFailure& failure) {
  return failure.error();
}

Result<ScanSpeed> ScanMeasurement::read_blocks(std::span<const base::TableId> tables,
                                               double seconds, const OtherReader& other) {
  std::vector<BlockColumn> columns;
  std::vector<storage::ChunkAddress> chunks;
  for (const base::TableId id : tables) {
    const base::TableSchema& schema = parts_->table(id).schema();
    parts_->for_leaves(id, [&](const Leaf& leaf) {
      if (leaf.form() != storage::LeafForm::kCompressed) return;
      for (uint16_t c = 0; c < schema.columns.size(); ++c) {
        columns.push_back(
            {&leaf, base::ColumnId(c), storage::encoding::value_kind(schema.columns[c].type)});
      }
    });
    const auto saved = parts_->table(id).save();
    if (!saved.ok()) return saved.error();
    for (const storage::SavedPartition& partition : saved->partitions) {
      for (const storage::SavedLeaf& leaf : partition) {
        if (leaf.form != storage::SavedForm::kBlock) continue;
        for (size_t c = 0; c < schema.columns.size(); ++c) {
          chunks.push_back(leaf.columns[c].chunk.address);
        }
      }
    }
  }
  DIPTYCH_CHECK(columns.size() == chunks.size(), "a column of a block has a chunk");
  storage::BufferManager& buffers = *parts_->state.replica.buffers();
  uint64_t chunk_pages = 0;
  for (const storage::ChunkAddress& chunk : chunks) chunk_pages += chunk.pages();
  const size_t block_bytes =
      chunk_pages / std::max<size_t>(1, chunks.size()) * storage::kFilePageBytes;
  // Made once: its memory is zeroed by the system when it is registered.
  storage::ChunkArena arena(Parts::kRawArenaBytes, parts_->state.placement.olap.node);
  storage::ChunkReader reader(&buffers.file(), &arena, kReadDepth);
  Rounds rounds;
  Yardstick others;
  std::vector<double> decoded;
  ScanSpeed speed;
  const uint64_t start = base::steady_ns();
  do {
    buffers.evict_all();
    const uint64_t read_before = buffers.figures().bytes_read;
    const uint64_t pass_start = base::steady_ns();
    const auto pass = parts_->read_file(columns);
    const double pass_seconds = seconds_since(pass_start);
    if (!pass.ok()) return pass.error();
    speed.bytes = buffers.figures().bytes_read - read_before;
    const double scanned = static_cast<double>(speed.bytes) / pass_seconds;
    decoded.push_back(static_cast<double>(*pass) / pass_seconds);
    const uint64_t raw_start = base::steady_ns();
    const auto raw = Parts::read_raw(chunks, &reader);
    if (!raw.ok()) return raw.error();
    speed.reference_bytes = *raw;
    rounds.add(scanned, static_cast<double>(*raw) / seconds_since(raw_start));
    if (!speed.other_error.empty()) continue;
    const auto read = other(buffers.file().path(), block_bytes, kReadDepth);
    if (read.ok()) others.add(scanned, *read);
    if (!read.ok()) speed.other_error = read.error().message;
  } while (seconds_since(start) < seconds);
  rounds.report(&speed);
  speed.decoded = median(std::move(decoded));
  speed.other = others.reference();
  speed.other_share = others.share();
  return speed;
}

}  // namespace diptych::dispatcher
