// Functions of one text, computed for each text of a vector once: where the column is one of texts
// that come again (TextCodes), the expression is evaluated over its entries, NULL among them, and
// its results are spread to the rows by their codes. Entries that no selected row has are left out:
// they could fail. Of a condition, and a dictionary that lasts for many vectors, the results are
// kept, so that it is evaluated once for each text of a block.

#include <algorithm>
#include <optional>

#include "olap/execution/expression/expression_nodes.h"

namespace diptych::olap {

namespace {

// What a condition gives for the codes of a dictionary, as far as rows have had them.
class KnownTruths {
 public:
  // Sets unknown() to the selected rows whose codes have not come yet. False: the texts are of no
  // dictionary that lasts, or most codes were new, so that it does not pay.
  bool find(const Vector& texts, const Selection& rows) {
    if (texts.coded == nullptr || texts.coded->dictionary == 0) return false;
    if (rows_ >= kTrialRows && work_ * 2 > rows_) return false;
    follow(*texts.coded);
    rows_ += rows.count;
    codes_ = texts.coded->codes;
    if (texts.nulls != nullptr) {
      own_codes_.resize(kVectorRows);
      for (uint32_t i = 0; i < rows.slots; ++i) {
        own_codes_[i] = bit_at(texts.nulls, i) ? texts.coded->entry_count : codes_[i];
      }
      codes_ = own_codes_.data();
    }
    uint64_t unknown[kVectorWords] = {};
    for_selected(rows, [&](uint32_t slot) {
      if (states_[codes_[slot]] == State::kUnknown) [[unlikely]]
        set_bit(unknown, slot);
    });
    select_bits(unknown, rows.slots, &unknown_);
    work_ += unknown_.count;
    return true;
  }
  const Selection& unknown() const { return unknown_; }
  void learn(const TruthMask& truth) {
    for_selected(unknown_, [&](uint32_t slot) {
      const bool is_null = truth.has_nulls && bit_at(truth.is_null, slot);
      states_[codes_[slot]] = is_null                       ? State::kNull
                              : bit_at(truth.is_true, slot) ? State::kTrue
                                                            : State::kFalse;
    });
  }
  // Of the rows of find(), all known by now.
  void give(uint32_t slots, TruthMask* truth) const {
    uint64_t any_null = 0;
    for (uint32_t w = 0; w < words_of(slots); ++w) {
      uint64_t is_true = 0;
      uint64_t is_null = 0;
      const uint32_t end = std::min(slots, (w + 1) * 64);
      for (uint32_t i = w * 64; i < end; ++i) {
        const State state = states_[codes_[i]];
        is_true |= uint64_t{state == State::kTrue} << (i % 64);
        is_null |= uint64_t{state == State::kNull} << (i % 64);
      }
      truth->is_true[w] = is_true;
      truth->is_null[w] = is_null;
      any_null |= is_null;
    }
    truth->has_nulls = any_null != 0;
  }

 private:
  enum class State : uint8_t { kUnknown, kFalse, kTrue, kNull };
  static constexpr uint64_t kTrialRows = 64 * kVectorRows;
  static constexpr uint64_t kStatesAnEvaluation = 64;  // are cleared in the time of one

  void follow(const TextCodes& coded) {
    if (coded.dictionary == dictionary_) return;
    dictionary_ = coded.dictionary;
    states_.assign(coded.entry_count + size_t{1}, State::kUnknown);  // the last one is of NULL
    work_ += states_.size() / kStatesAnEvaluation;
  }

  uint64_t dictionary_ = 0;
  std::vector<State> states_;  // by code
  const uint32_t* codes_ = nullptr;
  std::vector<uint32_t> own_codes_;  // where rows are NULL
  Selection unknown_;
  uint64_t rows_ = 0;  // so far
  uint64_t work_ = 0;  // evaluations, and what clearing took
};

class ByEntryNode : public ExpressionNode {
 public:
  ByEntryNode(uint32_t column, NodePtr node)
      : ExpressionNode(node->type()), column_(column), node_(std::move(node)), results_(type()) {
    entries_.columns.resize(column_ + size_t{1});
    entries_.selection = &present_;
  }

  Vector evaluate(const Batch& input, const Selection& rows) override {
    if (!take_entries(input.columns[column_], rows)) return node_->evaluate(input, rows);
    const Vector of_entries = node_->evaluate(entries_, present_);
    with_physical_type(type(), [&](auto value) { spread<decltype(value)>(of_entries, rows); });
    Vector result = results_.view();
    result.string_life = of_entries.string_life;
    if (of_entries.nulls != nullptr) {
      spread_bits(of_entries.nulls, rows.slots, results_.nulls());
      result.nulls = results_.nulls();
    }
    if (type() == PhysicalType::kString) {
      coded_ = {codes_, of_entries.as<base::StringRef>(), present_.slots};
      result.coded = &coded_;
    }
    return result;
  }

  void evaluate_truth(const Batch& input, const Selection& rows, TruthMask* truth) override {
    if (is_dense(rows) && known_.find(input.columns[column_], rows)) {
      if (known_.unknown().count != 0) {
        node_->evaluate_truth(input, known_.unknown(), truth);
        known_.learn(*truth);
      }
      return known_.give(rows.slots, truth);
    }
    if (!take_entries(input.columns[column_], rows)) {
      return node_->evaluate_truth(input, rows, truth);
    }
    TruthMask of_entries;
    node_->evaluate_truth(entries_, present_, &of_entries);
    spread_bits(of_entries.is_true, rows.slots, truth->is_true);
    truth->has_nulls = of_entries.has_nulls;
    if (truth->has_nulls) spread_bits(of_entries.is_null, rows.slots, truth->is_null);
  }

 private:
  // The entries that the rows have, and codes_. False: the rows are no texts that come again, or
  // few of a vector's, for which spreading would take longer.
  bool take_entries(const Vector& texts, const Selection& rows) {
    if (texts.coded == nullptr || !is_dense(rows)) return false;
    const TextCodes& coded = *texts.coded;
    if (coded.entries == nullptr || coded.entry_count >= kVectorRows) return false;
    Vector& entries = entries_.columns[column_];
    entries = {
        .type = PhysicalType::kString, .string_life = texts.string_life, .values = coded.entries};
    codes_ = coded.codes;
    uint32_t slots = coded.entry_count;
    if (texts.nulls != nullptr) slots = add_null(texts, rows.slots, &entries);
    uint8_t has[kVectorRows] = {};
    for_selected(rows, [&](uint32_t slot) { has[codes_[slot]] = 1; });
    uint64_t present[kVectorWords] = {};
    for (uint32_t i = 0; i < slots; ++i) present[i / 64] |= uint64_t{has[i]} << (i % 64);
    select_bits(present, slots, &present_);
    return true;
  }

  // NULL is one more entry, behind the others. Returns how many they are.
  uint32_t add_null(const Vector& texts, uint32_t row_slots, Vector* entries) {
    const TextCodes& coded = *texts.coded;
    own_codes_.resize(kVectorRows);
    for (uint32_t i = 0; i < row_slots; ++i) {
      own_codes_[i] = bit_at(texts.nulls, i) ? coded.entry_count : coded.codes[i];
    }
    codes_ = own_codes_.data();
    with_null_.assign(coded.entries, coded.entries + coded.entry_count);
    with_null_.emplace_back();
    std::fill_n(null_bits_, kVectorWords, 0);
    set_bit(null_bits_, coded.entry_count);
    entries->values = with_null_.data();
    entries->nulls = null_bits_;
    return coded.entry_count + 1;
  }

  template <class T>
  void spread(const Vector& of_entries, const Selection& rows) {
    const T* const from = of_entries.as<T>();
    T* const to = results_.values<T>();
    const uint32_t* const codes = codes_;
    for_slots(rows, [&](uint32_t slot) { to[slot] = from[codes[slot]]; });
  }

  void spread_bits(const uint64_t* of_entries, uint32_t slots, uint64_t* to) const {
    uint8_t bits[kVectorRows];
    for (uint32_t i = 0; i < present_.slots; ++i) {
      bits[i] = static_cast<uint8_t>(bit_at(of_entries, i));
    }
    for (uint32_t w = 0; w < words_of(slots); ++w) {
      uint64_t word = 0;
      const uint32_t end = std::min(slots, (w + 1) * 64);
      for (uint32_t i = w * 64; i < end; ++i) word |= uint64_t{bits[codes_[i]]} << (i % 64);
      to[w] = word;
    }
  }

  uint32_t column_;
  NodePtr node_;
  VectorBuffer results_;
  KnownTruths known_;
  TextCodes coded_;  // of results that are texts
  Batch entries_;
  Selection present_;  // of the entries
  const uint32_t* codes_ = nullptr;
  // Where rows are NULL: their codes, the entries with NULL, and its bit.
  std::vector<uint32_t> own_codes_;
  std::vector<base::StringRef> with_null_;
  uint64_t null_bits_[kVectorWords];
};

}  // namespace

NodePtr make_by_entry(uint32_t column, NodePtr node) {
  return std::make_unique<ByEntryNode>(column, std::move(node));
}

}  // namespace diptych::olap
