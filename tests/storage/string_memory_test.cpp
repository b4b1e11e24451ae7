// What the strings of hot pages take when they change their sizes, or a snapshot has had them.

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "storage/replica_snapshot.h"
#include "tests/storage/kept_replica.h"
#include "tests/storage/one_row.h"
#include "tests/temporary_directory.h"

namespace diptych::storage {
namespace {

using test::KeptReplica;

constexpr size_t kSlackBytes = size_t{4} << 20;

base::TableSchema number_and_text() {
  base::TableSchema schema;
  schema.name = "texts";
  schema.columns.push_back({"a", {base::TypeKind::kBigInt}, base::Nullability::kNotNull});
  schema.columns.push_back({"b", {base::TypeKind::kVarchar}, base::Nullability::kNotNull});
  schema.indexes.push_back(
      {"texts_pkey", {}, base::IndexKind::kHash, base::Uniqueness::kUnique, {base::ColumnId(0)}});
  return schema;
}

// Rows in pages that stay so: they do not fill their range.
class TextRows {
 public:
  TextRows() : kept_(directory_.path(), number_and_text(), 0) {}

  void insert(size_t rows, size_t bytes) {
    for (size_t i = 0; i < rows; ++i) {
      const std::vector<std::byte> record = record_of(bytes);
      ordinals_.push_back(
          test::insert_row(partition(), base::RowId(i), record.data(), record.data()));
    }
  }
  void update_all(size_t bytes) {
    const std::vector<std::byte> record = record_of(bytes);
    // In steps that share no page with the ones before.
    for (size_t first = 0; first < kStep; ++first) {
      for (size_t i = first; i < ordinals_.size(); i += kStep) {
        test::update_cell(partition(), ordinals_[i], base::ColumnId(1),
                          record.data() + layout_.columns[1].offset, record.data());
      }
    }
  }
  void erase_all() {
    for (const uint32_t ordinal : ordinals_) partition().erase(ordinal);
    ordinals_.clear();
  }
  // Until nothing is left to do.
  void compact() {
    for (int i = 0; i < 100 && partition().wants_compaction(); ++i) partition().compact();
    EXPECT_FALSE(partition().wants_compaction());
  }

  Partition& partition() { return kept_.partition(); }
  KeptReplica& kept() { return kept_; }
  const std::string& directory() const { return directory_.path(); }
  size_t string_bytes() { return partition().figures().string_bytes; }

 private:
  static constexpr size_t kStep = 97;

  std::vector<std::byte> record_of(size_t bytes) const {
    std::vector<std::byte> record(layout_.bytes + bytes, std::byte{'x'});
    std::memset(record.data(), 0, layout_.bytes);
    base::Text text;
    text.data = reinterpret_cast<const char*>(layout_.bytes);
    text.size = static_cast<uint32_t>(bytes);
    std::memcpy(record.data() + layout_.columns[1].offset, &text, sizeof text);
    return record;
  }

  diptych::test::TemporaryDirectory directory_;
  KeptReplica kept_;
  base::RowLayout layout_{number_and_text()};
  std::vector<uint32_t> ordinals_;
};

TEST(StringMemory, SizesThatNoStringHasAnyMoreKeepNone) {
  TextRows rows;
  rows.insert(kBlockRowsMin - 1, 15'000);
  EXPECT_GE(rows.string_bytes(), (kBlockRowsMin - 1) * 15'000);
  for (const size_t bytes : {100, 5000, 40, 11'000, 100}) {
    rows.update_all(bytes);
    rows.compact();
    EXPECT_LE(rows.string_bytes(), kBlockRowsMin * bytes * 3 / 2 + kSlackBytes) << bytes;
  }
}

TEST(StringMemory, ErasedRowsGiveTheirStringsBack) {
  TextRows rows;
  rows.insert(kBlockRowsMin - 1, 15'000);
  rows.erase_all();
  rows.compact();
  EXPECT_LE(rows.string_bytes(), kSlackBytes);
}

TEST(StringMemory, WhatASnapshotHeldIsFreeOnceItHasGone) {
  TextRows rows;
  rows.insert(kBlockRowsMin - 1, 15'000);
  const size_t before = rows.string_bytes();
  for (int i = 0; i < 3; ++i) {
    {
      ReplicaSnapshot snapshot(&rows.kept().replica());
      rows.update_all(15'000);
      EXPECT_GE(rows.string_bytes(), 2 * before - before / 8);
      ASSERT_TRUE(snapshot.save(rows.directory(), {}).ok());
    }
    rows.kept().replica().reclaim();
    EXPECT_LE(rows.string_bytes(), before * 3 / 2) << "snapshot " << i;
  }
}

}  // namespace
}  // namespace diptych::storage
