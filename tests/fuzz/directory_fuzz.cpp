// What read_directory accepts is written and read again as the same. Input: a directory of the
// table of every type.

#include <span>

#include "base/check.h"
#include "storage/leaf_directory.h"
#include "tests/storage/every_type_table.h"

namespace diptych::storage {
namespace {

void check_directory(std::span<const std::byte> input) {
  static const base::TableSchema schema = test::every_type_schema();
  const auto read = read_directory(schema, input);
  if (!read.ok()) {
    DIPTYCH_CHECK(read.code() == base::ErrorCode::kCorrupt, "damage is kCorrupt");
    DIPTYCH_CHECK(!read.error().message.empty(), "damage is said in words");
    return;
  }
  uint64_t live_rows = 0;
  for (const SavedPartition& partition : read->partitions) {
    uint64_t next = 0;
    for (const SavedLeaf& leaf : partition) {
      DIPTYCH_CHECK(leaf.first_ordinal == next, "leaves have no gaps");
      DIPTYCH_CHECK(leaf.columns.size() == schema.columns.size() + 1, "every column has a chunk");
      DIPTYCH_CHECK(leaf.live_bits.size() == encoding::bitmap_words(leaf.rows), "a bit a row");
      next += leaf.rows;
      live_rows += leaf.live_rows();
    }
  }
  DIPTYCH_CHECK(live_rows == read->live_rows(), "the table's rows are its leaves'");
  const std::vector<std::byte> written = write_directory(schema, *read);
  const auto again = read_directory(schema, written);
  DIPTYCH_CHECK(again.ok(), "what was written is read");
  DIPTYCH_CHECK(write_directory(schema, *again) == written, "and is the same");
}

}  // namespace
}  // namespace diptych::storage

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  diptych::storage::check_directory(std::as_bytes(std::span(data, size)));
  return 0;
}
