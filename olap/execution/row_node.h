// RowNode: the node of a function that is computed row by row (row_functions.h).

#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "olap/execution/expression.h"
#include "olap/execution/row_functions.h"
#include "olap/execution/vector_texts.h"

namespace diptych::olap {

inline std::vector<Vector> evaluate_all(const std::vector<NodePtr>& nodes, const Batch& input,
                                        const Selection& rows) {
  std::vector<Vector> vectors;
  for (const NodePtr& node : nodes) vectors.push_back(node->evaluate(input, rows));
  return vectors;
}

// results[row] = compute(arguments of row, texts of the vector), where no argument is NULL. Where
// it gives an optional, none of it is NULL.
template <class Result, class Compute>
class RowNode : public ExpressionNode {
 public:
  RowNode(PhysicalType type, std::vector<NodePtr> children, const QueryLimits& limits,
          Compute compute)
      : ExpressionNode(type),
        children_(std::move(children)),
        compute_(std::move(compute)),
        results_(type),
        texts_(limits) {}

  Vector evaluate(const Batch& input, const Selection& rows) override {
    texts_.start();
    const std::vector<Vector> vectors = evaluate_all(children_, input, rows);
    merge_nulls(vectors, rows.slots);
    find_read(vectors);
    for_selected(rows, [&](uint32_t i) {
      if (bit_at(results_.nulls(), i)) return;
      for (const base::StringRef* const texts : read_) texts_.note_read(texts[i].size());
      auto computed = compute_(RowArguments(vectors, i), &texts_);
      if constexpr (std::is_same_v<decltype(computed), std::optional<Result>>) {
        if (computed) {
          results_.values<Result>()[i] = *computed;
        } else {
          set_bit(results_.nulls(), i);
        }
      } else {
        results_.values<Result>()[i] = computed;
      }
    });
    Vector result = results_.view_with_nulls();
    result.string_life = StringLife::kBatch;
    return result;
  }

 private:
  void merge_nulls(const std::vector<Vector>& vectors, uint32_t slots) {
    uint64_t* const nulls = results_.nulls();
    std::fill_n(nulls, words_of(slots), 0);
    for (const Vector& vector : vectors) {
      if (vector.nulls == nullptr) continue;
      for (uint32_t w = 0; w < words_of(slots); ++w) nulls[w] |= vector.nulls[w];
    }
  }

  void find_read(const std::vector<Vector>& vectors) {
    read_.clear();
    for (const Vector& vector : vectors) {
      const bool differs = vector.type == PhysicalType::kString && !vector.constant;
      if (differs) read_.push_back(vector.as<base::StringRef>());
    }
  }

  std::vector<NodePtr> children_;
  Compute compute_;
  VectorBuffer results_;
  VectorTexts texts_;
  std::vector<const base::StringRef*> read_;  // arguments that are texts, other ones in each row
};

template <class Result, class Compute>
NodePtr make_row_node(PhysicalType type, std::vector<NodePtr> children, const QueryLimits& limits,
                      Compute compute) {
  return std::make_unique<RowNode<Result, Compute>>(type, std::move(children), limits,
                                                    std::move(compute));
}

}  // namespace diptych::olap
