#include "olap/execution/window/leading_rows.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "olap/execution/limits/query_failure.h"

namespace diptych::olap {

namespace {

// With further leading rows, to sort all rows may cost less.
constexpr int64_t kLeadingNumbersMax = 1000;
constexpr const char* kLeadingRowsAre =
    "the leading rows of a window's partitions";  // for messages

// A column of whole numbers from 1 on, and the greatest that a predicate admits.
struct Bounded {
  uint32_t column;
  int64_t most;
};

std::optional<Bounded> bounded_by(const Expression& predicate) {
  if (predicate.children.size() != 2) return std::nullopt;
  const bool is_left = predicate.children[0]->kind == ExpressionKind::kColumn;
  const Expression& column = *predicate.children[is_left ? 0 : 1];
  const Expression& bound = *predicate.children[is_left ? 1 : 0];
  if (column.kind != ExpressionKind::kColumn || bound.kind != ExpressionKind::kLiteral) {
    return std::nullopt;
  }
  const auto* const value = std::get_if<int64_t>(&bound.literal);
  if (value == nullptr || *value < 1 || *value > kLeadingNumbersMax) return std::nullopt;
  switch (is_left ? predicate.kind : mirrored(predicate.kind)) {
    case ExpressionKind::kEqual:
    case ExpressionKind::kLessEqual: return Bounded{column.column, *value};
    case ExpressionKind::kLess:
      if (*value > 1) return Bounded{column.column, *value - 1};
      return std::nullopt;
    default: return std::nullopt;
  }
}

bool numbers_rows(WindowKind kind) {
  return kind == WindowKind::kRowNumber || kind == WindowKind::kRank ||
         kind == WindowKind::kDenseRank;
}

// The window whose row numbers or ranks the operator's column is; nullptr: it is none.
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
                         numbers_rows(below->window_functions[0].kind);
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

std::optional<LeadingNumbers> leading_numbers(const Operator& filter) {
  if (filter.kind != OperatorKind::kFilter) return std::nullopt;
  for (const ExpressionPtr& predicate : filter.predicates) {
    const std::optional<Bounded> bounded = bounded_by(*predicate);
    if (!bounded.has_value()) continue;
    const Operator* const window = window_of_number(*filter.children[0], bounded->column);
    if (window != nullptr) return LeadingNumbers{window, static_cast<uint64_t>(bounded->most)};
  }
  return std::nullopt;
}

LeadingRows::LeadingRows(const RunContext& context, const LeadingNumbers& wanted,
                         const NeededColumns& needed)
    : stop_(*context.stop),
      window_(*wanted.window),
      kind_(window_.window_functions[0].kind),
      most_(wanted.most),
      needed_(needed.of(window_)),
      partition_(window_.window_partition),
      keys_(keys_within(window_)),
      is_first_alone_(kind_ == WindowKind::kRowNumber && most_ == 1),
      rows_(window_.children[0]->output, needed_),
      packer_(key_columns(rows_, partition_), NullKeys::kEqual),
      table_(packer_, context.limits(), kLeadingRowsAre),
      direct_(key_columns(rows_, partition_), packer_, table_, stop_),
      packed_(size_t{kVectorRows} * std::max<uint32_t>(packer_.words(), 1)),
      hashes_(kVectorRows),
      numbers_(kVectorRows),
      prefixes_(kVectorRows),
      charge_(context.memory, kLeadingRowsAre) {}

void LeadingRows::find_partitions(const Batch& batch) {
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

void LeadingRows::make_prefixes(const Batch& batch) {
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

int LeadingRows::order_to(const Batch& batch, uint32_t slot, uint32_t row) const {
  const uint64_t stored = rows_.row_count();
  for (const SortKey& key : keys_) {
    const Vector& vector = batch.columns[key.column];
    const auto cell_of_batch = [&](uint32_t at) {
      return KeyCell{vector.values, at, vector.is_null(at)};
    };
    const KeyCell other = row < stored ? cell_of(key, row) : cell_of_batch(added_[row - stored]);
    const int order = compare_cells(key, vector.type, cell_of_batch(slot), other);
    if (order != 0) return order;
  }
  return 0;
}

int LeadingRows::order_of_equal_prefixes(uint32_t a, uint32_t b) const {
  if (prefixes_say_all()) return 0;
  for (const SortKey& key : keys_) {
    const int order = compare_cells(key, rows_.type(key.column), cell_of(key, a), cell_of(key, b));
    if (order != 0) return order;
  }
  return 0;
}

bool LeadingRows::may_lead(const Batch& batch, uint32_t k, uint32_t slot) const {
  const Bound& bound = bounds_[numbers_[k]];
  if (bound.row == ColumnStore::kNoRow) return true;
  if (prefixes_[k] != bound.prefix) return prefixes_[k] < bound.prefix;
  const int order = prefixes_say_all() ? 0 : order_to(batch, slot, bound.row);
  return order < 0 || (order == 0 && kind_ != WindowKind::kRowNumber);
}

void LeadingRows::prefetch_bound(uint32_t k, uint32_t count) const {
  constexpr uint32_t kRowsAhead = 16;
  constexpr size_t kBoundsMin = 8 * 1024;
  if (bounds_.size() < kBoundsMin || k + kRowsAhead >= count) return;
  const uint32_t partition = numbers_[k + kRowsAhead];
  if (partition < bounds_.size()) __builtin_prefetch(&bounds_[partition], 1);
}

void LeadingRows::append(const Batch& batch) {
  const Selection& rows = *batch.selection;
  find_partitions(batch);
  make_prefixes(batch);
  const auto stored = static_cast<uint32_t>(rows_.row_count());
  added_.clear();
  for (uint32_t k = 0; k < rows.count; ++k) {
    prefetch_bound(k, rows.count);
    const uint32_t partition = numbers_[k];
    if (partition >= bounds_.size()) {
      bounds_.resize(partition + 1, Bound());
    } else if (prefixes_[k] > bounds_[partition].prefix) {
      continue;
    }
    const uint32_t slot = rows.row(k);
    if (!may_lead(batch, k, slot)) continue;
    const auto row = static_cast<uint32_t>(stored + added_.size());
    added_.push_back(static_cast<uint16_t>(slot));
    Bound& bound = bounds_[partition];
    if (++bound.candidates > most_) ++others_;
    if (is_first_alone_) {
      bound.prefix = prefixes_[k];
      bound.row = row;
    } else {
      candidates_.push_back({prefixes_[k], row, partition});
    }
  }
  if (!added_.empty()) keep_added(batch);
}

void LeadingRows::keep_added(const Batch& batch) {
  uint64_t bits[kVectorWords] = {};
  for (const uint16_t slot : added_) set_bit(bits, slot);
  Selection added;
  select_bits(bits, batch.selection->slots, &added);
  if (rows_.row_count() + added.count >= UINT32_MAX) {
    fail_query(base::ErrorCode::kOutOfMemory, "a window has more than 2^32 - 2 rows");
  }
  rows_.append(batch.columns, added);
  if (others_ > rows_.row_count() / 2 + kOthersMin) drop_others();
  count_memory();
}

// The candidates are counted twice, because they are copied where they are sorted.
void LeadingRows::count_memory() {
  charge_.set(rows_.memory_bytes() + table_.memory_bytes() + direct_.memory_bytes() +
              bounds_.bytes() + 2 * candidates_.bytes() + order_.bytes() + ranks_.bytes());
}

void LeadingRows::drop_others() {
  if (!is_first_alone_) sort_candidates(nullptr);
  keep_rows(leading_rows());
  others_ = 0;
}

GrowingArray<uint32_t> LeadingRows::leading_rows() const {
  GrowingArray<uint32_t> rows;
  rows.resize(is_first_alone_ ? bounds_.size() : candidates_.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i] = is_first_alone_ ? bounds_[i].row : candidates_[i].row;
  }
  return rows;
}

// Keeps the leading rows alone, in this order, so that of rows with equal keys the earliest still
// comes first.
void LeadingRows::keep_rows(const GrowingArray<uint32_t>& rows) {
  ColumnStore kept(window_.children[0]->output, needed_);
  for (size_t first = 0; first < rows.size(); first += StopSignal::kRowsBetween) {
    stop_.check();
    const size_t count = std::min<size_t>(StopSignal::kRowsBetween, rows.size() - first);
    kept.append_rows(rows_, {rows.data() + first, count});
  }
  rows_ = std::move(kept);
  for (uint32_t i = 0; i < rows.size(); ++i) {
    Bound& bound = bounds_[is_first_alone_ ? i : candidates_[i].partition];
    if (bound.row == rows[i]) bound.row = i;
    if (is_first_alone_) {
      bound.candidates = 1;
    } else {
      candidates_[i].row = i;
    }
  }
}

// Puts the candidates in the order of their partitions, and drops those that cannot lead. For the
// last time if there are `ranks`, which receive the numbers of those that stay.
void LeadingRows::sort_candidates(GrowingArray<uint32_t>* ranks) {
  GrowingArray<uint32_t> ends;  // by partition
  ends.resize(bounds_.size() + 1, 0);
  for (size_t i = 0; i < candidates_.size(); ++i) {
    stop_.check_at(i);
    ++ends[candidates_[i].partition + 1];
  }
  std::partial_sum(ends.data(), ends.data() + ends.size(), ends.data());
  GrowingArray<Candidate> sorted;
  sorted.resize(candidates_.size());
  for (size_t i = 0; i < candidates_.size(); ++i) {
    stop_.check_at(i);
    sorted[ends[candidates_[i].partition]++] = candidates_[i];
  }
  uint64_t kept = 0;
  uint32_t first = 0;
  for (uint32_t partition = 0; partition < bounds_.size(); ++partition) {
    stop_.check_at(partition);
    const std::span<Candidate> members(sorted.data() + first, ends[partition] - first);
    first = ends[partition];
    const bool are_all = ranks == nullptr && members.size() < most_;
    const uint64_t leading = are_all ? members.size() : keep_leading(members, ranks);
    bounds_[partition].candidates = static_cast<uint32_t>(leading);
    std::copy_n(members.data(), leading, sorted.data() + kept);
    kept += leading;
  }
  sorted.resize(kept);
  candidates_ = std::move(sorted);
}

bool LeadingRows::are_ranked_alike(const Candidate& a, const Candidate& b) const {
  return kind_ != WindowKind::kRowNumber && a.prefix == b.prefix &&
         order_of_equal_prefixes(a.row, b.row) == 0;
}

// Sorts the candidates of a partition, and sets its bound. Returns how many lead.
uint64_t LeadingRows::keep_leading(std::span<Candidate> members, GrowingArray<uint32_t>* ranks) {
  std::sort(members.begin(), members.end(), [this](const Candidate& a, const Candidate& b) {
    if (a.prefix != b.prefix) return a.prefix < b.prefix;
    stop_.check_at(++comparisons_);
    const int order = order_of_equal_prefixes(a.row, b.row);
    return order != 0 ? order < 0 : a.row < b.row;
  });
  uint64_t number = 0;
  uint64_t kept = 0;
  for (; kept < members.size(); ++kept) {
    if (kept == 0 || !are_ranked_alike(members[kept - 1], members[kept])) {
      number = kind_ == WindowKind::kDenseRank ? number + 1 : kept + 1;
      if (number > most_) break;
    }
    if (ranks != nullptr) ranks->push_back(static_cast<uint32_t>(number));
  }
  const bool is_full = (kind_ == WindowKind::kDenseRank ? number : kept) >= most_;
  if (is_full) {
    const Candidate& last = members[kept - 1];
    bounds_[last.partition].prefix = last.prefix;
    bounds_[last.partition].row = last.row;
  }
  return kept;
}

void LeadingRows::absorb(const LeadingRows& other) {
  std::vector<VectorBuffer> buffers = other.make_buffers();
  std::vector<uint32_t> numbers(kVectorRows);
  Batch batch;
  Selection rows;
  batch.columns.resize(buffers.size());
  batch.selection = &rows;
  const uint64_t count = other.rows_.row_count();
  for (uint64_t first = 0; first < count; first += kVectorRows) {
    stop_.check();
    select_all(static_cast<uint32_t>(std::min<uint64_t>(kVectorRows, count - first)), &rows);
    std::iota(numbers.begin(), numbers.end(), static_cast<uint32_t>(first));
    other.gather(numbers.data(), rows, &buffers, &batch.columns);
    append(batch);
  }
}

void LeadingRows::finish(std::span<const std::unique_ptr<LeadingRows>> others) {
  for (const auto& other : others) absorb(*other);
  if (!is_first_alone_) sort_candidates(most_ == 1 ? nullptr : &ranks_);
  order_ = leading_rows();
  count_memory();
}

std::vector<VectorBuffer> LeadingRows::make_buffers() const {
  std::vector<VectorBuffer> buffers;
  buffers.reserve(rows_.column_count() + 1);
  for (size_t c = 0; c < rows_.column_count(); ++c) buffers.emplace_back(rows_.type(c));
  buffers.emplace_back(PhysicalType::kInt64);
  return buffers;
}

void LeadingRows::gather(const uint32_t* rows, const Selection& selection,
                         std::vector<VectorBuffer>* buffers, std::vector<Vector>* columns) const {
  for (size_t c = 0; c < rows_.column_count(); ++c) {
    (*columns)[c] = rows_.gather(c, rows, selection, &(*buffers)[c]);
    // Texts lie in these rows, which may go before what keeps them.
    (*columns)[c].string_life = StringLife::kBatch;
  }
}

void LeadingRows::read(uint64_t first, const Selection& selection,
                       std::vector<VectorBuffer>* buffers, std::vector<Vector>* columns) const {
  gather(order_.data() + first, selection, buffers, columns);
  auto* const numbers = buffers->back().values<int64_t>();
  for (uint32_t i = 0; i < selection.count; ++i) {
    numbers[i] = most_ == 1 ? 1 : int64_t{ranks_[first + i]};
  }
  columns->back() = buffers->back().view();
}

}  // namespace diptych::olap
