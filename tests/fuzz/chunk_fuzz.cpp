// What Chunk::open accepts is read in every way, patched, thawed and frozen: all ways agree on the
// values, and nothing leaves the bytes. Input: a chunk. Its checksum is not there to help.

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "base/check.h"
#include "storage/encoding/chunk.h"
#include "storage/encoding/encode.h"
#include "tests/storage/chunk_reads.h"

namespace diptych::storage::encoding {
namespace {

constexpr uint32_t kRunRows = 256;       // of one decode()
constexpr uint32_t kRowsReadMax = 1536;  // of a chunk with more, its beginning and its end

// Memory that ends where the bytes end.
class Exact {
 public:
  explicit Exact(std::span<const std::byte> bytes)
      : words_(std::make_unique<uint64_t[]>((bytes.size() + 7) / 8)), size_(bytes.size()) {
    // At the end of the words, so that a byte behind the last is not of the allocation.
    if (size_ != 0) std::memcpy(words_.get(), bytes.data(), size_);
  }
  std::span<std::byte> bytes() const { return {reinterpret_cast<std::byte*>(words_.get()), size_}; }

 private:
  std::unique_ptr<uint64_t[]> words_;
  size_t size_;
};

// As a column's value has it: bounds may be keys that no value of the kind has.
Cell as_value(Cell cell, ValueKind kind) {
  if (cell.is_null) return cell;
  switch (kind) {
    case ValueKind::kInt32: cell.key = static_cast<int32_t>(cell.key); break;
    case ValueKind::kDouble: cell.key = double_key(key_double(cell.key)); break;
    case ValueKind::kBoolean: cell.key &= 1; break;
    case ValueKind::kInt64:
    case ValueKind::kText: break;
  }
  return cell;
}

std::vector<uint32_t> rows_to_read(uint32_t rows) {
  std::vector<uint32_t> read;
  for (uint32_t row = 0; row < rows; ++row) {
    if (row < kRowsReadMax / 2 || rows - row <= kRowsReadMax / 2) read.push_back(row);
  }
  return read;
}

void check_decode(const Chunk& chunk, uint32_t first) {
  const uint32_t count = std::min(kRunRows, chunk.rows() - first);
  RunBuffer buffer;
  std::string scratch;
  const ColumnRun run = chunk.decode(first, count, &buffer);
  DIPTYCH_CHECK(run.rows == count, "a run has the rows that were asked for");
  for (uint32_t i = 0; i < count; ++i) {
    const Cell cell = test::cell_at(chunk, first + i, &scratch);
    DIPTYCH_CHECK(cell == test::cell_of(run, i), "decode() and cell_at() read the same");
  }
}

void check_reads(const Chunk& chunk) {
  const std::vector<uint32_t> rows = rows_to_read(chunk.rows());
  uint32_t next = 0;
  for (const uint32_t row : rows) {
    if (row < next) continue;
    check_decode(chunk, row / 64 * 64);
    next = row / 64 * 64 + kRunRows;
  }
  RunBuffer buffer;
  std::string scratch;
  std::vector<uint16_t> slots;
  for (const uint32_t row : rows) {
    if (row <= std::numeric_limits<uint16_t>::max()) slots.push_back(static_cast<uint16_t>(row));
  }
  const uint32_t count = slots.empty() ? 0 : slots.back() + 1U;
  const ColumnRun some = chunk.decode_some(0, count, slots, &buffer);
  for (const uint16_t slot : slots) {
    const Cell cell = test::cell_at(chunk, slot, &scratch);
    DIPTYCH_CHECK(cell == test::cell_of(some, slot), "decode_some() and cell_at() read the same");
  }
}

void check_selects(const Chunk& chunk) {
  std::vector<uint64_t> words(bitmap_words(chunk.rows()));
  std::vector<Predicate> predicates = {Predicate::is_null(), Predicate::is_not_null()};
  std::string scratch;
  const Cell some =
      chunk.rows() == 0 ? Cell::null() : test::cell_at(chunk, chunk.rows() / 2, &scratch);
  if (chunk.kind() == ValueKind::kText) {
    const std::string text(some.text.substr(0, 40));
    const std::string_view texts[] = {"", text, "abc", "zz"};
    predicates.push_back(Predicate::compare(Comparison::kEqual, std::string_view(text)));
    predicates.push_back(Predicate::between(std::string_view("a"), "q"));
    predicates.push_back(Predicate::in(texts).complement());
    predicates.push_back(Predicate::prefix(text.substr(0, text.size() / 2)));
    predicates.push_back(Predicate::suffix(text.substr(text.size() / 2)));
  } else {
    const int64_t keys[] = {some.key, 0, 7, chunk.min(), chunk.max()};
    predicates.push_back(Predicate::compare(Comparison::kEqual, some.key));
    predicates.push_back(Predicate::compare(Comparison::kLess, some.key));
    predicates.push_back(Predicate::in(keys).complement());
    predicates.push_back(Predicate::between(some.key / 2, some.key));
  }
  const uint32_t behind = chunk.rows() % 64;
  for (const Predicate& predicate : predicates) {
    test::select(chunk, predicate, words.data());
    DIPTYCH_CHECK(behind == 0 || words.back() >> behind == 0, "no row behind the last passes");
  }
}

std::vector<Cell> cells_for(const Chunk& chunk, std::string_view text) {
  if (chunk.kind() == ValueKind::kText) {
    return {Cell::null(), Cell::of_text(""), Cell::of_text(text), Cell::of_text("x")};
  }
  std::vector<Cell> cells = {Cell::null()};
  for (const int64_t key : {int64_t{0}, int64_t{1}, chunk.min(), chunk.max(), int64_t{77}}) {
    cells.push_back(as_value(Cell::number(key), chunk.kind()));
  }
  return cells;
}

// The other rows are what they were. Not of plain texts: where those of a damaged chunk overlap,
// all stay within the heap, and what they are is the checksum's matter.
void check_others(const Chunk& before, const Chunk& after, uint32_t patched) {
  if (before.kind() == ValueKind::kText && before.encoding() == Encoding::kPlain) return;
  std::string scratch;
  std::string other;
  for (const uint32_t row : rows_to_read(before.rows())) {
    if (row == patched) continue;
    DIPTYCH_CHECK(test::cell_at(before, row, &scratch) == test::cell_at(after, row, &other),
                  "a patch leaves the other rows as they were");
  }
}

// A patch is read again, leaves the rest as it was, and keeps the chunk one that open() accepts.
void check_patches(std::span<const std::byte> bytes, const Chunk& chunk) {
  const Exact patched(bytes);
  std::string text(reinterpret_cast<const char*>(bytes.data()), std::min<size_t>(bytes.size(), 30));
  std::string scratch;
  for (const Cell& cell : cells_for(chunk, text)) {
    for (const uint32_t row : {0U, chunk.rows() / 3, chunk.rows() - 1}) {
      const Exact before(patched.bytes());
      if (Chunk::patch(patched.bytes(), row, cell) == Patch::kNeedsThaw) continue;
      const auto reopened = Chunk::open(patched.bytes());
      DIPTYCH_CHECK(reopened.ok(), "a patched chunk is one");
      check_others(Chunk::trusted(before.bytes()), *reopened, row);
      DIPTYCH_CHECK(test::cell_at(*reopened, row, &scratch) == cell,
                    "a patch is what is read from then on");
    }
  }
  const auto reopened = Chunk::open(patched.bytes());
  DIPTYCH_CHECK(reopened.ok(), "a patched chunk is one");
  check_reads(*reopened);
}

void check_thaw_and_freeze(const Chunk& chunk) {
  constexpr uint32_t kRowsMax = 4096;
  if (chunk.rows() > kRowsMax) return;
  std::string scratch;
  const uint32_t row = chunk.rows() / 2;
  const Cell cell = chunk.kind() == ValueKind::kText ? Cell::of_text("thawed") : Cell::number(1);
  const auto thawed = thaw(chunk, row, cell, NullRoom::kMap);
  if (thawed.ok()) {
    const auto opened = Chunk::open(*thawed);
    DIPTYCH_CHECK(opened.ok(), "what thaw() made is a chunk");
    DIPTYCH_CHECK(test::cell_at(*opened, row, &scratch) == cell, "thaw() writes the cell");
    check_others(chunk, *opened, row);
    check_reads(*opened);
  }
  RunBuffer buffer;
  const auto frozen = encode(chunk.decode(0, chunk.rows(), &buffer));
  if (!frozen.ok()) return;
  const auto opened = Chunk::open(*frozen);
  DIPTYCH_CHECK(opened.ok(), "what encode() made is a chunk");
  std::string other;
  for (uint32_t i = 0; i < chunk.rows(); ++i) {
    DIPTYCH_CHECK(test::cell_at(chunk, i, &scratch) == test::cell_at(*opened, i, &other),
                  "a frozen chunk has the same values");
  }
}

void check_chunk(std::span<const std::byte> input) {
  const Exact exact(input);
  const auto opened = Chunk::open(exact.bytes());
  if (!opened.ok()) {
    DIPTYCH_CHECK(opened.code() == base::ErrorCode::kCorrupt, "damage is kCorrupt");
    DIPTYCH_CHECK(!opened.error().message.empty(), "damage is said in words");
    return;
  }
  check_reads(*opened);
  check_selects(*opened);
  if (opened->rows() == 0) return;
  check_patches(exact.bytes(), *opened);
  check_thaw_and_freeze(*opened);
}

}  // namespace
}  // namespace diptych::storage::encoding

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  diptych::storage::encoding::check_chunk(std::as_bytes(std::span(data, size)));
  return 0;
}
