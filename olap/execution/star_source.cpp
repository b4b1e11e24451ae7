#include "olap/execution/star_source.h"

#include <algorithm>

namespace diptych::olap {

StarSource::StarSource(const SharedNode& node, const SharedNode::Morsels& morsels, ReadAhead* ahead,
                       StarSums* sums, const std::vector<ExpressionPtr>& arguments, uint64_t* found)
    : node_(node),
      morsels_(morsels),
      ahead_(ahead),
      sums_(sums),
      found_(found),
      columns_(node.scan().columns, node.scan().output),
      rows_(node.words()),
      numbers_(kVectorRows) {
  for (const SharedNode::General& general : node.general()) {
    general_.push_back(compile_expression(*general.predicate));
    general_columns_.push_back(columns_read(*general.predicate));
  }
  for (const SharedNode::Edge& edge : node.edges()) {
    outer_.push_back(compile_expressions(edge.outer));
    std::vector<uint32_t>& read = outer_columns_.emplace_back();
    for (const ExpressionPtr& outer : edge.outer) {
      for (const uint32_t column : columns_read(*outer)) read.push_back(column);
    }
  }
  for (const ExpressionPtr& argument : arguments) {
    arguments_.push_back(compile_expression(*argument));
    argument_columns_.push_back(columns_read(*argument));
  }
}

StarSource::StarSource(const SharedNode& node, const SharedNode::Morsels& morsels, ReadAhead* ahead,
                       uint64_t* found)
    : StarSource(node, morsels, ahead, nullptr, {}, found) {}

StarSource::StarSource(const SharedNode& node, const SharedNode::Morsels& morsels, ReadAhead* ahead,
                       StarSums* sums, const std::vector<ExpressionPtr>& arguments)
    : StarSource(node, morsels, ahead, sums, arguments, nullptr) {}

bool StarSource::run(uint64_t morsel) {
  const ScanMorsel& range = morsels_.morsels[morsel];
  const uint64_t* const queries = morsels_.queries.data() + morsel * node_.words();
  ahead_->reach(morsel);
  const uint32_t end = range.first + range.count;
  for (uint32_t first = range.first; first < end; first += kVectorRows) {
    run_vector(*range.leaf, first, std::min(kVectorRows, end - first), queries);
  }
  columns_.unpin();
  return true;
}

void StarSource::load(const std::vector<uint32_t>& columns, const Selection& rows) {
  for (const uint32_t column : columns) columns_.load(column, rows);
}

void StarSource::run_vector(const storage::Leaf& leaf, uint32_t first, uint32_t count,
                            const uint64_t* queries) {
  columns_.start(leaf, first, count);
  select_live(leaf, first, count, &live_);
  if (live_.count == 0) return;
  rows_.reset(queries, live_);
  apply_predicates();
  if (wanted_.count == 0) return;
  ahead_->note_output();
  columns_.batch().selection = &wanted_;
  for (size_t i = 0; i < outer_.size(); ++i) {
    load(outer_columns_[i], wanted_);
    join(node_.edges()[i], outer_[i]);
  }
  if (sums_ != nullptr) {
    sum();
  } else {
    store();
  }
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
    load(general_columns_[i], live_);
    general_[i]->evaluate_truth(batch, live_, &truth_);
    const QuerySet& queries = node_.general()[i].queries;
    rows_.drop_where_false(truth_.is_true, queries.data() + node_.first_word(), live_.slots);
  }
  if (node_.ranges().empty() && node_.prefixes().empty() && general_.empty()) {
    wanted_ = live_;
  } else {
    rows_.select_wanted(live_.slots, &wanted_);
  }
}

void StarSource::join(const SharedNode::Edge& edge, const std::vector<NodePtr>& outer) {
  keys_.clear();
  for (const NodePtr& key : outer) keys_.push_back(key->evaluate(columns_.batch(), wanted_));
  const SharedNode& child = *edge.child;
  child.keys().number(keys_, wanted_, numbers_.data());
  const size_t words = child.words();
  for (size_t w = 0; w < words; ++w) {
    uint64_t* const bits = rows_.word(child.first_word() - node_.first_word() + w);
    const uint64_t* const found = child.found() + w;
    for_slots(wanted_, [&](uint32_t i) { bits[i] &= found[numbers_[i] * words]; });
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
    uint64_t* const found = found_ + numbers_[i] * words;
    for (size_t w = 0; w < words; ++w) found[w] |= rows_.word(w)[i];
  });
}

void StarSource::sum() {
  for (size_t i = 0; i < arguments_.size(); ++i) {
    load(argument_columns_[i], wanted_);
    sums_->set_argument(i, arguments_[i]->evaluate(columns_.batch(), wanted_), wanted_);
  }
  sums_->add(rows_, wanted_.slots);
}

}  // namespace diptych::olap
