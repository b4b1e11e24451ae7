#include "olap/execution/star/star_query.h"

#include <algorithm>
#include <map>

#include "olap/execution/vector/column_range.h"
#include "olap/execution/vector/vector.h"

namespace diptych::olap {

namespace {

constexpr uint32_t kNone = UINT32_MAX;

struct ColumnOfRelation {
  uint32_t relation;
  base::ColumnId column;
};
using Layout = std::vector<ColumnOfRelation>;  // of an operator's output

// An expression over the columns of one relation.
struct Side {
  uint32_t relation = kNone;
  ExpressionPtr expression;
};

struct Equality {
  Side left;
  Side right;
};

// A copy over table columns, and their relation in *relation: the one that was there, or any where
// that is kNone. Null where the columns are of several, or where there is none.
ExpressionPtr rebound(const Expression& from, const Layout& layout, uint32_t* relation) {
  auto copy = std::make_unique<Expression>();
  copy->kind = from.kind;
  copy->type = from.type;
  copy->nullable = from.nullable;
  copy->literal = from.literal;
  copy->function = from.function;
  if (from.kind == ExpressionKind::kColumn) {
    const ColumnOfRelation& place = layout[from.column];
    if (*relation != kNone && *relation != place.relation) return nullptr;
    *relation = place.relation;
    copy->column = place.column.value;
  }
  for (const ExpressionPtr& child : from.children) {
    copy->children.push_back(rebound(*child, layout, relation));
    if (copy->children.back() == nullptr) return nullptr;
  }
  return copy;
}

// The joins of a plan as a graph.
class JoinGraph {
 public:
  explicit JoinGraph(StarKeys* keys) : keys_(*keys) {}

  // False: something else than scans, filters and inner joins along equalities.
  bool add(const Operator& op, Layout* layout);
  // The tree from the relation, whose nodes take the predicates and equalities over; nothing where
  // the graph is none.
  std::optional<StarNode> tree(uint32_t root);
  // False: the key is over several relations, or over none.
  bool add_key(const Expression& key, uint32_t index, const Layout& layout);
  bool reaches_all(uint32_t root) const;
  size_t size() const { return relations_.size(); }
  uint64_t rows(uint32_t relation) const { return table(relation).live_rows(); }

 private:
  struct Relation {
    const Operator* scan;
    std::vector<ExpressionPtr> predicates;
    std::vector<StarKey> keys;
  };

  bool add_scan(const Operator& op, Layout* layout);
  bool add_join(const Operator& op, Layout* layout);
  bool add_predicate(const Expression& predicate, const Layout& layout);
  const storage::Table& table(uint32_t relation) const {
    return keys_.replica().table(relations_[relation].scan->table);
  }
  // The columns of `inner` are a unique and dense key of it, and both sides are integers.
  bool finds_one(uint32_t outer, uint32_t inner) const;
  std::vector<uint32_t> neighbours(uint32_t relation) const;
  bool visit(uint32_t relation, uint32_t from, std::vector<bool>* seen) const;
  StarNode build(uint32_t relation, uint32_t from);

  StarKeys& keys_;
  std::vector<Relation> relations_;
  std::vector<Equality> equalities_;
};

bool JoinGraph::add(const Operator& op, Layout* layout) {
  switch (op.kind) {
    case OperatorKind::kScan: return add_scan(op, layout);
    case OperatorKind::kHashJoin: return add_join(op, layout);
    case OperatorKind::kFilter:
      return add(*op.children[0], layout) &&
             std::all_of(op.predicates.begin(), op.predicates.end(),
                         [&](const ExpressionPtr& p) { return add_predicate(*p, *layout); });
    default: return false;
  }
}

bool JoinGraph::add_scan(const Operator& op, Layout* layout) {
  const auto relation = static_cast<uint32_t>(relations_.size());
  relations_.push_back({&op, {}, {}});
  for (const base::ColumnId column : op.columns) layout->push_back({relation, column});
  return std::all_of(op.predicates.begin(), op.predicates.end(),
                     [&](const ExpressionPtr& p) { return add_predicate(*p, *layout); });
}

bool JoinGraph::add_predicate(const Expression& predicate, const Layout& layout) {
  uint32_t relation = kNone;
  ExpressionPtr copy = rebound(predicate, layout, &relation);
  if (copy == nullptr || relation == kNone) return false;
  relations_[relation].predicates.push_back(std::move(copy));
  return true;
}

bool JoinGraph::add_key(const Expression& key, uint32_t index, const Layout& layout) {
  uint32_t relation = kNone;
  ExpressionPtr copy = rebound(key, layout, &relation);
  if (copy == nullptr || relation == kNone) return false;
  relations_[relation].keys.push_back({index, std::move(copy)});
  return true;
}

bool JoinGraph::add_join(const Operator& op, Layout* layout) {
  if (op.join != JoinKind::kInner || op.probe_keys.empty()) return false;
  Layout build;
  if (!add(*op.children[0], layout) || !add(*op.children[1], &build)) return false;
  for (size_t i = 0; i < op.probe_keys.size(); ++i) {
    Equality equality;
    equality.left.expression = rebound(*op.probe_keys[i], *layout, &equality.left.relation);
    equality.right.expression = rebound(*op.build_keys[i], build, &equality.right.relation);
    for (const Side* side : {&equality.left, &equality.right}) {
      if (side->expression == nullptr || side->relation == kNone) return false;
    }
    equalities_.push_back(std::move(equality));
  }
  layout->insert(layout->end(), build.begin(), build.end());
  return std::all_of(op.predicates.begin(), op.predicates.end(),
                     [&](const ExpressionPtr& p) { return add_predicate(*p, *layout); });
}

bool JoinGraph::finds_one(uint32_t outer, uint32_t inner) const {
  std::vector<base::ColumnId> columns;
  for (const Equality& equality : equalities_) {
    const bool forward = equality.left.relation == outer && equality.right.relation == inner;
    const bool back = equality.left.relation == inner && equality.right.relation == outer;
    if (!forward && !back) continue;
    const Side& key = forward ? equality.right : equality.left;
    const Side& value = forward ? equality.left : equality.right;
    const Expression* const column = column_of(*key.expression);
    if (column == nullptr || !holds_integers(column->type) ||
        !holds_integers(value.expression->type)) {
      return false;
    }
    columns.emplace_back(static_cast<uint16_t>(column->column));
  }
  const auto& indexes = table(inner).schema().indexes;
  const auto unique = [&](const base::IndexSchema& index) {
    return index.uniqueness == base::Uniqueness::kUnique &&
           std::all_of(index.columns.begin(), index.columns.end(), [&](base::ColumnId column) {
             return std::find(columns.begin(), columns.end(), column) != columns.end();
           });
  };
  return std::any_of(indexes.begin(), indexes.end(), unique) &&
         keys_.of(table(inner).schema().id, columns) != nullptr;
}

std::vector<uint32_t> JoinGraph::neighbours(uint32_t relation) const {
  std::vector<uint32_t> found;
  for (const Equality& equality : equalities_) {
    if (equality.left.relation == relation) found.push_back(equality.right.relation);
    if (equality.right.relation == relation) found.push_back(equality.left.relation);
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

bool JoinGraph::visit(uint32_t relation, uint32_t from, std::vector<bool>* seen) const {
  if ((*seen)[relation]) return false;  // a cycle
  (*seen)[relation] = true;
  for (const uint32_t next : neighbours(relation)) {
    if (next == from) continue;
    if (!finds_one(relation, next) || !visit(next, relation, seen)) return false;
  }
  return true;
}

bool JoinGraph::reaches_all(uint32_t root) const {
  std::vector<bool> seen(relations_.size());
  return visit(root, kNone, &seen) && std::find(seen.begin(), seen.end(), false) == seen.end();
}

StarNode JoinGraph::build(uint32_t relation, uint32_t from) {
  StarNode node;
  node.scan = relations_[relation].scan;
  node.table = node.scan->table;
  node.predicates = std::move(relations_[relation].predicates);
  node.keys = std::move(relations_[relation].keys);
  for (const uint32_t next : neighbours(relation)) {
    if (next == from) continue;
    StarEdge edge;
    for (Equality& equality : equalities_) {
      const bool forward = equality.left.relation == relation && equality.right.relation == next;
      const bool back = equality.left.relation == next && equality.right.relation == relation;
      if (!forward && !back) continue;
      Side& value = forward ? equality.left : equality.right;
      const Side& key = forward ? equality.right : equality.left;
      edge.inner.emplace_back(static_cast<uint16_t>(column_of(*key.expression)->column));
      edge.outer.push_back(std::move(value.expression));
    }
    edge.keys = *keys_.of(table(next).schema().id, edge.inner);
    edge.child = std::make_unique<StarNode>(build(next, relation));
    node.edges.push_back(std::move(edge));
  }
  return node;
}

std::optional<StarNode> JoinGraph::tree(uint32_t root) {
  if (!reaches_all(root)) return std::nullopt;
  return build(root, kNone);
}

bool is_shared(const Aggregate& aggregate) {
  switch (aggregate.kind) {
    case AggregateKind::kCountAll:
    case AggregateKind::kCount:
    case AggregateKind::kSum:
    case AggregateKind::kAvg:
    case AggregateKind::kMin:
    case AggregateKind::kMax: return !aggregate.distinct;
    default: return false;
  }
}

// Whether StarSums has it.
bool is_simple(const Aggregate& aggregate) {
  if (aggregate.kind == AggregateKind::kCountAll) return true;
  const bool known =
      aggregate.kind == AggregateKind::kCount || aggregate.kind == AggregateKind::kSum;
  return known && holds_integers(aggregate.argument->type);
}

// The aggregates over the relation's columns; nothing where one is of another kind.
std::optional<std::vector<Aggregate>> aggregates_over(const Operator& op, const Layout& layout,
                                                      uint32_t relation) {
  std::vector<Aggregate> result;
  for (const Aggregate& aggregate : op.aggregates) {
    Aggregate copy;
    copy.kind = aggregate.kind;
    copy.type = aggregate.type;
    if (aggregate.kind != AggregateKind::kCountAll) {
      if (!is_shared(aggregate)) return std::nullopt;
      uint32_t of = relation;
      copy.argument = rebound(*aggregate.argument, layout, &of);
      if (copy.argument == nullptr) return std::nullopt;
    }
    result.push_back(std::move(copy));
  }
  return result;
}

}  // namespace

const DenseKeys* StarKeys::of(base::TableId table, const std::vector<base::ColumnId>& columns) {
  const auto [place, is_new] = known_.try_emplace({table.value, columns});
  if (is_new) place->second = make(table, columns);
  return place->second ? &*place->second : nullptr;
}

std::optional<DenseKeys> StarKeys::make(base::TableId id,
                                        const std::vector<base::ColumnId>& columns) const {
  const storage::Table& table = replica_.table(id);
  std::vector<ValueBounds> bounds(columns.size());
  for (uint32_t p = 0; p < table.partition_count(); ++p) {
    const storage::Partition& partition = table.partition(base::PartitionId(p));
    for (size_t l = 0; l < partition.leaf_count(); ++l) {
      const storage::Leaf& leaf = partition.leaf(l);
      if (leaf.live_rows() == 0) continue;
      for (size_t i = 0; i < columns.size(); ++i) {
        const storage::ColumnSummary summary = leaf.summary(columns[i]);
        if (!summary.known) return std::nullopt;
        bounds[i].min = std::min(bounds[i].min, summary.min);
        bounds[i].max = std::max(bounds[i].max, summary.max);
      }
    }
  }
  const uint64_t keys_max = std::max(kDenseKeysMin, table.live_rows() * kDenseFactor);
  return DenseKeys::make(bounds, std::min(keys_max, uint64_t{1} << 31));
}

std::optional<StarQuery> star_query(const Plan& plan, StarKeys* keys) {
  const Operator* op = plan.root.get();
  if (op == nullptr) return std::nullopt;
  while (op->kind == OperatorKind::kProject || op->kind == OperatorKind::kFilter ||
         op->kind == OperatorKind::kSort || op->kind == OperatorKind::kLimit) {
    op = op->children[0].get();
  }
  if (op->kind != OperatorKind::kAggregate || !op->standing_groups.empty() ||
      op->estimated_rows > kStarGroupsMax) {
    return std::nullopt;
  }
  JoinGraph graph(keys);
  Layout layout;
  if (!graph.add(*op->children[0], &layout)) return std::nullopt;
  for (uint32_t i = 0; i < op->expressions.size(); ++i) {
    if (!graph.add_key(*op->expressions[i], i, layout)) return std::nullopt;
  }
  // Of several tables that would do, the largest: it is the one to go through row by row.
  std::vector<uint32_t> candidates;
  for (uint32_t relation = 0; relation < graph.size(); ++relation) candidates.push_back(relation);
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&](uint32_t a, uint32_t b) { return graph.rows(a) > graph.rows(b); });
  for (const uint32_t root : candidates) {
    if (!graph.reaches_all(root)) continue;
    auto aggregates = aggregates_over(*op, layout, root);
    if (!aggregates.has_value()) continue;
    const bool simple =
        op->expressions.empty() && std::all_of(aggregates->begin(), aggregates->end(), is_simple);
    return StarQuery{op, *graph.tree(root), std::move(*aggregates), !simple};
  }
  return std::nullopt;
}

}  // namespace diptych::olap
