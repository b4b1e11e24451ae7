#include "olap/execution/star_source.h"

#include <algorithm>

namespace diptych::olap {

StarSource::StarSource(const SharedNode& node, const SharedNode::Morsels& morsels, ReadAhead* ahead)
    : node_(node),
      morsels_(morsels),
      ahead_(ahead),
      columns_(&reader_, node.scan().columns, node.scan().output),
      rows_(node.words()),
      numbers_(kVectorRows),
      edge_numbers_(node.edges().size(), std::vector<uint32_t>(kVectorRows)),
      part_numbers_(node.parts().size(), std::vector<uint32_t>(kVectorRows)) {
  reader_.add(node.scan().columns);
  for (const SharedNode::General& general : node.general()) {
    general_.push_back(computed(*general.predicate));
  }
  for (const SharedNode::Edge& edge : node.edges()) {
    outer_.push_back(compile_expressions(edge.outer));
    std::vector<uint32_t>& read = outer_columns_.emplace_back();
    for (const ExpressionPtr& outer : edge.outer) {
      for (const uint32_t column : columns_read(*outer)) read.push_back(column);
    }
  }
  for (const SharedNode::Part& part : node.parts()) {
    parts_.push_back(part.expression == nullptr ? Computed() : computed(*part.expression));
  }
}

StarSource::StarSource(const SharedNode& node, const SharedNode::Morsels& morsels, ReadAhead* ahead,
                       StarChildOutput output)
    : StarSource(node, morsels, ahead) {
  child_ = std::move(output);
}

StarSource::StarSource(const SharedNode& node, const SharedNode::Morsels& morsels, ReadAhead* ahead,
                       StarRootOutput output)
    : StarSource(node, morsels, ahead) {
  root_ = std::move(output);
  for (const ExpressionPtr& argument : *root_.sum_arguments) {
    sum_arguments_.push_back(computed(*argument));
  }
  for (const ExpressionPtr& argument : *root_.group_arguments) {
    group_arguments_.push_back(computed(*argument));
  }
  arguments_.resize(group_arguments_.size());
}

StarSource::Computed StarSource::computed(const Expression& expression) {
  return {compile_expression(expression), columns_read(expression)};
}

Vector StarSource::evaluate(const Computed& expression, const Selection& rows) {
  load(expression.columns, wanted_);  // of which `rows` are some
  return expression.node->evaluate(columns_.batch(), rows);
}

bool StarSource::run(uint64_t morsel) {
  const ScanMorsel& range = morsels_.morsels[morsel];
  const uint64_t* const queries = morsels_.queries.data() + morsel * node_.words();
  ahead_->reach(morsel);
  const uint32_t end = range.first + range.count;
  for (uint32_t first = range.first; first < end; first += kVectorRows) {
    run_vector(*range.leaf, first, std::min(kVectorRows, end - first), queries);
  }
  reader_.unpin();
  return true;
}

void StarSource::load(const std::vector<uint32_t>& columns, const Selection& rows) {
  for (const uint32_t column : columns) columns_.load(column, rows);
}

void StarSource::run_vector(const storage::Leaf& leaf, uint32_t first, uint32_t count,
                            const uint64_t* queries) {
  reader_.start(leaf, first, count);
  columns_.start();
  select_live(leaf, first, count, &live_);
  if (live_.count == 0) return;
  rows_.reset(queries, live_);
  apply_predicates();
  if (wanted_.count == 0) return;
  ahead_->note_output(0);
  columns_.batch().selection = &wanted_;
  for (size_t i = 0; i < outer_.size(); ++i) {
    load(outer_columns_[i], wanted_);
    join(i);
  }
  if (child_.found != nullptr) {
    store();
    return;
  }
  if (root_.sums != nullptr) sum();
  if (!root_.groups.empty()) group();
}

// Leaves the rows that some query wants in wanted_.
void StarSource::apply_predicates() {
  Batch& batch = columns_.batch();
  for (const SharedNode::Ranges& ranges : node_.ranges()) {
    columns_.load(ranges.column, live_);
    ranges.classes.apply(batch.columns[ranges.column], live_, &rows_);
  }
  for (const SharedNode::Prefixes& prefixes : node_.prefixes()) {
    columns_.load(prefixes.column, live_);
    prefixes.classes.apply(batch.columns[prefixes.column], live_, &rows_);
  }
  batch.selection = &live_;
  for (size_t i = 0; i < general_.size(); ++i) {
    load(general_[i].columns, live_);
    general_[i].node->evaluate_truth(batch, live_, &truth_);
    const QuerySet& queries = node_.general()[i].queries;
    rows_.drop_where_false(truth_.is_true, queries.data() + node_.first_word(), live_.slots);
  }
  if (node_.ranges().empty() && node_.prefixes().empty() && general_.empty()) {
    wanted_ = live_;
  } else {
    rows_.select_wanted(live_.slots, &wanted_);
  }
}

void StarSource::join(size_t edge) {
  keys_.clear();
  for (const NodePtr& key : outer_[edge]) {
    keys_.push_back(key->evaluate(columns_.batch(), wanted_));
  }
  const SharedNode& child = *node_.edges()[edge].child;
  const uint32_t* const numbers = edge_numbers_[edge].data();
  child.keys().number(keys_, wanted_, edge_numbers_[edge].data());
  const size_t words = child.words();
  for (size_t w = 0; w < words; ++w) {
    uint64_t* const bits = rows_.word(child.first_word() - node_.first_word() + w);
    const uint64_t* const found = child.found() + w;
    for_slots(wanted_, [&](uint32_t i) { bits[i] &= found[numbers[i] * words]; });
  }
}

// Under a key there is one row, which is this one: rows that no query wants leave what is there.
void StarSource::store() {
  keys_.clear();
  for (const uint32_t column : node_.key_columns()) {
    columns_.load(column, wanted_);
    keys_.push_back(columns_.batch().columns[column]);
  }
  node_.keys().number(keys_, wanted_, numbers_.data());
  const size_t words = node_.words();
  const uint32_t no_key = node_.keys().size();
  for_selected(wanted_, [&](uint32_t i) {
    if (numbers_[i] == no_key) return;  // a null
    uint64_t* const found = child_.found + numbers_[i] * words;
    for (size_t w = 0; w < words; ++w) found[w] |= rows_.word(w)[i];
  });
  for (size_t p = 0; p < parts_.size(); ++p) store_part(p);
}

void StarSource::store_part(size_t part) {
  uint32_t* const numbers = part_numbers_[part].data();
  uint32_t* const stored = child_.numbers[part];
  const uint32_t no_key = node_.keys().size();
  uint32_t stride = 1;
  uint32_t offset = 0;
  if (parts_[part].node == nullptr) {
    gather_part(node_.parts()[part], wanted_, numbers);
  } else {
    child_.values[part]->number(evaluate(parts_[part], wanted_), wanted_, numbers);
    stride = child_.workers;
    offset = child_.worker;
  }
  for_selected(wanted_, [&](uint32_t i) {
    if (numbers_[i] != no_key) stored[numbers_[i]] = numbers[i] * stride + offset;
  });
}

void StarSource::gather_part(const SharedNode::Part& part, const Selection& rows,
                             uint32_t* numbers) const {
  const uint32_t* const of_key =
      node_.edges()[part.edge].child->parts()[part.child_part].numbers.data();
  const uint32_t* const keys = edge_numbers_[part.edge].data();
  for_selected(rows, [&](uint32_t i) { numbers[i] = of_key[keys[i]]; });
}

Vector StarSource::part(uint32_t part, const Selection& rows) {
  if (parts_[part].node != nullptr) return evaluate(parts_[part], rows);
  gather_part(node_.parts()[part], rows, part_numbers_[part].data());
  Vector numbers;
  numbers.type = PhysicalType::kInt32;
  numbers.values = part_numbers_[part].data();
  return numbers;
}

void StarSource::sum() {
  for (size_t i = 0; i < sum_arguments_.size(); ++i) {
    root_.sums->set_argument(i, evaluate(sum_arguments_[i], wanted_), wanted_);
  }
  root_.sums->add(rows_, wanted_.slots);
}

void StarSource::group() {
  bool has_arguments = false;
  for (size_t g = 0; g < root_.groups.size(); ++g) {
    StarGroups& groups = *root_.groups[g];
    groups.select(rows_, wanted_.slots, &grouped_);
    if (grouped_.count == 0) continue;
    if (!has_arguments) {
      for (size_t i = 0; i < group_arguments_.size(); ++i) {
        arguments_[i] = evaluate(group_arguments_[i], wanted_);
      }
      has_arguments = true;
    }
    keys_.clear();
    for (const uint32_t key : (*root_.groupings)[g].parts) keys_.push_back(part(key, grouped_));
    groups.add(rows_, grouped_, keys_, arguments_);
  }
}

}  // namespace diptych::olap
