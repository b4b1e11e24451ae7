// The probe side of hash_join.h.

#include "olap/execution/hash_join.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace diptych::olap {

namespace {

// True where a probe row's matches only count as some or none.
bool asks_existence(JoinKind kind) {
  return kind == JoinKind::kSemi || kind == JoinKind::kAnti || kind == JoinKind::kMark;
}

}  // namespace

ProbeStage::ProbeStage(const RunContext& context, const Operator& join, const NeededColumns& needed,
                       const JoinTable& table, StagePtr next)
    : context_(context),
      join_(join),
      table_(table),
      next_(std::move(next)),
      keys_(compile_expressions(join.probe_keys)),
      residual_(join.predicates),
      gathered_(needed.gathered_by(join)) {
  if (needed.numbers_build_rows(join)) rows_by_slot_.resize(kVectorRows);
  packed_.resize(size_t{kVectorRows} * std::max<uint32_t>(table.packer().words(), 1));
  hashes_.resize(kVectorRows);
  numbers_.resize(kVectorRows);
  rows_.resize(kVectorRows);
  cursors_.reserve(kVectorRows);
  for (size_t c = 0; c < table.rows().column_count(); ++c) {
    build_buffers_.emplace_back(table.rows().type(c));
  }
  output_.selection = &output_selection_;
}

// Looks up the batch's keys: with_key_, numbers_.
void ProbeStage::find_matches(const Batch& batch) {
  key_vectors_.clear();
  for (const NodePtr& key : keys_) {
    key_vectors_.push_back(key->evaluate(batch, *batch.selection));
  }
  if (table_.is_direct()) {
    with_key_ = *batch.selection;
    table_.find(key_vectors_, with_key_, numbers_.data());
    return;
  }
  select_without_nulls(key_vectors_, *batch.selection, &with_key_);
  table_.packer().pack(key_vectors_, with_key_, packed_.data(), hashes_.data());
  table_.find(packed_.data(), hashes_.data(), with_key_.count, numbers_.data());
}

bool ProbeStage::push(Batch& batch) {
  const uint32_t slots = batch.selection->slots;
  std::fill_n(matched_, kVectorWords, 0);
  if (table_.has_keys()) {
    find_matches(batch);
  } else {
    with_key_ = *batch.selection;
  }
  const bool existence = asks_existence(join_.join);
  if (existence && residual_.size() == 0) {
    const bool all_match = !table_.has_keys() && table_.rows().row_count() != 0;
    for_numbered(with_key_, [&](uint32_t k, uint32_t slot) {
      if (all_match || (table_.has_keys() && numbers_[k] != KeyTable::kNoKey)) {
        set_bit(matched_, slot);
      }
    });
    return push_existence(batch);
  }
  output_.columns.assign(batch.columns.begin(), batch.columns.end());
  output_.columns.resize(batch.columns.size() + build_buffers_.size());
  output_.build_rows = rows_by_slot_.empty() ? batch.build_rows : rows_by_slot_.data();
  if (table_.has_keys() && table_.unique() && residual_.size() == 0) {
    return push_single(batch, slots);
  }
  if (!push_rounds(batch)) return false;
  if (existence) return push_existence(batch);
  return join_.join != JoinKind::kLeft || push_unmatched(*batch.selection);
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

// At most one match a row and no residual predicate: one batch, with the unmatched rows of a left
// join.
bool ProbeStage::push_single(Batch& batch, uint32_t slots) {
  const bool left = join_.join == JoinKind::kLeft;
  uint32_t count = 0;
  if (left) {
    uint32_t by_slot[kVectorRows];
    std::fill_n(by_slot, slots, ColumnStore::kNoRow);
    for_numbered(with_key_, [&](uint32_t k, uint32_t slot) { by_slot[slot] = numbers_[k]; });
    output_selection_ = *batch.selection;
    for_selected(output_selection_, [&](uint32_t slot) { rows_[count++] = by_slot[slot]; });
  } else {
    count = collect_matches();
    if (count == 0) return true;
    select_bits(matched_, slots, &output_selection_);
  }
  DIPTYCH_DCHECK(count == output_selection_.count, "one build row for each selected slot");
  gather_build_columns();
  return next_->push(output_);
}

// The numbers of the rows with a match to the front of rows_, their slots to matched_. Returns how
// many there are. Without a branch: which rows match is not predictable.
uint32_t ProbeStage::collect_matches() {
  uint32_t count = 0;
  if (!with_key_.all()) {
    for_numbered(with_key_, [&](uint32_t k, uint32_t slot) {
      const uint64_t found = numbers_[k] != KeyTable::kNoKey;
      rows_[count] = numbers_[k];
      count += static_cast<uint32_t>(found);
      matched_[slot / 64] |= found << (slot % 64);
    });
    return count;
  }
  const uint32_t* const numbers = numbers_.data();
  uint32_t* const rows = rows_.data();
  for (uint32_t first = 0; first < with_key_.slots; first += 64) {
    const uint32_t end = std::min(with_key_.slots, first + 64);
    uint64_t word = 0;
    for (uint32_t k = first; k < end; ++k) {
      const uint64_t found = numbers[k] != KeyTable::kNoKey;
      rows[count] = numbers[k];
      count += static_cast<uint32_t>(found);
      word |= found << (k - first);
    }
    matched_[first / 64] = word;
  }
  return count;
}

// Joins every probe row with its first match, then every one with its second, and so on. Semi and
// anti joins only collect matched_, and drop a row once it has a match.
bool ProbeStage::push_rounds(Batch& batch) {
  static_assert(KeyTable::kNoKey == ColumnStore::kNoRow);
  const bool existence = asks_existence(join_.join);
  const auto build_rows = static_cast<uint32_t>(table_.rows().row_count());
  cursors_.clear();
  for_numbered(with_key_, [&](uint32_t k, uint32_t slot) {
    if (!table_.has_keys()) {
      if (build_rows != 0) cursors_.push_back({slot, 0, build_rows});
    } else if (numbers_[k] != KeyTable::kNoKey) {
      cursors_.push_back({slot, table_.row_begin(numbers_[k]), table_.row_begin(numbers_[k] + 1)});
    }
  });
  uint64_t bits[kVectorWords];
  while (!cursors_.empty()) {
    context_.stop->check();
    std::fill_n(bits, kVectorWords, 0);
    for (size_t i = 0; i < cursors_.size(); ++i) {
      Cursor& cursor = cursors_[i];
      rows_[i] = table_.has_keys() ? table_.build_row(cursor.next) : cursor.next;
      ++cursor.next;
      set_bit(bits, cursor.slot);
    }
    select_bits(bits, batch.selection->slots, &output_selection_);
    gather_build_columns();
    residual_.narrow(output_, &output_selection_);
    for (uint32_t w = 0; w < kVectorWords; ++w) matched_[w] |= output_selection_.bits[w];
    if (!existence && output_selection_.count != 0 && !next_->push(output_)) return false;
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
  gather_build_columns();
  return next_->push(output_);
}

void ProbeStage::gather_build_columns() {
  const size_t probe_columns = output_.columns.size() - build_buffers_.size();
  for (size_t c = 0; c < build_buffers_.size(); ++c) {
    Vector& column = output_.columns[probe_columns + c];
    if (gathered_[c]) {
      column = table_.rows().gather(c, rows_.data(), output_selection_, &build_buffers_[c]);
    } else {
      column = Vector();
      column.type = build_buffers_[c].type();
    }
  }
  if (rows_by_slot_.empty()) return;
  for_numbered(output_selection_,
               [&](uint32_t k, uint32_t slot) { rows_by_slot_[slot] = rows_[k]; });
}

}  // namespace diptych::olap
