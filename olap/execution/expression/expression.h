// Compiled expressions: a tree of nodes, each of which computes a whole vector at a time into its
// own memory.
//
// compile_expression() turns the tree of olap/plan.h into nodes, one class for each kind and type,
// so that there is no dispatch and no allocation for each row. Every worker compiles its own tree.
//
// Rows       evaluate(input, rows) gives values for the selected rows; other slots of the result
//            have no meaning. Only selected rows can fail (overflow, division by zero): AND, OR,
//            CASE and COALESCE evaluate an operand only for the rows that still need it.
// Lifetime   a result is valid until the node is evaluated again, or the input ends (V2 of
//            vector.h).
// Errors     QueryFailure. compile_expression() throws it if the plan breaks plan.h's typing or a
//            LIKE pattern is malformed; evaluate() for faults of live rows, for texts beyond the
//            query's memory limit, and if the stop signal is set while it makes long texts.
// Threads    one worker.

#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "olap/execution/vector/vector.h"
#include "olap/plan.h"

namespace diptych::olap {

struct QueryLimits;  // memory_budget.h

// The truth values of a batch in three-valued logic. A selected row has at most one of its two bits
// set; the bits of other rows have no meaning. is_null is filled only if has_nulls.
struct TruthMask {
  alignas(64) uint64_t is_true[kVectorWords];
  alignas(64) uint64_t is_null[kVectorWords];
  bool has_nulls = false;

  // Sets the null rows to `nulls` (may be nullptr) and clears is_true for them.
  void apply_nulls(const uint64_t* nulls, uint32_t slots);
};

class ExpressionNode {
 public:
  explicit ExpressionNode(PhysicalType type) : type_(type) {}
  virtual ~ExpressionNode() = default;
  ExpressionNode(const ExpressionNode&) = delete;
  ExpressionNode& operator=(const ExpressionNode&) = delete;

  PhysicalType type() const { return type_; }
  virtual Vector evaluate(const Batch& input, const Selection& rows) = 0;
  // As evaluate(), for a BOOLEAN, as bits.
  virtual void evaluate_truth(const Batch& input, const Selection& rows, TruthMask* truth);

 private:
  PhysicalType type_;
};
using NodePtr = std::unique_ptr<ExpressionNode>;

// The base of nodes that compute a BOOLEAN as bits.
class TruthNode : public ExpressionNode {
 public:
  TruthNode() : ExpressionNode(PhysicalType::kBool), bytes_(PhysicalType::kBool) {}
  Vector evaluate(const Batch& input, const Selection& rows) final;
  void evaluate_truth(const Batch& input, const Selection& rows, TruthMask* truth) override = 0;

 private:
  VectorBuffer bytes_;
};

// Up to this size, the vectors of the nodes of an expression, or of a list of expressions, do not
// count against the budget.
inline constexpr size_t kNodeBytesFree = size_t{2} << 20;
// The approximate size of the vectors of an expression's nodes.
size_t node_bytes(const Expression& expression);

// The objects to which `limits` points outlive the nodes.
NodePtr compile_expression(const Expression& expression, const QueryLimits& limits);
std::vector<NodePtr> compile_expressions(const std::vector<ExpressionPtr>& expressions,
                                         const QueryLimits& limits);

// Predicates: a conjunction, whose parts are evaluated in turn on the remaining rows.
class Predicates {
 public:
  Predicates(const std::vector<ExpressionPtr>& expressions, const QueryLimits& limits)
      : nodes_(compile_expressions(expressions, limits)) {}
  explicit Predicates(std::vector<NodePtr> nodes) : nodes_(std::move(nodes)) {}

  size_t size() const { return nodes_.size(); }
  // Narrows *rows to those for which predicate `index`, or every predicate, is true.
  void narrow(size_t index, const Batch& input, Selection* rows);
  void narrow(const Batch& input, Selection* rows);

 private:
  std::vector<NodePtr> nodes_;
  TruthMask truth_;
};

// The input columns that an expression reads, ascending.
std::vector<uint32_t> columns_read(const Expression& expression);

}  // namespace diptych::olap
