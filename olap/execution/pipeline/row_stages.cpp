#include "olap/execution/pipeline/row_stages.h"

#include <algorithm>

#include "base/check.h"
#include "olap/execution/limits/query_failure.h"

namespace diptych::olap {

bool FilterStage::push(Batch& batch) {
  selection_ = *batch.selection;
  predicates_.narrow(batch, &selection_);
  if (selection_.count == 0) return true;
  const Selection* const before = batch.selection;
  batch.selection = &selection_;
  const bool more = next_->push(batch);
  batch.selection = before;
  return more;
}

bool ProjectStage::push(Batch& batch) {
  output_.columns.clear();
  for (const NodePtr& node : nodes_) {
    output_.columns.push_back(node->evaluate(batch, *batch.selection));
  }
  output_.selection = batch.selection;
  return next_->push(output_);
}

bool LimitStage::push(Batch& batch) {
  const uint32_t rows = batch.selection->count;
  const uint64_t first = counter_->claim(rows);
  if (first >= counter_->end()) return false;
  const uint64_t skip = counter_->begin() > first ? counter_->begin() - first : 0;
  const uint64_t keep_end = std::min<uint64_t>(rows, counter_->end() - first);
  const bool is_last = counter_->end() - first <= rows;
  if (skip >= keep_end) return !is_last;
  uint64_t bits[kVectorWords] = {};
  for_numbered(*batch.selection, [&](uint32_t k, uint32_t slot) {
    if (k >= skip && k < keep_end) set_bit(bits, slot);
  });
  select_bits(bits, batch.selection->slots, &selection_);
  const Selection* const before = batch.selection;
  batch.selection = &selection_;
  const bool more = next_->push(batch);
  batch.selection = before;
  return more && !is_last;
}

bool ValuesSource::run(uint64_t morsel) {
  Selection one;
  select_all(1, &one);
  Batch batch;
  batch.selection = &one;
  std::vector<NodePtr> nodes;
  const size_t columns = values_.output.size();
  for (size_t c = 0; c < columns; ++c) {
    nodes.push_back(compile_expression(*values_.expressions[morsel * columns + c], limits_));
    batch.columns.push_back(nodes.back()->evaluate(Batch{}, one));
  }
  return next_->push(batch);
}

namespace {

class GivenRowSource : public MorselSource {
 public:
  GivenRowSource(const GivenRow& row, StagePtr next) : row_(row), next_(std::move(next)) {}
  bool run(uint64_t morsel) override;

 private:
  const GivenRow& row_;
  StagePtr next_;
};

bool GivenRowSource::run(uint64_t) {
  DIPTYCH_CHECK(row_.cells().size() == row_.op().output.size(), "a given row has all columns");
  Selection one;
  select_all(1, &one);
  Batch batch;
  std::vector<VectorBuffer> buffers;
  for (const base::DataType& type : row_.op().output) buffers.emplace_back(physical_type(type));
  for (size_t c = 0; c < buffers.size(); ++c) {
    const GivenRow::Cell& cell = row_.cells()[c];
    if (buffers[c].type() == PhysicalType::kInt64) {
      *buffers[c].values<int64_t>() = static_cast<int64_t>(cell.value);
      if (cell.value != static_cast<int64_t>(cell.value)) fail_value(kBigIntOutOfRange);
    } else {
      DIPTYCH_CHECK(buffers[c].type() == PhysicalType::kInt128, "counts and sums");
      *buffers[c].values<int128_t>() = cell.value;
    }
    if (cell.is_null) set_bit(buffers[c].nulls(), 0);
    batch.columns.push_back(buffers[c].view_with_nulls());
  }
  batch.selection = &one;
  return next_->push(batch);
}

}  // namespace

std::unique_ptr<MorselSource> GivenRow::source(StagePtr next) const {
  return std::make_unique<GivenRowSource>(*this, std::move(next));
}

}  // namespace diptych::olap
