#include "olap/execution/window/first_rows.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "olap/execution/key/sort_prefix.h"
#include "olap/execution/limits/query_failure.h"

namespace diptych::olap {

namespace {

// Overtaken rows that may lie beside as many as there are partitions.
constexpr uint64_t kOvertakenMin = 64 * kVectorRows;
constexpr const char* kFirstRowsAre = "the first rows of a window's partitions";  // for messages

// The column of which the predicate says that it is 1, or at most that, of whole numbers from 1 on.
std::optional<uint32_t> column_of_firsts(const Expression& predicate) {
  if (predicate.children.size() != 2) return std::nullopt;
  const bool is_left = predicate.children[0]->kind == ExpressionKind::kColumn;
  const Expression& column = *predicate.children[is_left ? 0 : 1];
  const Expression& bound = *predicate.children[is_left ? 1 : 0];
  if (column.kind != ExpressionKind::kColumn || bound.kind != ExpressionKind::kLiteral) {
    return std::nullopt;
  }
  const auto* const value = std::get_if<int64_t>(&bound.literal);
  const ExpressionKind kind = is_left ? predicate.kind : mirrored(predicate.kind);
  const bool at_most = kind == ExpressionKind::kEqual || kind == ExpressionKind::kLessEqual;
  const bool is_first = value != nullptr && ((at_most && *value == 1) ||
                                             (kind == ExpressionKind::kLess && *value == 2));
  return is_first ? std::optional(column.column) : std::nullopt;
}

// The window whose row numbers the operator's column is; nullptr: it is none.
const Operator* window_of_number(const Operator& op, uint32_t column) {
  const Operator* below = &op;
  for (; below->kind != OperatorKind::kWindow; below = below->children[0].get()) {
    if (below->kind == OperatorKind::kFilter) continue;
    if (below->kind != OperatorKind::kProject) return nullptr;
    const Expression& computed = *below->expressions[column];
    if (computed.kind != ExpressionKind::kColumn) return nullptr;
    column = computed.column;
  }
  const bool is_number = column == below->children[0]->output.size() &&
                         below->window_functions.size() == 1 &&
                         below->window_functions[0].kind == WindowKind::kRowNumber;
  return is_number ? below : nullptr;
}

std::vector<KeyColumn> key_columns(const ColumnStore& rows, const std::vector<uint32_t>& columns) {
  std::vector<KeyColumn> keys;
  for (const uint32_t column : columns) keys.push_back({rows.type(column)});
  return keys;
}

std::vector<SortKey> keys_within(const Operator& window) {
  std::vector<SortKey> keys;
  for (const SortKey& key : window.sort_keys) {
    const auto& partition = window.window_partition;
    if (std::ranges::find(partition, key.column) == partition.end()) keys.push_back(key);
  }
  return keys;
}

}  // namespace

const Operator* window_of_first_rows(const Operator& filter) {
  if (filter.kind != OperatorKind::kFilter) return nullptr;
  for (const ExpressionPtr& predicate : filter.predicates) {
    const std::optional<uint32_t> column = column_of_firsts(*predicate);
    if (!column.has_value()) continue;
    const Operator* const window = window_of_number(*filter.children[0], *column);
    if (window != nullptr) return window;
  }
  return nullptr;
}

FirstRows::FirstRows(const RunContext& context, const Operator& window, const NeededColumns& needed)
    : stop_(*context.stop),
      window_(window),
      needed_(needed.of(window)),
      partition_(window.window_partition),
      keys_(keys_within(window)),
      rows_(window.children[0]->output, needed_),
      packer_(key_columns(rows_, partition_), NullKeys::kEqual),
      table_(packer_, context.limits(), kFirstRowsAre),
      direct_(key_columns(rows_, partition_), packer_, table_, stop_),
      packed_(size_t{kVectorRows} * std::max<uint32_t>(packer_.words(), 1)),
      hashes_(kVectorRows),
      numbers_(kVectorRows),
      prefixes_(kVectorRows),
      charge_(context.memory, kFirstRowsAre) {}

void FirstRows::find_partitions(const Batch& batch) {
  const Selection& rows = *batch.selection;
  if (partition_.empty()) {
    std::fill_n(numbers_.begin(), rows.count, 0U);
    return;
  }
  key_vectors_.clear();
  for (const uint32_t column : partition_) key_vectors_.push_back(batch.columns[column]);
  if (direct_.find(key_vectors_, rows, numbers_.data())) {
    const Selection& added = direct_.new_rows();
    if (added.count == 0) return;
    packer_.pack(key_vectors_, added, packed_.data(), hashes_.data());
    table_.append(packed_.data(), hashes_.data(), added.count);
    return;
  }
  packer_.pack(key_vectors_, rows, packed_.data(), hashes_.data());
  table_.find_or_insert(packed_.data(), hashes_.data(), rows.count, StringLife::kBatch,
                        numbers_.data());
}

void FirstRows::make_prefixes(const Batch& batch) {
  const Selection& rows = *batch.selection;
  if (keys_.empty()) {
    std::fill_n(prefixes_.begin(), rows.count, 0);
    return;
  }
  const SortKey& key = keys_[0];
  const Vector& vector = batch.columns[key.column];
  KeyPrefixes prefixes(key, /*may_have_nulls=*/true);  // another batch may
  with_physical_type(vector.type, [&](auto type) {
    const auto* const values = vector.as<decltype(type)>();
    for (uint32_t k = 0; k < rows.count; ++k) {
      const uint32_t slot = rows.row(k);
      prefixes_[k] = vector.is_null(slot) ? prefixes.of_null() : prefixes.of(values[slot]);
    }
  });
  prefixes_decide_ = prefixes_decide_ && prefixes.decide();
}

bool FirstRows::is_before(const Batch& batch, uint32_t slot, uint32_t kept) const {
  const uint64_t stored = rows_.row_count();
  for (const SortKey& key : keys_) {
    const Vector& vector = batch.columns[key.column];
    const auto cell_of_batch = [&](uint32_t at) {
      return KeyCell{vector.values, at, vector.is_null(at)};
    };
    const KeyCell other = kept < stored ? KeyCell{rows_.values<std::byte>(key.column), kept,
                                                  rows_.is_null(key.column, kept)}
                                        : cell_of_batch(added_[kept - stored]);
    const int order = compare_cells(key, vector.type, cell_of_batch(slot), other);
    if (order != 0) return order < 0;
  }
  return false;
}

void FirstRows::append(const Batch& batch) {
  const Selection& rows = *batch.selection;
  find_partitions(batch);
  make_prefixes(batch);
  const bool prefixes_say_all = keys_.size() <= 1 && prefixes_decide_;
  const auto stored = static_cast<uint32_t>(rows_.row_count());
  added_.clear();
  for (uint32_t k = 0; k < rows.count; ++k) {
    const uint32_t number = numbers_[k];
    const bool is_new = number >= first_.size();
    if (!is_new) {
      if (prefixes_[k] > prefix_[number]) continue;
      const bool ties = prefixes_[k] == prefix_[number];
      if (ties && (prefixes_say_all || !is_before(batch, rows.row(k), first_[number]))) continue;
    }
    const auto row = static_cast<uint32_t>(stored + added_.size());
    added_.push_back(static_cast<uint16_t>(rows.row(k)));
    if (is_new) {
      first_.push_back(row);
      prefix_.push_back(prefixes_[k]);
    } else {
      first_[number] = row;
      prefix_[number] = prefixes_[k];
    }
  }
  if (added_.empty()) return;
  uint64_t bits[kVectorWords] = {};
  for (const uint16_t slot : added_) set_bit(bits, slot);
  Selection added;
  select_bits(bits, rows.slots, &added);
  if (rows_.row_count() + added.count >= UINT32_MAX) {
    fail_query(base::ErrorCode::kOutOfMemory, "a window has more than 2^32 - 2 rows");
  }
  rows_.append(batch.columns, added);
  if (rows_.row_count() > 2 * first_.size() + kOvertakenMin) drop_overtaken();
  charge_.set(rows_.memory_bytes() + table_.memory_bytes() + direct_.memory_bytes() +
              first_.bytes() + prefix_.bytes());
}

void FirstRows::drop_overtaken() {
  ColumnStore kept(window_.children[0]->output, needed_);
  for (size_t first = 0; first < first_.size(); first += StopSignal::kRowsBetween) {
    stop_.check();
    const size_t count = std::min<size_t>(StopSignal::kRowsBetween, first_.size() - first);
    kept.append_rows(rows_, {first_.data() + first, count});
  }
  rows_ = std::move(kept);
  std::iota(first_.data(), first_.data() + first_.size(), 0U);
}

void FirstRows::absorb(const FirstRows& other) {
  std::vector<VectorBuffer> buffers = other.make_buffers();
  Batch batch;
  Selection rows;
  batch.columns.resize(buffers.size());
  batch.selection = &rows;
  for (uint64_t first = 0; first < other.rows(); first += kVectorRows) {
    stop_.check();
    select_all(static_cast<uint32_t>(std::min<uint64_t>(kVectorRows, other.rows() - first)), &rows);
    other.read(first, rows, &buffers, &batch.columns);
    append(batch);
  }
}

std::vector<VectorBuffer> FirstRows::make_buffers() const {
  std::vector<VectorBuffer> buffers;
  buffers.reserve(rows_.column_count() + 1);
  for (size_t c = 0; c < rows_.column_count(); ++c) buffers.emplace_back(rows_.type(c));
  buffers.emplace_back(PhysicalType::kInt64);
  return buffers;
}

void FirstRows::read(uint64_t first, const Selection& selection, std::vector<VectorBuffer>* buffers,
                     std::vector<Vector>* columns) const {
  const size_t inputs = rows_.column_count();
  for (size_t c = 0; c < inputs; ++c) {
    (*columns)[c] = rows_.gather(c, first_.data() + first, selection, &(*buffers)[c]);
  }
  std::fill_n((*buffers)[inputs].values<int64_t>(), selection.count, int64_t{1});
  (*columns)[inputs] = (*buffers)[inputs].view();
  // Texts lie in these rows, which may go before what keeps them.
  for (Vector& column : *columns) column.string_life = StringLife::kBatch;
}

}  // namespace diptych::olap
