#include "olap/execution/star_node.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.h"
#include "olap/execution/column_range.h"
#include "olap/execution/expression_key.h"

namespace diptych::olap {

namespace {

void add_to_set(QuerySet* set, uint32_t query) {
  (*set)[query / 64] |= uint64_t{1} << (query % 64);
}

std::string edge_text(const StarEdge& edge) {
  std::string text = fmt::format("{}", edge.child->table.value);
  for (size_t i = 0; i < edge.outer.size(); ++i) {
    text += fmt::format(" {}={}", edge.inner[i].value, expression_key(*edge.outer[i]));
  }
  return text;
}

}  // namespace

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
  add_to_set(&general_[place->second].queries, query);
}

uint32_t SharedNode::add_part(const std::string& text, Part part) {
  const auto [place, is_new] =
      parts_by_text_.try_emplace(text, static_cast<uint32_t>(parts_.size()));
  if (is_new) parts_.push_back(std::move(part));
  return place->second;
}

SharedNode::KeyParts SharedNode::add(uint32_t query, const StarNode& node) {
  add_to_set(&queries_, query);
  KeyParts parts;
  for (const StarKey& key : node.keys) {
    parts[key.index] =
        add_part(expression_key(*key.expression), {.expression = bound(*key.expression)});
  }
  for (const ExpressionPtr& predicate : node.predicates) add_predicate(query, *predicate);
  for (const StarEdge& edge : node.edges) {
    const auto [place, is_new] = edges_by_text_.try_emplace(edge_text(edge), edges_.size());
    if (is_new) {
      Edge& shared = edges_.emplace_back();
      for (const ExpressionPtr& outer : edge.outer) shared.outer.push_back(bound(*outer));
      shared.inner = edge.inner;
      shared.child = std::make_unique<SharedNode>(replica_, edge.child->table, queries_.size());
    }
    for (const auto& [key, child_part] : edges_[place->second].child->add(query, *edge.child)) {
      parts[key] = add_part(fmt::format("{}.{}", place->second, child_part),
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

bool SharedNode::finish(const std::vector<base::ColumnId>& inner) {
  const auto has_queries = [](uint64_t word) { return word != 0; };
  const auto first = std::find_if(queries_.begin(), queries_.end(), has_queries);
  const auto last = std::find_if(queries_.rbegin(), queries_.rend(), has_queries);
  DIPTYCH_CHECK(first != queries_.end(), "a node is there for some query");
  first_word_ = static_cast<size_t>(first - queries_.begin());
  words_ = static_cast<size_t>(last.base() - first);
  for (Ranges& ranges : ranges_) ranges.classes.finish(first_word_, words_);
  for (Prefixes& prefixes : prefixes_) prefixes.classes.finish(first_word_, words_);
  if (!inner.empty() && !make_keys(inner)) return false;
  // A row is counted though nothing of it is read: any column tells how many there are.
  if (scan_.columns.empty()) batch_column(base::ColumnId(0));
  needed_.assign(scan_.columns.size(), true);
  return std::all_of(edges_.begin(), edges_.end(),
                     [](const Edge& edge) { return edge.child->finish(edge.inner); });
}

bool SharedNode::make_keys(const std::vector<base::ColumnId>& inner) {
  std::vector<DenseKeys::Bounds> bounds(inner.size(), {INT64_MAX, INT64_MIN});
  for (uint32_t p = 0; p < table_.partition_count(); ++p) {
    const storage::Partition& partition = table_.partition(base::PartitionId(p));
    for (size_t l = 0; l < partition.leaf_count(); ++l) {
      const storage::Leaf& leaf = partition.leaf(l);
      if (leaf.live_rows() == 0) continue;
      for (size_t i = 0; i < inner.size(); ++i) {
        const storage::ColumnSummary summary = leaf.summary(inner[i]);
        if (!summary.known) return false;
        bounds[i].min = std::min(bounds[i].min, summary.min);
        bounds[i].max = std::max(bounds[i].max, summary.max);
      }
    }
  }
  const uint64_t keys_max = std::max(kDenseKeysMin, table_.live_rows() * kDenseFactor);
  keys_ = DenseKeys::make(bounds, std::min(keys_max, uint64_t{1} << 31));
  if (!keys_.has_value()) return false;
  for (const base::ColumnId column : inner) key_columns_.push_back(batch_column(column));
  return true;
}

SharedNode::Morsels SharedNode::morsels() const {
  Morsels result;
  std::vector<uint64_t> wanted(words_);
  for (uint32_t p = 0; p < table_.partition_count(); ++p) {
    const storage::Partition& partition = table_.partition(base::PartitionId(p));
    for (size_t l = 0; l < partition.leaf_count(); ++l) {
      const storage::Leaf& leaf = partition.leaf(l);
      if (leaf.live_rows() == 0) continue;
      std::copy_n(queries(), words_, wanted.begin());
      for (const Ranges& ranges : ranges_) {
        ranges.classes.keep_leaf(leaf.summary(scan_.columns[ranges.column]), wanted.data());
      }
      if (std::all_of(wanted.begin(), wanted.end(), [](uint64_t word) { return word == 0; })) {
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
  found_.resize((keys_->size() + size_t{1}) * words_);
  for (size_t key = 0; key <= keys_->size(); ++key) {
    for (size_t w = 0; w < words_; ++w) found_[key * words_ + w] = ~queries()[w];
  }
  for (Part& part : parts_) part.numbers.resize(keys_->size() + size_t{1}, 0);
}

SharedNode::PartValues SharedNode::make_values() const {
  PartValues values;
  for (const Part& part : parts_) {
    values.push_back(part.expression == nullptr
                         ? nullptr
                         : std::make_unique<StarValues>(physical_type(part.expression->type)));
  }
  return values;
}

void SharedNode::take_values(std::vector<PartValues> of_workers) {
  for (size_t p = 0; p < parts_.size(); ++p) {
    Part& part = parts_[p];
    if (part.expression == nullptr) continue;
    part.values = std::make_unique<StarValues>(physical_type(part.expression->type));
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
