#include "storage/table_file.h"

#include <array>
#include <bit>
#include <cstring>
#include <span>
#include <vector>

#include <fmt/format.h>
#include <xxhash.h>

#include "base/check.h"
#include "base/string_ref.h"
#include "storage/file.h"
#include "storage/leaf.h"
#include "storage/leaf_format.h"

namespace diptych::storage {
namespace {

static_assert(std::endian::native == std::endian::little, "the format's integers are as in memory");

constexpr std::array<char, 8> kFileMagic = {'D', 'I', 'P', 'T', 'Y', 'C', 'H', 'T'};
constexpr uint32_t kVersion = 1;
constexpr uint32_t kChunkMagic = 0x4641454c;  // "LEAF"

struct FileHeader {
  std::array<char, 8> magic = kFileMagic;
  uint32_t version = kVersion;
  uint32_t unused = 0;
  uint64_t fingerprint = 0;
  uint64_t rows = 0;
  uint64_t chunks = 0;
  uint64_t checksum = 0;
};
static_assert(sizeof(FileHeader) == 48);

struct ChunkHeader {
  uint32_t magic = kChunkMagic;
  uint32_t row_slots = 0;
  uint32_t live_rows = 0;
  uint32_t unused = 0;
  uint64_t payload_bytes = 0;
  uint64_t payload_checksum = 0;
  uint64_t checksum = 0;
};
static_assert(sizeof(ChunkHeader) == 40);

// Of all bytes but the checksum itself, which comes last.
template <class Header>
uint64_t header_checksum(const Header& header) {
  return XXH3_64bits(&header, sizeof header - sizeof header.checksum);
}

size_t words_of(uint32_t slots) {
  return (slots + 63) / 64;
}

using Bytes = std::vector<std::byte>;

void append(Bytes* out, const void* from, size_t bytes) {
  const auto* const begin = static_cast<const std::byte*>(from);
  out->insert(out->end(), begin, begin + bytes);
}

void append_strings(const Leaf& leaf, const ColumnView& view, Bytes* out) {
  const auto* const refs = view.as<base::StringRef>();
  const auto text = [&](uint32_t i) -> std::string_view {
    const bool is_null = view.nulls != nullptr && bit_at(view.nulls, i);
    return bit_at(leaf.live_bits(), i) && !is_null ? refs[i].view() : std::string_view();
  };
  for (uint32_t i = 0; i < view.count; ++i) {
    const auto size = static_cast<uint32_t>(text(i).size());
    append(out, &size, sizeof size);
  }
  for (uint32_t i = 0; i < view.count; ++i) append(out, text(i).data(), text(i).size());
}

void append_leaf(const Leaf& leaf, const LeafFormat& format, Bytes* out) {
  const uint32_t slots = leaf.row_slots();
  for (uint32_t i = 0; i < slots; ++i) {
    const uint64_t row_id = leaf.row_id(i).value;
    append(out, &row_id, sizeof row_id);
  }
  append(out, leaf.live_bits(), words_of(slots) * sizeof(uint64_t));
  DecodeBuffer buffer;
  for (size_t c = 0; c < format.columns.size(); ++c) {
    const ColumnFormat& column = format.columns[c];
    const base::ColumnId id(static_cast<uint16_t>(c));
    const ColumnView view = leaf.column(id, 0, slots, &buffer);
    if (column.nullable) {
      for (size_t word = 0; word < words_of(slots); ++word) {
        const uint64_t bits = view.nulls == nullptr ? 0 : view.nulls[word];
        append(out, &bits, sizeof bits);
      }
    }
    if (column.is_string()) {
      append_strings(leaf, view, out);
    } else {
      append(out, view.values, size_t{slots} * column.value_bytes);
    }
  }
}

template <class Header>
std::span<const std::byte> bytes_of(const Header& header) {
  return std::as_bytes(std::span<const Header, 1>(&header, 1));
}

// Reads the chunks of one file into one table.
class TableFileReader {
 public:
  TableFileReader(InputFile file, Table* table)
      : file_(std::move(file)), table_(table), format_(table->layout()) {}

  base::Result<TableFileInfo> read();

 private:
  // What one column of a chunk's payload has: pointers into it.
  struct ColumnPart {
    const std::byte* nulls = nullptr;
    const std::byte* values = nullptr;  // of strings: their lengths
    size_t next_string = 0;             // offset in the payload
  };

  base::Error corrupt(uint64_t offset, const std::string& what) const {
    return {
        base::ErrorCode::kCorrupt,
        fmt::format("{}: byte {}: {}; restore the file from a backup", file_.path(), offset, what)};
  }
  base::Result<FileHeader> read_header();
  base::Result<uint32_t> read_chunk();
  base::Result<void> find_columns(const ChunkHeader& chunk, uint64_t offset);
  base::Result<void> find_strings(const ColumnFormat& column, uint32_t slots, uint64_t offset,
                                  size_t* at, ColumnPart* part);
  base::Result<uint32_t> insert_rows(const ChunkHeader& chunk, uint64_t offset);
  // Makes the cell of row i in row_; called for i = 0, 1, 2, ... as strings have no offsets.
  void make_cell(const ColumnFormat& column, uint32_t i, ColumnPart* part);

  InputFile file_;
  Table* table_;
  LeafFormat format_;
  Bytes payload_;
  Bytes row_;
  std::vector<ColumnPart> parts_;
};

base::Result<FileHeader> TableFileReader::read_header() {
  FileHeader header;
  const base::Result<void> read = file_.read(std::as_writable_bytes(std::span(&header, 1)));
  if (!read.ok()) return read.error();
  if (header.magic != kFileMagic) return corrupt(0, "not a Diptych table file");
  if (header.checksum != header_checksum(header)) {
    return corrupt(0, "the header's checksum is wrong");
  }
  if (header.version != kVersion) {
    return base::Error(base::ErrorCode::kUnsupported,
                       fmt::format("{}: table file version {}, this program reads version {}",
                                   file_.path(), header.version, kVersion));
  }
  if (header.fingerprint != schema_fingerprint(table_->schema())) {
    return corrupt(16, fmt::format("written from another schema than that of table \"{}\"",
                                   table_->schema().name));
  }
  return header;
}

base::Result<void> TableFileReader::find_strings(const ColumnFormat& column, uint32_t slots,
                                                 uint64_t offset, size_t* at, ColumnPart* part) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < slots; ++i) {
    uint32_t size;
    std::memcpy(&size, part->values + size_t{i} * sizeof size, sizeof size);
    if (column.type.length != 0 && size > column.type.length) {
      return corrupt(offset + *at, fmt::format("a string of {} bytes in a column of type {}", size,
                                               column.type.to_string()));
    }
    bytes += size;
  }
  if (bytes > payload_.size() - *at) {
    return corrupt(offset + *at, "strings reach beyond the end of their chunk");
  }
  part->next_string = *at;
  *at += bytes;
  return {};
}

base::Result<void> TableFileReader::find_columns(const ChunkHeader& chunk, uint64_t offset) {
  const uint32_t slots = chunk.row_slots;
  const size_t map_bytes = words_of(slots) * sizeof(uint64_t);
  size_t at = 0;
  const auto take = [&](size_t bytes) -> const std::byte* {
    if (bytes > payload_.size() - at) return nullptr;
    const std::byte* const found = payload_.data() + at;
    at += bytes;
    return found;
  };
  const base::Error too_short = corrupt(offset, "a chunk is shorter than its rows need");
  if (take(size_t{slots} * sizeof(uint64_t) + map_bytes) == nullptr) return too_short;
  parts_.assign(format_.columns.size(), ColumnPart());
  for (size_t c = 0; c < format_.columns.size(); ++c) {
    const ColumnFormat& column = format_.columns[c];
    ColumnPart& part = parts_[c];
    if (column.nullable && (part.nulls = take(map_bytes)) == nullptr) return too_short;
    part.values = take(slots * (column.is_string() ? sizeof(uint32_t) : column.value_bytes));
    if (part.values == nullptr) return too_short;
    if (!column.is_string()) continue;
    const base::Result<void> found = find_strings(column, slots, offset, &at, &part);
    if (!found.ok()) return found;
  }
  if (at != payload_.size()) return corrupt(offset + at, "a chunk is longer than its rows need");
  return {};
}

void TableFileReader::make_cell(const ColumnFormat& column, uint32_t i, ColumnPart* part) {
  std::byte* const cell = row_.data() + column.cell_offset;
  std::string_view text;
  if (column.is_string()) {
    uint32_t size;
    std::memcpy(&size, part->values + size_t{i} * sizeof size, sizeof size);
    text = {reinterpret_cast<const char*>(payload_.data()) + part->next_string, size};
    part->next_string += size;
  }
  if (column.nullable) {
    uint64_t word;
    std::memcpy(&word, part->nulls + i / 64 * sizeof word, sizeof word);
    cell[column.null_in_cell] = std::byte{(word >> (i % 64) & 1) != 0};
  }
  switch (column.kind) {
    case CellKind::kInt32:
    case CellKind::kInt64:
    case CellKind::kDouble:
    case CellKind::kBoolean:
      std::memcpy(cell, part->values + size_t{i} * column.value_bytes, column.value_bytes);
      return;
    case CellKind::kInlineString:
      cell[0] = static_cast<std::byte>(text.size());
      if (!text.empty()) std::memcpy(cell + 1, text.data(), text.size());
      return;
    case CellKind::kLongString: {
      base::Text moved(
          text);  // its pointer becomes an offset in the payload: see Partition::insert
      moved.data = reinterpret_cast<const char*>(text.data() -
                                                 reinterpret_cast<const char*>(payload_.data()));
      std::memcpy(cell, &moved, sizeof moved);
      return;
    }
  }
}

base::Result<uint32_t> TableFileReader::insert_rows(const ChunkHeader& chunk, uint64_t offset) {
  const std::byte* const row_ids = payload_.data();
  const std::byte* const live = row_ids + size_t{chunk.row_slots} * sizeof(uint64_t);
  uint32_t rows = 0;
  for (uint32_t i = 0; i < chunk.row_slots; ++i) {
    for (size_t c = 0; c < parts_.size(); ++c) make_cell(format_.columns[c], i, &parts_[c]);
    uint64_t word;
    std::memcpy(&word, live + i / 64 * sizeof word, sizeof word);
    if ((word >> (i % 64) & 1) == 0) continue;
    base::RowId row_id;
    std::memcpy(&row_id.value, row_ids + size_t{i} * sizeof(uint64_t), sizeof(uint64_t));
    table_->partition(table_->partition_of(row_id)).insert(row_id, row_.data(), payload_.data());
    ++rows;
  }
  if (rows != chunk.live_rows) {
    return corrupt(
        offset, fmt::format("a chunk has {} live rows, its header says {}", rows, chunk.live_rows));
  }
  return rows;
}

base::Result<uint32_t> TableFileReader::read_chunk() {
  const uint64_t offset = file_.offset();
  ChunkHeader chunk;
  base::Result<void> read = file_.read(std::as_writable_bytes(std::span(&chunk, 1)));
  if (!read.ok()) return read.error();
  if (chunk.magic != kChunkMagic || chunk.checksum != header_checksum(chunk)) {
    return corrupt(offset, "a chunk's header is damaged");
  }
  if (chunk.payload_bytes > file_.rest()) {
    return corrupt(offset, fmt::format("a chunk of {} bytes, but the file has {} left",
                                       chunk.payload_bytes, file_.rest()));
  }
  payload_.resize(chunk.payload_bytes);
  read = file_.read(payload_);
  if (!read.ok()) return read.error();
  const uint64_t payload_offset = offset + sizeof chunk;
  if (XXH3_64bits(payload_.data(), payload_.size()) != chunk.payload_checksum) {
    return corrupt(payload_offset, "a chunk's checksum is wrong");
  }
  read = find_columns(chunk, payload_offset);
  if (!read.ok()) return read.error();
  return insert_rows(chunk, payload_offset);
}

base::Result<TableFileInfo> TableFileReader::read() {
  const base::Result<FileHeader> header = read_header();
  if (!header.ok()) return header.error();
  row_.assign(table_->layout().bytes, std::byte{0});
  TableFileInfo info;
  for (uint64_t i = 0; i < header->chunks; ++i) {
    const base::Result<uint32_t> rows = read_chunk();
    if (!rows.ok()) return rows.error();
    info.rows += *rows;
    for (uint32_t p = 0; p < table_->partition_count(); ++p) {
      table_->partition(base::PartitionId(p)).compact_all();
    }
  }
  if (info.rows != header->rows) {
    return corrupt(24, fmt::format("{} rows, the header says {}", info.rows, header->rows));
  }
  if (file_.rest() != 0) return corrupt(file_.offset(), "bytes after the last chunk");
  info.bytes = file_.size();
  info.checksum = file_.checksum();
  return info;
}

}  // namespace

uint64_t schema_fingerprint(const base::TableSchema& schema) {
  std::string text = schema.name;
  for (const base::ColumnSchema& column : schema.columns) {
    text += fmt::format("\n{}\t{}\t{}", column.name, column.type.to_string(),
                        column.nullability == base::Nullability::kNullable ? "null" : "not null");
  }
  return XXH3_64bits(text.data(), text.size());
}

base::Result<TableFileInfo> write_table_file(const std::string& path, const Table& table) {
  base::Result<OutputFile> file = OutputFile::create(path);
  if (!file.ok()) return file.error();
  FileHeader header;
  header.fingerprint = schema_fingerprint(table.schema());
  header.rows = table.live_rows();
  for (uint32_t p = 0; p < table.partition_count(); ++p) {
    header.chunks += table.partition(base::PartitionId(p)).leaf_count();
  }
  header.checksum = header_checksum(header);
  base::Result<void> written = file->write(bytes_of(header));
  if (!written.ok()) return written.error();
  const LeafFormat format(table.layout());
  Bytes payload;
  for (uint32_t p = 0; p < table.partition_count(); ++p) {
    const Partition& partition = table.partition(base::PartitionId(p));
    for (size_t i = 0; i < partition.leaf_count(); ++i) {
      const Leaf& leaf = partition.leaf(i);
      payload.clear();
      append_leaf(leaf, format, &payload);
      ChunkHeader chunk;
      chunk.row_slots = leaf.row_slots();
      chunk.live_rows = leaf.live_rows();
      chunk.payload_bytes = payload.size();
      chunk.payload_checksum = XXH3_64bits(payload.data(), payload.size());
      chunk.checksum = header_checksum(chunk);
      written = file->write(bytes_of(chunk));
      if (written.ok()) written = file->write(payload);
      if (!written.ok()) return written.error();
    }
  }
  TableFileInfo info{header.rows, file->bytes(), file->checksum()};
  written = file->keep();
  if (!written.ok()) return written.error();
  return info;
}

base::Result<TableFileInfo> read_table_file(const std::string& path, Table* table) {
  DIPTYCH_CHECK(table->live_rows() == 0, "a file is loaded into an empty table");
  base::Result<InputFile> file = InputFile::open(path);
  if (!file.ok()) return file.error();
  return TableFileReader(std::move(*file), table).read();
}

}  // namespace diptych::storage
