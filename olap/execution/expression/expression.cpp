#include "olap/execution/expression/expression.h"

#include <algorithm>
#include <string>

#include "olap/execution/expression/comparison_kernels.h"
#include "olap/execution/expression/expression_nodes.h"
#include "olap/execution/expression/row_functions.h"
#include "olap/execution/limits/query_failure.h"
#include "olap/execution/limits/query_heap.h"

namespace diptych::olap {

void TruthMask::apply_nulls(const uint64_t* nulls, uint32_t slots) {
  has_nulls = nulls != nullptr;
  if (!has_nulls) return;
  for (uint32_t w = 0; w < words_of(slots); ++w) {
    is_null[w] = nulls[w];
    is_true[w] &= ~nulls[w];
  }
}

void ExpressionNode::evaluate_truth(const Batch& input, const Selection& rows, TruthMask* truth) {
  DIPTYCH_CHECK(type_ == PhysicalType::kBool, "only a BOOLEAN has a truth value");
  const Vector vector = evaluate(input, rows);
  const auto* const bytes = vector.as<uint8_t>();
  const uint32_t whole = rows.slots / 64;
  for (uint32_t w = 0; w < whole; ++w) truth->is_true[w] = pack_bytes(bytes + w * 64);
  if (rows.slots % 64 != 0) truth->is_true[whole] = 0;
  for (uint32_t i = whole * 64; i < rows.slots; ++i) {
    truth->is_true[whole] |= static_cast<uint64_t>(bytes[i] & 1) << (i % 64);
  }
  truth->apply_nulls(vector.nulls, rows.slots);
}

Vector TruthNode::evaluate(const Batch& input, const Selection& rows) {
  TruthMask truth;
  evaluate_truth(input, rows, &truth);
  auto* const bytes = bytes_.values<uint8_t>();
  for_slots(rows, [&](uint32_t i) { bytes[i] = static_cast<uint8_t>(bit_at(truth.is_true, i)); });
  if (!truth.has_nulls) return bytes_.view();
  std::copy_n(truth.is_null, words_of(rows.slots), bytes_.nulls());
  return bytes_.view_with_nulls();
}

namespace {

using Kind = ExpressionKind;

class ColumnNode : public ExpressionNode {
 public:
  ColumnNode(PhysicalType type, uint32_t column) : ExpressionNode(type), column_(column) {}

  Vector evaluate(const Batch& input, const Selection&) override {
    DIPTYCH_DCHECK(column_ < input.columns.size(), "a plan's columns are positions in its input");
    const Vector& vector = input.columns[column_];
    DIPTYCH_DCHECK(vector.type == type(), "a plan's column types are its input's");
    return vector;
  }

 private:
  uint32_t column_;
};

// Every slot holds the value, filled once.
class LiteralNode : public ExpressionNode {
 public:
  explicit LiteralNode(PhysicalType type) : ExpressionNode(type), buffer_(type) {
    std::fill_n(buffer_.nulls(), kVectorWords, ~uint64_t{0});
    vector_ = buffer_.view_with_nulls();
    vector_.constant = true;
  }

  template <class T>
  void set(const T& value) {
    std::fill_n(buffer_.values<T>(), kVectorRows, value);
    vector_.nulls = nullptr;
  }
  void set_text(std::string_view text) {
    set(heap_.keep(base::StringRef(text)));
    vector_.string_life = StringLife::kBatch;  // the node does not outlive its pipeline
  }

  Vector evaluate(const Batch&, const Selection&) override { return vector_; }

 private:
  VectorBuffer buffer_;
  QueryHeap heap_;
  Vector vector_;
};

template <class T>
const T& literal_as(const base::Value& value) {
  const T* const found = std::get_if<T>(&value);
  require_plan(found != nullptr, "a literal's value is not of its type");
  return *found;
}

}  // namespace

NodePtr make_literal(const base::DataType& type, const base::Value& value) {
  auto node = std::make_unique<LiteralNode>(physical_type(type));
  if (base::is_null(value)) return node;
  switch (type.kind) {
    case base::TypeKind::kInt: node->set(static_cast<int32_t>(literal_as<int64_t>(value))); break;
    case base::TypeKind::kBigInt: node->set(literal_as<int64_t>(value)); break;
    case base::TypeKind::kDecimal: {
      const auto& decimal = literal_as<base::DecimalValue>(value);
      require_plan(decimal.scale == type.scale, "a decimal literal's scale is not its type's");
      if (is_wide(type)) {
        node->set(decimal.units);
      } else {
        node->set(static_cast<int64_t>(decimal.units));
      }
      break;
    }
    case base::TypeKind::kDouble: node->set(literal_as<double>(value)); break;
    case base::TypeKind::kBoolean: node->set(static_cast<uint8_t>(literal_as<bool>(value))); break;
    case base::TypeKind::kDate: node->set(literal_as<base::Date>(value).days); break;
    case base::TypeKind::kTimestamp: node->set(literal_as<base::Timestamp>(value).micros); break;
    case base::TypeKind::kInterval: node->set(literal_as<base::Interval>(value)); break;
    case base::TypeKind::kChar:
    case base::TypeKind::kVarchar: node->set_text(literal_as<std::string>(value)); break;
  }
  return node;
}

namespace {
NodePtr compile_whole(const Expression& expression, const QueryLimits& limits);
}  // namespace

namespace {

NodePtr make_function(const Expression& expression, std::vector<NodePtr> children,
                      const QueryLimits& limits) {
  if (expression.function > Function::kSingleRow) {
    return make_row_function(expression, std::move(children), limits);
  }
  switch (expression.function) {
    case Function::kSubstring:
    case Function::kAscii:
    case Function::kLength:
    case Function::kCharLength:
    case Function::kUpper:
    case Function::kLower:
    case Function::kTrim: return make_text_function(expression, std::move(children), limits);
    case Function::kAbs:
    case Function::kRound:
    case Function::kFloor:
    case Function::kCeil:
    case Function::kTruncate: return make_number_function(expression, std::move(children), limits);
    case Function::kSingleRow: return make_single_row(std::move(children));
    default: return make_date_function(expression, std::move(children), limits);
  }
}

}  // namespace

size_t node_bytes(const Expression& expression) {
  if (expression.kind == Kind::kColumn) return 0;
  size_t bytes = kVectorRows * physical_bytes(physical_type(expression.type));
  if (expression.kind == Kind::kInList) {  // of its literals, the values alone
    return bytes + node_bytes(*expression.children[0]) +
           expression.children.size() * sizeof(base::StringRef);
  }
  bool reads_text = false;
  for (const ExpressionPtr& child : expression.children) {
    bytes += node_bytes(*child);
    reads_text |= child->type.is_string();
  }
  // make_by_entry() has as much again.
  return reads_text ? bytes + kVectorRows * physical_bytes(physical_type(expression.type)) : bytes;
}

namespace {

// One of large expressions: its vectors are in the query's budget for as long as they are there.
class CountedNode : public ExpressionNode {
 public:
  CountedNode(const Expression& expression, const QueryLimits& limits)
      : ExpressionNode(physical_type(expression.type)),
        charge_(limits.memory, "the vectors of its expressions") {
    charge_.set(node_bytes(expression));
    node_ = compile_whole(expression, limits);
  }

  Vector evaluate(const Batch& input, const Selection& rows) override {
    return node_->evaluate(input, rows);
  }
  void evaluate_truth(const Batch& input, const Selection& rows, TruthMask* truth) override {
    node_->evaluate_truth(input, rows, truth);
  }

 private:
  MemoryCharge charge_;
  NodePtr node_;
};

}  // namespace

NodePtr compile_expression(const Expression& expression, const QueryLimits& limits) {
  if (node_bytes(expression) <= kNodeBytesFree) return compile_whole(expression, limits);
  return std::make_unique<CountedNode>(expression, limits);
}

std::vector<NodePtr> compile_expressions(const std::vector<ExpressionPtr>& expressions,
                                         const QueryLimits& limits) {
  size_t bytes = 0;
  for (const ExpressionPtr& expression : expressions) bytes += node_bytes(*expression);
  std::vector<NodePtr> nodes;
  nodes.reserve(expressions.size());
  for (const ExpressionPtr& expression : expressions) {
    nodes.push_back(bytes <= kNodeBytesFree ? compile_whole(*expression, limits)
                                            : std::make_unique<CountedNode>(*expression, limits));
  }
  return nodes;
}

namespace {

// What a node reads of its input.
struct Reads {
  enum class What : uint8_t { kNothing, kOneText, kMore } what = What::kNothing;
  uint32_t column = 0;  // of kOneText

  void add(const Reads& other) {
    if (what == What::kNothing) {
      *this = other;
    } else if (other.what != What::kNothing && (what != other.what || column != other.column)) {
      what = What::kMore;
    }
  }
};

struct CompiledNode {
  NodePtr node;
  Reads reads;
  bool is_cheap = false;  // a column as it is, or whether it is NULL
};

// What is computed by its text's entries, if there are any, is so at once.
NodePtr close(CompiledNode compiled) {
  if (compiled.is_cheap || compiled.reads.what != Reads::What::kOneText) {
    return std::move(compiled.node);
  }
  return make_by_entry(compiled.reads.column, std::move(compiled.node));
}

CompiledNode compile_node(const Expression& expression, const QueryLimits& limits);

NodePtr make_node(const Expression& expression, std::vector<NodePtr> children,
                  const QueryLimits& limits) {
  switch (expression.kind) {
    case Kind::kCast:
      return make_cast(expression.children[0]->type, expression.type, std::move(children[0]),
                       limits);
    case Kind::kNegate:
    case Kind::kAdd:
    case Kind::kSubtract:
    case Kind::kMultiply:
    case Kind::kDivide:
    case Kind::kModulo: return make_arithmetic(expression, std::move(children), limits);
    case Kind::kEqual:
    case Kind::kNotEqual:
    case Kind::kLess:
    case Kind::kLessEqual:
    case Kind::kGreater:
    case Kind::kGreaterEqual:
      require_plan(children.size() == 2, "a comparison has two operands");
      return make_comparison(expression.kind, std::move(children[0]), std::move(children[1]));
    case Kind::kIsNull:
    case Kind::kIsNotNull: return make_is_null(expression.kind, std::move(children[0]));
    case Kind::kConcat: return make_text_function(expression, std::move(children), limits);
    case Kind::kFunction: return make_function(expression, std::move(children), limits);
    default: return make_logic(expression, std::move(children), limits);
  }
}

// Of the operand alone: the list and the pattern are literals.
CompiledNode compile_match(const Expression& expression, const QueryLimits& limits) {
  require_plan(!expression.children.empty(), "LIKE and IN have an operand");
  const Expression& operand = *expression.children[0];
  // ILIKE, as which the node lowers texts that come again once.
  const bool is_lowered = expression.kind == Kind::kLike && operand.kind == Kind::kFunction &&
                          operand.children.size() == 1 && operand.function == Function::kLower;
  CompiledNode matched = compile_node(is_lowered ? *operand.children[0] : operand, limits);
  matched.is_cheap = false;
  matched.node = expression.kind == Kind::kInList
                     ? make_in_list(expression, std::move(matched.node))
                     : make_like(expression, std::move(matched.node),
                                 is_lowered ? LetterCases::kLowered : LetterCases::kKept, limits);
  return matched;
}

CompiledNode compile_node(const Expression& expression, const QueryLimits& limits) {
  if (expression.kind == Kind::kColumn) {
    const Reads reads = {expression.type.is_string() ? Reads::What::kOneText : Reads::What::kMore,
                         expression.column};
    return {std::make_unique<ColumnNode>(physical_type(expression.type), expression.column), reads,
            true};
  }
  if (expression.kind == Kind::kLiteral) {
    return {make_literal(expression.type, expression.literal), {}, true};
  }
  if (expression.kind == Kind::kLike || expression.kind == Kind::kInList) {
    return compile_match(expression, limits);
  }
  std::vector<CompiledNode> operands;
  operands.reserve(expression.children.size());
  Reads reads;
  for (const ExpressionPtr& child : expression.children) {
    limits.stop->check_at(operands.size());
    operands.push_back(compile_node(*child, limits));
    reads.add(operands.back().reads);
  }
  require_plan(!operands.empty(), "an operator has operands");
  // Its result hangs on which rows there are.
  if (expression.kind == Kind::kFunction && expression.function == Function::kSingleRow) {
    reads.what = Reads::What::kMore;
  }
  const bool tests_null = expression.kind == Kind::kIsNull || expression.kind == Kind::kIsNotNull;
  const bool is_cheap = tests_null && operands[0].is_cheap;
  std::vector<NodePtr> children;
  children.reserve(operands.size());
  for (CompiledNode& operand : operands) {
    children.push_back(reads.what == Reads::What::kOneText ? std::move(operand.node)
                                                           : close(std::move(operand)));
  }
  return {make_node(expression, std::move(children), limits), reads, is_cheap};
}

NodePtr compile_whole(const Expression& expression, const QueryLimits& limits) {
  return close(compile_node(expression, limits));
}

}  // namespace

void Predicates::narrow(size_t index, const Batch& input, Selection* rows) {
  if (rows->count == 0) return;
  nodes_[index]->evaluate_truth(input, *rows, &truth_);
  uint64_t lost = 0;
  for (uint32_t w = 0; w < words_of(rows->slots); ++w) {
    lost |= rows->bits[w] & ~truth_.is_true[w];
    truth_.is_true[w] &= rows->bits[w];
  }
  if (lost == 0) return;
  select_bits(truth_.is_true, rows->slots, rows);
}

void Predicates::narrow(const Batch& input, Selection* rows) {
  for (size_t i = 0; i < nodes_.size(); ++i) narrow(i, input, rows);
}

namespace {

void collect_columns(const Expression& expression, std::vector<uint32_t>* columns) {
  if (expression.kind == ExpressionKind::kColumn) columns->push_back(expression.column);
  for (const ExpressionPtr& child : expression.children) collect_columns(*child, columns);
}

}  // namespace

std::vector<uint32_t> columns_read(const Expression& expression) {
  std::vector<uint32_t> columns;
  collect_columns(expression, &columns);
  std::sort(columns.begin(), columns.end());
  columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  return columns;
}

}  // namespace diptych::olap
