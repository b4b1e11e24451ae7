#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include "base/check.h"
#include "storage/buffer_manager.h"
#include "storage/buffered_chunk.h"
#include "storage/chunk_reader.h"
#include "workloads/scan/scan_measurement_parts.h"

namespace diptych::workloads::scan {

using base::Result;
using storage::kVectorRows;

namespace {

constexpr uint32_t kReadDepth = 32;  // as the buffer manager's
constexpr size_t kRawArenaBytes = size_t{64} << 20;

// The chunks by the reader alone. Their bytes.
Result<uint64_t> read_raw(const std::vector<storage::ChunkAddress>& chunks,
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

// Where the wanted columns of the table's blocks lie in the file.
Result<void> add_chunks(storage::Table* table,
                        const std::function<bool(const base::ColumnSchema&)>& wanted,
                        std::vector<storage::ChunkAddress>* chunks) {
  const std::vector<base::ColumnSchema>& columns = table->schema().columns;
  const auto saved = table->save();
  if (!saved.ok()) return saved.error();
  for (const storage::SavedPartition& partition : saved->partitions) {
    for (const storage::SavedLeaf& leaf : partition) {
      if (leaf.form != storage::SavedForm::kBlock) continue;
      for (size_t c = 0; c < columns.size(); ++c) {
        if (wanted(columns[c])) chunks->push_back(leaf.columns[c].chunk.address);
      }
    }
  }
  return {};
}

}  // namespace

Result<uint64_t> ScanMeasurement::Parts::read_file(const std::vector<BlockColumn>& all) {
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
      const uint64_t of_view = sum_vector(view, all[i].kind);
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

Result<ScanSpeed> ScanMeasurement::read_blocks(
    std::span<const base::TableId> tables,
    const std::function<bool(const base::ColumnSchema&)>& wanted, double seconds,
    const OtherReader& other) {
  std::vector<BlockColumn> columns;
  std::vector<storage::ChunkAddress> chunks;
  for (const base::TableId id : tables) {
    const base::TableSchema& schema = parts_->table(id).schema();
    parts_->for_blocks(id, [&](const storage::Leaf& leaf) {
      for (uint16_t c = 0; c < schema.columns.size(); ++c) {
        if (!wanted(schema.columns[c])) continue;
        columns.push_back(
            {&leaf, base::ColumnId(c), storage::encoding::value_kind(schema.columns[c].type)});
      }
    });
    const auto added = add_chunks(&parts_->table(id), wanted, &chunks);
    if (!added.ok()) return added.error();
  }
  DIPTYCH_CHECK(columns.size() == chunks.size(), "a column of a block has a chunk");
  storage::BufferManager& buffers = *parts_->access.replica().buffers();
  uint64_t chunk_pages = 0;
  for (const storage::ChunkAddress& chunk : chunks) chunk_pages += chunk.pages();
  const size_t block_bytes =
      chunk_pages / std::max<size_t>(1, chunks.size()) * storage::kFilePageBytes;
  // Made once: its memory is zeroed by the system when it is registered.
  storage::ChunkArena arena(kRawArenaBytes, parts_->access.placement().node);
  storage::ChunkReader reader(&buffers.file(), &arena, kReadDepth);
  PassSpeeds speeds;
  Yardstick others;
  std::vector<double> decoded;
  ScanSpeed speed;
  const uint64_t start = base::steady_ns();
  do {
    buffers.evict_all();
    const uint64_t read_before = buffers.figures().bytes_read;
    const uint64_t pass_start = base::steady_ns();
    const auto pass = parts_->read_file(columns);
    const double pass_seconds = base::seconds_since(pass_start);
    if (!pass.ok()) return pass.error();
    speed.bytes = buffers.figures().bytes_read - read_before;
    const double scanned = static_cast<double>(speed.bytes) / pass_seconds;
    decoded.push_back(static_cast<double>(*pass) / pass_seconds);
    const uint64_t raw_start = base::steady_ns();
    const auto raw = read_raw(chunks, &reader);
    if (!raw.ok()) return raw.error();
    speed.reference_bytes = *raw;
    speeds.add(scanned, static_cast<double>(*raw) / base::seconds_since(raw_start));
    if (!speed.other_error.empty()) continue;
    const auto read = other(buffers.file().path(), block_bytes, kReadDepth);
    if (read.ok()) others.add(scanned, *read);
    if (!read.ok()) speed.other_error = read.error().message;
  } while (base::seconds_since(start) < seconds);
  speeds.report(&speed);
  speed.decoded = median_of(std::move(decoded));
  speed.other = others.reference();
  speed.other_share = others.share();
  speed.other_share_min = others.share_min();
  return speed;
}

}  // namespace diptych::workloads::scan
