#include "olap/execution/join/join_table.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "olap/execution/join/join_filter.h"
#include "olap/execution/join/join_sides.h"
#include "olap/execution/limits/query_failure.h"

namespace diptych::olap {

namespace {

constexpr uint64_t kBuildRowsAWorkerMin = 16 * kVectorRows;
// A table that is shared out costs about twice the work (BM_BuildKeyTable).
constexpr uint32_t kSharingWorkersMin = 4;
// By so many rows it is told in which order they come.
constexpr uint64_t kOrderRows = 4 * kVectorRows;
constexpr const char* kBuildSideIs = "the build side of a join";  // for messages

std::vector<PhysicalType> key_types(const Operator& join) {
  std::vector<PhysicalType> types;
  for (size_t i = 0; i < join.build_keys.size(); ++i) {
    types.push_back(physical_type(join.build_keys[i]->type));
    if (types.back() != physical_type(join.probe_keys[i]->type)) {
      fail_query(base::ErrorCode::kUnsupported, "a join's keys have different types");
    }
  }
  return types;
}

bool are_integers(const std::vector<PhysicalType>& types) {
  return !types.empty() && std::all_of(types.begin(), types.end(), [](PhysicalType type) {
    return type == PhysicalType::kInt32 || type == PhysicalType::kInt64;
  });
}

// Types for a store of the build keys; none where they are not integers.
std::vector<base::DataType> integer_key_types(const Operator& join) {
  std::vector<base::DataType> types;
  if (!are_integers(key_types(join))) return types;
  for (const ExpressionPtr& key : join.build_keys) types.push_back(key->type);
  return types;
}

// f(vectors of the key columns, their rows) for a part's rows, a vector's worth at a time.
template <class F>
void for_key_vectors(const ColumnStore& keys, RowRange range, F&& f) {
  std::vector<Vector> vectors(keys.column_count());
  Selection rows;
  for (uint64_t first = range.begin; first < range.end; first += kVectorRows) {
    const uint64_t left = range.end - first;
    select_all(static_cast<uint32_t>(std::min<uint64_t>(kVectorRows, left)), &rows);
    for (size_t c = 0; c < vectors.size(); ++c) {
      vectors[c].type = keys.type(c);
      if (keys.type(c) == PhysicalType::kInt32) {
        vectors[c].values = keys.values<int32_t>(c) + first;
      } else {
        vectors[c].values = keys.values<int64_t>(c) + first;
      }
    }
    f(vectors, rows);
  }
}

// The key's columns, those first that change less from row to row: in places by this order, rows
// that come sorted by key, whatever its order in the query, lie as they come.
std::vector<uint32_t> order_of_keys(const std::vector<std::unique_ptr<BuildPart>>& parts) {
  const ColumnStore* keys = &parts[0]->integer_keys;
  for (const auto& part : parts) {
    if (part->integer_keys.row_count() > keys->row_count()) keys = &part->integer_keys;
  }
  const uint64_t rows = std::min(keys->row_count(), kOrderRows);
  std::vector<uint32_t> changes;
  const auto count_changes = [&](const auto* values) {
    uint32_t count = 0;
    for (uint64_t row = 1; row < rows; ++row) {
      count += static_cast<uint32_t>(values[row] != values[row - 1]);
    }
    changes.push_back(count);
  };
  for (size_t c = 0; c < keys->column_count(); ++c) {
    if (keys->type(c) == PhysicalType::kInt32) {
      count_changes(keys->values<int32_t>(c));
    } else {
      count_changes(keys->values<int64_t>(c));
    }
  }
  std::vector<uint32_t> order(changes.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return changes[a] < changes[b]; });
  return order;
}

}  // namespace

BuildPart::BuildPart(const Operator& join, const NeededColumns& needed, MemoryBudget* memory,
                     uint32_t parts)
    : rows(needed.kept_types(join), needed.kept_by(join)),
      unmatchable(needed.kept_types(join), needed.kept_by(join)),
      integer_keys(integer_key_types(join)),
      charge(memory, kBuildSideIs) {
  const double expected_rows = join.children[1]->estimated_rows / parts;
  rows.expect(expected_rows);
  integer_keys.expect(expected_rows);
}

JoinTable::JoinTable(const Operator& join, const QueryLimits& limits)
    : join_(join),
      limits_(limits),
      has_keys_(!join.build_keys.empty()),
      probe_rows_(join.children[0]->estimated_rows),
      key_types_(key_types(join)),
      has_integer_keys_(are_integers(key_types_)),
      packer_(key_types_, NullKeys::kNever),
      table_(packer_, limits, kBuildSideIs),
      charge_(limits.memory, kBuildSideIs) {}

size_t JoinTable::memory_bytes() const {
  size_t bytes = rows_->memory_bytes() + unmatchable_->memory_bytes() + table_.memory_bytes() +
                 places_.memory_bytes() + row_starts_.bytes() + rows_by_key_.bytes() +
                 (bounds_.has_value() ? bounds_->memory_bytes() : 0) +
                 (ranges_.has_value() ? ranges_->memory_bytes() : 0) +
                 (choices_.has_value() ? choices_->memory_bytes() : 0);
  for (const QueryHeap& heap : heaps_) bytes += heap.memory_bytes();
  for (const KeyColumnSet& set : column_sets_) bytes += set.memory_bytes();
  return bytes;
}

void JoinTable::build(std::vector<std::unique_ptr<BuildPart>> parts, const Workers& workers) {
  DIPTYCH_CHECK(rows_ == nullptr && !parts.empty(), "a join's table is built once");
  uint64_t row_count = 0;
  for (const auto& part : parts) row_count += part->rows.row_count();
  if (row_count >= UINT32_MAX) {
    fail_query(base::ErrorCode::kOutOfMemory, "a join's build side has more than 2^32 - 2 rows");
  }
  // The parts' memory is this table's from here on, with their keys' numbers.
  size_t bytes = has_keys_ ? row_count * sizeof(uint32_t) : 0;
  for (const auto& part : parts) {
    bytes += part->charge.bytes();
    part->charge.set(0);
  }
  charge_.set(bytes);
  rows_ = std::make_unique<ColumnStore>(std::move(parts[0]->rows));
  unmatchable_ = std::make_unique<ColumnStore>(std::move(parts[0]->unmatchable));
  std::vector<ColumnStore*> rows;
  for (size_t i = 1; i < parts.size(); ++i) {
    rows.push_back(&parts[i]->rows);
    unmatchable_->absorb(std::move(parts[i]->unmatchable));
  }
  rows_->absorb_all(rows, workers);
  if (!has_keys_) return find_candidates();

  GrowingArray<uint32_t> numbers;
  numbers.resize(row_count);
  const StopSignal& stop = workers.stop();
  if (!number_directly(parts, &numbers, stop)) {
    number_by_hash(parts, &numbers, workers);
    find_column_sets(stop);
  }
  for (const auto& part : parts) heaps_.push_back(std::move(part->heap));
  if (key_count_ == row_count) {
    rows_->reorder(numbers, workers);
  } else {
    chain(numbers, stop);
    bounds_ = KeyBounds::make(join_, *rows_, numbers, key_count_, stop);
  }
  parts.clear();
  charge_.set(memory_bytes());
  if (!unique()) find_ranges();
}

void JoinTable::find_column_sets(const StopSignal& stop) {
  const bool pays =
      probe_rows_ >= kProbeRowsAKeyMin * key_count_ && filtered_scan(join_) != nullptr;
  for (size_t c = 0; pays && c < key_types_.size(); ++c) {
    if (!are_integers({key_types_[c]})) continue;
    auto set = KeyColumnSet::make(table_, packer_, c, key_types_[c],
                                  KeyPlaces::size_max(key_count_, probe_rows_), stop);
    if (set) column_sets_.push_back(*std::move(set));
  }
}

void JoinTable::find_candidates() {
  choices_ = KeyChoices::make(join_, *rows_, limits_);
  if (!choices_.has_value()) return find_ranges();
  charge_.set(memory_bytes());
}

void JoinTable::find_ranges() {
  const bool decided = bounds_.has_value() && bounds_->decides() && asks_existence(join_.join);
  if (decided) return;
  ranges_ = RangeRows::make(join_, *rows_, row_starts_, rows_by_key_, limits_);
  charge_.set(memory_bytes());
}

QueryHeap JoinTable::take_texts() {
  QueryHeap texts = rows_->take_texts();
  texts.absorb(unmatchable_->take_texts());
  charge_.set(memory_bytes());
  return texts;
}

JoinMethod JoinTable::method() const {
  if (choices_.has_value()) return JoinMethod::kAlternativeKeys;
  if (ranges_.has_value()) return JoinMethod::kRange;
  if (has_keys_) return is_direct() ? JoinMethod::kArray : JoinMethod::kHash;
  return joins_once() ? JoinMethod::kSingleRow : JoinMethod::kNestedLoop;
}

std::optional<KeyValues> JoinTable::key_values() const {
  if (!is_direct() || key_bounds_.size() != 1) return std::nullopt;
  return KeyValues{key_bounds_[0].min, places_.taken(dense_->size())};
}

bool JoinTable::number_directly(const std::vector<std::unique_ptr<BuildPart>>& parts,
                                GrowingArray<uint32_t>* numbers, const StopSignal& stop) {
  if (!has_integer_keys_ || numbers->size() == 0) return false;
  key_bounds_.assign(key_types_.size(), {});
  for (const auto& part : parts) {
    for (size_t c = 0; c < key_bounds_.size(); ++c) part->integer_keys.widen(c, &key_bounds_[c]);
  }
  dense_ = DenseKeys::make(key_bounds_, KeyPlaces::size_max(numbers->size(), probe_rows_),
                           order_of_keys(parts));
  if (!dense_.has_value()) return false;
  size_t row = 0;
  for (const auto& part : parts) {
    for_key_vectors(part->integer_keys, {0, part->integer_keys.row_count()},
                    [&](const std::vector<Vector>& keys, const Selection& some) {
                      stop.check();
                      dense_->number(keys, some, numbers->data() + row);
                      row += some.slots;
                    });
  }
  DIPTYCH_CHECK(row == numbers->size(), "every build row that was kept has a key");
  key_count_ = places_.build(dense_->size(), numbers, stop);
  return true;
}

void JoinTable::number_by_hash(const std::vector<std::unique_ptr<BuildPart>>& parts,
                               GrowingArray<uint32_t>* numbers, const Workers& workers) {
  const size_t bytes = numbers->size() * (kIndexBytesARow + packer_.words() * sizeof(uint64_t));
  if (workers.count_for(numbers->size(), kBuildRowsAWorkerMin) >= kSharingWorkersMin) {
    charge_.set(charge_.bytes() + bytes);
    number_by_hash_shared(parts, numbers, workers);
    return;
  }
  const StopSignal& stop = workers.stop();
  table_.reserve(numbers->size());  // it charges its slots itself meanwhile
  charge_.set(charge_.bytes() + bytes);
  uint64_t row = 0;
  const auto insert = [&](const uint64_t* keys, const uint64_t* hashes, uint32_t count) {
    stop.check();
    table_.find_or_insert(keys, hashes, count, StringLife::kQuery, numbers->data() + row);
    row += count;
  };
  const uint32_t words = packer_.words();
  std::vector<uint64_t> packed(size_t{kVectorRows} * words);
  std::vector<uint64_t> hashes(kVectorRows);
  for (const auto& part : parts) {
    if (has_integer_keys_) {
      for_key_vectors(part->integer_keys, {0, part->integer_keys.row_count()},
                      [&](const std::vector<Vector>& keys, const Selection& some) {
                        packer_.pack(keys, some, packed.data(), hashes.data());
                        insert(packed.data(), hashes.data(), some.slots);
                      });
      continue;
    }
    const uint64_t count = part->hashes.size();
    for (uint64_t first = 0; first < count; first += kVectorRows) {
      insert(part->keys.data() + first * words, part->hashes.data() + first,
             static_cast<uint32_t>(std::min<uint64_t>(kVectorRows, count - first)));
    }
  }
  DIPTYCH_CHECK(row == numbers->size(), "every build row that was kept has a key");
  key_count_ = table_.size();
}

void JoinTable::number_by_hash_shared(const std::vector<std::unique_ptr<BuildPart>>& parts,
                                      GrowingArray<uint32_t>* numbers, const Workers& workers) {
  const uint32_t words = packer_.words();
  const size_t rows = numbers->size();
  // For a second copy of the keys, where some come repeatedly.
  charge_.set(charge_.bytes() + rows * (words + size_t{1}) * sizeof(uint64_t));
  GrowingArray<uint64_t> keys;
  GrowingArray<uint64_t> hashes;
  keys.resize(rows * words);
  hashes.resize(rows);
  uint64_t part_first = 0;
  for (const auto& part : parts) {
    const uint64_t part_rows =
        has_integer_keys_ ? part->integer_keys.row_count() : part->hashes.size();
    workers.run_ranges(part_rows, kBuildRowsAWorkerMin, [&](RowRange range) {
      uint64_t* const part_keys = keys.data() + part_first * words;
      uint64_t* const part_hashes = hashes.data() + part_first;
      if (!has_integer_keys_) {
        std::copy(part->keys.data() + range.begin * words, part->keys.data() + range.end * words,
                  part_keys + range.begin * words);
        std::copy(part->hashes.data() + range.begin, part->hashes.data() + range.end,
                  part_hashes + range.begin);
        return;
      }
      uint64_t row = range.begin;
      for_key_vectors(part->integer_keys, range,
                      [&](const std::vector<Vector>& vectors, const Selection& some) {
                        workers.stop().check();
                        packer_.pack(vectors, some, part_keys + row * words, part_hashes + row);
                        row += some.slots;
                      });
    });
    part_first += part_rows;
  }
  DIPTYCH_CHECK(part_first == rows, "every build row that was kept has a key");
  table_.build(std::move(keys), std::move(hashes), workers, numbers->data());
  key_count_ = table_.size();
}

void JoinTable::find(std::span<const Vector> keys, const Selection& rows, uint32_t* numbers) const {
  uint32_t places[kVectorRows];
  dense_->number(keys, rows, places);
  for_numbered(rows, [&](uint32_t k, uint32_t slot) { numbers[k] = places_.number(places[slot]); });
}

void JoinTable::select(std::span<const Vector> keys, const Selection& rows,
                       Selection* with_match) const {
  uint32_t places[kVectorRows];
  dense_->number(keys, rows, places);
  places_.select(places, rows, with_match);
}

void JoinTable::match(std::span<const Vector> keys, const Selection& rows, uint32_t* numbers,
                      Selection* with_match) const {
  uint32_t places[kVectorRows];
  dense_->number(keys, rows, places);
  places_.match(places, rows, with_match, numbers);
}

// A counting sort of the rows by key number.
void JoinTable::chain(const GrowingArray<uint32_t>& numbers, const StopSignal& stop) {
  row_starts_.resize(key_count_ + size_t{1}, 0);
  for (size_t row = 0; row < numbers.size(); ++row) {
    stop.check_at(row);
    ++row_starts_[numbers[row] + size_t{1}];
  }
  for (size_t key = 1; key < row_starts_.size(); ++key) {
    stop.check_at(key);
    row_starts_[key] += row_starts_[key - 1];
  }
  GrowingArray<uint32_t> ends;
  ends.resize(row_starts_.size());
  std::copy_n(row_starts_.data(), row_starts_.size(), ends.data());
  rows_by_key_.resize(numbers.size());
  for (size_t row = 0; row < numbers.size(); ++row) {
    stop.check_at(row);
    rows_by_key_[ends[numbers[row]]++] = static_cast<uint32_t>(row);
  }
}

BuildStage::BuildStage(const RunContext& context, const Operator& join, const JoinTable& table,
                       BuildPart* part)
    : table_(table),
      keeps_unmatchable_(join.join == JoinKind::kBuildAnti),
      part_(part),
      keys_(compile_expressions(join.build_keys, context.limits())) {}

bool BuildStage::push(Batch& batch) {
  keep(batch);
  part_->charge.set(part_->memory_bytes());
  return true;
}

void BuildStage::keep(const Batch& batch) {
  if (!table_.has_keys()) {
    part_->rows.append(batch.columns, *batch.selection);
    return;
  }
  key_vectors_.clear();
  for (const NodePtr& key : keys_) {
    key_vectors_.push_back(key->evaluate(batch, *batch.selection));
  }
  select_without_nulls(key_vectors_, *batch.selection, &with_key_);
  if (keeps_unmatchable_ && with_key_.count != batch.selection->count) {
    uint64_t bits[kVectorWords];
    for (uint32_t w = 0; w < kVectorWords; ++w) {
      bits[w] = batch.selection->bits[w] & ~with_key_.bits[w];
    }
    select_bits(bits, batch.selection->slots, &without_key_);
    part_->unmatchable.append(batch.columns, without_key_);
  }
  if (with_key_.count == 0) return;
  part_->rows.append(batch.columns, with_key_);
  if (table_.has_integer_keys()) {
    for (Vector& key : key_vectors_) key.nulls = nullptr;  // none that is selected
    part_->integer_keys.append(key_vectors_, with_key_);
    return;
  }
  const uint32_t words = table_.packer().words();
  const size_t old = part_->hashes.size();
  part_->hashes.resize(old + with_key_.count);
  part_->keys.resize((old + with_key_.count) * words);
  uint64_t* const keys = part_->keys.data() + old * words;
  table_.packer().pack(key_vectors_, with_key_, keys, part_->hashes.data() + old);
  const bool texts_go = std::any_of(key_vectors_.begin(), key_vectors_.end(), [](const Vector& v) {
    return v.string_life == StringLife::kBatch;
  });
  if (texts_go && table_.packer().has_texts()) {
    for (uint32_t k = 0; k < with_key_.count; ++k) {
      table_.packer().keep_texts(keys + size_t{k} * words, &part_->heap);
    }
  }
}

}  // namespace diptych::olap
