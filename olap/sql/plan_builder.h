// PlanBuilder: turns QueryBlocks into operators. It places predicates as low as possible, orders
// joins by cost, and keeps only the columns that are used.
//
// The values of a Domain come from a copy of the plan to which the domain is joined. A limit, which
// a copy could not repeat, becomes a window, because equal windows are computed once. So does a
// SELECT that the statement runs several times (a CTE, or the query of a nullable IN), if its rows
// may differ between runs; all its uses have all its columns.
//
// Limits     those of planning_work.h
// Threads    one builder for each statement; not shared. It consumes the blocks.

#pragma once

#include <unordered_map>
#include <utility>

#include "olap/sql/cardinality.h"
#include "olap/sql/join_order.h"
#include "olap/sql/planned.h"
#include "olap/sql/shifted_sums.h"

namespace diptych::olap {

class PlanBuilder {
 public:
  PlanBuilder(Estimator& estimator, SlotTable* slots) : estimator_(estimator), slots_(*slots) {}

  // Plans the statement's outermost block; the output columns are the visible outputs, in order.
  Planned plan_statement(QueryBlock& block);

 private:
  // plan_builder.cpp: the clauses above FROM and WHERE.
  enum class Order : uint8_t { kKept, kFree };
  Planned plan_block(QueryBlock& block, const SlotSet& needed, Order order);
  Planned plan_input(QueryBlock& block, const SlotSet& needed);
  void offer_text_parts(QueryBlock& block);
  static void take_back_text_parts(QueryBlock& block);
  Planned expand(QueryBlock& block, Planned input);
  double group_count(const QueryBlock& block, double rows);
  Planned aggregate(QueryBlock& block, Planned input);
  static Planned unshared(SharedSums sums, Planned groups, std::vector<uint32_t> layout);
  Planned keep_having(QueryBlock& block, Planned input);
  Planned add_subqueries(QueryBlock& block, std::vector<SubqueryJoin>& subqueries, Planned input);
  Planned project(QueryBlock& block, Planned input);
  Planned distinct(Planned input);
  double distinct_rows(const Planned& input);
  Planned repeat(uint32_t times, Planned input);
  Planned sort_and_limit(QueryBlock& block, Planned input, Order order);
  void prune_outputs(QueryBlock& block, const SlotSet& needed, Order order) const;
  static void prune_aggregates(QueryBlock& block);

  // window_planner.cpp
  static void prune_windows(QueryBlock& block);
  Planned add_window(Window& window, Planned input);
  static Planned first_of_each(QueryBlock& block, Planned input);
  static Planned limit_each(QueryBlock& block, Planned input);
  static Planned limit_with_ties(QueryBlock& block, Planned input);

  // group_planner.cpp: FROM and WHERE.
  struct GroupState;
  Planned plan_group(JoinGroup& group, const SlotSet& needed);
  void simplify(JoinGroup& group);
  ExpressionPtr implied_for(size_t member, const Expression& predicate, const GroupState& state);
  void add_implied_predicates(JoinGroup& group, const GroupState& state);
  void carry_over(JoinGroup& group, const GroupState& state, const std::vector<Expressions>& own);
  Planned plan_member(JoinMember& member, Expressions predicates, const SlotSet& needed);
  Planned plan_table(JoinMember& member, Expressions predicates, const SlotSet& needed);
  void plan_subqueries(JoinGroup& group, GroupState& state, const SlotSet& needed);
  Planned apply_subqueries(std::vector<SubqueryJoin>& subqueries, Planned input, SlotSet needed);
  // A join of a subquery's rows; a semi or anti join on a table of the smaller side.
  Planned make_subquery_join(JoinKind kind, Planned outer, Planned inner, Expressions conditions);
  Planned apply_subquery(SubqueryJoin& subquery, Planned outer, Planned inner);
  Planned finish_group(JoinGroup& group, Planned input, const SlotSet& needed);
  double semi_selectivity(const Planned& inner, const Expressions& conditions);
  Planned join_members(GroupState& state);
  JoinProblem join_problem(const GroupState& state);
  double share_beyond_implied(const Expression& condition, MemberSet members,
                              const GroupState& state);
  JoinSide join_side(const Expression& side, const GroupState& state);
  double share_of_referred(const JoinSide& referring, const JoinSide& key, const GroupState& state);

  // join_planner.cpp: the join tree.
  Planned build_tree(const JoinTree& tree, GroupState& state);
  Planned with_text_parts(Planned build, double joined_rows, Expressions* conditions,
                          std::vector<TextPart>* asked_above);
  ExpressionPtr as_column(ExpressionPtr part, std::vector<TextPart>* parts);
  double places_of(const Expressions& conditions, const Planned& side, const Planned& other);
  Expressions take_behind(const Planned& probe, const Planned& build, Expressions* conditions,
                          Expressions* beside, double* rows);

  // outer_join_planner.cpp
  Planned plan_left_join(JoinMember& member, Expressions predicates, SlotSet needed);
  Planned without_match(Planned preserved, Planned optional, Expressions on, double matched,
                        Expressions predicates, const SlotSet& needed);
  Planned make_left_join(const LeftJoin& join, Planned preserved, Planned optional, Expressions on,
                         double matched);
  double inner_join_rows(const Planned& probe, const Planned& build, const Expressions& conditions);
  Planned unmatched_rows(Planned kept, Planned other, Expressions on, double matched);
  bool pays_to_split(const Planned& preserved, const Planned& optional,
                     const Expressions& on) const;
  Planned split_left_join(Planned preserved, Planned optional, Expressions on, double matched);
  Planned plan_full_join(JoinMember& member, Expressions predicates, SlotSet needed);

  // restriction_planner.cpp
  void transfer_restrictions(GroupState& state);
  Planned join_copies(const GroupState& state, MemberSet members);

  // domain_planner.cpp
  void offer_domain(const Domain& domain, Planned* rows);
  Planned with_numbers(Planned rows);
  Planned plan_domain(const JoinMember& member);

  // set_planner.cpp: set operations and VALUES.
  Planned plan_set_operation(JoinMember& member, const SlotSet& needed);
  Planned plan_set_input(JoinMember& member, size_t input, const std::vector<size_t>& columns,
                         std::vector<uint32_t> slots);
  Planned reduced(Planned side, double other_rows);
  Planned join_sides(JoinMember& member);
  Planned count_sides(JoinMember& member);
  Planned plan_values(JoinMember& member, const SlotSet& needed);

  // recursion_planner.cpp
  Planned plan_recursion(JoinMember& member);
  Planned plan_working_rows(const JoinMember& member);
  // True if, between the rounds of the innermost recursion, the rows of `changing` change and those
  // of `staying` do not.
  bool stays_between_rounds(const Planned& changing, const Planned& staying) const;

  struct Round {
    const JoinMember* member;
    double rows;
  };

  Estimator& estimator_;
  SlotTable& slots_;
  std::unordered_map<uint32_t, Round> rounds_;  // by recursion whose step is being planned
  uint32_t innermost_ = 0;                      // the innermost of them; 0: none
  // By the id of a domain: the rows that have its values, and the expressions.
  std::unordered_map<uint32_t, std::pair<Planned, Expressions>> domains_;
};

}  // namespace diptych::olap
