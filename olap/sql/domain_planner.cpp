// Domains of PlanBuilder: the values that a correlated member is computed for (query_block.h).

#include <algorithm>

#include "olap/sql/plan_builder.h"

namespace diptych::olap {

// The domain's values are those of the rows, which are made repeatable.
void PlanBuilder::offer_domain(const Domain& domain, Planned* rows) {
  if (domain.id == 0) return;
  const bool in_base =
      rows->base != nullptr &&
      std::all_of(domain.values.begin(), domain.values.end(),
                  [&](const ExpressionPtr& value) { return rows->base->has_all(*value); });
  if (!in_base) {
    if (!is_repeatable(*rows->root)) *rows = with_numbers(std::move(*rows));
    rows->base = share(*rows);
  }
  domains_.insert_or_assign(domain.id, std::pair(copy_of(*rows->base), clone(domain.values)));
}

// A plan that is_repeatable with the rows of one that is not: a window's.
Planned PlanBuilder::with_numbers(Planned rows) {
  WindowFunction number;
  number.type = {base::TypeKind::kBigInt};
  const uint32_t number_slot = slots_.add({"", number.type, false, nullptr, {}});
  estimator_.set_distinct(number_slot, rows.rows());
  return make_window(std::move(rows), {}, {}, {number}, {number_slot});
}

Planned PlanBuilder::plan_domain(const JoinMember& member) {
  const auto& [rows, values] = domains_.at(member.domain);
  slots_.work().add_copies(size_of(*rows.root));
  bool unique = false;
  for (const std::vector<uint32_t>& key : rows.unique_keys) {
    unique = unique || std::all_of(key.begin(), key.end(), [&](uint32_t slot) {
               return std::any_of(values.begin(), values.end(), [slot](const ExpressionPtr& value) {
                 return value->kind == ExpressionKind::kColumn && value->column == slot;
               });
             });
  }
  for (size_t i = 0; i < values.size(); ++i) {
    estimator_.set_distinct(member.slots[i],
                            std::min(rows.rows(), estimator_.distinct(*values[i])));
  }
  const double count = rows.rows();
  Planned domain = make_project(copy_of(rows), clone(values), member.slots);
  domain.root->estimated_rows = count;
  domain.unique_keys = {member.slots};
  return unique ? std::move(domain) : distinct(std::move(domain));
}

}  // namespace diptych::olap
