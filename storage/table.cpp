#include "storage/table.h"

#include <cstring>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/string_ref.h"
#include "storage/partition_store.h"

namespace diptych::storage {
namespace {

base::Value value_at(const base::DataType& type, const ColumnView& view, uint32_t i) {
  switch (type.kind) {
    case base::TypeKind::kInt: return int64_t{view.as<int32_t>()[i]};
    case base::TypeKind::kDate: return base::Date{view.as<int32_t>()[i]};
    case base::TypeKind::kBigInt: return view.as<int64_t>()[i];
    case base::TypeKind::kDecimal: return base::DecimalValue{view.as<int64_t>()[i], type.scale};
    case base::TypeKind::kTimestamp: return base::Timestamp{view.as<int64_t>()[i]};
    case base::TypeKind::kDouble: return view.as<double>()[i];
    case base::TypeKind::kBoolean: return view.as<uint8_t>()[i] != 0;
    case base::TypeKind::kChar:
    case base::TypeKind::kVarchar: break;
  }
  return std::string(view.as<base::StringRef>()[i].view());
}

// Murmur3's finaliser: every bit of the RowID moves every bit of the hash.
uint64_t mix(uint64_t bits) {
  bits = (bits ^ (bits >> 33)) * 0xff51afd7ed558ccdULL;
  bits = (bits ^ (bits >> 33)) * 0xc4ceb9fe1a85ec53ULL;
  return bits ^ (bits >> 33);
}

}  // namespace

Partition::Partition(const base::TableSchema& schema, base::NumaNode node)
    : store_(std::make_unique<PartitionStore>(base::RowLayout(schema), node)) {}
Partition::Partition(Partition&&) noexcept = default;
Partition::~Partition() = default;

size_t Partition::leaf_count() const {
  return store_->leaf_count();
}

const Leaf& Partition::leaf(size_t index) const {
  DIPTYCH_DCHECK(index < store_->leaf_count(), "leaves are numbered from 0");
  return store_->leaf(index);
}

const Leaf& Partition::leaf_of(uint32_t ordinal, uint32_t* position) const {
  return store_->leaf_of(ordinal, position);
}

uint64_t Partition::live_rows() const {
  return store_->live_rows();
}

base::Value Partition::value(uint32_t ordinal, base::ColumnId column) const {
  uint32_t position;
  const PlainLeaf& leaf = store_->leaf_of(ordinal, &position);
  DIPTYCH_CHECK(position < leaf.row_slots() && leaf.lives(position), "only live rows have values");
  DecodeBuffer buffer;
  const uint32_t first = position / 64 * 64;
  const uint32_t at = position - first;
  const ColumnView view = leaf.column(column, first, at + 1, &buffer);
  if (view.nulls != nullptr && (view.nulls[0] >> at & 1) != 0) return std::monostate();
  return value_at(store_->format().columns[column.value].type, view, at);
}

uint32_t Partition::insert(base::RowId row_id, const std::byte* row,
                           const std::byte* strings_base) {
  return store_->insert(row_id, row, strings_base);
}

void Partition::update(uint32_t ordinal, base::ColumnId column, const std::byte* cell,
                       const std::byte* strings_base) {
  store_->update(ordinal, column, cell, strings_base);
}

void Partition::erase(uint32_t ordinal) {
  store_->erase(ordinal);
}

void Partition::prefetch(uint32_t ordinal) const {
  uint32_t position;
  const PlainLeaf& leaf = store_->leaf_of(ordinal, &position);
  leaf.prefetch_row(position);
}

void Partition::prefetch(uint32_t ordinal, base::ColumnId column) const {
  uint32_t position;
  const PlainLeaf& leaf = store_->leaf_of(ordinal, &position);
  leaf.prefetch_cell(position, column);
}

size_t Partition::compact() {
  return store_->compact();
}

void Partition::compact_all() {
  store_->compact_all();
}

size_t Partition::memory_bytes() const {
  return store_->memory_bytes();
}

Table::Table(const base::TableSchema& schema, uint32_t partitions, base::NumaNode node)
    : schema_(&schema), layout_(schema) {
  DIPTYCH_CHECK(partitions != 0, "a table has at least one partition");
  for (uint32_t i = 0; i < partitions; ++i) partitions_.emplace_back(schema, node);
}

base::PartitionId Table::partition_of(base::RowId row_id) const {
  // The upper half of the hash; RowIndex takes its bucket from the lower half.
  const uint64_t upper = mix(row_id.value) >> 32;
  return base::PartitionId(static_cast<uint32_t>(upper * partitions_.size() >> 32));
}

uint64_t Table::live_rows() const {
  uint64_t rows = 0;
  for (const Partition& partition : partitions_) rows += partition.live_rows();
  return rows;
}

size_t Table::memory_bytes() const {
  size_t bytes = 0;
  for (const Partition& partition : partitions_) bytes += partition.memory_bytes();
  return bytes;
}

void Replica::add_table(const base::TableSchema& schema) {
  DIPTYCH_CHECK(schema.id.value == tables_.size(), "tables are added in the order of TableIds");
  tables_.push_back(std::make_unique<Table>(schema, partitions_, node_));
}

}  // namespace diptych::storage
