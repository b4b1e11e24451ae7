// Functions of one text, computed for each text of a vector once: where the column is one of texts
// that come again (TextCodes), the expression is evaluated over its entries, NULL among them, and
// its results are spread to the rows by their codes. Entries that no selected row has are left out:
// they could fail.

#include <algorithm>
#include <optional>

#include "olap/execution/expression/expression_nodes.h"

namespace diptych::olap {

namespace {

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
