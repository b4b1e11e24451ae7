// string_agg(text, delimiter [ORDER BY ...]): a group's rows in their order, put together.
//
// Without ORDER BY the order is that of arrival, so with several threads any. DISTINCT orders by
// the text, up or down, and keeps a text's first row.

#include <optional>

#include "olap/execution/query_failure.h"
#include "olap/execution/rows_by_group.h"
#include "olap/execution/vector_texts.h"

namespace diptych::olap {

namespace {

using base::StringRef;

constexpr uint32_t kText = 1;  // columns of the rows kept: group, text, delimiter, sort keys
constexpr uint32_t kDelimiter = 2;

std::vector<base::DataType> argument_types(const Aggregate& aggregate) {
  std::vector<base::DataType> types = {aggregate.argument->type};
  for (const ExpressionPtr& one : aggregate.further) types.push_back(one->type);
  return types;
}

std::vector<SortKey> order_of(const Aggregate& aggregate) {
  if (aggregate.distinct && aggregate.order.empty()) return {SortKey{}};
  return aggregate.order;
}

class StringAggColumn : public RowsByGroup {
 public:
  explicit StringAggColumn(const Aggregate& aggregate)
      : RowsByGroup(argument_types(aggregate), order_of(aggregate)),
        distinct_(aggregate.distinct) {}

  void resize(uint32_t groups) override { results_.resize(groups, Result{}); }
  size_t memory_bytes() const override { return RowsByGroup::memory_bytes() + results_.bytes(); }

  void finish(const QueryLimits& limits) override {
    const auto* const texts = rows().values<StringRef>(kText);
    StopCountdown countdown(limits.stop);
    results_texts_.emplace(limits, "the texts of a string_agg");
    const auto join = [&](std::span<const uint32_t> sorted, CountedText* text) {
      for (size_t i = 0; i < sorted.size(); ++i) {
        const uint32_t row = sorted[i];
        countdown.pass(1 + texts[row].size());
        if (i != 0 && distinct_ && texts[row].view() == texts[sorted[i - 1]].view()) continue;
        if (i != 0 && !rows().is_null(kDelimiter, row)) {
          *text += rows().values<StringRef>(kDelimiter)[row].view();
        }
        *text += texts[row].view();
        if (text->size() > UINT32_MAX) fail_value("text too long", "54000");
      }
    };
    for_each_group(*limits.stop, [&](uint32_t group, std::span<const uint32_t> sorted) {
      results_[group] = {results_texts_->make([&](CountedText* text) { join(sorted, text); }),
                         true};
    });
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

  bool distinct_;
  GrowingArray<Result> results_;
  std::optional<VectorTexts> results_texts_;  // from finish() on
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
