#include "olap/execution/star/star_batch.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "olap/execution/expression/expression_key.h"
#include "olap/execution/pipeline/plan_meter.h"
#include "olap/execution/star/star_source.h"

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

// The edges of the queries' roots, those of most queries first.
std::vector<std::string> edges_by_use(const std::vector<const StarQuery*>& queries) {
  std::map<std::string, size_t> uses;
  for (const StarQuery* query : queries) {
    for (const StarEdge& edge : query->root.edges) ++uses[edge_text(edge)];
  }
  std::vector<std::string> edges;
  for (const auto& [edge, count] : uses) edges.push_back(edge);
  std::stable_sort(edges.begin(), edges.end(), [&](const std::string& a, const std::string& b) {
    return uses.at(a) > uses.at(b);
  });
  return edges;
}

// Where a query is in the order in which those with the first edge come first, and those with the
// second, in either half, lie next to the other half's, and so on: a Gray code's.
std::vector<bool> place_among(const std::vector<std::string>& edges, const StarNode& root) {
  std::set<std::string> own;
  for (const StarEdge& edge : root.edges) own.insert(edge_text(edge));
  std::vector<bool> place;
  bool is_last = false;
  for (const std::string& edge : edges) {
    is_last ^= own.contains(edge) != place.empty();
    place.push_back(is_last);
  }
  return place;
}

std::string whole_text(const StarNode& node) {
  std::string text = fmt::format("{}[", node.table.value);
  for (const ExpressionPtr& predicate : node.predicates) text += expression_key(*predicate);
  for (const StarKey& key : node.keys) {
    text += fmt::format("{}:{}", key.index, expression_key(*key.expression));
  }
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

// What is not a scan is part of the scans' passes.
void tell_joins(const Operator& op, PlanMeter* meter) {
  if (op.kind == OperatorKind::kScan) return;
  meter->once(op).shared =
      op.kind == OperatorKind::kHashJoin ? "as bitsets in the pass" : "in the pass";
  for (const OperatorPtr& child : op.children) tell_joins(*child, meter);
}

}  // namespace

StarBatch::StarBatch(const RunContext& context, std::vector<const StarQuery*> queries)
    : context_(context),
      queries_(std::move(queries)),
      charge_(context.memory, "the tables of a shared star pass") {
  DIPTYCH_CHECK(!queries_.empty(), "a batch has a query");
  number_queries();
}

// Queries without groups and joins come first and in words of their own: they want the same rows
// for long, and such a word is summed up at one stroke. Those with groups come last. The others are
// ordered so that those which have an edge lie in few words, which the edge costs.
void StarBatch::number_queries() {
  enum Kind { kPlain, kJoins, kGrouped };
  numbers_.resize(queries_.size());
  const std::vector<std::string> edges = edges_by_use(queries_);
  using Order = std::tuple<Kind, std::vector<bool>, std::string>;  // edges, then the shape
  std::map<Order, std::map<std::string, std::vector<size_t>>> ordered;
  for (size_t i = 0; i < queries_.size(); ++i) {
    const StarNode& root = queries_[i]->root;
    const Kind joins = root.edges.empty() ? kPlain : kJoins;
    const Order order(queries_[i]->is_grouped ? kGrouped : joins, place_among(edges, root),
                      shape_text(root));
    ordered[order][aggregates_text(*queries_[i]) + whole_text(root)].push_back(i);
  }
  uint32_t next = 0;
  Kind last = kPlain;
  for (const auto& [order, by_text] : ordered) {
    if (std::get<Kind>(order) != last) next = (next + 63) / 64 * 64;
    last = std::get<Kind>(order);
    for (const auto& [text, same] : by_text) {
      for (const size_t i : same) numbers_[i] = next;
      ++next;
    }
    if (last != kGrouped) sum_words_ = (next + size_t{63}) / 64;
  }
  words_ = (next + size_t{63}) / 64;
}

void StarBatch::run() {
  out_.resize(words_);
  root_ = std::make_unique<SharedNode>(*context_.replica, queries_[0]->root.table, words_);
  for (size_t i = 0; i < queries_.size(); ++i) {
    key_parts_.push_back(root_->add(numbers_[i], queries_[i]->root));
  }
  add_arguments();
  root_->finish(nullptr);
  DIPTYCH_CHECK(root_->first_word() == 0 && root_->words() == words_, "the root has all queries");
  run_children(root_.get());
  run_root();
}

void StarBatch::add_arguments() {
  std::vector<size_t> grouped;
  for (size_t i = 0; i < queries_.size(); ++i) {
    if (queries_[i]->is_grouped) {
      grouped.push_back(i);
      continue;
    }
    for (const Aggregate& aggregate : queries_[i]->aggregates) {
      if (aggregate.argument == nullptr) continue;
      add_argument(i, *aggregate.argument, &argument_numbers_, &arguments_);
    }
  }
  std::sort(grouped.begin(), grouped.end(),
            [&](size_t a, size_t b) { return numbers_[a] < numbers_[b]; });
  for (const size_t i : grouped) add_to_grouping(i, key_parts_[i]);
}

// Queries come by number; those of one number are one.
void StarBatch::add_to_grouping(size_t index, const SharedNode::KeyParts& parts) {
  std::string text;
  for (const auto& [key, part] : parts) text += fmt::format("{} ", part);
  const auto [place, is_new] = groupings_by_text_.try_emplace(text, groupings_.size());
  if (is_new) {
    StarGrouping& grouping = groupings_.emplace_back();
    for (const auto& [key, part] : parts) {
      const ExpressionPtr& own = root_->parts()[part].expression;
      grouping.parts.push_back(part);
      grouping.types.push_back(own == nullptr ? PhysicalType::kInt32 : physical_type(own->type));
    }
  }
  std::vector<StarGrouping::Query>& queries = groupings_[place->second].queries;
  if (queries.empty() || queries.back().number != numbers_[index]) {
    queries.push_back(grouped_query(index));
  }
  places_[index] = {place->second, queries.size() - 1};
}

StarGrouping::Query StarBatch::grouped_query(size_t index) {
  StarGrouping::Query query{numbers_[index], queries_[index], {}};
  for (const Aggregate& aggregate : query.query->aggregates) {
    if (aggregate.argument == nullptr) {
      query.arguments.push_back(StarGrouping::kNoArgument);
      continue;
    }
    query.arguments.push_back(
        add_argument(index, *aggregate.argument, &group_argument_numbers_, &group_arguments_));
  }
  return query;
}

uint32_t StarBatch::add_argument(size_t index, const Expression& argument,
                                 std::map<std::string, uint32_t>* numbers,
                                 std::vector<SharedExpression>* arguments) {
  const auto [place, is_new] =
      numbers->try_emplace(expression_key(argument), static_cast<uint32_t>(arguments->size()));
  if (is_new) arguments->push_back({root_->bound(argument), QuerySet(words_)});
  add_to_set(numbers_[index], &(*arguments)[place->second].queries);
  return place->second;
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
  const SharedNode::Morsels morsels = node->morsels(out_);
  ReadAhead ahead(morsels.morsels, context_.replica->leaves_memory());
  ahead.add(node->scan(), node->needed());
  const uint32_t workers = context_.arena->threads();
  std::vector<StarPassPart> passes(workers);
  std::vector<SharedNode::PartValues> values(workers);
  run_pipeline(context_, morsels.morsels.size(), workers, [&](uint32_t worker) {
    values[worker] = node->make_values(context_.limits());
    StarChildOutput output{
        .pass = &passes[worker], .found = node->found(), .worker = worker, .workers = workers};
    for (SharedNode::Part& part : node->parts()) output.numbers.push_back(part.numbers.data());
    for (const auto& of_part : values[worker]) output.values.push_back(of_part.get());
    return std::make_unique<StarSource>(*node, morsels, context_.limits(), &ahead,
                                        std::move(output));
  });
  end_pass(passes, morsels.leaves, node);
  node->take_values(std::move(values), context_.limits());
  // What the children found is in this node's sets now.
  for (SharedNode::Edge& edge : node->edges()) {
    charge_.set(charge_.bytes() - edge.child->found_bytes());
    edge.child->drop_found();
  }
}

void StarBatch::run_root() {
  const SharedNode::Morsels morsels = root_->morsels(out_);
  ReadAhead ahead(morsels.morsels, context_.replica->leaves_memory());
  ahead.add(root_->scan(), root_->needed());
  const uint32_t workers = context_.arena->threads();
  std::vector<StarPassPart> passes(workers);
  sums_ = std::make_unique<StarSums>(arguments_, sum_words_);
  charge_.set(charge_.bytes() + sums_->memory_bytes() * (workers + 1));
  std::vector<std::unique_ptr<StarSums>> sums(workers);
  GroupsOfWorkers groups(workers);
  run_pipeline(context_, morsels.morsels.size(), workers, [&](uint32_t worker) {
    StarRootOutput output{.pass = &passes[worker],
                          .sum_arguments = &arguments_,
                          .groups = {},
                          .groupings = &groupings_,
                          .group_arguments = &group_arguments_};
    if (sum_words_ != 0) {
      sums[worker] = std::make_unique<StarSums>(arguments_, sum_words_);
      output.sums = sums[worker].get();
    }
    for (const StarGrouping& grouping : groupings_) {
      groups[worker].push_back(std::make_unique<StarGroups>(grouping, context_.limits()));
      output.groups.push_back(groups[worker].back().get());
    }
    return std::make_unique<StarSource>(*root_, morsels, context_.limits(), &ahead,
                                        std::move(output));
  });
  end_pass(passes, morsels.leaves, root_.get());
  for (const auto& part : sums) {
    if (part != nullptr) sums_->merge(*part);
  }
  for (SharedNode::Edge& edge : root_->edges()) edge.child->drop_found();
  charge_.set(0);
  merge_groups(std::move(groups));
}

void StarBatch::end_pass(const std::vector<StarPassPart>& parts, const ScanLeaves& leaves,
                         SharedNode* node) {
  for (const StarPassPart& part : parts) {
    if (!part.out.empty()) add_all(part.out, &out_);
  }
  node->count(parts, leaves);
}

void StarBatch::merge_groups(GroupsOfWorkers of_workers) {
  groups_.resize(groupings_.size());
  for (size_t g = 0; g < groupings_.size(); ++g) {
    for (auto& of_worker : of_workers) {
      if (of_worker.empty()) continue;
      groups_[g].push_back(std::move(of_worker[g]));
      if (groups_[g].size() > 1) groups_[g][0]->merge(*groups_[g].back(), *context_.stop);
    }
    if (groups_[g].empty()) {  // no morsel, no worker
      groups_[g].push_back(std::make_unique<StarGroups>(groupings_[g], context_.limits()));
    }
  }
}

void StarBatch::tell(size_t index, PlanMeter* meter) const {
  root_->tell(queries_[index]->root, meter);
  tell_joins(*queries_[index]->aggregate->children[0], meter);
}

std::unique_ptr<GivenRows> StarBatch::result(size_t index) const {
  if (is_in_set(numbers_[index], out_)) return nullptr;
  if (!queries_[index]->is_grouped) return sums_of(index);
  const Place& place = places_.at(index);
  const StarGroups& groups = *groups_[place.grouping][0];
  if (groups.given_up()) return nullptr;
  std::vector<const StarValues*> values;
  for (const uint32_t part : groupings_[place.grouping].parts) {
    values.push_back(root_->values_of(part));
  }
  return std::make_unique<StarGroupRows>(*queries_[index]->aggregate, groups, place.query,
                                         std::move(values));
}

std::unique_ptr<GivenRows> StarBatch::sums_of(size_t index) const {
  const StarQuery& query = *queries_[index];
  std::vector<GivenRow::Cell> cells;
  for (const Aggregate& aggregate : query.aggregates) {
    if (aggregate.argument == nullptr) {
      cells.push_back({false, sums_->rows(numbers_[index])});
      continue;
    }
    const uint32_t argument = argument_numbers_.at(expression_key(*aggregate.argument));
    const StarSums::Sum& sum = sums_->of(numbers_[index], argument);
    if (aggregate.kind == AggregateKind::kCount) {
      cells.push_back({false, sum.count});
    } else {
      cells.push_back({sum.count == 0, sum.sum});
    }
  }
  return std::make_unique<GivenRow>(*query.aggregate, std::move(cells));
}

}  // namespace diptych::olap
