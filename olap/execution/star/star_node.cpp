#include "olap/execution/star/star_node.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.h"
#include "olap/execution/expression/expression_key.h"
#include "olap/execution/pipeline/plan_meter.h"
#include "olap/execution/vector/column_range.h"

namespace diptych::olap {

std::string edge_text(const StarEdge& edge) {
  std::string text = fmt::format("{}", edge.child->table.value);
  for (size_t i = 0; i < edge.outer.size(); ++i) {
    text += fmt::format(" {}={}", edge.inner[i].value, expression_key(*edge.outer[i]));
  }
  return text;
}

SharedNode::SharedNode(const storage::Replica& replica, base::TableId table, size_t batch_words)
    : replica_(replica), table_(replica.table(table)), queries_(batch_words) {
  scan_.table = table;
}

uint32_t SharedNode::batch_column(base::ColumnId column) {
  const auto known = std::find(scan_.columns.begin(), scan_.columns.end(), column);
  if (known == scan_.columns.end()) {
    scan_.columns.push_back(column);
    scan_.output.push_back(table_.schema().columns[column.value].type);
    return static_cast<uint32_t>(scan_.columns.size() - 1);
  }
  return static_cast<uint32_t>(known - scan_.columns.begin());
}

ExpressionPtr SharedNode::bound(const Expression& over_table) {
  auto copy = std::make_unique<Expression>();
  copy->kind = over_table.kind;
  copy->type = over_table.type;
  copy->nullable = over_table.nullable;
  copy->literal = over_table.literal;
  copy->function = over_table.function;
  if (copy->kind == ExpressionKind::kColumn) {
    copy->column = batch_column(base::ColumnId(static_cast<uint16_t>(over_table.column)));
  }
  for (const ExpressionPtr& child : over_table.children) copy->children.push_back(bound(*child));
  return copy;
}

SharedNode::Ranges& SharedNode::ranges_of(uint32_t column) {
  for (Ranges& ranges : ranges_) {
    if (ranges.column == column) return ranges;
  }
  return ranges_.emplace_back(Ranges{column, {}});
}

SharedNode::Prefixes& SharedNode::prefixes_of(uint32_t column) {
  for (Prefixes& prefixes : prefixes_) {
    if (prefixes.column == column) return prefixes;
  }
  return prefixes_.emplace_back(Prefixes{column, {}});
}

void SharedNode::add_predicate(uint32_t query, const Expression& predicate) {
  if (const std::optional<ColumnRange> range = column_range(predicate)) {
    const base::ColumnId column(static_cast<uint16_t>(range->column->column));
    ranges_of(batch_column(column)).classes.add(query, range->min, range->max);
    return;
  }
  if (const auto prefix = PrefixClasses::prefix_of(predicate)) {
    const base::ColumnId column(static_cast<uint16_t>(prefix->column));
    prefixes_of(batch_column(column)).classes.add(query, *prefix);
    return;
  }
  const auto [place, is_new] =
      general_by_text_.try_emplace(expression_key(predicate), general_.size());
  if (is_new) general_.push_back({bound(predicate), QuerySet(queries_.size())});
  add_to_set(query, &general_[place->second].queries);
}

uint32_t SharedNode::add_part(uint32_t query, const std::string& text, Part part) {
  const auto [place, is_new] =
      parts_by_text_.try_emplace(text, static_cast<uint32_t>(parts_.size()));
  if (is_new) {
    part.queries.resize(queries_.size());
    parts_.push_back(std::move(part));
  }
  add_to_set(query, &parts_[place->second].queries);
  return place->second;
}

SharedNode::KeyParts SharedNode::add(uint32_t query, const StarNode& node) {
  add_to_set(query, &queries_);
  ++statements_;
  KeyParts parts;
  for (const StarKey& key : node.keys) {
    parts[key.index] =
        add_part(query, expression_key(*key.expression), {.expression = bound(*key.expression)});
  }
  for (const ExpressionPtr& predicate : node.predicates) add_predicate(query, *predicate);
  for (const StarEdge& edge : node.edges) {
    const auto [place, is_new] = edges_by_text_.try_emplace(edge_text(edge), edges_.size());
    if (is_new) {
      Edge& shared = edges_.emplace_back();
      for (const ExpressionPtr& outer : edge.outer) shared.outer.push_back(bound(*outer));
      shared.inner = edge.inner;
      shared.keys = edge.keys;
      shared.child = std::make_unique<SharedNode>(replica_, edge.child->table, queries_.size());
    }
    for (const auto& [key, child_part] : edges_[place->second].child->add(query, *edge.child)) {
      parts[key] = add_part(query, fmt::format("{}.{}", place->second, child_part),
                            {.edge = place->second, .child_part = child_part});
    }
  }
  return parts;
}

const StarValues* SharedNode::values_of(uint32_t part) const {
  const Part& here = parts_[part];
  if (here.expression != nullptr) return here.values.get();
  return edges_[here.edge].child->values_of(here.child_part);
}

void SharedNode::finish(const Edge* edge) {
  const auto has_queries = [](uint64_t word) { return word != 0; };
  const auto first = std::find_if(queries_.begin(), queries_.end(), has_queries);
  const auto last = std::find_if(queries_.rbegin(), queries_.rend(), has_queries);
  DIPTYCH_CHECK(first != queries_.end(), "a node is there for some query");
  first_word_ = static_cast<size_t>(first - queries_.begin());
  words_ = static_cast<size_t>(last.base() - first);
  for (Ranges& ranges : ranges_) ranges.classes.finish(first_word_, words_);
  for (Prefixes& prefixes : prefixes_) prefixes.classes.finish(first_word_, words_);
  edge_ = edge;
  if (edge != nullptr) {
    for (const base::ColumnId column : edge->inner) key_columns_.push_back(batch_column(column));
  }
  // A row is counted though nothing of it is read: any column tells how many there are.
  if (scan_.columns.empty()) batch_column(base::ColumnId(0));
  needed_.assign(scan_.columns.size(), true);
  for (const Edge& to_child : edges_) to_child.child->finish(&to_child);
}

void SharedNode::count(const std::vector<StarPassPart>& parts, const ScanLeaves& leaves) {
  figures_.ran = true;
  figures_.blocks = leaves.with_rows;
  figures_.blocks_skipped = leaves.skipped;
  for (const StarPassPart& part : parts) {
    figures_.rows += part.rows;
    figures_.decoded_bytes += part.decoded_bytes;
    figures_.own_ns += part.ns;
  }
}

void SharedNode::tell(const StarNode& node, PlanMeter* meter) const {
  OperatorFigures& figures = meter->once(*node.scan);
  figures = figures_;
  figures.shared = fmt::format("in one pass for {} queries", statements_);
  for (const StarEdge& edge : node.edges) {
    edges_[edges_by_text_.at(edge_text(edge))].child->tell(*edge.child, meter);
  }
}

SharedNode::Morsels SharedNode::morsels(const QuerySet& out) const {
  Morsels result;
  std::vector<uint64_t> wanted(words_);
  for (uint32_t p = 0; p < table_.partition_count(); ++p) {
    const storage::Partition& partition = table_.partition(base::PartitionId(p));
    for (size_t l = 0; l < partition.leaf_count(); ++l) {
      const storage::Leaf& leaf = partition.leaf(l);
      if (leaf.live_rows() == 0) continue;
      for (size_t w = 0; w < words_; ++w) wanted[w] = queries()[w] & ~out[first_word_ + w];
      for (const Ranges& ranges : ranges_) {
        ranges.classes.keep_leaf(leaf.summary(scan_.columns[ranges.column]), wanted.data());
      }
      ++result.leaves.with_rows;
      if (std::all_of(wanted.begin(), wanted.end(), [](uint64_t word) { return word == 0; })) {
        ++result.leaves.skipped;
        continue;
      }
      for (uint32_t first = 0; first < leaf.row_slots(); first += kMorselRows) {
        result.morsels.push_back({&leaf, first, std::min(kMorselRows, leaf.row_slots() - first)});
        result.queries.insert(result.queries.end(), wanted.begin(), wanted.end());
      }
    }
  }
  return result;
}

void SharedNode::clear_found() {
  found_.resize((keys().size() + size_t{1}) * words_);
  for (size_t key = 0; key <= keys().size(); ++key) {
    for (size_t w = 0; w < words_; ++w) found_[key * words_ + w] = ~queries()[w];
  }
  for (Part& part : parts_) part.numbers.resize(keys().size() + size_t{1}, 0);
}

SharedNode::PartValues SharedNode::make_values(const QueryLimits& limits) const {
  PartValues values;
  for (const Part& part : parts_) {
    values.push_back(
        part.expression == nullptr
            ? nullptr
            : std::make_unique<StarValues>(physical_type(part.expression->type), limits));
  }
  return values;
}

void SharedNode::take_values(std::vector<PartValues> of_workers, const QueryLimits& limits) {
  for (size_t p = 0; p < parts_.size(); ++p) {
    Part& part = parts_[p];
    if (part.expression == nullptr) continue;
    part.values = std::make_unique<StarValues>(physical_type(part.expression->type), limits);
    std::vector<std::vector<uint32_t>> common(of_workers.size());  // by worker and its number
    for (size_t w = 0; w < of_workers.size(); ++w) {
      if (!of_workers[w].empty()) common[w] = part.values->merge(*of_workers[w][p]);
    }
    const auto workers = static_cast<uint32_t>(of_workers.size());
    for (size_t key = 0; key < part.numbers.size(); ++key) {
      const uint32_t stored = part.numbers[key];
      const std::vector<uint32_t>& of_worker = common[stored % workers];
      // Where no row was wanted there is a zero, which may be nobody's.
      part.numbers[key] = stored / workers < of_worker.size() ? of_worker[stored / workers] : 0;
    }
  }
}

void SharedNode::drop_found() {
  found_ = {};
  for (Part& part : parts_) part.numbers = {};
}

size_t SharedNode::found_bytes() const {
  size_t bytes = found_.bytes();
  for (const Part& part : parts_) bytes += part.numbers.bytes();
  return bytes;
}

}  // namespace diptych::olap
