// Comparisons, IS NULL, IN and LIKE: operands of any type to truth values.

#include <algorithm>
#include <cstring>
#include <string>
#include <type_traits>

#include "olap/execution/expression/comparison_kernels.h"
#include "olap/execution/expression/expression_nodes.h"
#include "olap/execution/limits/query_failure.h"
#include "olap/execution/pattern/like_pattern.h"
#include "olap/execution/pattern/text_memo.h"

namespace diptych::olap {

namespace {

template <class Comparison, class T>
class ComparisonNode : public TruthNode {
 public:
  ComparisonNode(NodePtr left, NodePtr right) : left_(std::move(left)), right_(std::move(right)) {}

  void evaluate_truth(const Batch& input, const Selection& rows, TruthMask* truth) override {
    const Vector a = left_->evaluate(input, rows);
    const Vector b = right_->evaluate(input, rows);
    const uint64_t* const nulls = merge_nulls(a, b, rows.slots, nulls_);
    if (b.constant) {
      compare_values<Comparison, true>(a.as<T>(), b.as<T>(), rows, nulls, truth->is_true);
    } else {
      compare_values<Comparison, false>(a.as<T>(), b.as<T>(), rows, nulls, truth->is_true);
    }
    truth->apply_nulls(nulls, rows.slots);
  }

 private:
  NodePtr left_;
  NodePtr right_;
  uint64_t nulls_[kVectorWords];
};

template <class Comparison>
NodePtr make_typed_comparison(NodePtr left, NodePtr right) {
  return with_physical_type(left->type(), [&](auto value) -> NodePtr {
    return std::make_unique<ComparisonNode<Comparison, decltype(value)>>(std::move(left),
                                                                         std::move(right));
  });
}

class IsNullNode : public TruthNode {
 public:
  IsNullNode(bool wanted, NodePtr child) : wanted_(wanted), child_(std::move(child)) {}

  void evaluate_truth(const Batch& input, const Selection& rows, TruthMask* truth) override {
    const Vector vector = child_->evaluate(input, rows);
    for (uint32_t w = 0; w < words_of(rows.slots); ++w) {
      const uint64_t nulls = vector.nulls == nullptr ? 0 : vector.nulls[w];
      truth->is_true[w] = wanted_ ? nulls : ~nulls;
    }
    truth->has_nulls = false;
  }

 private:
  bool wanted_;
  NodePtr child_;
};

// Texts without bytes elsewhere are equal if their 16 bytes are, which SIMD compares (pairs of
// words, base/string_ref.h).
class ShortTexts {
 public:
  void add(const base::StringRef& text) { texts_.push_back(words_of_text(text)); }

  // Sets bit i of `bits` where the text of slot i is one of these, for all slots.
  void find(const base::StringRef* texts, uint32_t slots, uint64_t* bits) const {
    for (uint32_t first = 0; first < slots; first += 64) {
      const uint32_t count = std::min(64U, slots - first);
      uint64_t low[64] = {};
      uint64_t high[64] = {};
      for (uint32_t i = 0; i < count; ++i) {
        const Words words = words_of_text(texts[first + i]);
        low[i] = words.low;
        high[i] = words.high;
      }
      uint64_t found[64] = {};
      for (const Words& text : texts_) {
        for (uint32_t i = 0; i < 64; ++i) {
          found[i] |= static_cast<uint64_t>(((low[i] ^ text.low) | (high[i] ^ text.high)) == 0);
        }
      }
      alignas(64) uint8_t bytes[64];
      for (uint32_t i = 0; i < 64; ++i) bytes[i] = static_cast<uint8_t>(found[i]);
      bits[first / 64] = pack_bytes(bytes);
    }
  }

 private:
  struct Words {
    uint64_t low;
    uint64_t high;
  };
  static Words words_of_text(const base::StringRef& text) {
    Words words;
    static_assert(sizeof words == sizeof text);
    std::memcpy(&words, &text, sizeof words);
    return words;
  }

  std::vector<Words> texts_;
};

// IN with a list of literals: short ones are compared one by one, long ones searched. A null in the
// list makes "not found" unknown.
template <class T>
class InListNode : public TruthNode {
 public:
  // Of the expression's literals, behind its operand.
  InListNode(const Expression& expression, NodePtr child) : child_(std::move(child)) {
    Selection one;
    select_all(1, &one);
    values_.reserve(expression.children.size() - 1);
    for (size_t i = 1; i < expression.children.size(); ++i) {
      const Expression& literal = *expression.children[i];
      const NodePtr node = make_literal(literal.type, literal.literal);
      const Vector vector = node->evaluate(Batch{}, one);
      if (vector.is_null(0)) {
        has_null_ = true;
      } else if constexpr (std::is_same_v<T, base::StringRef>) {
        values_.push_back(texts_.keep(*vector.as<T>()));
      } else {
        values_.push_back(*vector.as<T>());
      }
    }
    std::sort(values_.begin(), values_.end(),
              [](const T& a, const T& b) { return value_less(a, b); });
    if constexpr (std::is_same_v<T, base::StringRef>) {
      all_short_ = std::all_of(values_.begin(), values_.end(),
                               [](const base::StringRef& text) { return text.is_short(); });
      for (const T& value : values_) short_texts_.add(value);
    }
  }

  void evaluate_truth(const Batch& input, const Selection& rows, TruthMask* truth) override {
    const Vector vector = child_->evaluate(input, rows);
    const T* const values = vector.as<T>();
    std::fill_n(truth->is_true, words_of(rows.slots), 0);
    if (all_short_ && values_.size() <= kScannedMax && is_dense(rows)) {
      if constexpr (std::is_same_v<T, base::StringRef>) {
        short_texts_.find(values, rows.slots, truth->is_true);
      }
    } else if (values_.size() <= kScannedMax) {
      for (const T& value : values_) {
        compare_values<EqualComparison, true>(values, &value, rows, vector.nulls, found_);
        for (uint32_t w = 0; w < words_of(rows.slots); ++w) truth->is_true[w] |= found_[w];
      }
    } else {
      for_selected(rows, [&](uint32_t i) {
        if (!vector.is_null(i) && contains(values[i])) set_bit(truth->is_true, i);
      });
    }
    if (!has_null_) return truth->apply_nulls(vector.nulls, rows.slots);
    for (uint32_t w = 0; w < words_of(rows.slots); ++w) {
      if (vector.nulls != nullptr) truth->is_true[w] &= ~vector.nulls[w];
      found_[w] = ~truth->is_true[w];
    }
    truth->apply_nulls(found_, rows.slots);
  }

 private:
  static constexpr size_t kScannedMax = 8;

  bool contains(const T& value) const {
    return std::binary_search(values_.begin(), values_.end(), value,
                              [](const T& a, const T& b) { return value_less(a, b); });
  }

  NodePtr child_;
  QueryHeap texts_;         // the bytes of long ones
  std::vector<T> values_;   // ascending
  bool all_short_ = false;  // of texts: then these are they
  ShortTexts short_texts_;
  bool has_null_ = false;
  uint64_t found_[kVectorWords];
};

class LikeNode : public TruthNode {
 public:
  LikeNode(NodePtr child, LetterCases cases, LikePattern pattern, const QueryLimits& limits)
      : child_(std::move(child)),
        cases_(cases),
        pattern_(std::move(pattern)),
        lowered_(limits),
        countdown_(limits.stop) {}

  void evaluate_truth(const Batch& input, const Selection& rows, TruthMask* truth) override {
    lowered_.start();
    const Vector vector = child_->evaluate(input, rows);
    std::fill_n(truth->is_true, words_of(rows.slots), 0);
    if (cases_ == LetterCases::kLowered) {
      match(vector, rows, truth, [this](const base::StringRef& text) {
        return pattern_.matches(text_with_case<LetterCase::kLower>(text, &lowered_), &countdown_);
      });
    } else {
      match(vector, rows, truth,
            [this](const base::StringRef& text) { return pattern_.matches(text, &countdown_); });
    }
    truth->apply_nulls(vector.nulls, rows.slots);
  }

 private:
  template <class Passes>
  void match(const Vector& vector, const Selection& rows, TruthMask* truth, const Passes& passes) {
    const auto* const texts = vector.as<base::StringRef>();
    if (cases_ == LetterCases::kKept && !pattern_.searches()) {
      return for_selected(rows, [&](uint32_t i) {
        if (!vector.is_null(i) && passes(texts[i])) set_bit(truth->is_true, i);
      });
    }
    memo_.start();
    const bool one_by_one = countdown_.passes_one_by_one(text_bytes(vector, rows));
    for_selected(rows, [&](uint32_t i) {
      if (vector.is_null(i)) return;
      if (one_by_one) countdown_.pass(texts[i].size());
      truth->is_true[i / 64] |= uint64_t{memo_.ask(texts[i], passes)} << (i % 64);
    });
  }

  NodePtr child_;
  LetterCases cases_;
  LikePattern pattern_;
  VectorTexts lowered_;
  TextMemo memo_;
  StopCountdown countdown_;
};

}  // namespace

NodePtr make_comparison(ExpressionKind kind, NodePtr left, NodePtr right) {
  // Decimals of one scale may differ in width only.
  if (left->type() != right->type()) {
    const bool integers =
        left->type() <= PhysicalType::kInt128 && right->type() <= PhysicalType::kInt128;
    require_plan(integers, "the operands of a comparison have equal types");
    const PhysicalType wide = std::max(left->type(), right->type());
    left = make_widening(std::move(left), wide);
    right = make_widening(std::move(right), wide);
  }
  switch (kind) {
    case ExpressionKind::kEqual:
      return make_typed_comparison<EqualComparison>(std::move(left), std::move(right));
    case ExpressionKind::kNotEqual:
      return make_typed_comparison<NotEqualComparison>(std::move(left), std::move(right));
    case ExpressionKind::kLess:
      return make_typed_comparison<LessComparison>(std::move(left), std::move(right));
    case ExpressionKind::kLessEqual:
      return make_typed_comparison<LessEqualComparison>(std::move(left), std::move(right));
    case ExpressionKind::kGreater:
      return make_comparison(ExpressionKind::kLess, std::move(right), std::move(left));
    default: return make_comparison(ExpressionKind::kLessEqual, std::move(right), std::move(left));
  }
}

NodePtr make_is_null(ExpressionKind kind, NodePtr child) {
  return std::make_unique<IsNullNode>(kind == ExpressionKind::kIsNull, std::move(child));
}

NodePtr make_in_list(const Expression& expression, NodePtr child) {
  for (size_t i = 1; i < expression.children.size(); ++i) {
    const Expression& literal = *expression.children[i];
    require_plan(literal.kind == ExpressionKind::kLiteral, "IN lists hold literals");
    const bool same =
        base::is_null(literal.literal) || physical_type(literal.type) == child->type();
    require_plan(same, "IN compares values of one type");
  }
  return with_physical_type(child->type(), [&](auto value) -> NodePtr {
    return std::make_unique<InListNode<decltype(value)>>(expression, std::move(child));
  });
}

NodePtr make_like(const Expression& expression, NodePtr child, LetterCases cases,
                  const QueryLimits& limits) {
  require_plan(expression.children.size() == 2 && child->type() == PhysicalType::kString &&
                   expression.children[1]->kind == ExpressionKind::kLiteral,
               "LIKE matches a text with a literal pattern");
  const base::Value& literal = expression.children[1]->literal;
  if (base::is_null(literal)) return make_literal(expression.type, base::Value());
  const auto* const text = std::get_if<std::string>(&literal);
  require_plan(text != nullptr, "LIKE's pattern is a text");
  base::Result<LikePattern> pattern = LikePattern::compile(*text);
  if (!pattern.ok()) throw QueryFailure(pattern.error());
  return std::make_unique<LikeNode>(std::move(child), cases, std::move(*pattern), limits);
}

}  // namespace diptych::olap
