#include "olap/execution/scan/scan.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "olap/execution/expression/expression_key.h"

namespace diptych::olap {

using storage::encoding::Passes;
using storage::encoding::Predicate;

std::vector<ScanMorsel> scan_morsels(std::span<const LeafFilter> scans, const storage::Table& table,
                                     std::vector<ScanLeaves>* leaves) {
  DIPTYCH_CHECK(scans.size() <= kScansMax, "a morsel has a bit for each scan");
  leaves->assign(scans.size(), {});
  std::vector<ScanMorsel> morsels;
  for (uint32_t p = 0; p < table.partition_count(); ++p) {
    const storage::Partition& partition = table.partition(base::PartitionId(p));
    for (size_t l = 0; l < partition.leaf_count(); ++l) {
      const storage::Leaf& leaf = partition.leaf(l);
      if (leaf.live_rows() == 0) continue;
      uint64_t wanted = 0;
      for (size_t s = 0; s < scans.size(); ++s) {
        const bool may_match = scans[s].may_match(leaf);
        ++(*leaves)[s].with_rows;
        (*leaves)[s].skipped += static_cast<uint64_t>(!may_match);
        wanted |= uint64_t{may_match} << s;
      }
      if (wanted == 0) continue;
      for (uint32_t first = 0; first < leaf.row_slots(); first += kMorselRows) {
        morsels.push_back({&leaf, first, std::min(kMorselRows, leaf.row_slots() - first), wanted});
      }
    }
  }
  return morsels;
}

std::string predicates_key(const Operator& scan) {
  std::string key;
  for (const ExpressionPtr& predicate : scan.predicates) {
    key += expression_key(*predicate, scan.columns);
  }
  return key;
}

ScanSource::ScanSource(const RunContext& context, const Operator& scan,
                       const std::vector<bool>& needed, const std::vector<JoinFilter>& filters,
                       const RepeatedScans::Roles& roles, const TopBound* top, LeafReader* reader,
                       StagePtr next)
    : needed_(needed),
      roles_(roles),
      reader_(*reader),
      next_(scan.output, needed, std::move(next)),
      predicates_(scan.predicates, context.limits()),
      conditions_(column_conditions(scan.predicates)),
      top_(top),
      answered_(scan.predicates.size()),
      columns_(reader, scan.columns, scan.output, context.memory) {
  if (roles.within != nullptr) {
    std::erase_if(conditions_, [&](const ColumnCondition& condition) {
      return std::ranges::all_of(condition.conjuncts,
                                 [&](uint32_t conjunct) { return roles.known[conjunct]; });
    });
  }
  predicate_conditions_ = conditions_.size();
  for (const JoinFilter& filter : filters) {
    if (filter.table->is_direct()) joins_.emplace_back(filter, context.limits());
    for (const KeyColumnSet& set : filter.table->column_sets()) {
      joins_.emplace_back(filter, set, context.limits());
    }
    for (const ColumnRange& range : filter.implied) {
      conditions_.push_back({{range.column->column, Predicate::between(range.min, range.max)}, {}});
    }
  }
  standing_conditions_ = conditions_.size();
  answers_.resize(standing_conditions_);
  for (const ExpressionPtr& predicate : scan.predicates) {
    predicate_columns_.push_back(columns_read(*predicate));
  }
}

void ScanSource::follow_top(const storage::Leaf& leaf) {
  const TopBound::Bound* const bound = top_->bound();
  if (bound == nullptr) return;
  const TopBound::Bound::Says says = bound->of(leaf);
  is_ruled_out_ = says == TopBound::Bound::Says::kNone;
  conditions_.erase(conditions_.begin() + static_cast<ptrdiff_t>(standing_conditions_),
                    conditions_.end());
  if (says == TopBound::Bound::Says::kAsk) conditions_.push_back(bound->condition());
  answers_.resize(conditions_.size());
}

void ScanSource::start_morsel(const storage::Leaf& leaf) {
  if (top_ != nullptr) follow_top(leaf);
  for (Answer& answer : answers_) answer = Answer();
  if (roles_.within != nullptr) {
    within_ = roles_.within->bits(leaf);
    answered_ = roles_.known;
  } else {
    std::fill(answered_.begin(), answered_.end(), false);
  }
  if (roles_.found != nullptr) found_ = roles_.found->bits(leaf);
}

const ScanSource::Answer& ScanSource::answer(size_t condition) {
  Answer& answer = answers_[condition];
  if (!answer.is_known) {
    const ColumnCondition& asked = conditions_[condition];
    answer.is_known = true;
    answer.filter = columns_.filter(asked.predicate.column, asked.predicate.passes);
    for (const uint32_t conjunct : asked.conjuncts) answered_[conjunct] = answer.filter.has_value();
  }
  return answer;
}

bool ScanSource::narrow_on_codes(size_t first, size_t end, uint64_t* rows) {
  const uint32_t count = reader_.rows();
  bool is_narrowed = false;
  for (size_t i = first; i < end; ++i) {
    const Answer& known = answer(i);
    if (!known.filter || known.filter->passes() == Passes::kAll) continue;
    known.filter->narrow(reader_.first(), count, rows);
    is_narrowed = true;
    if (std::all_of(rows, rows + words_of(count), [](uint64_t word) { return word == 0; })) break;
  }
  return is_narrowed;
}

void ScanSource::select_on_codes(const storage::Leaf& leaf) {
  const uint32_t first = reader_.first();
  const uint32_t count = reader_.rows();
  const uint64_t* const looked_at = (within_ != nullptr ? within_ : leaf.live_bits()) + first / 64;
  uint64_t wanted[kVectorWords];
  std::copy_n(looked_at, words_of(count), wanted);
  if (!narrow_on_codes(0, predicate_conditions_, wanted) && within_ == nullptr) {
    return select_live(leaf, first, count, &selection_);
  }
  select_bits(wanted, count, &selection_);
  if (filtered_rows_ == nullptr) return;
  for (uint32_t w = 0; w < words_of(count); ++w) {
    *filtered_rows_ += static_cast<uint64_t>(std::popcount(looked_at[w]));
  }
  *filtered_rows_ -= selection_.count;
}

void ScanSource::select(const storage::Leaf& leaf) {
  columns_.batch().selection = &selection_;
  select_on_codes(leaf);
  for (size_t i = 0; i < predicates_.size() && selection_.count != 0; ++i) {
    if (answered_[i]) continue;
    for (const uint32_t column : predicate_columns_[i]) columns_.load(column, selection_);
    predicates_.narrow(i, columns_.batch(), &selection_);
  }
}

const Selection* ScanSource::keep_on_codes(size_t first, size_t end, const Selection* rows) {
  if (first == end || rows->count == 0) return rows;
  uint64_t kept[kVectorWords];
  std::copy_n(rows->bits, words_of(rows->slots), kept);
  if (!narrow_on_codes(first, end, kept)) return rows;
  select_bits(kept, rows->slots, &joined_);
  return &joined_;
}

const Selection* ScanSource::keep_best(const Selection* rows) {
  const uint32_t before = rows->count;
  rows = keep_on_codes(standing_conditions_, conditions_.size(), rows);
  if (worse_rows_ != nullptr) *worse_rows_ += before - rows->count;
  return rows;
}

const Selection* ScanSource::ask_joins(const Selection* rows) {
  const uint32_t before = rows->count;
  rows = keep_on_codes(predicate_conditions_, standing_conditions_, rows);
  for (JoinFilterProbe& join : joins_) {
    if (rows->count == 0) break;
    if (!join.pays()) continue;
    for (const uint32_t column : join.columns()) columns_.load(column, *rows);
    columns_.batch().selection = rows;
    join.narrow(columns_.batch(), &joined_);
    rows = &joined_;
  }
  if (joinless_rows_ != nullptr) *joinless_rows_ += before - rows->count;
  return rows;
}

void ScanSource::keep_found(const Selection& rows) {
  std::copy_n(rows.bits, words_of(rows.slots), found_ + reader_.first() / 64);
}

uint64_t ScanSource::live_rows(const storage::Leaf& leaf) const {
  const uint64_t* const live = leaf.live_bits() + reader_.first() / 64;
  uint64_t rows = 0;
  for (uint32_t w = 0; w < words_of(reader_.rows()); ++w) {
    rows += static_cast<uint64_t>(std::popcount(live[w]));
  }
  return rows;
}

bool ScanSource::run_vector(const storage::Leaf& leaf, const Selection** selected) {
  if (is_ruled_out_) {
    if (worse_rows_ != nullptr) *worse_rows_ += live_rows(leaf);
    return true;
  }
  columns_.start();
  if (*selected == nullptr) {
    select(leaf);
    *selected = &selection_;
  }
  if ((*selected)->count == 0) return true;
  has_output_ = true;
  const Selection& rows = *ask_joins(keep_best(*selected));
  if (rows.count == 0) return true;
  if (found_ != nullptr) keep_found(rows);
  for (uint32_t column = 0; column < columns_.count(); ++column) {
    if (needed_[column]) columns_.load(column, rows);
  }
  columns_.batch().selection = &rows;
  return next_.push(columns_.batch());
}

}  // namespace diptych::olap
