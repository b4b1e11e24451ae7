#include "workloads/scan/scan_measurement.h"

#include <algorithm>
#include <bit>

#include "base/thread.h"
#include "olap/execution/scan/scan.h"
#include "storage/buffered_chunk.h"
#include "storage/compressed_block.h"
#include "storage/encoding/encode.h"
#include "storage/settling.h"
#include "workloads/scan/scan_measurement_parts.h"

namespace diptych::workloads::scan {
namespace {

using base::Result;
using olap::kMorselRows;  // as a query's scan has them
using storage::kVectorRows;
using storage::Leaf;
using storage::encoding::ChunkFilter;
using storage::encoding::Passes;
using storage::encoding::Predicate;
using storage::encoding::ValueKind;

struct Morsel {
  const Leaf* leaf;
  uint32_t first;
  uint32_t end;
};

uint64_t sum_morsel(const Morsel& morsel, const storage::PinnedColumn& pinned, ValueKind kind,
                    storage::DecodeBuffer* buffer) {
  uint64_t sum = 0;
  for (uint32_t first = morsel.first; first < morsel.end; first += kVectorRows) {
    const uint32_t count = std::min(kVectorRows, morsel.end - first);
    sum += sum_vector(pinned.view(first, count, buffer), kind);
  }
  return sum;
}

// How many rows pass.
uint64_t count_morsel(const Morsel& morsel, const storage::PinnedColumn& pinned, ValueKind kind,
                      const Predicate& predicate, storage::DecodeBuffer* buffer) {
  const std::optional<ChunkFilter> filter = pinned.filter(predicate);
  const uint32_t rows = morsel.end - morsel.first;
  if (filter && filter->passes() != Passes::kSome)
    return filter->passes() == Passes::kAll ? rows : 0;
  uint64_t passing = 0;
  uint64_t words[kVectorRows / 64];
  for (uint32_t first = morsel.first; first < morsel.end; first += kVectorRows) {
    const uint32_t count = std::min(kVectorRows, morsel.end - first);
    std::fill_n(words, count / 64, ~uint64_t{0});
    if (count % 64 != 0) words[count / 64] = (uint64_t{1} << (count % 64)) - 1;
    if (filter) {
      filter->narrow(first, count, words);
    } else {
      const storage::ColumnView view = pinned.view(first, count, buffer);
      ChunkFilter::of_values({kind, count, view.values, view.nulls}, predicate)
          ->narrow(0, count, words);
    }
    for (uint32_t w = 0; w < (count + 63) / 64; ++w) {
      passing += static_cast<uint64_t>(std::popcount(words[w]));
    }
  }
  return passing;
}

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

ScanMeasurement::ScanMeasurement(dispatcher::Database* database)
    : parts_(std::make_unique<Parts>(database)) {}

ScanMeasurement::~ScanMeasurement() = default;

uint32_t ScanMeasurement::threads() const {
  return parts_->access.placement().threads;
}

ColumnForms ScanMeasurement::forms(base::TableId table, base::ColumnId column) const {
  ColumnForms forms;
  parts_->for_blocks(table, [&](const Leaf& leaf) {
    const storage::ColumnStorage storage = leaf.storage(column);
    forms.rows += leaf.row_slots();
    ++forms.blocks[std::string(storage.encoding)];
    forms.thawed += storage.thawed ? 1 : 0;
  });
  return forms;
}

Result<ColumnValues> ScanMeasurement::sample(base::TableId table, base::ColumnId column) {
  Result<ColumnValues> sample = ColumnValues();
  parts_->for_blocks(table, [&](const Leaf& leaf) {
    if (sample.ok() && sample->size() == 0) {
      sample = values_of(leaf, column, parts_->kind(table, column));
    }
  });
  if (!sample.ok()) return sample;
  std::sort(sample->numbers.begin(), sample->numbers.end());
  std::sort(sample->texts.begin(), sample->texts.end());
  return sample;
}

Result<uint64_t> ScanMeasurement::value_bytes(base::TableId table, base::ColumnId column) {
  const ValueKind kind = parts_->kind(table, column);
  storage::DecodeBuffer buffer;
  uint64_t bytes = 0;
  FirstError failed;
  parts_->for_blocks(table, [&](const Leaf& leaf) {
    const auto pinned = leaf.pin(column);
    if (!pinned.ok()) return failed.set(pinned.error());
    const storage::ColumnView view = pinned->view(0, leaf.row_slots(), &buffer);
    const bool is_text = kind == ValueKind::kText;
    bytes += decoded_bytes(view, kind, is_text ? sum_vector(view, kind) : 0);
  });
  if (const auto read = failed.result(); !read.ok()) return read.error();
  return bytes;
}

Result<ScanSpeed> ScanMeasurement::scan(base::TableId table, base::ColumnId column,
                                        const Predicate* predicate, uint64_t bytes,
                                        double seconds) {
  std::vector<Morsel> morsels;
  parts_->for_blocks(table, [&](const Leaf& leaf) {
    for (uint32_t first = 0; first < leaf.row_slots(); first += kMorselRows) {
      morsels.push_back({&leaf, first, std::min(first + kMorselRows, leaf.row_slots())});
    }
  });
  const ValueKind kind = parts_->kind(table, column);
  FirstError failed;
  const auto read = [&](size_t i, storage::DecodeBuffer* buffer) {
    const auto pinned = morsels[i].leaf->pin(column);
    if (!pinned.ok()) return failed.set(pinned.error());
    const uint64_t found = predicate == nullptr
                               ? sum_morsel(morsels[i], *pinned, kind, buffer)
                               : count_morsel(morsels[i], *pinned, kind, *predicate, buffer);
    parts_->sums.fetch_add(found, std::memory_order_relaxed);  // relaxed: nobody waits for it
  };
  PassSpeeds speeds;
  ScanSpeed speed;
  speed.bytes = bytes;
  speed.reference_bytes = Parts::kBufferBytes;
  parts_->read_buffer();  // the first touch
  const uint64_t start = base::steady_ns();
  do {
    const double memory = parts_->read_buffer();
    const uint64_t pass_start = base::steady_ns();
    parts_->share_out(morsels.size(), read);
    const double pass_seconds = base::seconds_since(pass_start);
    if (const auto done = failed.result(); !done.ok()) return done.error();
    speeds.add(static_cast<double>(bytes) / pass_seconds, memory);
  } while (base::seconds_since(start) < seconds);
  speeds.report(&speed);
  return speed;
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

Result<EncodingSpeed> ScanMeasurement::encode_blocks(base::TableId id) {
  const base::TableSchema& schema = parts_->table(id).schema();
  EncodingSpeed speed;
  FirstError failed;
  storage::DecodeBuffer buffer;
  parts_->for_blocks(id, [&](const Leaf& leaf) {
    for (uint16_t c = 0; c < schema.columns.size(); ++c) {
      const auto pinned = leaf.pin(base::ColumnId(c));
      if (!pinned.ok()) return failed.set(pinned.error());
      const ValueKind kind = storage::encoding::value_kind(schema.columns[c].type);
      const storage::ColumnView view = pinned->view(0, leaf.row_slots(), &buffer);
      const bool is_text = kind == ValueKind::kText;
      speed.bytes += decoded_bytes(view, kind, is_text ? sum_vector(view, kind) : 0);
      const uint64_t start = base::thread_cpu_ns();
      const auto chunk = storage::encoding::encode({kind, view.count, view.values, view.nulls});
      speed.cpu_seconds += base::to_seconds(base::thread_cpu_ns() - start);
      if (!chunk.ok()) return failed.set(chunk.error());
    }
  });
  if (const auto done = failed.result(); !done.ok()) return done.error();
  return speed;
}

}  // namespace diptych::workloads::scan
