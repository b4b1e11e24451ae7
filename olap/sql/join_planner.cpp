// The join tree of PlanBuilder: which of a join's conditions are its keys, which are asked of what
// the keys find, and which behind it; and texts that conditions ask of build rows.

#include <algorithm>
#include <optional>

#include "olap/sql/group_state.h"
#include "olap/sql/predicate_rules.h"

namespace diptych::olap {
namespace {

// What is asked above a join is asked below it where the join has so many rows for a build row.
constexpr double kTextPartFactor = 1.5;
// Keys of more combinations than that are hashed (dense_keys.h), unless a unique key is among them:
// then that alone is looked up, and the other equalities are tried on what it finds.
constexpr double kPlacesMax = 4e6;
// A join's keys drop most of its rows where so many times fewer are left.
constexpr double kKeyedRowsFactor = 2;

// The side's part of an equality of it and the other one; nullptr where the condition is none.
const Expression* key_part(const Expression& condition, const Planned& side, const Planned& other) {
  if (condition.kind != ExpressionKind::kEqual) return nullptr;
  for (size_t i = 0; i < 2; ++i) {
    const Expression& own = *condition.children[i];
    const Expression& their = *condition.children[1 - i];
    if (!names_a_column(own) || !names_a_column(their)) continue;
    if (side.has_all(own) && other.has_all(their)) return &own;
  }
  return nullptr;
}

// Whether the condition compares the side's column with something of the other one.
bool compares_slot(const Expression& condition, uint32_t slot, const Planned& side,
                   const Planned& other) {
  const Expression* const part = key_part(condition, side, other);
  if (part == nullptr) return false;
  const Expression& plain = without_integer_casts(*part);
  return plain.kind == ExpressionKind::kColumn && plain.column == slot;
}

// A unique key of the side that equalities of all its columns find one row by, at most.
std::optional<std::vector<uint32_t>> unique_key_in(const Expressions& conditions,
                                                   const Planned& side, const Planned& other) {
  for (const std::vector<uint32_t>& key : side.unique_keys) {
    const bool found = std::all_of(key.begin(), key.end(), [&](uint32_t slot) {
      return std::any_of(conditions.begin(), conditions.end(), [&](const ExpressionPtr& condition) {
        return compares_slot(*condition, slot, side, other);
      });
    });
    if (found) return key;
  }
  return std::nullopt;
}

// The equalities that the side's unique key does without.
Expressions take_beside(const std::vector<uint32_t>& key, const Planned& side, const Planned& other,
                        Expressions* conditions) {
  Expressions kept;
  Expressions beside;
  for (ExpressionPtr& condition : *conditions) {
    const bool is_of_key = key_part(*condition, side, other) == nullptr ||
                           std::any_of(key.begin(), key.end(), [&](uint32_t slot) {
                             return compares_slot(*condition, slot, side, other);
                           });
    (is_of_key ? kept : beside).push_back(std::move(condition));
  }
  *conditions = std::move(kept);
  return beside;
}

// Whether the column comes from the build side of a join within the operator's pipeline.
bool is_joined_in(const Operator* op, size_t column) {
  while (true) {
    if (op->kind == OperatorKind::kHashJoin && !keeps_build_rows(op->join)) {
      if (column >= op->children[0]->output.size()) return op->join != JoinKind::kMark;
    } else if (op->kind != OperatorKind::kFilter) {
      return false;
    }
    op = op->children[0].get();
  }
}

}  // namespace

// The part's column: that of an equal one, or a new one.
ExpressionPtr PlanBuilder::as_column(ExpressionPtr part, std::vector<TextPart>* parts) {
  auto known = std::find_if(parts->begin(), parts->end(),
                            [&](const TextPart& one) { return equal(*one.expression, *part); });
  if (known == parts->end()) {
    const uint32_t slot = slots_.add({.type = part->type, .nullable = part->nullable});
    known = parts->insert(known, {std::move(part), slot});
  }
  return slots_.column(known->slot);
}

// What the conditions, and whoever is above, ask of texts of build rows alone becomes columns of
// these, where there are more pairs of rows, or joined ones, than build rows.
Planned PlanBuilder::with_text_parts(Planned build, double joined_rows, Expressions* conditions,
                                     std::vector<TextPart>* asked_above) {
  std::vector<TextPart> parts;
  const auto column = [&](ExpressionPtr part) { return as_column(std::move(part), &parts); };
  double pairs = joined_rows;
  for (const ExpressionPtr& condition : *conditions) {
    if (condition->kind == ExpressionKind::kOr) pairs /= estimator_.selectivity(*condition);
  }
  const auto of_build = [&build](const Expression& part) { return build.has_all(part); };
  for (ExpressionPtr& condition : *conditions) {
    if (pairs >= build.rows()) take_text_parts(&condition, of_build, column);
  }
  const bool repeats = joined_rows > kTextPartFactor * build.rows();
  for (TextPart& part : *asked_above) {
    if (part.is_column || !repeats || !of_build(*part.expression)) continue;
    part.is_column = true;
    parts.push_back({clone(*part.expression), part.slot});
  }
  if (parts.empty()) return build;
  Expressions columns;
  for (size_t i = 0; i < build.layout.size(); ++i) {
    columns.push_back(
        make_column(build.layout[i], build.root->output[i], build.root->output_nullable[i]));
  }
  std::vector<uint32_t> layout = build.layout;
  for (TextPart& part : parts) {
    columns.push_back(std::move(part.expression));
    layout.push_back(part.slot);
  }
  return make_project(std::move(build), std::move(columns), std::move(layout));
}

// How many combinations the side's keys have.
double PlanBuilder::places_of(const Expressions& conditions, const Planned& side,
                              const Planned& other) {
  double places = 1;
  for (const ExpressionPtr& condition : conditions) {
    const Expression* const part = key_part(*condition, side, other);
    if (part != nullptr) places *= estimator_.distinct(*part);
  }
  return places;
}

// A unique join's conditions that are not of its keys, where its keys drop most of the probe rows
// and a condition reads what another join has joined to them: a filter behind this one asks them,
// and such columns are gathered for the rows that are left (late_columns.h). *rows: the join's,
// which come to be those with a match of their keys.
Expressions PlanBuilder::take_behind(const Planned& probe, const Planned& build,
                                     Expressions* conditions, Expressions* beside, double* rows) {
  Expressions kept;
  Expressions behind;
  for (ExpressionPtr& condition : *conditions) {
    const bool is_key = key_part(*condition, build, probe) != nullptr;
    (is_key ? kept : behind).push_back(std::move(condition));
  }
  const double keyed =
      *rows / std::max(estimator_.selectivity(behind) * estimator_.selectivity(*beside), 1e-9);
  bool is_late = false;
  const auto ask = [&](const Expressions& some) {
    for (const ExpressionPtr& condition : some) {
      for_each_column(*condition, [&](const Expression& column) {
        const auto at = std::find(probe.layout.begin(), probe.layout.end(), column.column);
        const auto c = static_cast<size_t>(at - probe.layout.begin());
        is_late = is_late || (at != probe.layout.end() && is_joined_in(probe.root.get(), c));
      });
    }
  };
  ask(behind);
  ask(*beside);
  if (!is_late || keyed * kKeyedRowsFactor > probe.rows()) {
    for (ExpressionPtr& condition : behind) kept.push_back(std::move(condition));
    behind.clear();
  } else {
    *rows = keyed;
    for (ExpressionPtr& condition : behind) beside->push_back(std::move(condition));
    behind = std::move(*beside);
    beside->clear();
  }
  *conditions = std::move(kept);
  return behind;
}

Planned PlanBuilder::build_tree(const JoinTree& tree, GroupState& state) {
  if (tree.probe == nullptr) return std::move(state.members[tree.relation]);
  Planned probe = build_tree(*tree.probe, state);
  Planned build = build_tree(*tree.build, state);
  if (stays_between_rounds(build, probe)) std::swap(probe, build);
  Expressions conditions;
  for (GroupState::Condition& condition : state.conditions) {
    if (condition.expression == nullptr || !within(condition.members, tree.members)) continue;
    conditions.push_back(std::move(condition.expression));
  }
  build = with_text_parts(std::move(build), tree.rows, &conditions, state.text_parts);
  std::vector<std::vector<uint32_t>> unique_keys;  // of rows that the join does not multiply
  const auto key = unique_key_in(conditions, build, probe);
  if (key.has_value()) unique_keys = probe.unique_keys;
  if (unique_key_in(conditions, probe, build).has_value()) {
    unique_keys.insert(unique_keys.end(), build.unique_keys.begin(), build.unique_keys.end());
  }
  Expressions beside;
  if (key.has_value() && places_of(conditions, build, probe) > kPlacesMax) {
    beside = take_beside(*key, build, probe, &conditions);
  }
  double keyed_rows = tree.rows;
  Expressions behind;
  if (key.has_value()) {
    behind = take_behind(probe, build, &conditions, &beside, &keyed_rows);
  }
  Planned joined = make_join(JoinKind::kInner, std::move(probe), std::move(build),
                             std::move(conditions), std::move(beside));
  joined.root->estimated_rows = keyed_rows;
  joined = make_filter(std::move(joined), std::move(behind));
  joined.unique_keys = std::move(unique_keys);
  joined.root->estimated_rows = tree.rows;
  joined.unfiltered = tree.rows;
  return joined;
}

}  // namespace diptych::olap
