// string_agg(text, delimiter [ORDER BY ...]): a group's rows in their order, put together.
//
// Without ORDER BY the order is that of arrival, so with several threads any. DISTINCT orders by
// the text, up or down, and keeps a text's first row: of each worker as they come, where most are
// repeated. Where the delimiter varies, it is of texts with delimiters.

#include <algorithm>
#include <optional>
#include <string_view>

#include "olap/execution/group/rows_by_group.h"
#include "olap/execution/key/key_table.h"
#include "olap/execution/limits/query_failure.h"
#include "olap/execution/vector/vector_texts.h"

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

bool has_delimiter_by_row(const Aggregate& aggregate) {
  return aggregate.further[0]->kind != ExpressionKind::kLiteral;
}

// With DISTINCT, rows that are equal come one after the other.
std::vector<SortKey> order_of(const Aggregate& aggregate) {
  std::vector<SortKey> order = aggregate.order;
  if (!aggregate.distinct) return order;
  for (uint32_t argument = 0; argument < (has_delimiter_by_row(aggregate) ? 2 : 1); ++argument) {
    if (std::ranges::find(order, argument, &SortKey::column) == order.end()) {
      order.push_back({argument, false, false});
    }
  }
  return order;
}

// Which rows are the first of their group with their text. It gives up where that pays for few.
class FirstTexts {
 public:
  explicit FirstTexts(const QueryLimits& limits)
      : packer_(kColumns, NullKeys::kNever),
        table_(packer_, limits, "the groups of a GROUP BY"),
        by_slot_(PhysicalType::kInt32),
        keys_(size_t{kVectorRows} * packer_.words()),
        hashes_(kVectorRows),
        numbers_(kVectorRows) {}

  size_t memory_bytes() const { return table_.memory_bytes(); }
  bool pays() const { return rows_ < kTrialRows || table_.size() < rows_ / 2; }

  // Of rows with a text. *groups: theirs, by number of the row; on return, of those in first().
  void find(const Vector& texts, const Selection& rows, std::vector<uint32_t>* groups) {
    for_numbered(rows, [&](uint32_t k, uint32_t slot) {
      by_slot_.values<int32_t>()[slot] = static_cast<int32_t>((*groups)[k]);
    });
    const Vector columns[] = {by_slot_.view(), texts};
    packer_.pack(columns, rows, keys_.data(), hashes_.data());
    uint32_t known = table_.size();
    table_.find_or_insert(keys_.data(), hashes_.data(), rows.count, texts.string_life,
                          numbers_.data());
    uint64_t bits[kVectorWords] = {};
    size_t kept = 0;
    for (uint32_t k = 0; k < rows.count; ++k) {
      if (numbers_[k] != known) continue;
      ++known;
      set_bit(bits, rows.row(k));
      (*groups)[kept++] = (*groups)[k];
    }
    groups->resize(kept);
    select_bits(bits, rows.slots, &first_);
    rows_ += rows.count;
  }
  const Selection& first() const { return first_; }

 private:
  static constexpr uint64_t kTrialRows = 64 * kVectorRows;
  static constexpr PhysicalType kColumns[] = {PhysicalType::kInt32, PhysicalType::kString};

  KeyPacker packer_;
  KeyTable table_;
  VectorBuffer by_slot_;
  std::vector<uint64_t> keys_;
  std::vector<uint64_t> hashes_;
  std::vector<uint32_t> numbers_;
  Selection first_;
  uint64_t rows_ = 0;
};

class StringAggColumn : public RowsByGroup {
 public:
  StringAggColumn(const Aggregate& aggregate, const QueryLimits& limits)
      : RowsByGroup(argument_types(aggregate), order_of(aggregate)),
        distinct_(aggregate.distinct),
        has_delimiter_by_row_(has_delimiter_by_row(aggregate)) {
    if (distinct_ && !has_delimiter_by_row_) first_texts_ = std::make_unique<FirstTexts>(limits);
  }

  void resize(uint32_t groups) override { results_.resize(groups, Result{}); }
  size_t memory_bytes() const override {
    const size_t texts = first_texts_ == nullptr ? 0 : first_texts_->memory_bytes();
    return RowsByGroup::memory_bytes() + results_.bytes() + texts;
  }

  bool counts_repeats() const override { return !distinct_; }

  void update_all(std::span<const Vector> arguments, const Selection& rows,
                  const uint32_t* groups) override {
    if (first_texts_ == nullptr) return RowsByGroup::update_all(arguments, rows, groups);
    const Vector& texts = arguments[0];
    groups_.clear();
    uint64_t present[kVectorWords];
    std::copy_n(rows.bits, words_of(rows.slots), present);
    for_numbered(rows, [&](uint32_t k, uint32_t slot) {
      if (texts.is_null(slot)) {
        present[slot / 64] &= ~(uint64_t{1} << (slot % 64));
      } else {
        groups_.push_back(groups == nullptr ? 0 : groups[k]);
      }
    });
    select_bits(present, rows.slots, &present_);
    first_texts_->find(texts, present_, &groups_);
    RowsByGroup::update_all(arguments, first_texts_->first(), groups_.data());
    if (!first_texts_->pays()) first_texts_.reset();
  }
  // Another's rows come as they are.
  void merge(const AggregateColumn& other, const GroupMerge& groups) override {
    first_texts_.reset();
    RowsByGroup::merge(other, groups);
  }

  void finish(const QueryLimits& limits, const Workers& /*workers*/) override {
    const auto* const texts = rows().values<StringRef>(kText);
    StopCountdown countdown(limits.stop);
    results_texts_.emplace(limits, "the texts of a string_agg");
    const auto join = [&](std::span<const uint32_t> sorted, CountedText* text) {
      for (size_t i = 0; i < sorted.size(); ++i) {
        const uint32_t row = sorted[i];
        countdown.pass(1 + texts[row].size());
        if (i != 0 && distinct_ && are_equal(row, sorted[i - 1])) continue;
        if (i != 0) *text += delimiter(row);
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

  // Empty, where it is NULL.
  std::string_view delimiter(uint32_t row) const {
    if (rows().is_null(kDelimiter, row)) return {};
    return rows().values<StringRef>(kDelimiter)[row].view();
  }
  bool are_equal(uint32_t a, uint32_t b) const {
    const auto* const texts = rows().values<StringRef>(kText);
    if (texts[a].view() != texts[b].view()) return false;
    return !has_delimiter_by_row_ ||
           (rows().is_null(kDelimiter, a) == rows().is_null(kDelimiter, b) &&
            delimiter(a) == delimiter(b));
  }

  bool distinct_;
  bool has_delimiter_by_row_;
  std::unique_ptr<FirstTexts> first_texts_;  // nullptr: all rows are kept
  std::vector<uint32_t> groups_;
  Selection present_;
  GrowingArray<Result> results_;
  std::optional<VectorTexts> results_texts_;  // from finish() on
};

}  // namespace

std::unique_ptr<AggregateColumn> make_string_agg(const Aggregate& aggregate,
                                                 const QueryLimits& limits) {
  if (aggregate.further.empty() || !aggregate.argument->type.is_string() ||
      !aggregate.further[0]->type.is_string()) {
    fail_query(base::ErrorCode::kUnsupported, "string_agg takes a text and a delimiter");
  }
  return std::make_unique<StringAggColumn>(aggregate, limits);
}

}  // namespace diptych::olap
