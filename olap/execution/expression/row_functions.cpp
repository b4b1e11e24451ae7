#include "olap/execution/expression/row_functions.h"

#include <memory>
#include <optional>
#include <string>

#include "olap/execution/expression/comparison_kernels.h"
#include "olap/execution/expression/expression_nodes.h"
#include "olap/execution/expression/row_node.h"
#include "olap/execution/expression/text_template.h"
#include "olap/execution/limits/query_failure.h"
#include "olap/execution/pattern/like_pattern.h"

namespace diptych::olap {

namespace {

using base::StringRef;

NodePtr make_texts(std::vector<NodePtr> children, const QueryLimits& limits,
                   TextRowFunction function) {
  return make_row_node<StringRef>(
      PhysicalType::kString, std::move(children), limits,
      [function](const RowArguments& arguments, VectorTexts* texts) {
        return texts->make([&](CountedText* text) { function(arguments, text); });
      });
}

NodePtr make_integers(PhysicalType type, std::vector<NodePtr> children, const QueryLimits& limits,
                      IntegerRowFunction function) {
  const auto as = [&](auto result) {
    using Result = decltype(result);
    return make_row_node<Result>(type, std::move(children), limits,
                                 [function](const RowArguments& arguments, VectorTexts*) {
                                   return static_cast<Result>(function(arguments));
                                 });
  };
  switch (type) {
    case PhysicalType::kBool: return as(uint8_t{});
    case PhysicalType::kInt32: return as(int32_t{});
    case PhysicalType::kInt128: return as(int128_t{});
    default: return as(int64_t{});
  }
}

NodePtr make_like_pattern(std::vector<NodePtr> children, const QueryLimits& limits) {
  return make_row_node<uint8_t>(
      PhysicalType::kBool, std::move(children), limits,
      [written = std::string(), compiled = LikePattern(), countdown = StopCountdown(limits.stop)](
          const RowArguments& arguments, VectorTexts*) mutable {
        if (arguments.text(1) != written || written.empty()) {
          auto pattern = LikePattern::compile(arguments.text(1));
          if (!pattern.ok()) {
            fail_value(pattern.error().message, pattern.error().state);
          }
          written = arguments.text(1);
          compiled = std::move(*pattern);
        }
        return static_cast<uint8_t>(compiled.matches(arguments.text(0), &countdown));
      });
}

void join_texts(const RowArguments& arguments, CountedText* result) {
  bool first = true;
  for (size_t a = 1; a < arguments.size(); ++a) {
    if (arguments.is_null(a)) continue;
    if (!first) *result += arguments.text(0);
    *result += arguments.text(a);
    first = false;
  }
}

void fill_template(const RowArguments& arguments, CountedText* result) {
  const auto argument = [&](size_t i) -> std::optional<std::string_view> {
    if (arguments.is_null(i + 1)) return std::nullopt;
    return arguments.text(i + 1);
  };
  append_formatted(arguments.text(0), arguments.size() - 1, argument, result);
}

// Of texts; NULL only where the first one is.
class TextsNode : public ExpressionNode {
 public:
  TextsNode(std::vector<NodePtr> children, const QueryLimits& limits, TextRowFunction function)
      : ExpressionNode(PhysicalType::kString),
        children_(std::move(children)),
        function_(function),
        results_(PhysicalType::kString),
        texts_(limits),
        countdown_(limits.stop) {}

  Vector evaluate(const Batch& input, const Selection& rows) override {
    texts_.start();
    const std::vector<Vector> vectors = evaluate_all(children_, input, rows, &countdown_);
    for_selected(rows, [&](uint32_t i) {
      const RowArguments arguments(vectors, i, texts_.stop());
      if (arguments.is_null(0)) return;
      results_.values<StringRef>()[i] =
          texts_.make([&](CountedText* text) { function_(arguments, text); });
    });
    Vector result = results_.view();
    result.nulls = vectors[0].nulls;
    result.string_life = StringLife::kBatch;
    return result;
  }

 private:
  std::vector<NodePtr> children_;
  TextRowFunction function_;
  VectorBuffer results_;
  VectorTexts texts_;
  StopCountdown countdown_;
};

template <class T>
class ExtremeNode : public ExpressionNode {
 public:
  ExtremeNode(PhysicalType type, bool greatest, std::vector<NodePtr> children,
              const QueryLimits& limits)
      : ExpressionNode(type),
        greatest_(greatest),
        children_(std::move(children)),
        results_(type),
        countdown_(limits.stop) {}

  Vector evaluate(const Batch& input, const Selection& rows) override {
    const std::vector<Vector> vectors = evaluate_all(children_, input, rows, &countdown_);
    results_.clear_nulls();
    const size_t row_bytes = vectors.size() * sizeof(T);
    const bool one_by_one = countdown_.passes_one_by_one(rows.count * row_bytes);
    for_selected(rows, [&](uint32_t i) {
      if (one_by_one) countdown_.pass(row_bytes);
      const T* best = nullptr;
      for (const Vector& vector : vectors) {
        if (vector.is_null(i)) continue;
        const T& value = vector.as<T>()[i];
        const bool better =
            best == nullptr || (greatest_ ? value_less(*best, value) : value_less(value, *best));
        if (better) best = &value;
      }
      if (best == nullptr) {
        set_bit(results_.nulls(), i);
      } else {
        results_.values<T>()[i] = *best;
      }
    });
    Vector result = results_.view_with_nulls();
    result.string_life = StringLife::kBatch;
    return result;
  }

 private:
  bool greatest_;
  std::vector<NodePtr> children_;
  VectorBuffer results_;
  StopCountdown countdown_;
};

}  // namespace

NodePtr make_row_function(const Expression& expression, std::vector<NodePtr> children,
                          const QueryLimits& limits) {
  const Function function = expression.function;
  const PhysicalType type = physical_type(expression.type);
  for (size_t i = 0; i < children.size(); ++i) {
    const bool wide = function != Function::kGreatest && function != Function::kLeast &&
                      expression.children[i]->type.kind == base::TypeKind::kInt;
    if (wide) children[i] = make_widening(std::move(children[i]), PhysicalType::kInt64);
  }
  if (NodePtr regex = make_regex_function(function, &children, limits)) return regex;
  if (NodePtr interval = make_interval_function(function, &children, limits)) return interval;
  switch (function) {
    case Function::kLikePattern: return make_like_pattern(std::move(children), limits);
    case Function::kToChar: return make_moment_to_char(std::move(children), limits);
    case Function::kToTimestamp: return make_moment_from_text(std::move(children), limits);
    case Function::kSign: return make_sign(std::move(children[0]));
    case Function::kBitAnd:
    case Function::kBitOr:
    case Function::kBitXor:
    case Function::kShiftLeft:
    case Function::kShiftRight: return make_bit_function(function, type, std::move(children));
    case Function::kToCharInterval: return make_interval_to_char(std::move(children), limits);
    case Function::kConcatWs:
      return std::make_unique<TextsNode>(std::move(children), limits, join_texts);
    case Function::kFormat:
      return std::make_unique<TextsNode>(std::move(children), limits, fill_template);
    case Function::kGreatest:
    case Function::kLeast:
      return with_physical_type(type, [&](auto value) -> NodePtr {
        return std::make_unique<ExtremeNode<decltype(value)>>(type, function == Function::kGreatest,
                                                              std::move(children), limits);
      });
    default: break;
  }
  if (const auto found = find_text_function(function)) {
    return make_texts(std::move(children), limits, found);
  }
  if (const auto found = find_number_text_function(function)) {
    return make_texts(std::move(children), limits, found);
  }
  if (const auto found = find_integer_function(function)) {
    return make_integers(type, std::move(children), limits, found);
  }
  if (const auto found = find_whole_number_function(function)) {
    return make_integers(type, std::move(children), limits, found);
  }
  if (const auto found = find_date_function(function)) {
    return make_integers(type, std::move(children), limits, found);
  }
  if (const auto found = find_wide_number_function(function)) {
    return make_row_node<int128_t>(
        type, std::move(children), limits,
        [found](const RowArguments& arguments, VectorTexts*) { return found(arguments); });
  }
  const NumberRowFunction number = find_number_function(function);
  require_plan(number != nullptr, "no such function");
  return make_row_node<double>(
      PhysicalType::kDouble, std::move(children), limits,
      [number](const RowArguments& arguments, VectorTexts*) { return number(arguments); });
}

}  // namespace diptych::olap
