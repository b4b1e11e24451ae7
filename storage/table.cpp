#include "storage/table.h"

#include <string>
#include <utility>

#include "base/check.h"
#include "base/string_ref.h"
#include "storage/block_file.h"
#include "storage/buffer_manager.h"
#include "storage/partition_image.h"
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
    case base::TypeKind::kInterval:  // no column's
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

StorageOptions of_table(StorageOptions options, const base::TableSchema& schema) {
  if (schema.settled == base::Settled::kOn) options.settled = base::Settled::kOn;
  return options;
}

// Of what an image does not have: ReplicaSnapshot gives images out as const, and saves them.
PartitionStore& live(const std::unique_ptr<PartitionStore>& store) {
  DIPTYCH_DCHECK(store != nullptr, "an image is read, and not written");
  return *store;
}

}  // namespace

Partition::Partition(const base::TableSchema& schema, const StorageOptions& options,
                     BufferManager* buffers, base::PartitionId id)
    : store_(std::make_unique<PartitionStore>(schema, id, of_table(options, schema), buffers)) {}
Partition::Partition(std::unique_ptr<PartitionImage> image) : image_(std::move(image)) {}
Partition::Partition(Partition&&) noexcept = default;
Partition::~Partition() = default;

size_t Partition::leaf_count() const {
  return store_ != nullptr ? store_->leaf_count() : image_->leaf_count();
}

const Leaf& Partition::leaf(size_t index) const {
  DIPTYCH_DCHECK(index < leaf_count(), "leaves are numbered from 0");
  return store_ != nullptr ? store_->leaf(index) : image_->leaf(index);
}

const Leaf& Partition::leaf_of(uint32_t ordinal, uint32_t* position) const {
  return store_ != nullptr ? store_->leaf_of(ordinal, position)
                           : image_->leaf_of(ordinal, position);
}

uint64_t Partition::live_rows() const {
  return store_ != nullptr ? store_->live_rows() : image_->live_rows();
}

uint64_t Partition::changes(base::ColumnId column) const {
  return store_ != nullptr ? store_->changes(column) : 0;
}

ChangeWatch& Partition::watch() {
  return live(store_).watch();
}

uint32_t Partition::row_slots() const {
  if (leaf_count() == 0) return 0;
  const Leaf& last = leaf(leaf_count() - 1);
  return last.first_ordinal() + last.row_slots();
}

base::Value Partition::value(uint32_t ordinal, base::ColumnId column) const {
  uint32_t position;
  const Leaf& leaf = leaf_of(ordinal, &position);
  DIPTYCH_CHECK(position < leaf.row_slots() && leaf.lives(position), "only live rows have values");
  DecodeBuffer buffer;
  const uint32_t first = position / 64 * 64;
  const uint32_t at = position - first;
  const PinnedColumn values = value_or_throw(leaf.pin(column));
  const ColumnView view = values.view(first, at + 1, &buffer);
  if (view.nulls != nullptr && (view.nulls[0] >> at & 1) != 0) return std::monostate();
  const LeafFormat& format = store_ != nullptr ? store_->format() : image_->format();
  return value_at(format.columns[column.value].type, view, at);
}

void Partition::insert(std::span<const NewRow> rows, uint32_t* ordinals) {
  live(store_).insert(rows, ordinals);
}

void Partition::prefetch(std::span<const uint32_t> ordinals,
                         std::span<const base::ColumnId> columns) {
  live(store_).prefetch(ordinals, columns);
}

void Partition::update(std::span<const uint32_t> ordinals, base::ColumnId column,
                       std::span<const std::byte* const> records, size_t cell_offset) {
  live(store_).update(ordinals, column, records, cell_offset);
}

void Partition::note_writes(std::span<const uint32_t> ordinals) {
  live(store_).note_writes(ordinals);
}

void Partition::erase(uint32_t ordinal) {
  live(store_).erase(ordinal);
}

void Partition::prefetch_erase(uint32_t ordinal) const {
  live(store_).prefetch_erase(ordinal);
}

size_t Partition::compact(uint64_t until_ns) {
  return live(store_).compact(until_ns);
}

bool Partition::wants_compaction() const {
  return live(store_).wants_compaction();
}

void Partition::compact_all() {
  live(store_).compact_all();
}

void Partition::tell_moves(RowMoves* moves) {
  live(store_).tell_moves(moves);
}

std::unique_ptr<PartitionImage> Partition::cut() {
  return live(store_).cut();
}

void Partition::reclaim() {
  live(store_).reclaim();
}

base::Result<SavedPartition> Partition::save(const SavePace& pace) {
  if (image_ != nullptr) return image_->save(pace);
  return cut()->save(pace);
}

base::Result<void> Partition::restore(SavedPartition saved) {
  return live(store_).restore(std::move(saved));
}

void Partition::finish_restore() {
  live(store_).finish_restore();
}

PartitionFigures Partition::figures() const {
  return live(store_).figures();
}

Table::Table(const base::TableSchema& schema, const StorageOptions& options, BufferManager* buffers)
    : schema_(&schema), block_rows_(options.block_rows), layout_(schema) {
  DIPTYCH_CHECK(options.partitions != 0, "a table has at least one partition");
  for (uint32_t i = 0; i < options.partitions; ++i) {
    partitions_.emplace_back(schema, options, buffers, base::PartitionId(i));
  }
}

Table::Table(Table* cut)
    : cut_schema_(std::make_unique<base::TableSchema>(*cut->schema_)),
      schema_(cut_schema_.get()),
      block_rows_(cut->block_rows_),
      layout_(cut->layout_) {
  for (Partition& partition : cut->partitions_) partitions_.emplace_back(partition.cut());
}

base::Result<SavedTable> Table::save(const SavePace& pace) {
  SavedTable saved;
  saved.block_rows = block_rows_;
  for (Partition& partition : partitions_) {
    base::Result<SavedPartition> leaves = partition.save(pace);
    if (!leaves.ok()) return leaves.error();
    saved.partitions.push_back(std::move(*leaves));
  }
  return saved;
}

base::PartitionId Table::partition_of(base::RowId row_id) const {
  const uint64_t upper = mix(row_id.value / base::kRowIdRun) >> 32;
  return base::PartitionId(static_cast<uint32_t>(upper * partitions_.size() >> 32));
}

uint64_t Table::live_rows() const {
  uint64_t rows = 0;
  for (const Partition& partition : partitions_) rows += partition.live_rows();
  return rows;
}

uint64_t Table::changes(base::ColumnId column) const {
  uint64_t changes = 0;
  for (const Partition& partition : partitions_) changes += partition.changes(column);
  return changes;
}

PartitionFigures Table::figures() const {
  PartitionFigures figures;
  for (const Partition& partition : partitions_) figures.add(partition.figures());
  return figures;
}

Replica::Replica(const StorageOptions& options) : options_(options) {}

Replica::Replica(Replica* cut)
    : options_(cut->options_), buffers_(cut->buffers_), snapshot_(cut->snapshot_) {
  for (const auto& table : cut->tables_) tables_.push_back(std::make_unique<Table>(table.get()));
  live_tables_ = cut->live_tables_;
}

Replica::~Replica() {
  DIPTYCH_CHECK(snapshots() == 0, "a replica's snapshots go before it");
}

uint32_t Replica::snapshots() const {
  // acquire: pairs with the release of a snapshot that goes; what it did comes before.
  return snapshots_.load(std::memory_order_acquire);
}

size_t Replica::snapshot_bytes() const {
  size_t bytes = 0;
  for (const base::TableId id : live_tables_) bytes += table(id).figures().snapshot_bytes;
  for (const auto& table : cleared_) bytes += table->memory_bytes();
  return bytes;
}

void Replica::reclaim() {
  // acquire: pairs with the release of a snapshot that goes; its pages are there to be taken.
  if (!reclaims_.exchange(false, std::memory_order_acquire)) return;
  for (const base::TableId id : live_tables_) {
    Table& of_id = table(id);
    for (uint32_t p = 0; p < of_id.partition_count(); ++p) {
      of_id.partition(base::PartitionId(p)).reclaim();
    }
  }
  if (snapshots() == 0) forget_cleared();
}

void Replica::keep_in(std::unique_ptr<BlockFile> file, size_t memory_bytes_max) {
  DIPTYCH_CHECK(tables_.empty() && buffers_ == nullptr, "the file comes before the tables");
  own_buffers_ = std::make_unique<BufferManager>(
      std::move(file), BufferOptions{.bytes_max = memory_bytes_max, .node = options_.node});
  buffers_ = own_buffers_.get();
}

bool Replica::wants_compaction() const {
  for (const base::TableId id : live_tables_) {
    const Table& of_id = table(id);
    for (uint32_t p = 0; p < of_id.partition_count(); ++p) {
      if (of_id.partition(base::PartitionId(p)).wants_compaction()) return true;
    }
  }
  return false;
}

bool Replica::leaves_memory() const {
  return buffers_ != nullptr && buffers_->has_budget();
}

void Replica::add_table(const base::TableSchema& schema) {
  DIPTYCH_CHECK(schema.id.value == tables_.size(), "tables are added in the order of TableIds");
  live_tables_.reserve(tables_.size() + 1);
  tables_.push_back(std::make_unique<Table>(schema, options_, buffers_));
  live_tables_.push_back(schema.id);
}

void Replica::add_dropped_table() {
  tables_.push_back(std::make_unique<Table>(base::dropped_table(), options_, buffers_));
}

void Replica::clear_table(base::TableId id) {
  put_aside(id, table(id).schema());
}

void Replica::drop_table(base::Catalog::DroppedTable schema) {
  const base::TableId id = schema->id;
  cleared_schemas_.push_back(std::move(schema));
  put_aside(id, base::dropped_table());
  std::erase(live_tables_, id);
}

void Replica::put_aside(base::TableId id, const base::TableSchema& schema) {
  auto empty = std::make_unique<Table>(schema, options_, buffers_);
  cleared_.push_back(std::exchange(tables_[id.value], std::move(empty)));
  if (snapshots() == 0) forget_cleared();
}

void Replica::forget_cleared() {
  cleared_.clear();
  cleared_schemas_.clear();
}

void Replica::replace_directories(std::vector<ChunkAddress> directories) {
  for (size_t i = 0; i < directories_.size(); ++i) {
    const bool stays = i < directories.size() && directories[i] == directories_[i];
    if (!stays && directories_[i].is_set()) buffers_->file().release(directories_[i]);
  }
  directories_ = std::move(directories);
}

}  // namespace diptych::storage
