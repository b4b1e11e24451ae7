#include "olap/execution/row_stages.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "olap/execution/query_failure.h"

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
  if (skip >= keep_end) return keep_end == rows;
  uint64_t bits[kVectorWords] = {};
  for_numbered(*batch.selection, [&](uint32_t k, uint32_t slot) {
    if (k >= skip && k < keep_end) set_bit(bits, slot);
  });
  select_bits(bits, batch.selection->slots, &selection_);
  const Selection* const before = batch.selection;
  batch.selection = &selection_;
  const bool more = next_->push(batch);
  batch.selection = before;
  return more && keep_end == rows;
}

bool ValuesSource::run(uint64_t morsel) {
  Selection one;
  select_all(1, &one);
  Batch batch;
  batch.selection = &one;
  std::vector<NodePtr> nodes;
  const size_t columns = values_.output.size();
  for (size_t c = 0; c < columns; ++c) {
    nodes.push_back(compile_expression(*values_.expressions[morsel * columns + c]));
    batch.columns.push_back(nodes.back()->evaluate(Batch{}, one));
  }
  return next_->push(batch);
}

bool GivenRowSource::run(uint64_t) {
  DIPTYCH_CHECK(row_.cells.size() == row_.op->output.size(), "a given row has all columns");
  Selection one;
  select_all(1, &one);
  Batch batch;
  std::vector<VectorBuffer> buffers;
  for (const base::DataType& type : row_.op->output) buffers.emplace_back(physical_type(type));
  for (size_t c = 0; c < buffers.size(); ++c) {
    const GivenRow::Cell& cell = row_.cells[c];
    if (buffers[c].type() == PhysicalType::kInt64) {
      *buffers[c].values<int64_t>() = static_cast<int64_t>(cell.value);
      if (cell.value != static_cast<int64_t>(cell.value)) fail_value(kIntegerOutOfRange);
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

namespace {

base::Value cell(const base::DataType& type, const Vector& vector, uint32_t slot) {
  if (vector.is_null(slot)) return base::Value();
  switch (type.kind) {
    case base::TypeKind::kInt: return int64_t{vector.as<int32_t>()[slot]};
    case base::TypeKind::kBigInt: return vector.as<int64_t>()[slot];
    case base::TypeKind::kDecimal: {
      base::DecimalValue value;
      value.units = is_wide(type) ? vector.as<int128_t>()[slot] : vector.as<int64_t>()[slot];
      value.scale = type.scale;
      return value;
    }
    case base::TypeKind::kDouble: return vector.as<double>()[slot];
    case base::TypeKind::kBoolean: return vector.as<uint8_t>()[slot] != 0;
    case base::TypeKind::kDate: return base::Date{vector.as<int32_t>()[slot]};
    case base::TypeKind::kTimestamp: return base::Timestamp{vector.as<int64_t>()[slot]};
    case base::TypeKind::kChar:
    case base::TypeKind::kVarchar: break;
  }
  return std::string(vector.as<base::StringRef>()[slot].view());
}

// Of the batch's rows as cells; a short text lies in its cell.
size_t result_bytes(const std::vector<base::DataType>& types, const Batch& batch) {
  size_t bytes = batch.selection->count *
                 (sizeof(ResultRows::value_type) + types.size() * sizeof(base::Value));
  for (size_t c = 0; c < types.size(); ++c) {
    if (!types[c].is_string()) continue;
    const Vector& vector = batch.columns[c];
    for_numbered(*batch.selection, [&](uint32_t, uint32_t slot) {
      if (vector.is_null(slot)) return;
      const size_t size = vector.as<base::StringRef>()[slot].size();
      if (size > std::string().capacity()) bytes += size;
    });
  }
  return bytes;
}

}  // namespace

bool ResultStage::push(Batch& batch) {
  DIPTYCH_CHECK(batch.columns.size() >= types_.size(), "a result has the plan's columns");
  part_->charge.set(part_->charge.bytes() + result_bytes(types_, batch));
  ResultRows& rows = part_->rows;
  const size_t first = rows.size();
  rows.resize(first + batch.selection->count);
  for_numbered(*batch.selection,
               [&](uint32_t k, uint32_t) { rows[first + k].reserve(types_.size()); });
  for (size_t c = 0; c < types_.size(); ++c) {
    const Vector& vector = batch.columns[c];
    DIPTYCH_CHECK(vector.type == physical_type(types_[c]), "a result has the plan's types");
    for_numbered(*batch.selection, [&](uint32_t k, uint32_t slot) {
      rows[first + k].push_back(cell(types_[c], vector, slot));
    });
  }
  return true;
}

}  // namespace diptych::olap
