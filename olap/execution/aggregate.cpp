#include "olap/execution/aggregate.h"

#include <algorithm>

#include "base/check.h"
#include "olap/execution/query_failure.h"

namespace diptych::olap {

namespace {

std::vector<PhysicalType> key_types(const Operator& aggregate) {
  std::vector<PhysicalType> types;
  for (const ExpressionPtr& key : aggregate.expressions) types.push_back(physical_type(key->type));
  return types;
}

bool may_be_null(const Operator& aggregate) {
  return std::any_of(aggregate.expressions.begin(), aggregate.expressions.end(),
                     [](const ExpressionPtr& key) { return key->nullable; });
}

// A plan that says NOT NULL of a key that has nulls would merge groups: better no answer than a
// wrong one.
void require_no_nulls(const Vector& key, const Selection& rows) {
  if (key.nulls == nullptr) return;
  uint64_t nulls = 0;
  for (uint32_t w = 0; w < words_of(rows.slots); ++w) nulls |= key.nulls[w] & rows.bits[w];
  if (nulls != 0) {
    fail_query(base::ErrorCode::kUnsupported, "a plan's group key has nulls but is not nullable");
  }
}

}  // namespace

GroupTable::GroupTable(const Operator& aggregate, MemoryBudget* memory)
    : aggregate_(aggregate),
      has_keys_(!aggregate.expressions.empty()),
      nullable_keys_(may_be_null(aggregate)),
      keys_(compile_expressions(aggregate.expressions)),
      packer_(key_types(aggregate), nullable_keys_ ? NullKeys::kEqual : NullKeys::kNever),
      table_(packer_),
      packed_(size_t{kVectorRows} * std::max<uint32_t>(packer_.words(), 1)),
      hashes_(kVectorRows),
      numbers_(kVectorRows),
      charge_(memory, "the groups of a GROUP BY") {
  for (const Aggregate& one : aggregate.aggregates) {
    std::vector<NodePtr> arguments = compile_expressions(one.further);
    if (one.argument != nullptr) {
      arguments.insert(arguments.begin(), compile_expression(*one.argument));
    }
    arguments_.push_back(std::move(arguments));
    aggregates_.push_back(make_aggregate_column(one));
    if (!has_keys_) aggregates_.back()->resize(1);
  }
}

void GroupTable::charge() {
  size_t bytes = table_.memory_bytes();
  if (by_build_row_.has_value()) bytes += by_build_row_->memory_bytes();
  for (const auto& aggregate : aggregates_) bytes += aggregate->memory_bytes();
  charge_.set(bytes);
}

void GroupTable::take_keys_from(const Operator& join, const JoinTable& table) {
  std::vector<uint32_t> columns;
  for (const ExpressionPtr& key : aggregate_.expressions) {
    for (const uint32_t column : columns_read(*key)) columns.push_back(column);
  }
  std::sort(columns.begin(), columns.end());
  columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  by_build_row_.emplace(join, table, std::move(columns));
}

void GroupTable::find_groups(const Batch& batch, uint32_t* numbers) {
  const Selection& rows = *batch.selection;
  key_vectors_.clear();
  StringLife life = StringLife::kQuery;
  for (const NodePtr& key : keys_) {
    key_vectors_.push_back(key->evaluate(batch, rows));
    if (!nullable_keys_) require_no_nulls(key_vectors_.back(), rows);
    if (key_vectors_.back().string_life == StringLife::kBatch) life = StringLife::kBatch;
  }
  packer_.pack(key_vectors_, rows, packed_.data(), hashes_.data());
  const uint32_t before = table_.size();
  table_.find_or_insert(packed_.data(), hashes_.data(), rows.count, life, numbers);
  if (table_.size() != before) {
    for (const auto& aggregate : aggregates_) aggregate->resize(table_.size());
  }
}

void GroupTable::update(const Batch& batch) {
  const Selection& rows = *batch.selection;
  if (by_build_row_.has_value()) {
    by_build_row_->find(
        batch, [this](const Batch& keys, uint32_t* numbers) { find_groups(keys, numbers); },
        numbers_.data());
  } else if (has_keys_) {
    find_groups(batch, numbers_.data());
  }
  for (size_t i = 0; i < aggregates_.size(); ++i) {
    argument_vectors_.clear();
    for (const NodePtr& argument : arguments_[i]) {
      argument_vectors_.push_back(argument->evaluate(batch, rows));
    }
    if (argument_vectors_.empty()) argument_vectors_.emplace_back();
    aggregates_[i]->update_all(argument_vectors_, rows, has_keys_ ? numbers_.data() : nullptr);
  }
  charge();
}

void GroupTable::merge(const GroupTable& other, const StopSignal& stop) {
  std::vector<uint32_t> groups(other.groups(), 0);
  if (has_keys_) {
    const uint32_t words = packer_.words();
    for (uint32_t first = 0; first < other.groups(); first += kVectorRows) {
      stop.check_at(first);
      const uint32_t count = std::min(kVectorRows, other.groups() - first);
      table_.find_or_insert(other.table_.keys() + size_t{first} * words,
                            other.table_.hashes() + first, count, StringLife::kQuery,
                            groups.data() + first);
    }
    for (const auto& aggregate : aggregates_) aggregate->resize(table_.size());
  }
  for (size_t i = 0; i < aggregates_.size(); ++i) {
    stop.check();
    aggregates_[i]->merge(*other.aggregates_[i], groups.data(), stop);
  }
  charge();
}

void GroupTable::add_group(const std::vector<ExpressionPtr>& keys) {
  const std::vector<NodePtr> nodes = compile_expressions(keys);
  Selection one;
  select_all(1, &one);
  key_vectors_.clear();
  for (const NodePtr& node : nodes) key_vectors_.push_back(node->evaluate(Batch{}, one));
  packer_.pack(key_vectors_, one, packed_.data(), hashes_.data());
  table_.find_or_insert(packed_.data(), hashes_.data(), 1, StringLife::kBatch, numbers_.data());
  for (const auto& aggregate : aggregates_) aggregate->resize(table_.size());
}

QueryHeap GroupTable::take_texts() {
  QueryHeap texts = table_.take_texts();
  charge();
  return texts;
}

void GroupTable::finish(const StopSignal& stop) {
  by_build_row_.reset();
  for (const auto& aggregate : aggregates_) aggregate->finish(stop);
}

void GroupTable::read(uint32_t first, uint32_t count, std::vector<VectorBuffer>* buffers,
                      std::vector<Vector>* columns) const {
  const size_t key_count = keys_.size();
  for (size_t c = 0; c < key_count; ++c) {
    (*columns)[c] = packer_.unpack(c, table_.keys(), first, count, &(*buffers)[c]);
  }
  for (size_t c = 0; c < aggregates_.size(); ++c) {
    (*columns)[key_count + c] = aggregates_[c]->result(first, count, &(*buffers)[key_count + c]);
  }
  // Texts of aggregates lie in this table, which may go before what keeps them.
  for (size_t c = key_count; c < columns->size(); ++c) {
    (*columns)[c].string_life = StringLife::kBatch;
  }
}

GroupSource::GroupSource(const Operator& aggregate, const GroupTable& groups, StagePtr next)
    : groups_(groups), next_(std::move(next)) {
  DIPTYCH_CHECK(
      aggregate.output.size() == aggregate.expressions.size() + aggregate.aggregates.size(),
      "an aggregate's output is its keys, then its aggregates");
  for (const base::DataType& type : aggregate.output) {
    buffers_.emplace_back(physical_type(type));
  }
  batch_.columns.resize(buffers_.size());
  batch_.selection = &selection_;
}

bool GroupSource::run(uint64_t morsel) {
  const auto first = static_cast<uint32_t>(morsel * kVectorRows);
  const uint32_t count = std::min(kVectorRows, groups_.groups() - first);
  groups_.read(first, count, &buffers_, &batch_.columns);
  select_all(count, &selection_);
  return next_->push(batch_);
}

}  // namespace diptych::olap
