// AND, OR, NOT, CASE, COALESCE and NULLIF: operators that evaluate an operand only for the rows
// that still need it, so that an operand guarded by another cannot fail the query.

#include <algorithm>

#include "olap/execution/expression/expression_nodes.h"
#include "olap/execution/limits/memory_budget.h"
#include "olap/execution/limits/query_failure.h"
#include "olap/execution/limits/stop_signal.h"

namespace diptych::olap {

namespace {

// Of an operand for a vector's rows, as a StopCountdown counts: there may be 100,000 operands.
constexpr size_t kOperandBytes = size_t{8} * kVectorRows;

// Compares numbers that are there: it cannot fail, and takes no longer than telling apart the rows
// that still need it.
bool is_quick(const Expression& e) {
  constexpr size_t kListMax = 4;
  switch (e.kind) {
    case ExpressionKind::kColumn:
    case ExpressionKind::kLiteral: return !e.type.is_string();
    case ExpressionKind::kInList:
      if (e.children.size() > kListMax + 1) return false;
      break;
    case ExpressionKind::kAnd:
    case ExpressionKind::kOr:
      if (e.children.size() > 2) return false;
      break;
    case ExpressionKind::kNot:
    case ExpressionKind::kIsNull:
    case ExpressionKind::kIsNotNull: break;
    default:
      if (e.kind < ExpressionKind::kEqual || e.kind > ExpressionKind::kGreaterEqual) return false;
  }
  return std::all_of(e.children.begin(), e.children.end(),
                     [](const ExpressionPtr& child) { return is_quick(*child); });
}

// AND (kAnd) and OR over truth values; the two are each other's mirror: AND is settled by false, OR
// by true. A row that is settled is not evaluated further, but by what is quick.
class ConnectiveNode : public TruthNode {
 public:
  ConnectiveNode(const Expression& expression, std::vector<NodePtr> children,
                 const QueryLimits& limits)
      : is_and_(expression.kind == ExpressionKind::kAnd),
        children_(std::move(children)),
        countdown_(limits.stop) {
    for (const ExpressionPtr& child : expression.children) is_quick_.push_back(is_quick(*child));
  }

  void evaluate_truth(const Batch& input, const Selection& rows, TruthMask* truth) override {
    const uint32_t words = words_of(rows.slots);
    children_[0]->evaluate_truth(input, rows, truth);
    if (!truth->has_nulls) std::fill_n(truth->is_null, words, 0);
    for (size_t i = 1; i < children_.size(); ++i) {
      countdown_.pass(kOperandBytes);
      for (uint32_t w = 0; w < words; ++w) {
        const uint64_t open = is_and_ ? truth->is_true[w] | truth->is_null[w] : ~truth->is_true[w];
        open_[w] = open & rows.bits[w];
      }
      const Selection* asked = &rows;
      if (!is_quick_[i]) {
        select_bits(open_, rows.slots, &open_rows_);
        if (open_rows_.count == 0) break;
        asked = &open_rows_;
      }
      children_[i]->evaluate_truth(input, *asked, &next_);
      if (!next_.has_nulls) std::fill_n(next_.is_null, words, 0);
      truth->has_nulls |= next_.has_nulls;
      combine(words, truth);
    }
  }

 private:
  void combine(uint32_t words, TruthMask* truth) const {
    for (uint32_t w = 0; w < words; ++w) {
      const uint64_t t = next_.is_true[w] & open_[w];
      const uint64_t n = next_.is_null[w] & open_[w];
      if (is_and_) {
        const uint64_t not_false = (truth->is_true[w] | truth->is_null[w]) & (t | n);
        truth->is_true[w] &= t;
        truth->is_null[w] = not_false & ~truth->is_true[w];
      } else {
        truth->is_true[w] |= t;
        truth->is_null[w] = (truth->is_null[w] | n) & ~truth->is_true[w];
      }
    }
  }

  bool is_and_;
  std::vector<NodePtr> children_;
  std::vector<bool> is_quick_;  // by child
  StopCountdown countdown_;
  TruthMask next_;
  uint64_t open_[kVectorWords];
  Selection open_rows_;
};

class NotNode : public TruthNode {
 public:
  explicit NotNode(NodePtr child) : child_(std::move(child)) {}

  void evaluate_truth(const Batch& input, const Selection& rows, TruthMask* truth) override {
    child_->evaluate_truth(input, rows, truth);
    for (uint32_t w = 0; w < words_of(rows.slots); ++w) {
      truth->is_true[w] = ~truth->is_true[w];
      if (truth->has_nulls) truth->is_true[w] &= ~truth->is_null[w];
    }
  }

 private:
  NodePtr child_;
};

// Copies the selected rows' values and nulls of one vector into a buffer that others filled in
// part.
class Blend {
 public:
  explicit Blend(PhysicalType type) : buffer_(type) {}

  void start() {
    buffer_.clear_nulls();
    has_nulls_ = false;
    life_ = StringLife::kQuery;
  }
  void copy(const Vector& from, const Selection& rows) {
    with_physical_type(buffer_.type(), [&](auto value) {
      using T = decltype(value);
      const T* const source = from.as<T>();
      T* const target = buffer_.values<T>();
      for_selected(rows, [&](uint32_t i) { target[i] = source[i]; });
    });
    if (from.string_life == StringLife::kBatch) life_ = StringLife::kBatch;
    if (from.nulls == nullptr) return;
    has_nulls_ = true;
    for (uint32_t w = 0; w < words_of(rows.slots); ++w) {
      buffer_.nulls()[w] |= from.nulls[w] & rows.bits[w];
    }
  }
  Vector result() const {
    Vector vector = has_nulls_ ? buffer_.view_with_nulls() : buffer_.view();
    vector.string_life = life_;
    return vector;
  }

 private:
  VectorBuffer buffer_;
  bool has_nulls_ = false;
  StringLife life_ = StringLife::kQuery;
};

class CaseNode : public ExpressionNode {
 public:
  CaseNode(PhysicalType type, std::vector<NodePtr> children, const QueryLimits& limits)
      : ExpressionNode(type),
        children_(std::move(children)),
        blend_(type),
        countdown_(limits.stop) {}

  Vector evaluate(const Batch& input, const Selection& rows) override {
    blend_.start();
    open_ = rows;
    for (size_t i = 0; i + 1 < children_.size() && open_.count != 0; i += 2) {
      countdown_.pass(kOperandBytes);
      children_[i]->evaluate_truth(input, open_, &truth_);
      for (uint32_t w = 0; w < kVectorWords; ++w) {
        truth_.is_true[w] = w < words_of(rows.slots) ? truth_.is_true[w] & open_.bits[w] : 0;
        rest_[w] = open_.bits[w] & ~truth_.is_true[w];
      }
      select_bits(truth_.is_true, rows.slots, &taken_);
      if (taken_.count != 0) blend_.copy(children_[i + 1]->evaluate(input, taken_), taken_);
      select_bits(rest_, rows.slots, &open_);
    }
    if (open_.count != 0) blend_.copy(children_.back()->evaluate(input, open_), open_);
    return blend_.result();
  }

 private:
  std::vector<NodePtr> children_;
  Blend blend_;
  StopCountdown countdown_;
  TruthMask truth_;
  uint64_t rest_[kVectorWords];
  Selection taken_;
  Selection open_;
};

class CoalesceNode : public ExpressionNode {
 public:
  CoalesceNode(PhysicalType type, std::vector<NodePtr> children, const QueryLimits& limits)
      : ExpressionNode(type),
        children_(std::move(children)),
        blend_(type),
        countdown_(limits.stop) {}

  Vector evaluate(const Batch& input, const Selection& rows) override {
    blend_.start();
    open_ = rows;
    for (size_t i = 0; i < children_.size() && open_.count != 0; ++i) {
      countdown_.pass(kOperandBytes);
      const Vector vector = children_[i]->evaluate(input, open_);
      if (i + 1 == children_.size() || vector.nulls == nullptr) {
        blend_.copy(vector, open_);
        break;
      }
      for (uint32_t w = 0; w < words_of(rows.slots); ++w) {
        bits_[w] = open_.bits[w] & ~vector.nulls[w];
        rest_[w] = open_.bits[w] & vector.nulls[w];
      }
      select_bits(bits_, rows.slots, &taken_);
      blend_.copy(vector, taken_);
      select_bits(rest_, rows.slots, &open_);
    }
    return blend_.result();
  }

 private:
  std::vector<NodePtr> children_;
  Blend blend_;
  StopCountdown countdown_;
  uint64_t bits_[kVectorWords];
  uint64_t rest_[kVectorWords];
  Selection taken_;
  Selection open_;
};

// The first operand, null where the two are equal. The first is compiled twice: once as the value,
// once within the comparison.
// What another node has evaluated already.
class GivenNode : public ExpressionNode {
 public:
  using ExpressionNode::ExpressionNode;

  void give(const Vector& vector) { vector_ = vector; }
  Vector evaluate(const Batch&, const Selection&) override { return vector_; }

 private:
  Vector vector_;
};

class NullIfNode : public ExpressionNode {
 public:
  // `equal` compares what `given` has.
  NullIfNode(NodePtr value, GivenNode* given, NodePtr equal)
      : ExpressionNode(value->type()),
        value_(std::move(value)),
        given_(given),
        equal_(std::move(equal)) {}

  Vector evaluate(const Batch& input, const Selection& rows) override {
    Vector result = value_->evaluate(input, rows);
    given_->give(result);
    equal_->evaluate_truth(input, rows, &truth_);
    for (uint32_t w = 0; w < words_of(rows.slots); ++w) {
      nulls_[w] = truth_.is_true[w] | (result.nulls == nullptr ? 0 : result.nulls[w]);
    }
    result.nulls = nulls_;
    result.constant = false;
    return result;
  }

 private:
  NodePtr value_;
  GivenNode* given_;  // within equal_
  NodePtr equal_;
  TruthMask truth_;
  uint64_t nulls_[kVectorWords];
};

}  // namespace

NodePtr make_logic(const Expression& expression, std::vector<NodePtr> children,
                   const QueryLimits& limits) {
  const PhysicalType type = physical_type(expression.type);
  switch (expression.kind) {
    case ExpressionKind::kAnd:
    case ExpressionKind::kOr:
      return std::make_unique<ConnectiveNode>(expression, std::move(children), limits);
    case ExpressionKind::kNot: return std::make_unique<NotNode>(std::move(children[0]));
    case ExpressionKind::kCase:
      require_plan(children.size() % 2 == 1, "CASE has an else");
      for (size_t i = 1; i < children.size(); i += 2) {
        require_plan(children[i]->type() == type, "CASE's values have its type");
      }
      require_plan(children.back()->type() == type, "CASE's values have its type");
      return std::make_unique<CaseNode>(type, std::move(children), limits);
    case ExpressionKind::kCoalesce:
      for (const NodePtr& child : children) {
        require_plan(child->type() == type, "COALESCE's operands have its type");
      }
      return std::make_unique<CoalesceNode>(type, std::move(children), limits);
    case ExpressionKind::kNullIf: {
      require_plan(children.size() == 2, "NULLIF has two operands");
      auto given = std::make_unique<GivenNode>(children[0]->type());
      GivenNode* const value = given.get();
      NodePtr equal =
          make_comparison(ExpressionKind::kEqual, std::move(given), std::move(children[1]));
      return std::make_unique<NullIfNode>(std::move(children[0]), value, std::move(equal));
    }
    default: fail_plan("an expression of unknown kind");
  }
}

namespace {

class SingleRowNode : public ExpressionNode {
 public:
  explicit SingleRowNode(std::vector<NodePtr> children)
      : ExpressionNode(children[0]->type()), children_(std::move(children)) {}

  Vector evaluate(const Batch& input, const Selection& rows) override {
    const Vector counts = children_[1]->evaluate(input, rows);
    for_selected(rows, [&](uint32_t i) {
      if (!counts.is_null(i) && counts.as<int64_t>()[i] > 1) {
        fail_value("more than one row returned by a subquery used as an expression", "21000");
      }
    });
    return children_[0]->evaluate(input, rows);
  }

 private:
  std::vector<NodePtr> children_;
};

}  // namespace

NodePtr make_single_row(std::vector<NodePtr> children) {
  require_plan(children.size() == 2 && children[1]->type() == PhysicalType::kInt64,
               "a single row is a value and how many rows there are");
  return std::make_unique<SingleRowNode>(std::move(children));
}

}  // namespace diptych::olap
