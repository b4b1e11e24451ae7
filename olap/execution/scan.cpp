#include "olap/execution/scan.h"

#include <algorithm>
#include <bit>

#include "olap/execution/leaf_filter.h"
#include "olap/execution/read_ahead.h"

namespace diptych::olap {

std::vector<ScanMorsel> scan_morsels(const Operator& scan, const storage::Table& table,
                                     ScanLeaves* leaves) {
  const LeafFilter filter(scan);
  std::vector<ScanMorsel> morsels;
  for (uint32_t p = 0; p < table.partition_count(); ++p) {
    const storage::Partition& partition = table.partition(base::PartitionId(p));
    for (size_t l = 0; l < partition.leaf_count(); ++l) {
      const storage::Leaf& leaf = partition.leaf(l);
      if (leaf.live_rows() == 0) continue;
      const bool skipped = !filter.may_match(leaf);
      if (leaves != nullptr) {
        ++leaves->with_rows;
        leaves->skipped += static_cast<uint64_t>(skipped);
      }
      if (skipped) continue;
      for (uint32_t first = 0; first < leaf.row_slots(); first += kMorselRows) {
        morsels.push_back({&leaf, first, std::min(kMorselRows, leaf.row_slots() - first)});
      }
    }
  }
  return morsels;
}

ScanSource::ScanSource(const Operator& scan, const std::vector<bool>& needed,
                       const std::vector<ScanMorsel>& morsels, ReadAhead* ahead, StagePtr next)
    : needed_(needed),
      morsels_(morsels),
      ahead_(ahead),
      next_(std::move(next)),
      predicates_(scan.predicates),
      conditions_(column_conditions(scan.predicates)),
      answers_(conditions_.size()),
      answered_(scan.predicates.size()),
      columns_(scan.columns, scan.output) {
  for (const ExpressionPtr& predicate : scan.predicates) {
    predicate_columns_.push_back(columns_read(*predicate));
  }
  columns_.batch().selection = &selection_;
}

bool ScanSource::run(uint64_t morsel) {
  const ScanMorsel& range = morsels_[morsel];
  ahead_->reach(morsel);
  for (Answer& answer : answers_) answer = Answer();
  std::fill(answered_.begin(), answered_.end(), false);
  const uint32_t end = range.first + range.count;
  bool wants_more = true;
  for (uint32_t first = range.first; wants_more && first < end; first += kVectorRows) {
    wants_more = run_vector(*range.leaf, first, std::min(kVectorRows, end - first));
  }
  columns_.unpin();
  return wants_more;
}

const ScanSource::Answer& ScanSource::answer(size_t condition) {
  Answer& answer = answers_[condition];
  if (!answer.is_known) {
    const ColumnCondition& asked = conditions_[condition];
    answer.is_known = true;
    answer.test = columns_.test(asked.predicate.column, asked.predicate.passes);
    for (const uint32_t conjunct : asked.conjuncts) answered_[conjunct] = answer.test.has_value();
  }
  return answer;
}

void ScanSource::select_on_codes(const storage::Leaf& leaf, uint32_t first, uint32_t count) {
  using storage::encoding::Passes;
  const uint64_t* const live = leaf.live_bits() + first / 64;
  uint64_t wanted[kVectorWords];
  std::copy_n(live, words_of(count), wanted);
  bool is_narrowed = false;
  for (size_t i = 0; i < conditions_.size(); ++i) {
    const Answer& known = answer(i);
    if (!known.test || known.test->passes() == Passes::kAll) continue;
    known.test->narrow(first, count, wanted);
    is_narrowed = true;
    if (std::all_of(wanted, wanted + words_of(count), [](uint64_t word) { return word == 0; })) {
      break;
    }
  }
  if (!is_narrowed) return select_live(leaf, first, count, &selection_);
  select_bits(wanted, count, &selection_);
  if (filtered_rows_ == nullptr) return;
  for (uint32_t w = 0; w < words_of(count); ++w) {
    *filtered_rows_ += static_cast<uint64_t>(std::popcount(live[w]));
  }
  *filtered_rows_ -= selection_.count;
}

bool ScanSource::run_vector(const storage::Leaf& leaf, uint32_t first, uint32_t count) {
  columns_.start(leaf, first, count);
  select_on_codes(leaf, first, count);
  for (size_t i = 0; i < predicates_.size() && selection_.count != 0; ++i) {
    if (answered_[i]) continue;
    for (const uint32_t column : predicate_columns_[i]) columns_.load(column, selection_);
    predicates_.narrow(i, columns_.batch(), &selection_);
  }
  if (selection_.count == 0) return true;
  ahead_->note_output();
  for (uint32_t column = 0; column < columns_.count(); ++column) {
    if (needed_[column]) columns_.load(column, selection_);
  }
  return next_->push(columns_.batch());
}

}  // namespace diptych::olap
