// The probe side of hash_join.h.

#include "olap/execution/join/hash_join.h"

#include <algorithm>
#include <bit>

#include "olap/execution/join/join_filter.h"
#include "olap/execution/join/join_sides.h"

namespace diptych::olap {

namespace {

// Of push_rounds().
constexpr size_t kFewCursors = 16;
constexpr uint32_t kLongCursorMin = 128;

// By predicate of the join: the same as a comparison of a probe column with a literal, where it
// compares that column with one of the build side's only row; else nullptr.
std::vector<ExpressionPtr> comparisons_with_row(const Operator& join, const JoinTable& table) {
  std::vector<ExpressionPtr> comparisons(join.predicates.size());
  if (table.has_keys() || !table.joins_once()) return comparisons;
  const size_t probe_columns = join.children[0]->output.size();
  for (size_t i = 0; i < comparisons.size(); ++i) {
    const auto range = implied_range(join, table, *join.predicates[i], probe_columns);
    if (range.has_value()) comparisons[i] = comparison(*range);
  }
  return comparisons;
}

std::vector<NodePtr> compile_predicates(const Operator& join,
                                        const std::vector<ExpressionPtr>& row_comparisons,
                                        const QueryLimits& limits) {
  std::vector<NodePtr> nodes;
  for (size_t i = 0; i < join.predicates.size(); ++i) {
    const ExpressionPtr& asked = row_comparisons[i] ? row_comparisons[i] : join.predicates[i];
    nodes.push_back(compile_expression(*asked, limits));
  }
  return nodes;
}

}  // namespace

ProbeStage::ProbeStage(const RunContext& context, const Operator& join, const NeededColumns& needed,
                       const JoinTable& table, StagePtr next)
    : context_(context),
      join_(join),
      table_(table),
      next_(std::move(next)),
      keys_(compile_expressions(join.probe_keys, context.limits())),
      row_comparisons_(comparisons_with_row(join, table)),
      residual_(compile_predicates(join, row_comparisons_, context.limits())),
      gathered_(needed.gathered_by(join)),
      late_(needed.late_of(join)),
      has_group_keys_(needed.has_group_keys(join)),
      compared_(gathered_.size()) {
  const size_t probe_columns = join.children[0]->output.size();
  for (uint32_t c = 0; c < gathered_.size(); ++c) twins_.push_back(probe_twin(join, c));
  for (size_t i = 0; i < join.predicates.size(); ++i) {
    if (row_comparisons_[i] != nullptr) continue;
    for (const uint32_t column : columns_read(*join.predicates[i])) {
      if (column < probe_columns || twins_[column - probe_columns].has_value()) continue;
      compared_[column - probe_columns] = true;
    }
  }
  const bool has_late = std::find(late_.begin(), late_.end(), true) != late_.end();
  if (has_group_keys_ || has_late) rows_by_slot_.resize(kVectorRows);
  packed_.resize(size_t{kVectorRows} * std::max<uint32_t>(table.packer().words(), 1));
  hashes_.resize(kVectorRows);
  numbers_.resize(kVectorRows);
  differing_numbers_.resize(kVectorRows);
  rows_.resize(kVectorRows);
  cursors_.reserve(kVectorRows);
  if (table.ranges() != nullptr) {
    finder_.emplace(*table.ranges(), context.limits());
    ranges_.resize(kVectorRows);
  }
  if (table.choices() != nullptr) chooser_.emplace(*table.choices(), context.limits());
  for (size_t c = 0; c < table.rows().column_count(); ++c) {
    build_buffers_.emplace_back(table.rows().type(c));
  }
  output_.selection = &output_selection_;
}

ProbeStage::ProbeStage(const RunContext& context, const Operator& join, const NeededColumns& needed,
                       const JoinTable& table, MatchedRows* matched)
    : ProbeStage(context, join, needed, table, StagePtr()) {
  build_matched_ = matched;
  build_matched_->resize((table.rows().row_count() + 63) / 64);
  if (finder_.has_value()) {
    unmarked_places_.emplace(*table.ranges(), context.memory);
  } else if (residual_.size() != 0 && UnmarkedRows::pay(table)) {
    unmarked_.emplace(table, context.memory);
  }
}

void ProbeStage::evaluate_keys(const Batch& batch) {
  key_vectors_.clear();
  for (const NodePtr& key : keys_) {
    key_vectors_.push_back(key->evaluate(batch, *batch.selection));
  }
}

// Looks up the batch's keys: with_key_, numbers_.
void ProbeStage::find_numbers(const Batch& batch) {
  evaluate_keys(batch);
  if (table_.is_direct()) {
    with_key_ = *batch.selection;
    table_.find(key_vectors_, with_key_, numbers_.data());
    return;
  }
  select_without_nulls(key_vectors_, *batch.selection, &with_key_);
  if (differing_.find(nullptr, 1, key_vectors_, with_key_)) {
    find_packed(differing_.first_rows(), differing_numbers_.data());
    differing_.spread(differing_numbers_.data(), numbers_.data());
  } else {
    find_packed(with_key_, numbers_.data());
  }
}

void ProbeStage::find_packed(const Selection& rows, uint32_t* numbers) {
  table_.packer().pack(key_vectors_, rows, packed_.data(), hashes_.data());
  table_.find(packed_.data(), hashes_.data(), rows.count, numbers);
}

// Looks up the batch's keys: the rows with a match, and in rows_ their keys' numbers. Without keys,
// all rows match the only one.
void ProbeStage::match(const Batch& batch) {
  if (!table_.has_keys()) {
    output_selection_ = *batch.selection;
    std::fill_n(rows_.begin(), output_selection_.count, 0);
    return;
  }
  if (table_.is_direct()) {
    evaluate_keys(batch);
    table_.match(key_vectors_, *batch.selection, rows_.data(), &output_selection_);
    return;
  }
  find_numbers(batch);
  uint64_t matched[kVectorWords] = {};
  uint32_t count = 0;
  // Without a branch: which rows match is not predictable.
  for_numbered(with_key_, [&](uint32_t k, uint32_t slot) {
    const uint64_t found = numbers_[k] != KeyTable::kNoKey;
    rows_[count] = numbers_[k];
    count += static_cast<uint32_t>(found);
    matched[slot / 64] |= found << (slot % 64);
  });
  select_bits(matched, batch.selection->slots, &output_selection_);
}

bool ProbeStage::push(Batch& batch) {
  const bool existence = asks_existence(join_.join);
  const bool all_pairs = residual_.size() == 0;
  const bool one_match = table_.joins_once();
  if (table_.has_keys() && all_pairs && existence) {
    match(batch);
    std::copy_n(output_selection_.bits, kVectorWords, matched_);
    return push_existence(batch);
  }
  if (one_match && all_pairs && join_.join == JoinKind::kInner) {
    match(batch);
    return output_selection_.count == 0 || push_matched(batch);
  }
  if (one_match && !all_pairs) return push_one_match(batch);
  std::fill_n(matched_, kVectorWords, 0);
  if (table_.has_keys()) {
    find_numbers(batch);
  } else {
    with_key_ = *batch.selection;
  }
  const KeyBounds* const bounds = table_.bounds();
  if (bounds != nullptr) bounds->narrow(batch, &with_key_, numbers_.data());
  if (existence && bounds != nullptr && bounds->decides()) {
    std::copy_n(with_key_.bits, kVectorWords, matched_);
    return push_existence(batch);
  }
  if (build_matched_ != nullptr && all_pairs) {
    mark_all();
    return true;
  }
  if (existence && all_pairs) {
    if (table_.rows().row_count() != 0) std::copy_n(with_key_.bits, kVectorWords, matched_);
    return push_existence(batch);
  }
  extend_output(batch);
  if (one_match && all_pairs) return push_left(batch);
  if (!push_rounds(batch)) return false;
  if (build_matched_ != nullptr) return true;
  if (existence) return push_existence(batch);
  return join_.join != JoinKind::kLeft || push_unmatched(*batch.selection);
}

// The output's columns: those of the batch, and room for the build side's.
void ProbeStage::extend_output(const Batch& batch) {
  output_.columns.assign(batch.columns.begin(), batch.columns.end());
  for (size_t c = 0; c < build_buffers_.size(); ++c) {
    Vector& column = output_.columns.emplace_back();
    column.type = build_buffers_[c].type();
    if (twins_[c].has_value()) column = batch.columns[*twins_[c]];
    if (late_[c]) column = {.type = PhysicalType::kInt32, .values = rows_by_slot_.data()};
  }
  output_.build_rows = has_group_keys_ ? rows_by_slot_.data() : batch.build_rows;
}

// Semi and anti join: the probe rows that were matched, or were not. Mark join: all of them.
bool ProbeStage::push_existence(Batch& batch) {
  const Selection& probe = *batch.selection;
  if (join_.join == JoinKind::kMark) {
    auto* const marks = marks_.values<uint8_t>();
    for_slots(probe, [&](uint32_t i) { marks[i] = static_cast<uint8_t>(bit_at(matched_, i)); });
    batch.columns.push_back(marks_.view());
    const bool more = next_->push(batch);
    batch.columns.pop_back();
    return more;
  }
  for (uint32_t w = 0; w < words_of(probe.slots); ++w) {
    matched_[w] = probe.bits[w] & (join_.join == JoinKind::kSemi ? matched_[w] : ~matched_[w]);
  }
  select_bits(matched_, probe.slots, &output_selection_);
  if (output_selection_.count == 0) return true;
  const Selection* const before = batch.selection;
  batch.selection = &output_selection_;
  const bool more = next_->push(batch);
  batch.selection = before;
  return more;
}

// Inner join with at most one match a row and no residual predicate: one batch.
bool ProbeStage::push_matched(const Batch& batch) {
  extend_output(batch);
  gather_build_columns();
  return next_->push(output_);
}

// The same of a left join, with the unmatched rows.
bool ProbeStage::push_left(const Batch& batch) {
  uint32_t by_slot[kVectorRows];
  std::fill_n(by_slot, batch.selection->slots, ColumnStore::kNoRow);
  for_numbered(with_key_, [&](uint32_t k, uint32_t slot) { by_slot[slot] = numbers_[k]; });
  output_selection_ = *batch.selection;
  for_numbered(output_selection_, [&](uint32_t k, uint32_t slot) { rows_[k] = by_slot[slot]; });
  gather_build_columns();
  return next_->push(output_);
}

void ProbeStage::mark_all() {
  if (!table_.has_keys()) {
    if (with_key_.count != 0)
      std::fill(build_matched_->begin(), build_matched_->end(), ~uint64_t{0});
    return;
  }
  uint64_t* const matched = build_matched_->data();
  for (uint32_t k = 0; k < with_key_.count; ++k) {
    if (numbers_[k] == KeyTable::kNoKey) continue;
    const uint32_t begin = table_.row_begin(numbers_[k]);
    if (bit_at(matched, table_.build_row(begin))) continue;  // and so have the key's others
    const uint32_t end = table_.row_begin(numbers_[k] + 1);
    for (uint32_t i = begin; i < end; ++i) set_bit(matched, table_.build_row(i));
  }
}

void ProbeStage::mark_pairs() {
  uint64_t* const matched = build_matched_->data();
  uint64_t bits = 0;  // of a word, which rows that follow each other share
  size_t word = 0;
  const auto mark = [&] {
    mark_count_ += static_cast<uint32_t>(std::popcount(bits & ~matched[word]));
    matched[word] |= bits;
  };
  for (uint32_t k = 0; k < output_selection_.count; ++k) {
    if (rows_[k] / 64 != word) {
      mark();
      word = rows_[k] / 64;
      bits = 0;
    }
    bits |= uint64_t{1} << (rows_[k] % 64);
  }
  if (bits != 0) mark();
}

// Leaves the pairs whose build row has no mark yet: those that have one need no further pair. After
// a batch of which most are left, the next ones are not asked.
void ProbeStage::skip_marked() {
  if (batches_unasked_ > 0) {
    --batches_unasked_;
    return;
  }
  const uint64_t* const marked = build_matched_->data();
  uint64_t unmarked[kVectorWords] = {};
  uint32_t left = 0;
  for_numbered(output_selection_, [&](uint32_t k, uint32_t slot) {
    const uint32_t row = rows_[k];
    const uint64_t is_new = static_cast<uint64_t>(!bit_at(marked, row));
    rows_[left] = row;
    left += static_cast<uint32_t>(is_new);
    unmarked[slot / 64] |= is_new << (slot % 64);
  });
  if (left > output_selection_.count / 2) batches_unasked_ = kUnaskedBatches;
  select_bits(unmarked, output_selection_.slots, &output_selection_);
}

// Rows that have at most one match, of which residual predicates decide.
bool ProbeStage::push_one_match(Batch& batch) {
  match(batch);
  if (build_matched_ != nullptr) skip_marked();
  extend_output(batch);
  keep_pairs();
  std::copy_n(output_selection_.bits, kVectorWords, matched_);
  if (build_matched_ != nullptr) {
    mark_pairs();
    return true;
  }
  if (asks_existence(join_.join)) return push_existence(batch);
  if (output_selection_.count != 0) {
    gather_build_columns();
    if (!next_->push(output_)) return false;
  }
  return join_.join != JoinKind::kLeft || push_unmatched(*batch.selection);
}

RowRange ProbeStage::build_rows(uint32_t number) {
  if (unmarked_.has_value()) return unmarked_->find(number, *build_matched_, mark_count_);
  return {table_.row_begin(number), table_.row_begin(number + 1)};
}

uint32_t ProbeStage::build_row(uint32_t index) const {
  if (finder_.has_value()) return table_.ranges()->row(index);
  if (by_choice_) return table_.choices()->row(index);
  if (unmarked_.has_value()) return unmarked_->row(index);
  return table_.has_keys() ? table_.build_row(index) : index;
}

// Moves the cursor on to the next build row that may match and, where build rows are marked, has no
// mark.
void ProbeStage::seek_candidate(Cursor* cursor) {
  if (by_choice_) {
    ChoiceFinder::Candidates candidates{cursor->next, cursor->end, cursor->choice};
    chooser_->advance(cursor->slot, &candidates);
    *cursor = {cursor->slot, candidates.next, candidates.end, 0, candidates.choice};
    return;
  }
  if (!finder_.has_value()) return;
  while (cursor->next != cursor->end) {
    cursor->next = table_.ranges()->next(cursor->next, cursor->end, cursor->least);
    if (!unmarked_places_.has_value() || cursor->next == cursor->end) return;
    const uint32_t unmarked = unmarked_places_->from(cursor->next, *build_matched_);
    if (unmarked == cursor->next) return;
    cursor->next = std::min(unmarked, cursor->end);
  }
}

void ProbeStage::fill_ranges(const Batch& batch) {
  finder_->find(batch, with_key_, table_.has_keys() ? numbers_.data() : nullptr, ranges_.data());
  cursors_.clear();
  for_numbered(with_key_, [&](uint32_t k, uint32_t slot) {
    Cursor cursor{slot, ranges_[k].next, ranges_[k].end, ranges_[k].least};
    if (unmarked_places_.has_value()) seek_candidate(&cursor);
    if (cursor.next != cursor.end) cursors_.push_back(cursor);
  });
}

void ProbeStage::fill_choices() {
  cursors_.clear();
  for_slots(with_key_, [&](uint32_t slot) {
    Cursor cursor{slot, 0, 0, 0};
    seek_candidate(&cursor);
    if (cursor.next != cursor.end) cursors_.push_back(cursor);
  });
}

void ProbeStage::fill_cursors(const Batch& batch) {
  if (finder_.has_value()) return fill_ranges(batch);
  by_choice_ = chooser_.has_value() && chooser_->find(batch, with_key_);
  if (by_choice_) return fill_choices();
  const auto row_count = static_cast<uint32_t>(table_.rows().row_count());
  cursors_.clear();
  for_numbered(with_key_, [&](uint32_t k, uint32_t slot) {
    if (!table_.has_keys()) {
      if (row_count != 0) cursors_.push_back({slot, 0, row_count, 0});
    } else if (numbers_[k] != KeyTable::kNoKey) {
      const RowRange rows = build_rows(numbers_[k]);
      if (rows.begin == rows.end) return;
      cursors_.push_back(
          {slot, static_cast<uint32_t>(rows.begin), static_cast<uint32_t>(rows.end), 0});
    }
  });
}

// The probe row in every slot.
void ProbeStage::repeat(const Batch& batch, uint32_t slot) {
  if (repeated_buffers_.empty()) {
    for (const Vector& column : batch.columns) repeated_buffers_.emplace_back(column.type);
    repeated_rows_.resize(kVectorRows);
  }
  repeated_.columns.resize(batch.columns.size());
  for (size_t c = 0; c < batch.columns.size(); ++c) {
    const Vector& column = batch.columns[c];
    if (column.values == nullptr) {  // nobody reads it
      repeated_.columns[c] = column;
      continue;
    }
    VectorBuffer& buffer = repeated_buffers_[c];
    with_physical_type(column.type, [&](auto value) {
      using T = decltype(value);
      std::fill_n(buffer.values<T>(), kVectorRows, column.as<T>()[slot]);
    });
    Vector& repeated = repeated_.columns[c];
    repeated = buffer.view();
    repeated.string_life = column.string_life;
    repeated.constant = true;
    if (!column.is_null(slot)) continue;
    std::fill_n(buffer.nulls(), kVectorWords, ~uint64_t{0});
    repeated.nulls = buffer.nulls();
  }
  repeated_.build_rows = nullptr;
  if (batch.build_rows == nullptr) return;
  std::fill(repeated_rows_.begin(), repeated_rows_.end(), batch.build_rows[slot]);
  repeated_.build_rows = repeated_rows_.data();
}

// Joins one probe row with what it has left, a vector of build rows at a time.
bool ProbeStage::push_repeated(const Batch& batch, Cursor cursor) {
  const bool existence = asks_existence(join_.join);
  repeat(batch, cursor.slot);
  extend_output(repeated_);
  bool more = true;
  bool is_matched = false;
  while (more && cursor.next != cursor.end && !(existence && is_matched)) {
    context_.stop->check();
    uint32_t count = 0;
    for (; count < kVectorRows && cursor.next != cursor.end; ++count) {
      rows_[count] = build_row(cursor.next++);
      seek_candidate(&cursor);
    }
    select_all(count, &output_selection_);
    keep_pairs();
    is_matched |= output_selection_.count != 0;
    if (build_matched_ != nullptr) {
      mark_pairs();
    } else if (!existence && output_selection_.count != 0) {
      gather_build_columns();
      more = next_->push(output_);
    }
  }
  if (is_matched) set_bit(matched_, cursor.slot);
  extend_output(batch);
  return more;
}

// Where few probe rows have rows left, those that have many: rounds of some pairs each would cost
// more than the pairs.
bool ProbeStage::push_long_cursors(const Batch& batch) {
  const auto is_long = [](const Cursor& cursor) {
    return cursor.end - cursor.next >= kLongCursorMin;
  };
  for (const Cursor& cursor : cursors_) {
    if (is_long(cursor) && !push_repeated(batch, cursor)) return false;
  }
  std::erase_if(cursors_, is_long);
  return true;
}

// Joins every probe row with its first match, then every one with its second, and so on. Semi and
// anti joins only collect matched_, and drop a row once it has a match.
bool ProbeStage::push_rounds(Batch& batch) {
  static_assert(KeyTable::kNoKey == ColumnStore::kNoRow);
  const bool existence = asks_existence(join_.join);
  fill_cursors(batch);
  uint64_t bits[kVectorWords];
  while (!cursors_.empty()) {
    context_.stop->check();
    if (cursors_.size() <= kFewCursors) {
      if (!push_long_cursors(batch)) return false;
      if (cursors_.empty()) return true;
    }
    std::fill_n(bits, kVectorWords, 0);
    for (size_t i = 0; i < cursors_.size(); ++i) {
      Cursor& cursor = cursors_[i];
      rows_[i] = build_row(cursor.next);
      ++cursor.next;
      seek_candidate(&cursor);
      set_bit(bits, cursor.slot);
    }
    select_bits(bits, batch.selection->slots, &output_selection_);
    keep_pairs();
    for (uint32_t w = 0; w < kVectorWords; ++w) matched_[w] |= output_selection_.bits[w];
    if (build_matched_ != nullptr) {
      mark_pairs();
    } else if (!existence && output_selection_.count != 0) {
      gather_build_columns();
      if (!next_->push(output_)) return false;
    }
    std::erase_if(cursors_, [&](const Cursor& cursor) {
      return cursor.next == cursor.end || (existence && bit_at(matched_, cursor.slot));
    });
  }
  return true;
}

bool ProbeStage::push_unmatched(const Selection& probe) {
  for (uint32_t w = 0; w < words_of(probe.slots); ++w) matched_[w] = probe.bits[w] & ~matched_[w];
  select_bits(matched_, probe.slots, &output_selection_);
  if (output_selection_.count == 0) return true;
  std::fill_n(rows_.begin(), output_selection_.count, ColumnStore::kNoRow);
  gather_compared();
  gather_build_columns();
  return next_->push(output_);
}

// What residual predicates read is there already, in slots that include these.
void ProbeStage::gather_build_columns() {
  for (size_t c = 0; c < build_buffers_.size(); ++c) {
    if (gathered_[c] && !compared_[c]) gather(c);
  }
  if (rows_by_slot_.empty()) return;
  for_numbered(output_selection_,
               [&](uint32_t k, uint32_t slot) { rows_by_slot_[slot] = rows_[k]; });
}

void ProbeStage::gather_compared() {
  for (size_t c = 0; c < build_buffers_.size(); ++c) {
    if (compared_[c]) gather(c);
  }
}

void ProbeStage::gather(size_t column) {
  output_.columns[output_.columns.size() - build_buffers_.size() + column] =
      table_.rows().gather(column, rows_.data(), output_selection_, &build_buffers_[column]);
}

// Leaves the pairs that residual predicates hold for.
void ProbeStage::keep_pairs() {
  if (residual_.size() == 0) return;
  gather_compared();
  pairs_ = output_selection_;
  residual_.narrow(output_, &output_selection_);
  if (output_selection_.count == pairs_.count) return;
  uint32_t left = 0;
  for_numbered(pairs_, [&](uint32_t k, uint32_t slot) {
    rows_[left] = rows_[k];
    left += static_cast<uint32_t>(bit_at(output_selection_.bits, slot));
  });
}

}  // namespace diptych::olap
