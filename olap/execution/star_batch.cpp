#include "olap/execution/star_batch.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "olap/execution/expression_key.h"
#include "olap/execution/star_source.h"

namespace diptych::olap {

namespace {

// What a query goes through, without its literals: queries that are alike get neighbouring bits, so
// that a node has few words.
std::string shape_text(const StarNode& node) {
  std::string text = fmt::format("{}[", node.table.value);
  for (const StarEdge& edge : node.edges) {
    for (const ExpressionPtr& outer : edge.outer) text += expression_key(*outer);
    text += shape_text(*edge.child);
  }
  return text + "]";
}

std::string whole_text(const StarNode& node) {
  std::string text = fmt::format("{}[", node.table.value);
  for (const ExpressionPtr& predicate : node.predicates) text += expression_key(*predicate);
  for (const StarEdge& edge : node.edges) {
    for (size_t i = 0; i < edge.outer.size(); ++i) {
      text += fmt::format("{}={}", expression_key(*edge.outer[i]), edge.inner[i].value);
    }
    text += whole_text(*edge.child);
  }
  return text + "]";
}

std::string aggregates_text(const StarQuery& query) {
  std::string text;
  for (const Aggregate& aggregate : query.aggregates) {
    text += fmt::format(
        "{}{};", static_cast<int>(aggregate.kind),
        aggregate.argument == nullptr ? std::string() : expression_key(*aggregate.argument));
  }
  return text;
}

}  // namespace

StarBatch::StarBatch(const RunContext& context, std::vector<const StarQuery*> queries)
    : context_(context),
      queries_(std::move(queries)),
      charge_(context.memory, "the tables of a shared star pass") {
  DIPTYCH_CHECK(!queries_.empty(), "a batch has a query");
  number_queries();
}

// Queries without joins come first and in words of their own: they want the same rows for long, and
// such a word is summed up at one stroke.
void StarBatch::number_queries() {
  numbers_.resize(queries_.size());
  using Order = std::pair<bool, std::string>;  // whether it joins, then its shape
  std::map<Order, std::map<std::string, std::vector<size_t>>> ordered;
  for (size_t i = 0; i < queries_.size(); ++i) {
    const StarNode& root = queries_[i]->root;
    ordered[{!root.edges.empty(), shape_text(root)}]
           [whole_text(root) + aggregates_text(*queries_[i])]
               .push_back(i);
  }
  uint32_t next = 0;
  bool joins = false;
  for (const auto& [order, by_text] : ordered) {
    if (order.first && !joins) next = (next + 63) / 64 * 64;
    joins = order.first;
    for (const auto& [text, same] : by_text) {
      for (const size_t i : same) numbers_[i] = next;
      ++next;
    }
  }
  words_ = (next + size_t{63}) / 64;
}

bool StarBatch::run() {
  root_ = std::make_unique<SharedNode>(*context_.replica, queries_[0]->root.table, words_);
  for (size_t i = 0; i < queries_.size(); ++i) root_->add(numbers_[i], queries_[i]->root);
  add_arguments();
  if (!root_->finish({})) return false;
  DIPTYCH_CHECK(root_->first_word() == 0 && root_->words() == words_, "the root has all queries");
  run_children(root_.get());
  run_root();
  return true;
}

void StarBatch::add_arguments() {
  wanted_arguments_.resize(words_);
  for (size_t i = 0; i < queries_.size(); ++i) {
    std::vector<uint32_t>& wanted = wanted_arguments_[numbers_[i] / 64];
    for (const Aggregate& aggregate : queries_[i]->aggregates) {
      if (aggregate.argument == nullptr) continue;
      const auto [place, is_new] = argument_numbers_.try_emplace(
          expression_key(*aggregate.argument), static_cast<uint32_t>(arguments_.size()));
      if (is_new) arguments_.push_back(root_->bound(*aggregate.argument));
      if (std::find(wanted.begin(), wanted.end(), place->second) == wanted.end()) {
        wanted.push_back(place->second);
      }
    }
  }
}

void StarBatch::run_children(SharedNode* node) {
  for (SharedNode::Edge& edge : node->edges()) {
    run_children(edge.child.get());
    run_node(edge.child.get());
  }
}

void StarBatch::run_node(SharedNode* node) {
  node->clear_found();
  charge_.set(charge_.bytes() + node->found_bytes());
  const SharedNode::Morsels morsels = node->morsels();
  ReadAhead ahead(node->scan(), node->needed(), morsels.morsels, context_.replica->leaves_memory());
  run_pipeline(context_, morsels.morsels.size(), context_.arena->threads(), [&](uint32_t) {
    return std::make_unique<StarSource>(*node, morsels, &ahead, node->found());
  });
  // What the children found is in this node's sets now.
  for (SharedNode::Edge& edge : node->edges()) {
    charge_.set(charge_.bytes() - edge.child->found_bytes());
    edge.child->drop_found();
  }
}

void StarBatch::run_root() {
  const SharedNode::Morsels morsels = root_->morsels();
  ReadAhead ahead(root_->scan(), root_->needed(), morsels.morsels,
                  context_.replica->leaves_memory());
  std::vector<std::unique_ptr<StarSums>> parts(context_.arena->threads());
  sums_ = std::make_unique<StarSums>(arguments_.size(), wanted_arguments_);
  run_pipeline(context_, morsels.morsels.size(), context_.arena->threads(), [&](uint32_t worker) {
    parts[worker] = std::make_unique<StarSums>(arguments_.size(), wanted_arguments_);
    return std::make_unique<StarSource>(*root_, morsels, &ahead, parts[worker].get(), arguments_);
  });
  for (const auto& part : parts) {
    if (part != nullptr) sums_->merge(*part);
  }
  root_.reset();
  charge_.set(0);
}

GivenRow StarBatch::result(size_t index) const {
  const StarQuery& query = *queries_[index];
  GivenRow row{query.aggregate, {}};
  for (const Aggregate& aggregate : query.aggregates) {
    if (aggregate.argument == nullptr) {
      row.cells.push_back({false, sums_->rows(numbers_[index])});
      continue;
    }
    const uint32_t argument = argument_numbers_.at(expression_key(*aggregate.argument));
    const StarSums::Sum& sum = sums_->of(numbers_[index], argument);
    if (aggregate.kind == AggregateKind::kCount) {
      row.cells.push_back({false, sum.count});
    } else {
      row.cells.push_back({sum.count == 0, sum.sum});
    }
  }
  return row;
}

}  // namespace diptych::olap
