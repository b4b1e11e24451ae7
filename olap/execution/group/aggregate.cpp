#include "olap/execution/group/aggregate.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>

#include "base/check.h"
#include "olap/execution/expression/expression_key.h"
#include "olap/execution/limits/query_failure.h"

namespace diptych::olap {

namespace {

constexpr uint32_t kNoColumn = UINT32_MAX;
constexpr uint64_t kMergedGroupsAWorker = 16 * 1024;
constexpr const char* kGroupsAre = "the groups of a GROUP BY";  // for messages

// Whether a value over an operator's rows is a table's column as it is stored. Others are not held
// to their type's length.
bool is_stored(const Operator& source, uint32_t column);
bool is_stored(const Operator& source, const Expression& value) {
  return value.kind == ExpressionKind::kColumn && is_stored(source, value.column);
}
bool is_stored(const Operator& source, uint32_t column) {
  const auto columns_of = [&](size_t child) { return source.children[child]->output.size(); };
  switch (source.kind) {
    case OperatorKind::kScan: return true;
    case OperatorKind::kFilter:
    case OperatorKind::kSort:
    case OperatorKind::kLimit:
    case OperatorKind::kRepeat: return is_stored(*source.children[0], column);
    case OperatorKind::kExpand:
    case OperatorKind::kWindow:
      return column < columns_of(0) && is_stored(*source.children[0], column);
    case OperatorKind::kProject: return is_stored(*source.children[0], *source.expressions[column]);
    case OperatorKind::kAggregate:
      return column < source.expressions.size() &&
             is_stored(*source.children[0], *source.expressions[column]);
    case OperatorKind::kHashJoin: {
      if (keeps_build_rows(source.join)) return is_stored(*source.children[1], column);
      if (column < columns_of(0)) return is_stored(*source.children[0], column);
      const auto of_build = static_cast<uint32_t>(column - columns_of(0));
      return of_build < columns_of(1) && is_stored(*source.children[1], of_build);
    }
    default: return false;
  }
}

std::vector<KeyColumn> group_key_columns(const Operator& source,
                                         std::span<const ExpressionPtr> keys) {
  std::vector<KeyColumn> columns;
  for (const ExpressionPtr& key : keys) {
    columns.push_back({physical_type(key->type)});
    const bool bounded = key->type.is_string() && key->type.length != 0;
    if (bounded && is_stored(source, *key)) {
      columns.back().text_bytes_max = key->type.length;
    }
  }
  return columns;
}

NullKeys null_keys(std::span<const ExpressionPtr> keys) {
  const bool nullable =
      std::any_of(keys.begin(), keys.end(), [](const ExpressionPtr& key) { return key->nullable; });
  return nullable ? NullKeys::kEqual : NullKeys::kNever;
}

// A plan that says NOT NULL of a key that has nulls would merge groups: better no answer than a
// wrong one.
void require_no_nulls(const Vector& key, const Selection& rows) {
  if (!has_null(key, rows)) return;
  fail_query(base::ErrorCode::kUnsupported, "a plan's group key has nulls but is not nullable");
}

}  // namespace

GroupTable::GroupTable(const Operator& aggregate, const QueryLimits& limits)
    : GroupTable(aggregate, limits, aggregate.expressions.size()) {}

GroupTable::GroupTable(const Operator& aggregate, const QueryLimits& limits, size_t keys)
    : GroupTable(aggregate, *aggregate.children[0], limits, keys) {}

GroupTable::GroupTable(const Operator& aggregate, const Operator& source, const QueryLimits& limits,
                       size_t keys)
    : aggregate_(aggregate),
      key_expressions_(std::span(aggregate.expressions).first(keys)),
      limits_(limits),
      has_keys_(!key_expressions_.empty()),
      nulls_(null_keys(key_expressions_)),
      packer_(group_key_columns(source, key_expressions_), nulls_),
      table_(packer_, limits, kGroupsAre),
      direct_(group_key_columns(source, key_expressions_), packer_, table_, *limits.stop),
      packed_(size_t{kVectorRows} * std::max<uint32_t>(packer_.words(), 1)),
      hashes_(kVectorRows),
      numbers_(kVectorRows + kFillAhead),
      differing_numbers_(kVectorRows + kFillAhead),
      charge_(limits.memory, kGroupsAre) {
  for (const ExpressionPtr& key : key_expressions_) {
    keys_.push_back(compile_expression(*key, limits));
  }
  add_columns();
}

void GroupTable::add_columns() {
  const std::vector<Aggregate>& aggregates = aggregate_.aggregates;
  column_of_.assign(aggregates.size(), kNoColumn);
  std::map<std::string, uint32_t> sums;  // columns, by argument
  uint32_t of_all_rows = kNoColumn;      // a sum that leaves no row out
  for (size_t i = 0; i < aggregates.size(); ++i) {
    if (!has_sum_states(aggregates[i])) continue;
    const Expression& argument = *aggregates[i].argument;
    const auto [sum, is_new] = sums.try_emplace(expression_key(argument));
    if (is_new) sum->second = add_column(aggregates[i]);
    column_of_[i] = sum->second;
    if (!argument.nullable) of_all_rows = sum->second;
  }
  for (size_t i = 0; i < aggregates.size(); ++i) {
    const Aggregate& one = aggregates[i];
    if (one.kind == AggregateKind::kCountAll) {
      column_of_[i] = of_all_rows;
    } else if (one.kind == AggregateKind::kCount) {
      const auto sum = sums.find(expression_key(*one.argument));
      if (sum != sums.end()) column_of_[i] = sum->second;
    }
    if (column_of_[i] == kNoColumn) column_of_[i] = add_column(one);
  }
  const auto wanting = std::count_if(columns_.begin(), columns_.end(),
                                     [](const auto& column) { return column->wants_runs(); });
  wants_runs_ = has_keys_ && wanting > 1;
}

uint32_t GroupTable::add_column(const Aggregate& aggregate) {
  std::vector<NodePtr> arguments = compile_expressions(aggregate.further, limits_);
  if (aggregate.argument != nullptr) {
    arguments.insert(arguments.begin(), compile_expression(updating_argument(aggregate), limits_));
  }
  arguments_.push_back(std::move(arguments));
  columns_.push_back(make_aggregate_column(aggregate, limits_));
  met_.emplace_back();
  if (!has_keys_) columns_.back()->resize(1);
  return static_cast<uint32_t>(columns_.size() - 1);
}

void GroupTable::charge() {
  size_t bytes = table_.memory_bytes() + direct_.memory_bytes();
  if (by_build_row_.has_value()) bytes += by_build_row_->memory_bytes();
  if (split_.has_value()) bytes += split_->memory_bytes();
  for (const auto& column : columns_) bytes += column->memory_bytes();
  bytes += coded_.memory_bytes();
  for (const CodedGroups& met : met_) bytes += met.memory_bytes();
  charge_.set(bytes);
}

void GroupTable::take_keys_from(std::vector<BuildRowGroups::KeyColumn> columns, bool rows_differ) {
  by_build_row_.emplace(std::move(columns));
  build_rows_differ_ = rows_differ;
  table_.expect(
      std::min(aggregate_.estimated_rows, static_cast<double>(by_build_row_->groups_max())));
}

void GroupTable::key_by_build_row(uint64_t build_rows) {
  is_keyed_by_build_row_ = true;
  by_build_row_.emplace(build_rows);
  constexpr PhysicalType kRowNumber[] = {PhysicalType::kInt32};
  packer_ = KeyPacker(kRowNumber, NullKeys::kNever);
}

StringLife GroupTable::evaluate_keys(const Batch& batch) {
  const Selection& rows = *batch.selection;
  key_vectors_.clear();
  StringLife life = StringLife::kQuery;
  for (const NodePtr& key : keys_) {
    key_vectors_.push_back(key->evaluate(batch, rows));
    if (nulls_ == NullKeys::kNever) require_no_nulls(key_vectors_.back(), rows);
    if (key_vectors_.back().string_life == StringLife::kBatch) life = StringLife::kBatch;
  }
  return life;
}

void GroupTable::append_groups(const Selection& rows) {
  if (rows.count == 0) return;
  packer_.pack(key_vectors_, rows, packed_.data(), hashes_.data());
  table_.append(packed_.data(), hashes_.data(), rows.count);
}

void GroupTable::find_groups(const Batch& batch, uint32_t* numbers) {
  const Selection& rows = *batch.selection;
  const StringLife life = evaluate_keys(batch);
  const uint32_t before = table_.size();
  if (build_rows_differ_ && life == StringLife::kQuery) {
    append_groups(rows);
    std::iota(numbers, numbers + rows.count, before);
  } else if (coded_.find(key_vectors_, rows, numbers)) {
    if (coded_.unknown().count != 0) {
      number_rows(coded_.unknown(), life, differing_numbers_.data());
      coded_.learn(differing_numbers_.data(), numbers);
    }
  } else if (differing_.find(nullptr, 1, key_vectors_, rows)) {
    number_rows(differing_.first_rows(), life, differing_numbers_.data());
    differing_.spread(differing_numbers_.data(), numbers);
  } else {
    number_rows(rows, life, numbers);
  }
  if (table_.size() != before) {
    for (const auto& column : columns_) column->resize(table_.size());
  }
}

void GroupTable::number_rows(const Selection& rows, StringLife life, uint32_t* numbers) {
  if (direct_.find(key_vectors_, rows, numbers)) {
    append_groups(direct_.new_rows());
  } else {
    packer_.pack(key_vectors_, rows, packed_.data(), hashes_.data());
    table_.find_or_insert(packed_.data(), hashes_.data(), rows.count, life, numbers);
  }
}

void GroupTable::find_groups(std::span<const uint32_t> build_rows, uint32_t* numbers) {
  if (!is_keyed_by_build_row_) {
    find_groups(by_build_row_->key_columns(build_rows), numbers);
    return;
  }
  Selection rows;
  select_all(static_cast<uint32_t>(build_rows.size()), &rows);
  key_vectors_.assign(1, Vector{.type = PhysicalType::kInt32, .values = build_rows.data()});
  std::iota(numbers, numbers + rows.count, table_.size());
  append_groups(rows);
  for (const auto& column : columns_) column->resize(table_.size());
}

void GroupTable::update(const Batch& batch) {
  const Selection& rows = *batch.selection;
  if (by_build_row_.has_value()) {
    by_build_row_->find(
        batch,
        [this](std::span<const uint32_t> build_rows, uint32_t* numbers) {
          find_groups(build_rows, numbers);
        },
        numbers_.data());
  } else if (has_keys_) {
    find_groups(batch, numbers_.data());
  }
  const bool by_runs = wants_runs_ && GroupRuns::pay(groups(), rows.count);
  if (by_runs) runs_.find(rows, numbers_.data());
  for (size_t i = 0; i < columns_.size(); ++i) {
    argument_vectors_.clear();
    for (const NodePtr& argument : arguments_[i]) {
      argument_vectors_.push_back(argument->evaluate(batch, rows));
    }
    if (argument_vectors_.empty()) argument_vectors_.emplace_back();
    if (by_runs && columns_[i]->wants_runs()) {
      columns_[i]->update_runs(argument_vectors_[0], runs_);
      continue;
    }
    const uint32_t* const numbers = has_keys_ ? numbers_.data() : nullptr;
    if (!columns_[i]->counts_repeats() && update_unmet(i, rows)) continue;
    if (!columns_[i]->counts_repeats() &&
        differing_.find(numbers, groups(), argument_vectors_, rows)) {
      if (has_keys_) differing_.gather(numbers, differing_numbers_.data());
      columns_[i]->update_all(argument_vectors_, differing_.first_rows(),
                              has_keys_ ? differing_numbers_.data() : nullptr);
      continue;
    }
    columns_[i]->update_all(argument_vectors_, rows, numbers);
  }
  charge();
}

bool GroupTable::update_unmet(size_t column, const Selection& rows) {
  CodedGroups& met = met_[column];
  if (has_keys_ || !met.find(argument_vectors_, rows, numbers_.data())) return false;
  if (met.unknown().count == 0) return true;
  columns_[column]->update_all(argument_vectors_, met.unknown(), nullptr);
  std::fill_n(differing_numbers_.begin(), met.unknown().count, 0);
  met.learn(differing_numbers_.data(), numbers_.data());
  return true;
}

uint64_t GroupTable::merge_rows() const {
  uint64_t rows = groups();
  for (const auto& column : columns_) rows += column->kept_values();
  return rows;
}

void GroupTable::split(uint32_t partitions, const StopSignal& stop) {
  DIPTYCH_CHECK(has_keys_ && !split_.has_value(), "groups with keys are split, once");
  by_build_row_.reset();
  split_.emplace(table_.hashes(), groups(), partitions, stop);
  for (const auto& column : columns_) column->split(*split_, stop);
  charge();
}

std::vector<uint32_t> GroupTable::merge(const GroupTable& other, uint32_t partition,
                                        const Workers& workers) {
  const GroupSplit whole(other.groups());
  const GroupSplit& split = other.split_.has_value() ? *other.split_ : whole;
  std::vector<uint32_t> to(split.size(partition), 0);
  if (has_keys_) {
    const bool shared = split.is_whole() && groups() != 0 &&
                        workers.count_for(other.groups(), kMergedGroupsAWorker) > 1;
    shared ? merge_all_keys(other, workers, to.data())
           : merge_keys(other, split, partition, workers.stop(), to.data());
    for (const auto& column : columns_) column->resize(table_.size());
  }
  const GroupMerge groups{split, partition, to.data(), workers};
  for (size_t i = 0; i < columns_.size(); ++i) columns_[i]->merge(*other.columns_[i], groups);
  charge();
  return to;
}

void GroupTable::merge_keys(const GroupTable& other, const GroupSplit& split, uint32_t partition,
                            const StopSignal& stop, uint32_t* to) {
  const uint32_t merged = split.size(partition);
  const uint32_t words = packer_.words();
  const bool all_new = groups() == 0;
  if (all_new) table_.reserve(merged);
  for (uint32_t first = 0; first < merged; first += kVectorRows) {
    stop.check();
    const uint32_t count = std::min(kVectorRows, merged - first);
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t group = split.group(partition, first + i);
      if (i + 16 < count) {
        const uint32_t ahead = split.group(partition, first + i + 16);
        __builtin_prefetch(other.table_.keys() + size_t{ahead} * words);
        __builtin_prefetch(other.table_.hashes() + ahead);
      }
      std::copy_n(other.table_.keys() + size_t{group} * words, words, &packed_[size_t{i} * words]);
      hashes_[i] = other.table_.hashes()[group];
    }
    if (all_new) {
      table_.insert_new(packed_.data(), hashes_.data(), count, to + first);
    } else {
      table_.find_or_insert(packed_.data(), hashes_.data(), count, StringLife::kQuery, to + first);
    }
    charge();
  }
}

void GroupTable::merge_all_keys(const GroupTable& other, const Workers& workers, uint32_t* to) {
  const uint32_t words = packer_.words();
  table_.reserve(table_.size());
  workers.run_ranges(other.groups(), kMergedGroupsAWorker, [&](RowRange range) {
    for (uint64_t first = range.begin; first < range.end; first += kVectorRows) {
      const auto count = static_cast<uint32_t>(std::min<uint64_t>(kVectorRows, range.end - first));
      table_.find(other.table_.keys() + first * words, other.table_.hashes() + first, count,
                  to + first);
    }
  });
  for (uint32_t first = 0; first < other.groups(); first += kVectorRows) {
    workers.stop().check();
    const uint32_t count = std::min(kVectorRows, other.groups() - first);
    uint32_t added = 0;
    for (uint32_t group = first; group < first + count; ++group) {
      if (to[group] != KeyTable::kNoKey) continue;
      std::copy_n(other.table_.keys() + size_t{group} * words, words,
                  &packed_[size_t{added} * words]);
      hashes_[added] = other.table_.hashes()[group];
      to[group] = table_.size() + added++;
    }
    table_.append(packed_.data(), hashes_.data(), added);
    charge();
  }
}

void GroupTable::add_sets(const GroupTable& finest, const std::vector<std::vector<bool>>& sets) {
  std::vector<VectorBuffer> buffers;
  for (const ExpressionPtr& key : key_expressions_) buffers.emplace_back(physical_type(key->type));
  uint64_t all_null[kVectorWords];
  std::fill_n(all_null, kVectorWords, ~uint64_t{0});
  const size_t number = keys_.size() - 1;
  Selection rows;
  Batch batch;
  batch.selection = &rows;
  GrowingArray<uint32_t> to;
  to.resize(finest.groups());
  for (size_t set = 0; set < sets.size(); ++set) {
    for (uint32_t first = 0; first < finest.groups(); first += kVectorRows) {
      limits_.stop->check();
      select_all(std::min(kVectorRows, finest.groups() - first), &rows);
      std::fill_n(buffers[number].values<int64_t>(), rows.count, static_cast<int64_t>(set));
      for (size_t key = 0; key < keys_.size(); ++key) {
        const uint32_t column = key_expressions_[key]->column;
        batch.columns.resize(std::max<size_t>(batch.columns.size(), column + 1));
        Vector& values = batch.columns[column];
        values = key == number ? buffers[key].view()
                               : finest.packer_.unpack(key, finest.table_.keys(), first, rows.count,
                                                       &buffers[key]);
        if (key != number && !sets[set][column]) values.nulls = all_null;
        values.string_life = StringLife::kBatch;  // the other table may go
      }
      find_groups(batch, to.data() + first);
      charge();
    }
    const GroupSplit whole(finest.groups());
    const Workers alone(*limits_.stop);
    for (size_t i = 0; i < columns_.size(); ++i) {
      columns_[i]->merge(*finest.columns_[i], {whole, 0, to.data(), alone});
    }
  }
  charge();
}

void GroupTable::add_group(const std::vector<ExpressionPtr>& keys) {
  const std::vector<NodePtr> nodes = compile_expressions(keys, limits_);
  Selection one;
  select_all(1, &one);
  key_vectors_.clear();
  for (const NodePtr& node : nodes) key_vectors_.push_back(node->evaluate(Batch{}, one));
  packer_.pack(key_vectors_, one, packed_.data(), hashes_.data());
  table_.find_or_insert(packed_.data(), hashes_.data(), 1, StringLife::kBatch, numbers_.data());
  for (const auto& column : columns_) column->resize(table_.size());
}

QueryHeap GroupTable::take_texts() {
  QueryHeap texts = table_.take_texts();
  charge();
  return texts;
}

void GroupTable::finish(const Workers& workers) {
  by_build_row_.reset();
  for (const auto& column : columns_) column->finish(limits_, workers);
}

void GroupTable::read(uint32_t first, uint32_t count, std::vector<VectorBuffer>* buffers,
                      std::vector<Vector>* columns) const {
  const size_t key_count = keys_.size();
  for (size_t c = 0; c < key_count; ++c) {
    const bool is_number = is_keyed_by_build_row_ && c > 0;
    (*columns)[c] =
        is_number ? (*columns)[0] : packer_.unpack(c, table_.keys(), first, count, &(*buffers)[c]);
  }
  for (size_t c = 0; c < column_of_.size(); ++c) {
    (*columns)[key_count + c] = columns_[column_of_[c]]->result_of(
        aggregate_.aggregates[c], first, count, &(*buffers)[key_count + c]);
  }
  // Texts of aggregates lie in this table, which may go before what keeps them.
  for (size_t c = key_count; c < columns->size(); ++c) {
    (*columns)[c].string_life = StringLife::kBatch;
  }
}

}  // namespace diptych::olap
