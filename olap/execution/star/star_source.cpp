#include "olap/execution/star/star_source.h"

#include <algorithm>

#include "base/clock.h"
#include "olap/execution/limits/query_failure.h"

namespace diptych::olap {

StarSource::StarSource(const SharedNode& node, const SharedNode::Morsels& morsels,
                       const QueryLimits& limits, ReadAhead* ahead, StarPassPart* pass)
    : node_(node),
      morsels_(morsels),
      limits_(limits),
      ahead_(ahead),
      pass_(*pass),
      in_(node.words(), ~uint64_t{0}),
      charge_(limits.memory, "the expressions of a shared star pass"),
      columns_(&reader_, node.scan().columns, node.scan().output, limits.memory),
      rows_(node.words()),
      numbers_(kVectorRows),
      edge_numbers_(node.edges().size(), std::vector<uint32_t>(kVectorRows)),
      part_numbers_(node.parts().size(), std::vector<uint32_t>(kVectorRows)) {
  reader_.add(node.scan().columns);
  columns_.count_decoded(&pass_.decoded_bytes);
  pass_.out.resize(node.all_queries().size());
  for (const SharedExpression& general : node.general()) general_.push_back(computed(general));
  for (const SharedNode::Edge& edge : node.edges()) {
    order_.push_back(outer_.size());
    outer_.push_back(computed(edge.outer, edge.child->all_queries()));
  }
  const auto set_words = [&](size_t edge) {
    const SharedNode& child = *node.edges()[edge].child;
    return child.words() * child.keys().size();
  };
  std::stable_sort(order_.begin(), order_.end(),
                   [&](size_t a, size_t b) { return set_words(a) < set_words(b); });
  for (const SharedNode::Part& part : node.parts()) {
    parts_.push_back(part.expression == nullptr ? Computed()
                                                : computed({&part.expression, 1}, part.queries));
  }
}

StarSource::StarSource(const SharedNode& node, const SharedNode::Morsels& morsels,
                       const QueryLimits& limits, ReadAhead* ahead, StarChildOutput output)
    : StarSource(node, morsels, limits, ahead, output.pass) {
  child_ = std::move(output);
}

StarSource::StarSource(const SharedNode& node, const SharedNode::Morsels& morsels,
                       const QueryLimits& limits, ReadAhead* ahead, StarRootOutput output)
    : StarSource(node, morsels, limits, ahead, output.pass) {
  root_ = std::move(output);
  const auto add_arguments = [&](const std::vector<SharedExpression>& arguments,
                                 std::vector<Computed>* to) {
    for (const SharedExpression& argument : arguments) {
      to->push_back(computed(argument));
      to->back().is_free = argument.expression->kind == ExpressionKind::kColumn;
    }
  };
  add_arguments(*root_.sum_arguments, &sum_arguments_);
  add_arguments(*root_.group_arguments, &group_arguments_);
  arguments_.resize(group_arguments_.size());
}

StarSource::Computed StarSource::computed(std::span<const ExpressionPtr> expressions,
                                          const QuerySet& queries) {
  Computed result{.queries = &queries};
  for (const ExpressionPtr& expression : expressions) {
    limits_.stop->check();  // a vector for each operator of a thousand queries takes its time
    node_bytes_ += node_bytes(*expression);
    if (node_bytes_ > kNodeBytesFree) charge_.set(node_bytes_);
    result.nodes.push_back(compile_expression(*expression, limits_));
    for (const uint32_t column : columns_read(*expression)) result.columns.push_back(column);
  }
  const uint64_t* const bits = queries.data() + node_.first_word();
  size_t end = node_.words();
  while (end != 0 && bits[end - 1] == 0) --end;
  size_t first = 0;
  while (first != end && bits[first] == 0) ++first;
  result.asking = {first, end - first, bits + first};
  return result;
}

template <class Compute>
bool StarSource::attempt(Computed* computed, const Compute& compute) {
  if (computed->failed) return false;
  try {
    compute();
    return true;
  } catch (const QueryFailure&) {
    computed->failed = true;
  }
  add_all(*computed->queries, &pass_.out);
  for (size_t w = 0; w < in_.size(); ++w) in_[w] = ~pass_.out[node_.first_word() + w];
  rows_.keep(in_.data(), live_.slots);
  return false;
}

bool StarSource::evaluate(Computed* computed, const Selection& rows, Vector* values) {
  load(computed->columns, wanted_);  // of which `rows` are some
  return attempt(computed, [&] { *values = computed->nodes[0]->evaluate(columns_.batch(), rows); });
}

bool StarSource::run(uint64_t morsel) {
  const ScanMorsel& range = morsels_.morsels[morsel];
  const uint64_t* const queries = morsels_.queries.data() + morsel * node_.words();
  const uint64_t start_ns = base::steady_ns();
  reader_.begin(*range.leaf);
  ahead_->reach(morsel);
  const uint32_t end = range.first + range.count;
  for (uint32_t first = range.first; first < end; first += kVectorRows) {
    limits_.stop->check();  // a vector may take a thousand queries' predicates
    run_vector(*range.leaf, first, std::min(kVectorRows, end - first), queries);
  }
  pass_.ns += base::steady_ns() - start_ns;
  return true;
}

void StarSource::load(const std::vector<uint32_t>& columns, const Selection& rows) {
  for (const uint32_t column : columns) columns_.load(column, rows);
}

void StarSource::run_vector(const storage::Leaf& leaf, uint32_t first, uint32_t count,
                            const uint64_t* queries) {
  reader_.start(first, count);
  columns_.start();
  select_live(leaf, first, count, &live_);
  if (live_.count == 0) return;
  rows_.reset(queries, live_);
  rows_.keep(in_.data(), live_.slots);
  apply_predicates();
  if (wanted_.count == 0) return;
  pass_.rows += wanted_.count;
  ahead_->note_output(0);
  columns_.batch().selection = &wanted_;
  for (const size_t edge : order_) join(edge);
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
  for (Computed& general : general_) {
    const Selection& rows = asked_rows(live_, &general);
    if (rows.count == 0) continue;
    load(general.columns, live_);
    if (!attempt(&general, [&] { general.nodes[0]->evaluate_truth(batch, rows, &truth_); })) {
      continue;
    }
    rows_.drop_where_false(truth_.is_true, general.queries->data() + node_.first_word(),
                           live_.slots);
  }
  if (node_.ranges().empty() && node_.prefixes().empty() && general_.empty()) {
    wanted_ = live_;
  } else {
    rows_.select_wanted(live_, &wanted_);
  }
}

const Selection& StarSource::asked_rows(const Selection& rows, Computed* computed) {
  const bool is_most = computed->seen >= kSeenMin && computed->asked > computed->seen / 2;
  if (is_most || computed->is_free) return rows;
  rows_.select_wanted_by(computed->asking, rows, &asked_);
  computed->seen += rows.count;
  computed->asked += asked_.count;
  return asked_;
}

void StarSource::join(size_t edge) {
  Computed& outer = outer_[edge];
  const Selection& rows = asked_rows(wanted_, &outer);
  if (rows.count == 0) return;
  keys_.clear();
  load(outer.columns, wanted_);
  const bool computed = attempt(&outer, [&] {
    for (const NodePtr& key : outer.nodes) {
      keys_.push_back(key->evaluate(columns_.batch(), rows));
    }
  });
  if (!computed) return;
  const SharedNode& child = *node_.edges()[edge].child;
  const uint32_t* const numbers = edge_numbers_[edge].data();
  child.keys().number(keys_, rows, edge_numbers_[edge].data());
  rows_.keep_by_key(child.first_word() - node_.first_word(), child.words(), child.found(), numbers,
                    rows);
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
  if (parts_[part].nodes.empty()) {
    gather_part(node_.parts()[part], wanted_, numbers);
  } else {
    Vector values;
    if (!evaluate(&parts_[part], wanted_, &values)) return;
    child_.values[part]->number(values, wanted_, numbers);
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

// Values of the root's own, and numbers of others'.
bool StarSource::compute_keys(const StarGrouping& grouping) {
  keys_.clear();
  for (const uint32_t part : grouping.parts) {
    Vector& key = keys_.emplace_back();
    if (!parts_[part].nodes.empty()) {
      if (!evaluate(&parts_[part], grouped_, &key)) return false;
      continue;
    }
    gather_part(node_.parts()[part], grouped_, part_numbers_[part].data());
    key.type = PhysicalType::kInt32;
    key.values = part_numbers_[part].data();
  }
  return true;
}

// What nobody has who is left may be summed up as it was.
void StarSource::sum() {
  Vector values;
  for (size_t i = 0; i < sum_arguments_.size(); ++i) {
    const Selection& rows = asked_rows(wanted_, &sum_arguments_[i]);
    if (rows.count == 0) continue;
    if (evaluate(&sum_arguments_[i], rows, &values)) {
      root_.sums->set_argument(i, values, rows, rows_);
    }
  }
  root_.sums->add(rows_, wanted_.slots);
}

bool StarSource::compute_group_arguments() {
  bool all = true;
  for (size_t i = 0; i < group_arguments_.size(); ++i) {
    const Selection& rows = asked_rows(wanted_, &group_arguments_[i]);
    if (rows.count == 0) continue;
    all = evaluate(&group_arguments_[i], rows, &arguments_[i]) && all;
  }
  return all;
}

void StarSource::group() {
  bool has_arguments = false;
  for (size_t g = 0; g < root_.groups.size(); ++g) {
    StarGroups& groups = *root_.groups[g];
    groups.select(rows_, wanted_.slots, &grouped_);
    if (grouped_.count == 0) continue;
    if (!has_arguments) {
      has_arguments = true;
      if (!compute_group_arguments()) groups.select(rows_, wanted_.slots, &grouped_);
    }
    if (grouped_.count == 0 || !compute_keys((*root_.groupings)[g])) continue;
    groups.add(rows_, grouped_, keys_, arguments_);
  }
}

}  // namespace diptych::olap
