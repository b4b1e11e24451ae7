// Recursive queries of SelectBinder: t AS (first term UNION [ALL] recursive term). The names and
// types of t are the first term's; its decimals have as many digits as there are, since each round
// may add some.

#include <fmt/format.h>

#include "olap/sql/select_binder.h"
#include "olap/sql/type_rules.h"

namespace diptych::olap {
namespace {

base::DataType type_of(const OutputColumn& output) {
  if (output.untyped) return kTextType;
  const base::DataType& type = output.expression->type;
  if (type.kind != base::TypeKind::kDecimal) return type;
  return decimal_type(kWideDecimalDigitsMax, type.scale);
}

// Where the term's column stands, or the term.
int64_t place_of_column(const PgQuery__SelectStmt& term, size_t column) {
  const bool plain = term.op == PG_QUERY__SET_OPERATION__SETOP_NONE;
  return plain && column < term.n_target_list ? start_of(term.target_list[column]) : place_of(term);
}

}  // namespace

base::Result<void> SelectBinder::bind_recursion(const PgQuery__SelectStmt& select) {
  const PgQuery__CommonTableExpr& cte = *recursion_->query;
  auto operation = std::make_unique<SetOperation>();
  operation->all = select.all != 0;
  operation->recursion = recursion_->recursion;
  SelectBinder first(statement_, outer_, &ctes_, correlation_);
  auto initial = first.bind(*select.larg);
  if (!initial) return initial.error();
  JoinMember member;
  WorkingTable working{operation->recursion, {}};
  std::vector<std::string> names;
  for (size_t i = 0; i < (*initial)->visible_outputs; ++i) {
    const OutputColumn& output = (*initial)->outputs[i];
    names.push_back(output.name);
    member.slots.push_back(slots_.add({output.name, type_of(output), true, nullptr, {}}));
    working.table.columns.push_back({output.name, member.slots.back(), false});
  }
  working.table.alias = recursion_->name;
  if (auto done = name_columns(*recursion_, &working.table); !done) return done;
  CteScope inside;
  inside.entries.push_back({recursion_->name, nullptr, 0, &working});
  inside.outer = &ctes_;
  SelectBinder second(statement_, outer_, &inside, correlation_);
  auto recursive = second.bind(*select.rarg);
  if (!recursive) return recursive.error();
  operation->inputs.push_back(*std::move(initial));
  operation->inputs.push_back(*std::move(recursive));
  if (auto bound = bind_recursion_columns(select, operation.get(), member.slots); !bound) {
    return bound;
  }
  for (const auto& input : operation->inputs) {
    if (!names_slot_below(*input, expressions_.first_own_slot())) continue;
    return source_.unsupported(cte.location,
                               "a recursive query that names columns of the query around its WITH");
  }
  member.set_operation = std::move(operation);
  offer_outputs(std::move(member), std::move(names));
  return {};
}

// Both terms as values of the slots' types, which are the first term's.
base::Result<void> SelectBinder::bind_recursion_columns(const PgQuery__SelectStmt& select,
                                                        SetOperation* operation,
                                                        const std::vector<uint32_t>& slots) {
  const std::vector<int64_t> places = {place_of(*select.larg), place_of(*select.rarg)};
  if (auto checked = check_set_width(select, *operation, places); !checked) return checked;
  operation->columns.resize(2);
  for (size_t c = 0; c < slots.size(); ++c) {
    const base::DataType& type = slots_[slots[c]].type;
    const auto value_of = [&](size_t input) {
      const OutputColumn& output = operation->inputs[input]->outputs[c];
      ExpressionPtr value = output.untyped ? clone(*output.expression) : slots_.column(output.slot);
      return Bound{std::move(value), output.untyped, places[input]};
    };
    Bound column{slots_.column(slots[c]), false, places[0]};
    Bound next = value_of(1);
    Bound* operands[] = {&column, &next};
    const auto overall =
        unify(source_, "UNION", set_operation_before(source_, places[1]), operands);
    if (!overall) return overall.error();
    if (*overall != type) {
      return source_.wrong(
          place_of_column(*select.larg, c),
          fmt::format("recursive query \"{}\" column {} has type {} in non-recursive term but type "
                      "{} overall; cast the non-recursive term's output to the correct type",
                      recursion_->name, c + 1, type.to_string(), overall->to_string()),
          "42804");
    }
    operation->columns[0].push_back(cast_to(value_of(0).expression, type));
    operation->columns[1].push_back(std::move(next.expression));
  }
  return {};
}

// In the FROM of the recursive term.
base::Result<void> SelectBinder::bind_working_table(const WorkingTable& working,
                                                    const PgQuery__RangeVar& table,
                                                    JoinGroup& group) {
  JoinMember member;
  member.working = working.recursion;
  ScopeTable entry;
  entry.alias = table.alias == nullptr ? working.table.alias : table.alias->aliasname;
  for (const ScopeColumn& column : working.table.columns) {
    Slot slot = slots_[column.slot];
    slot.name = column.name;
    member.slots.push_back(slots_.add(std::move(slot)));
    entry.columns.push_back({column.name, member.slots.back(), false});
  }
  if (auto done = rename_columns(table.alias, table.location, &entry); !done) return done;
  group.members.push_back(std::move(member));
  block_->has_working = true;
  return scope_.add(source_, table.location, std::move(entry));
}

}  // namespace diptych::olap
