#include "storage/inspection.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/string_ref.h"
#include "storage/block_file.h"
#include "storage/leaf.h"
#include "storage/leaf_directory.h"
#include "storage/replica_files.h"

namespace diptych::storage {
namespace {

using base::Result;
using encoding::Chunk;
using encoding::ChunkHeader;
using encoding::ValueKind;

constexpr uint64_t kLengthBytes = 4;  // a text's, as uncompressed columns have one

// All but what texts have, from the header alone.
uint64_t fixed_bytes(const ChunkHeader& header) {
  const uint64_t width =
      header.kind == ValueKind::kText ? kLengthBytes : encoding::value_bytes(header.kind);
  const uint64_t null_map =
      header.null_rows == 0 ? 0 : encoding::bitmap_words(header.rows) * sizeof(uint64_t);
  return header.rows * width + null_map;
}

uint64_t text_bytes(const Chunk& chunk) {
  DecodeBuffer buffer;
  uint64_t bytes = 0;
  for (uint32_t first = 0; first < chunk.rows(); first += kVectorRows) {
    const uint32_t count = std::min(kVectorRows, chunk.rows() - first);
    const encoding::ColumnRun run = chunk.decode(first, count, &buffer);
    const auto* const texts = run.as<base::StringRef>();
    for (uint32_t i = 0; i < count; ++i) bytes += run.is_null(i) ? 0 : texts[i].size();
  }
  return bytes;
}

Temperature temperature_of(SavedForm form, const SavedColumn& column) {
  if (form == SavedForm::kPages) return Temperature::kHot;
  return column.thawed ? Temperature::kWarm : Temperature::kCold;
}

// Goes through the leaves of all tables.
class Inspector {
 public:
  Inspector(BlockFile* file, Verify verify, const std::function<void(double)>& progress,
            Inspection* result)
      : file_(*file), verify_(verify), progress_(progress), result_(*result) {}

  void begin(std::span<const SavedTable> tables) {
    for (const SavedTable& table : tables) {
      for (const SavedPartition& partition : table.partitions) {
        for (const SavedLeaf& leaf : partition) chunks_ += leaf.columns.size();
      }
    }
  }

  void add_table(const base::TableSchema& schema, const ManifestTable& entry,
                 const SavedTable& saved) {
    TableInspection& table = result_.tables.emplace_back();
    table.name = schema.name;
    table.directory_bytes = entry.directory.bytes;
    for (const base::ColumnSchema& column : schema.columns) {
      table.columns.push_back({column.name, column.type, {}});
    }
    table.columns.push_back({std::string(kRowIdColumn), {base::TypeKind::kBigInt}, {}});
    for (uint32_t p = 0; p < saved.partitions.size(); ++p) {
      for (const SavedLeaf& leaf : saved.partitions[p]) add_leaf(p, leaf, &table);
    }
    for (const ColumnInspection& column : table.columns) table.sizes += column.sizes;
    result_.sizes += table.sizes;
  }

 private:
  void add_leaf(uint32_t partition, const SavedLeaf& leaf, TableInspection* table) {
    table->rows += leaf.rows;
    table->live_rows += leaf.live_rows();
    if (leaf.form == SavedForm::kBlock) {
      ++table->blocks;
    } else {
      ++table->page_leaves;
      table->hot_rows += leaf.rows;
    }
    for (size_t c = 0; c < leaf.columns.size(); ++c) {
      const SavedColumn& saved = leaf.columns[c];
      ColumnInspection& column = table->columns[c];
      ChunkTotals totals;
      const Result<void> added = add_chunk(saved.chunk, &totals);
      column.sizes.add(totals, saved.chunk.header.encoding, temperature_of(leaf.form, saved));
      if (!added.ok()) {
        result_.damaged.push_back({table->name, column.name, partition, leaf.first_ordinal,
                                   leaf.first_ordinal + leaf.rows - 1, file_.path(),
                                   saved.chunk.address.offset(), added.error().message});
      }
      ++looked_at_;
      progress_(static_cast<double>(looked_at_) / static_cast<double>(chunks_));
    }
  }

  Result<void> add_chunk(const SavedChunk& saved, ChunkTotals* totals) {
    const ChunkHeader& header = saved.header;
    totals->chunks = 1;
    totals->values = header.rows;
    totals->compressed_bytes = header.bytes;
    totals->uncompressed_bytes = fixed_bytes(header);
    totals->file_bytes = saved.address.pages() * uint64_t{kFilePageBytes};
    const bool has_texts = header.kind == ValueKind::kText;
    if (verify_ == Verify::kNo && !has_texts) return {};
    const Result<ChunkMemory> memory = file_.read(saved.address);
    if (!memory.ok()) return memory.error();
    const Result<void> checked = check_chunk(saved, memory->bytes(), file_);
    if (!checked.ok()) return checked;
    ++result_.chunks_read;
    result_.bytes_read += saved.address.bytes;
    if (has_texts) totals->uncompressed_bytes += text_bytes(Chunk::trusted(memory->bytes()));
    return {};
  }

  BlockFile& file_;
  const Verify verify_;
  const std::function<void(double)>& progress_;
  Inspection& result_;
  uint64_t chunks_ = 0;
  uint64_t looked_at_ = 0;
};

}  // namespace

std::string_view temperature_name(Temperature temperature) {
  switch (temperature) {
    case Temperature::kHot: return "hot";
    case Temperature::kWarm: return "warm";
    case Temperature::kCold: return "cold";
  }
  return "unknown";
}

ChunkTotals& ChunkTotals::operator+=(const ChunkTotals& other) {
  chunks += other.chunks;
  values += other.values;
  compressed_bytes += other.compressed_bytes;
  uncompressed_bytes += other.uncompressed_bytes;
  file_bytes += other.file_bytes;
  return *this;
}

double ChunkTotals::ratio() const {
  if (uncompressed_bytes == 0) return 0;
  return static_cast<double>(compressed_bytes) / static_cast<double>(uncompressed_bytes);
}

void ChunkSizes::add(const ChunkTotals& chunk, encoding::Encoding encoding,
                     Temperature temperature) {
  all += chunk;
  by_encoding[static_cast<size_t>(encoding)] += chunk;
  by_temperature[static_cast<size_t>(temperature)] += chunk;
}

ChunkSizes& ChunkSizes::operator+=(const ChunkSizes& other) {
  all += other.all;
  for (size_t i = 0; i < by_encoding.size(); ++i) by_encoding[i] += other.by_encoding[i];
  for (size_t i = 0; i < by_temperature.size(); ++i) by_temperature[i] += other.by_temperature[i];
  return *this;
}

Result<Inspection> inspect_replica(const std::string& directory, const Manifest& manifest,
                                   std::span<const base::TableSchema* const> schemas, Verify verify,
                                   const std::function<void(double)>& progress) {
  if (const auto named = check_tables(directory, manifest, schemas); !named.ok()) {
    return named.error();
  }
  const Result<std::unique_ptr<BlockFile>> file = BlockFile::open_to_read(directory);
  if (!file.ok()) return file.error();
  std::vector<SavedTable> tables;
  for (size_t i = 0; i < schemas.size(); ++i) {
    Result<SavedTable> table = read_table(manifest.tables[i], manifest, *schemas[i], file->get());
    if (!table.ok()) return table.error();
    tables.push_back(std::move(*table));
  }
  Inspection result;
  result.manifest = manifest;
  result.block_file = (*file)->path();
  result.file_bytes = (*file)->bytes();
  result.free_bytes = (*file)->free_bytes();
  result.verified = verify == Verify::kYes;
  Inspector inspector(file->get(), verify, progress, &result);
  inspector.begin(tables);
  for (size_t i = 0; i < schemas.size(); ++i) {
    if (is_dropped(*schemas[i])) continue;
    inspector.add_table(*schemas[i], manifest.tables[i], tables[i]);
  }
  return result;
}

}  // namespace diptych::storage
