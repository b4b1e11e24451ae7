// RowNode: the node of a function that is computed row by row (row_functions.h).

#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "olap/execution/expression/expression.h"
#include "olap/execution/expression/row_functions.h"
#include "olap/execution/vector/vector_texts.h"

namespace diptych::olap {

// Evaluates the nodes, of which there may be 100,000.
inline std::vector<Vector> evaluate_all(const std::vector<NodePtr>& nodes, const Batch& input,
                                        const Selection& rows, StopCountdown* countdown) {
  std::vector<Vector> vectors;
  vectors.reserve(nodes.size());
  for (const NodePtr& node : nodes) {
    vectors.push_back(node->evaluate(input, rows));
    countdown->pass(size_t{8} * kVectorRows);
  }
  return vectors;
}

// Sets results[row] = compute(arguments of row, texts of the vector) if no argument is NULL. If
// compute returns an optional, nullopt is NULL.
template <class Result, class Compute>
class RowNode : public ExpressionNode {
 public:
  RowNode(PhysicalType type, std::vector<NodePtr> children, const QueryLimits& limits,
          Compute compute)
      : ExpressionNode(type),
        children_(std::move(children)),
        compute_(std::move(compute)),
        results_(type),
        texts_(limits),
        countdown_(limits.stop) {}

  Vector evaluate(const Batch& input, const Selection& rows) override {
    texts_.start();
    const std::vector<Vector> vectors = evaluate_all(children_, input, rows, &countdown_);
    merge_nulls(vectors, rows.slots);
    const bool one_by_one = countdown_.passes_one_by_one(bytes_read(vectors, rows));
    for_selected(rows, [&](uint32_t i) {
      if (bit_at(results_.nulls(), i)) return;
      if (one_by_one) countdown_.pass(bytes_read(vectors, i));
      auto computed = compute_(RowArguments(vectors, i, texts_.stop()), &texts_);
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
    Vector result = has_nulls(rows.slots) ? results_.view_with_nulls() : results_.view();
    result.string_life = StringLife::kBatch;
    return result;
  }

 private:
  // Loops over vectors without null bits are faster.
  bool has_nulls(uint32_t slots) {
    uint64_t nulls = 0;
    for (uint32_t w = 0; w < words_of(slots); ++w) nulls |= results_.nulls()[w];
    return nulls != 0;
  }

  void merge_nulls(const std::vector<Vector>& vectors, uint32_t slots) {
    uint64_t* const nulls = results_.nulls();
    std::fill_n(nulls, words_of(slots), 0);
    for (const Vector& vector : vectors) {
      if (vector.nulls == nullptr) continue;
      for (uint32_t w = 0; w < words_of(slots); ++w) nulls[w] |= vector.nulls[w];
    }
  }

  static bool is_read(const Vector& vector) {
    return vector.type == PhysicalType::kString && !vector.constant;
  }
  static size_t bytes_read(const std::vector<Vector>& vectors, const Selection& rows) {
    size_t bytes = 0;
    for (const Vector& vector : vectors) bytes += is_read(vector) ? text_bytes(vector, rows) : 0;
    return bytes;
  }
  static size_t bytes_read(const std::vector<Vector>& vectors, uint32_t row) {
    size_t bytes = 0;
    for (const Vector& vector : vectors) {
      if (is_read(vector)) bytes += vector.as<base::StringRef>()[row].size();
    }
    return bytes;
  }

  std::vector<NodePtr> children_;
  Compute compute_;
  VectorBuffer results_;
  VectorTexts texts_;
  StopCountdown countdown_;  // of texts that are read
};

template <class Result, class Compute>
NodePtr make_row_node(PhysicalType type, std::vector<NodePtr> children, const QueryLimits& limits,
                      Compute compute) {
  return std::make_unique<RowNode<Result, Compute>>(type, std::move(children), limits,
                                                    std::move(compute));
}

}  // namespace diptych::olap
