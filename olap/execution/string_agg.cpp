// string_agg(text, delimiter [ORDER BY ...]): the rows are kept with their group's number, sorted
// by group and order when all are in, and then put together.
//
// Without ORDER BY the order is that of arrival, so with several threads any. DISTINCT orders by
// the text, up or down, and keeps a text's first row.

#include <algorithm>

#include "olap/execution/aggregate_column.h"
#include "olap/execution/column_store.h"
#include "olap/execution/query_failure.h"
#include "olap/execution/sort.h"

namespace diptych::olap {

namespace {

using base::StringRef;

constexpr uint32_t kText = 1;  // columns of the rows kept: group, text, delimiter, sort keys
constexpr uint32_t kDelimiter = 2;

class StringAggColumn : public AggregateColumn {
 public:
  explicit StringAggColumn(const Aggregate& aggregate)
      : distinct_(aggregate.distinct), types_{base::DataType{base::TypeKind::kInt}} {
    types_.push_back(aggregate.argument->type);
    for (const ExpressionPtr& one : aggregate.further) types_.push_back(one->type);
    order_.push_back({0, false, false});
    if (distinct_ && aggregate.order.empty()) order_.push_back({kText, false, false});
    for (SortKey key : aggregate.order) {
      ++key.column;
      order_.push_back(key);
    }
    rows_ = std::make_unique<ColumnStore>(types_);
    for (const base::DataType& type : types_) buffers_.emplace_back(physical_type(type));
  }

  void resize(uint32_t groups) override { results_.resize(groups); }
  size_t memory_bytes() const override {
    return rows_->memory_bytes() + heap_.memory_bytes() + results_.size() * sizeof(StringRef) +
           rows_split_.memory_bytes();
  }
  uint64_t kept_values() const override { return rows_->row_count(); }

  void update(const Vector&, const Selection&, const uint32_t*) override {
    DIPTYCH_CHECK(false, "string_agg has two arguments at least");
  }

  void update_all(std::span<const Vector> arguments, const Selection& rows,
                  const uint32_t* groups) override {
    auto* const numbers = buffers_[0].values<int32_t>();
    for_numbered(rows, [&](uint32_t k, uint32_t slot) {
      numbers[slot] = static_cast<int32_t>(groups == nullptr ? 0 : groups[k]);
    });
    columns_.assign(1, buffers_[0].view());
    columns_.insert(columns_.end(), arguments.begin(), arguments.end());
    uint64_t present[kVectorWords];
    for (uint32_t w = 0; w < kVectorWords; ++w) present[w] = rows.bits[w];
    if (arguments[0].nulls != nullptr) {
      for (uint32_t w = 0; w < words_of(rows.slots); ++w) present[w] &= ~arguments[0].nulls[w];
    }
    select_bits(present, rows.slots, &present_);
    if (present_.count != 0) rows_->append(columns_, present_);
  }

  void split(const GroupSplit& groups, const StopSignal& stop) override {
    const auto* const group = rows_->values<int32_t>(0);
    rows_split_ = NumbersByPartition(checked_rows(), groups.partitions(), stop, [&](uint32_t row) {
      return groups.partition_of(static_cast<uint32_t>(group[row]));
    });
  }

  void merge(const AggregateColumn& other, const GroupMerge& groups,
             const StopSignal& stop) override {
    const auto& column = static_cast<const StringAggColumn&>(other);
    const ColumnStore& rows = *column.rows_;
    const bool whole = groups.split.is_whole();
    const uint32_t merged =
        whole ? column.checked_rows() : column.rows_split_.size(groups.partition);
    std::vector<uint32_t> numbers(kVectorRows);
    for (uint32_t first = 0; first < merged; first += kVectorRows) {
      stop.check();
      const uint32_t count = std::min(kVectorRows, merged - first);
      for (uint32_t i = 0; i < count; ++i) {
        numbers[i] = whole ? first + i : column.rows_split_.at(groups.partition, first + i);
      }
      select_all(count, &present_);
      columns_.clear();
      for (size_t c = 0; c < types_.size(); ++c) {
        columns_.push_back(rows.gather(c, numbers.data(), present_, &buffers_[c]));
      }
      auto* const group = buffers_[0].values<int32_t>();
      for (uint32_t i = 0; i < count; ++i) {
        group[i] = static_cast<int32_t>(groups.to_of(static_cast<uint32_t>(group[i])));
      }
      rows_->append(columns_, present_);
    }
  }

  void finish(const StopSignal& stop) override {
    const std::vector<uint32_t> sorted = sorted_rows(*rows_, order_, kNoLimit, Workers(stop));
    const auto* const groups = rows_->values<int32_t>(0);
    const auto* const texts = rows_->values<StringRef>(kText);
    std::string text;
    for (size_t i = 0; i < sorted.size();) {
      const auto group = static_cast<uint32_t>(groups[sorted[i]]);
      const size_t first = i;
      text.clear();
      for (; i < sorted.size() && static_cast<uint32_t>(groups[sorted[i]]) == group; ++i) {
        stop.check_at(i);
        const uint32_t row = sorted[i];
        if (i != first && distinct_ && texts[row].view() == texts[sorted[i - 1]].view()) continue;
        if (i != first && !rows_->is_null(kDelimiter, row)) {
          text += rows_->values<StringRef>(kDelimiter)[row].view();
        }
        text += texts[row].view();
        if (text.size() > UINT32_MAX) fail_value("text too long", "54000");
      }
      results_[group] = {heap_.keep(StringRef(text)), true};
    }
  }

  Vector result(uint32_t first, uint32_t count, VectorBuffer* results) const override {
    results->clear_nulls();
    for (uint32_t i = 0; i < count; ++i) {
      const Result& one = results_[first + i];
      if (one.exists) {
        results->values<StringRef>()[i] = one.text;
      } else {
        set_bit(results->nulls(), i);
      }
    }
    Vector vector = results->view_with_nulls();
    vector.string_life = StringLife::kBatch;
    return vector;
  }

 private:
  struct Result {
    StringRef text;
    bool exists = false;
  };

  // Their count, of which the sort in finish() has as many at most.
  uint32_t checked_rows() const {
    if (rows_->row_count() >= UINT32_MAX) {
      fail_query(base::ErrorCode::kOutOfMemory, "string_agg has more than 2^32 - 2 rows");
    }
    return static_cast<uint32_t>(rows_->row_count());
  }

  bool distinct_;
  std::vector<base::DataType> types_;
  std::vector<SortKey> order_;
  std::unique_ptr<ColumnStore> rows_;
  NumbersByPartition rows_split_;  // from split() on
  std::vector<VectorBuffer> buffers_;
  std::vector<Vector> columns_;
  Selection present_;
  std::vector<Result> results_;
  QueryHeap heap_;
};

}  // namespace

std::unique_ptr<AggregateColumn> make_string_agg(const Aggregate& aggregate) {
  if (aggregate.further.empty() || !aggregate.argument->type.is_string() ||
      !aggregate.further[0]->type.is_string()) {
    fail_query(base::ErrorCode::kUnsupported, "string_agg takes a text and a delimiter");
  }
  return std::make_unique<StringAggColumn>(aggregate);
}

}  // namespace diptych::olap
