#include "storage/leaf_directory.h"

#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <xxhash.h>

#include "base/quoted.h"
#include "storage/encoding/chunk_bounds.h"
#include "storage/leaf_format.h"
#include "storage/storage_options.h"

namespace diptych::storage {
namespace {

static_assert(std::endian::native == std::endian::little, "the format's integers are as in memory");

constexpr std::array<char, 8> kMagic = {'D', 'I', 'P', 'T', 'D', 'I', 'R', '2'};

struct Header {
  std::array<char, 8> magic = kMagic;
  uint64_t fingerprint = 0;
  uint32_t block_rows = 0;
  uint32_t columns = 0;
  uint32_t partitions = 0;
  uint32_t unused = 0;
};
static_assert(sizeof(Header) == 32);

struct LeafEntry {
  uint32_t form = 0;
  uint32_t first_ordinal = 0;
  uint32_t rows = 0;
  uint32_t live_rows = 0;
};

struct ColumnEntry {
  uint32_t page = 0;
  uint32_t bytes = 0;
  uint64_t checksum = 0;
  uint32_t thawed = 0;
  uint32_t unused = 0;
  encoding::ChunkHeader header;
};
static_assert(sizeof(ColumnEntry) == 88);

class Writer {
 public:
  template <class Value>
  void put(const Value& value) {
    put(&value, sizeof value);
  }
  void put(const void* from, size_t bytes) {
    const auto* const begin = static_cast<const std::byte*>(from);
    bytes_.insert(bytes_.end(), begin, begin + bytes);
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

void put_leaf(const SavedLeaf& leaf, size_t columns, Writer* out) {
  DIPTYCH_CHECK(leaf.columns.size() == columns, "a saved leaf has a chunk of each column");
  const uint32_t live_rows = leaf.live_rows();
  out->put(LeafEntry{static_cast<uint32_t>(leaf.form), leaf.first_ordinal, leaf.rows, live_rows});
  if (live_rows != leaf.rows) {
    out->put(leaf.live_bits.data(), encoding::bitmap_words(leaf.rows) * sizeof(uint64_t));
  }
  for (const SavedColumn& column : leaf.columns) {
    const ChunkAddress& address = column.chunk.address;
    out->put(ColumnEntry{address.page, address.bytes, address.checksum, column.thawed ? 1U : 0U, 0,
                         column.chunk.header});
  }
}

// Reads one directory. Every get() is within the bytes, or `failed_` says where it was not.
class Reader {
 public:
  Reader(const base::TableSchema& schema, std::span<const std::byte> bytes)
      : schema_(schema), bytes_(bytes) {}

  base::Result<SavedTable> read();

 private:
  base::Error corrupt(std::string_view what) const {
    return {base::ErrorCode::kCorrupt, fmt::format("the directory of table {}, byte {}: {}",
                                                   base::quoted(schema_.name), at_, what)};
  }
  bool get(void* to, size_t bytes) {
    if (bytes > bytes_.size() - at_) return false;
    std::memcpy(to, bytes_.data() + at_, bytes);
    at_ += bytes;
    return true;
  }
  base::Result<Header> read_header();
  base::Result<SavedLeaf> read_leaf(uint64_t first_ordinal);
  base::Result<void> read_live_bits(const LeafEntry& entry, SavedLeaf* leaf);
  base::Result<SavedColumn> read_column(size_t column, uint32_t rows);

  const base::TableSchema& schema_;
  std::span<const std::byte> bytes_;
  size_t at_ = 0;
  uint32_t block_rows_ = 0;
};

constexpr std::string_view kEndsEarly = "it ends early";

base::Result<Header> Reader::read_header() {
  Header header;
  if (!get(&header, sizeof header)) return corrupt(kEndsEarly);
  if (header.magic != kMagic) return corrupt("it does not begin as one");
  if (header.fingerprint != schema_fingerprint(schema_)) {
    return corrupt("it was written for another schema");
  }
  if (header.columns != schema_.columns.size() + 1) return corrupt("another number of columns");
  const bool power_of_two = std::has_single_bit(header.block_rows);
  if (!power_of_two || header.block_rows < kBlockRowsMin || header.block_rows > kBlockRowsMax) {
    return corrupt(fmt::format("blocks of {} rows", header.block_rows));
  }
  if (header.partitions == 0) return corrupt("a table without partitions");
  return header;
}

base::Result<void> Reader::read_live_bits(const LeafEntry& entry, SavedLeaf* leaf) {
  const uint32_t words = encoding::bitmap_words(entry.rows);
  const uint32_t behind = entry.rows % 64;
  if (entry.live_rows == entry.rows) {
    leaf->live_bits.assign(words, ~uint64_t{0});
    if (behind != 0) leaf->live_bits.back() = (uint64_t{1} << behind) - 1;
    return {};
  }
  leaf->live_bits.resize(words);
  if (!get(leaf->live_bits.data(), words * sizeof(uint64_t))) return corrupt(kEndsEarly);
  if (behind != 0 && leaf->live_bits.back() >> behind != 0) {
    return corrupt("live bits behind the last row");
  }
  if (leaf->live_rows() != entry.live_rows) return corrupt("another number of live rows");
  return {};
}

base::Result<SavedColumn> Reader::read_column(size_t column, uint32_t rows) {
  ColumnEntry entry;
  if (!get(&entry, sizeof entry)) return corrupt(kEndsEarly);
  const encoding::ChunkHeader& header = entry.header;
  const bool is_row_ids = column == schema_.columns.size();
  const encoding::ValueKind kind =
      is_row_ids ? encoding::ValueKind::kInt64 : encoding::value_kind(schema_.columns[column].type);
  if (entry.page == 0 || entry.bytes != header.bytes || header.magic != encoding::kChunkMagic ||
      static_cast<int>(header.encoding) >= encoding::kEncodings || header.rows != rows ||
      header.kind != kind || header.null_rows > rows) {
    return corrupt(fmt::format("column {} has no chunk that fits", column + 1));
  }
  const bool is_nullable =
      !is_row_ids && schema_.columns[column].nullability == base::Nullability::kNullable;
  if (header.null_rows != 0 && !is_nullable) {
    return corrupt(fmt::format("column {} has nulls", column + 1));
  }
  if (const char* const what = encoding::bounds_problem(header)) {
    return corrupt(fmt::format("the chunk of column {} is damaged: {}", column + 1, what));
  }
  return SavedColumn{{{entry.page, entry.bytes, entry.checksum}, header}, entry.thawed != 0};
}

base::Result<SavedLeaf> Reader::read_leaf(uint64_t first_ordinal) {
  LeafEntry entry;
  if (!get(&entry, sizeof entry)) return corrupt(kEndsEarly);
  if (entry.form > static_cast<uint32_t>(SavedForm::kPages)) return corrupt("an unknown form");
  SavedLeaf leaf;
  leaf.form = static_cast<SavedForm>(entry.form);
  leaf.first_ordinal = entry.first_ordinal;
  leaf.rows = entry.rows;
  const uint32_t before = entry.first_ordinal % block_rows_;
  const bool is_whole = before == 0 && entry.rows == block_rows_;
  if (entry.first_ordinal != first_ordinal || entry.first_ordinal % 64 != 0 || entry.rows == 0 ||
      entry.rows > block_rows_ - before || entry.live_rows > entry.rows ||
      (leaf.form == SavedForm::kBlock && !is_whole)) {
    return corrupt("a leaf's rows are not those that follow");
  }
  if (const auto read = read_live_bits(entry, &leaf); !read.ok()) return read.error();
  for (size_t c = 0; c <= schema_.columns.size(); ++c) {
    const base::Result<SavedColumn> column = read_column(c, entry.rows);
    if (!column.ok()) return column.error();
    leaf.columns.push_back(*column);
  }
  return leaf;
}

base::Result<SavedTable> Reader::read() {
  const base::Result<Header> header = read_header();
  if (!header.ok()) return header.error();
  block_rows_ = header->block_rows;
  if (header->partitions > bytes_.size() / sizeof(uint32_t)) return corrupt(kEndsEarly);
  std::vector<uint32_t> leaves((header->partitions + 1) / 2 * 2);
  if (!get(leaves.data(), leaves.size() * sizeof(uint32_t))) return corrupt(kEndsEarly);
  SavedTable table;
  table.block_rows = block_rows_;
  table.partitions.resize(header->partitions);
  for (uint32_t p = 0; p < header->partitions; ++p) {
    uint64_t next_ordinal = 0;
    for (uint32_t i = 0; i < leaves[p]; ++i) {
      base::Result<SavedLeaf> leaf = read_leaf(next_ordinal);
      if (!leaf.ok()) return leaf.error();
      next_ordinal += leaf->rows;
      if (next_ordinal > std::numeric_limits<uint32_t>::max() - block_rows_) {
        return corrupt("a partition has more rows than ordinals");
      }
      table.partitions[p].push_back(std::move(*leaf));
    }
  }
  if (at_ != bytes_.size()) return corrupt("bytes behind the last leaf");
  return table;
}

}  // namespace

uint32_t SavedLeaf::live_rows() const {
  uint32_t rows_alive = 0;
  for (const uint64_t word : live_bits) rows_alive += static_cast<uint32_t>(std::popcount(word));
  return rows_alive;
}

uint64_t SavedTable::live_rows() const {
  uint64_t all = 0;
  for (const SavedPartition& partition : partitions) {
    for (const SavedLeaf& leaf : partition) all += leaf.live_rows();
  }
  return all;
}

uint64_t schema_fingerprint(const base::TableSchema& schema) {
  std::string text = schema.name;
  for (const base::ColumnSchema& column : schema.columns) {
    text += fmt::format("\n{}\t{}\t{}", column.name, column.type.to_string(),
                        column.nullability == base::Nullability::kNullable ? "null" : "not null");
  }
  return XXH3_64bits(text.data(), text.size());
}

std::vector<std::byte> write_directory(const base::TableSchema& schema, const SavedTable& table) {
  Writer out;
  Header header;
  header.fingerprint = schema_fingerprint(schema);
  header.block_rows = table.block_rows;
  header.columns = static_cast<uint32_t>(schema.columns.size() + 1);
  header.partitions = static_cast<uint32_t>(table.partitions.size());
  out.put(header);
  for (const SavedPartition& partition : table.partitions) {
    out.put(static_cast<uint32_t>(partition.size()));
  }
  if (table.partitions.size() % 2 != 0) out.put(uint32_t{0});
  for (const SavedPartition& partition : table.partitions) {
    for (const SavedLeaf& leaf : partition) put_leaf(leaf, header.columns, &out);
  }
  return out.take();
}

base::Result<SavedTable> read_directory(const base::TableSchema& schema,
                                        std::span<const std::byte> bytes) {
  return Reader(schema, bytes).read();
}

}  // namespace diptych::storage
