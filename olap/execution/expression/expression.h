// Expressions as execution runs them: a tree of nodes, each of which computes a whole vector at a
// time into memory of its own.
//
// compile_expression() turns olap/plan.h's tree into nodes, one per expression and type: no
// dispatch and no allocation per row. Every worker compiles its own tree.
//
// Rows       evaluate(input, rows) yields values for the selected rows; the other slots of the
//            result are meaningless. Only selected rows can fail (overflow, division by zero):
//            AND, OR, CASE and COALESCE evaluate an operand for just the rows that still need it.
// Life       a result is valid until the node is evaluated again, or the input goes (V2).
// Errors     QueryFailure: compile_expression where the plan breaks plan.h's typing or a LIKE
//            pattern is malformed, evaluate() for faults of live rows, where the texts that it
//            makes are more than the query may have, and where long ones meet the stop signal.
// Threads    none shared: one worker.

#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "olap/execution/vector/vector.h"
#include "olap/plan.h"

namespace diptych::olap {

struct QueryLimits;  // memory_budget.h

// Three truth values of a batch. For a selected row at most one of its bits is set; the bits of
// other rows are meaningless. is_null is filled only where has_nulls.
struct TruthMask {
  alignas(64) uint64_t is_true[kVectorWords];
  alignas(64) uint64_t is_null[kVectorWords];
  bool has_nulls = false;

  // Takes `nulls` (may be nullptr) as the null rows and clears is_true there.
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
  // The same of a BOOLEAN, as bits.
  virtual void evaluate_truth(const Batch& input, const Selection& rows, TruthMask* truth);

 private:
  PhysicalType type_;
};
using NodePtr = std::unique_ptr<ExpressionNode>;

// A BOOLEAN that is natively computed as bits.
class TruthNode : public ExpressionNode {
 public:
  TruthNode() : ExpressionNode(PhysicalType::kBool), bytes_(PhysicalType::kBool) {}
  Vector evaluate(const Batch& input, const Selection& rows) final;
  void evaluate_truth(const Batch& input, const Selection& rows, TruthMask* truth) override = 0;

 private:
  VectorBuffer bytes_;
};

// Vectors of the nodes of an expression, or of a list of them, that are not counted: usual ones.
inline constexpr size_t kNodeBytesFree = size_t{2} << 20;
// What the vectors of an expression's nodes take, about.
size_t node_bytes(const Expression& expression);

// What they point to outlives the nodes.
NodePtr compile_expression(const Expression& expression, const QueryLimits& limits);
std::vector<NodePtr> compile_expressions(const std::vector<ExpressionPtr>& expressions,
                                         const QueryLimits& limits);

// Predicates: a conjunction, evaluated one after the other on the rows that are left.
class Predicates {
 public:
  Predicates(const std::vector<ExpressionPtr>& expressions, const QueryLimits& limits)
      : nodes_(compile_expressions(expressions, limits)) {}
  explicit Predicates(std::vector<NodePtr> nodes) : nodes_(std::move(nodes)) {}

  size_t size() const { return nodes_.size(); }
  // Leaves in `rows` those for which predicate `index`, or every predicate, is true.
  void narrow(size_t index, const Batch& input, Selection* rows);
  void narrow(const Batch& input, Selection* rows);

 private:
  std::vector<NodePtr> nodes_;
  TruthMask truth_;
};

// The columns of its input that an expression reads, ascending.
std::vector<uint32_t> columns_read(const Expression& expression);

}  // namespace diptych::olap
