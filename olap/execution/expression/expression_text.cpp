// Concatenation and the older functions of texts. Positions are characters, kLength is bytes.

#include <algorithm>
#include <cstring>

#include "olap/execution/expression/expression_nodes.h"
#include "olap/execution/limits/query_failure.h"
#include "olap/execution/vector/utf8_text.h"

namespace diptych::olap {

namespace {

using base::StringRef;

// A function of one text: result[i] = function(text, texts).
template <class Result, class F>
class TextNode : public ExpressionNode {
 public:
  TextNode(PhysicalType type, NodePtr child, const QueryLimits& limits, F function)
      : ExpressionNode(type),
        child_(std::move(child)),
        function_(function),
        results_(type),
        texts_(limits) {}

  Vector evaluate(const Batch& input, const Selection& rows) override {
    texts_.start();
    const Vector vector = child_->evaluate(input, rows);
    const auto* const texts = vector.as<StringRef>();
    auto* const results = results_.values<Result>();
    for_selected(rows, [&](uint32_t i) {
      if (!vector.is_null(i)) results[i] = function_(texts[i], &texts_);
    });
    Vector result = results_.view();
    result.nulls = vector.nulls;
    result.string_life = StringLife::kBatch;
    return result;
  }

 private:
  NodePtr child_;
  F function_;
  VectorBuffer results_;
  VectorTexts texts_;
};

template <class Result, class F>
NodePtr make_text(PhysicalType type, NodePtr child, const QueryLimits& limits, F function) {
  require_plan(child->type() == PhysicalType::kString, "a text function's operand is a text");
  return std::make_unique<TextNode<Result, F>>(type, std::move(child), limits, function);
}

template <LetterCase kTo>
NodePtr make_case(NodePtr child, const QueryLimits& limits) {
  return make_text<StringRef>(
      PhysicalType::kString, std::move(child), limits,
      [](const StringRef& text, VectorTexts* made) { return text_with_case<kTo>(text, made); });
}

class SubstringNode : public ExpressionNode {
 public:
  SubstringNode(std::vector<NodePtr> children, const QueryLimits& limits)
      : ExpressionNode(PhysicalType::kString),
        children_(std::move(children)),
        results_(PhysicalType::kString),
        countdown_(limits.stop) {}

  Vector evaluate(const Batch& input, const Selection& rows) override {
    const Vector text = children_[0]->evaluate(input, rows);
    const Vector start = children_[1]->evaluate(input, rows);
    Vector length;
    Vector result = results_.view();
    result.nulls = merge_nulls(text, start, rows.slots, first_nulls_);
    result.string_life = text.string_life;
    if (children_.size() == 3) {
      length = children_[2]->evaluate(input, rows);
      result.nulls = merge_nulls(result, length, rows.slots, second_nulls_);
    }
    const auto* const texts = text.as<StringRef>();
    const bool one_by_one = countdown_.passes_one_by_one(text_bytes(text, rows));
    const auto* const starts = start.as<int64_t>();
    auto* const results = results_.values<StringRef>();
    for_selected(rows, [&](uint32_t i) {
      if (result.is_null(i)) return;
      const int64_t bytes = length.values == nullptr ? INT64_MAX : length.as<int64_t>()[i];
      if (one_by_one) countdown_.pass(texts[i].size());
      results[i] = cut(texts[i], starts[i], bytes);
    });
    return result;
  }

 private:
  // Positions [start, start + length) of positions 1..size, by characters.
  static StringRef cut(const StringRef& text, int64_t start, int64_t length) {
    if (length < 0) {
      fail_value("negative substring length not allowed", "22011");
    }
    int64_t end;
    if (__builtin_add_overflow(start, length, &end)) end = INT64_MAX;
    const int64_t first = std::max<int64_t>(start, 1);
    const int64_t last = std::min<int64_t>(end, int64_t{text.size()} + 1);
    if (first >= last) return StringRef();
    // Up to there bytes are characters, whatever comes behind.
    const std::string_view head = text.view().substr(0, static_cast<size_t>(last - 1));
    if (!is_ascii(head)) return StringRef(substring_characters(text.view(), start, length));
    return StringRef(head.substr(static_cast<size_t>(first - 1)));
  }

  std::vector<NodePtr> children_;
  VectorBuffer results_;
  uint64_t first_nulls_[kVectorWords];
  uint64_t second_nulls_[kVectorWords];
  StopCountdown countdown_;
};

class ConcatNode : public ExpressionNode {
 public:
  ConcatNode(NodePtr left, NodePtr right, const QueryLimits& limits)
      : ExpressionNode(PhysicalType::kString),
        left_(std::move(left)),
        right_(std::move(right)),
        results_(PhysicalType::kString),
        texts_(limits) {}

  Vector evaluate(const Batch& input, const Selection& rows) override {
    texts_.start();
    const Vector a = left_->evaluate(input, rows);
    const Vector b = right_->evaluate(input, rows);
    Vector result = results_.view();
    result.nulls = merge_nulls(a, b, rows.slots, results_.nulls());
    result.string_life = StringLife::kBatch;
    auto* const results = results_.values<StringRef>();
    for_selected(rows, [&](uint32_t i) {
      if (result.is_null(i)) return;
      results[i] = join(a.as<StringRef>()[i], b.as<StringRef>()[i]);
    });
    return result;
  }

 private:
  StringRef join(const StringRef& a, const StringRef& b) {
    const size_t size = size_t{a.size()} + b.size();
    if (size > UINT32_MAX) fail_value("text too long", "54000");
    char inlined[StringRef::kInlineBytes];
    char* const bytes = size <= sizeof inlined ? inlined : texts_.allocate(size);
    copy(a, bytes);
    copy(b, bytes + a.size());
    return StringRef(std::string_view(bytes, size));
  }

  void copy(const StringRef& text, char* to) const {
    for_text_pieces(text.size(), texts_.stop(), [&](size_t at, size_t count) {
      std::memcpy(to + at, text.data() + at, count);
    });
  }

  NodePtr left_;
  NodePtr right_;
  VectorBuffer results_;
  VectorTexts texts_;
};

StringRef trim(const StringRef& text) {
  const std::string_view view = text.view();
  const size_t first = view.find_first_not_of(' ');
  if (first == std::string_view::npos) return StringRef();
  return StringRef(view.substr(first, view.find_last_not_of(' ') - first + 1));
}

// Concatenation of any number of texts, from the left.
NodePtr make_concat(std::vector<NodePtr> children, const QueryLimits& limits) {
  NodePtr node = std::move(children[0]);
  require_plan(node->type() == PhysicalType::kString, "|| joins texts");
  for (size_t i = 1; i < children.size(); ++i) {
    require_plan(children[i]->type() == PhysicalType::kString, "|| joins texts");
    node = std::make_unique<ConcatNode>(std::move(node), std::move(children[i]), limits);
  }
  return node;
}

}  // namespace

NodePtr make_text_function(const Expression& expression, std::vector<NodePtr> children,
                           const QueryLimits& limits) {
  if (expression.kind == ExpressionKind::kConcat) return make_concat(std::move(children), limits);
  switch (expression.function) {
    case Function::kSubstring:
      require_plan(children.size() >= 2 && children.size() <= 3, "substring has 2 or 3 operands");
      for (size_t i = 1; i < children.size(); ++i) {
        children[i] = make_widening(std::move(children[i]), PhysicalType::kInt64);
      }
      require_plan(children[0]->type() == PhysicalType::kString, "substring is of a text");
      return std::make_unique<SubstringNode>(std::move(children), limits);
    case Function::kAscii:
      return make_text<int32_t>(
          PhysicalType::kInt32, std::move(children[0]), limits,
          [](const StringRef& text, VectorTexts*) {
            return static_cast<int32_t>(text.size() == 0 ? 0 : first_code_point(text.view()));
          });
    case Function::kLength:
      return make_text<int32_t>(
          PhysicalType::kInt32, std::move(children[0]), limits,
          [](const StringRef& text, VectorTexts*) { return static_cast<int32_t>(text.size()); });
    case Function::kCharLength:
      return make_text<int32_t>(PhysicalType::kInt32, std::move(children[0]), limits,
                                [](const StringRef& text, VectorTexts* made) {
                                  return static_cast<int32_t>(
                                      count_characters(text.view(), [&] { made->stop().check(); }));
                                });
    case Function::kUpper: return make_case<LetterCase::kUpper>(std::move(children[0]), limits);
    case Function::kLower: return make_case<LetterCase::kLower>(std::move(children[0]), limits);
    default:
      return make_text<StringRef>(
          PhysicalType::kString, std::move(children[0]), limits,
          [countdown = StopCountdown(limits.stop)](const StringRef& text, VectorTexts*) mutable {
            countdown.pass(text.size());
            return trim(text);
          });
  }
}

}  // namespace diptych::olap
