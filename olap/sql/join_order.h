// Join order: chooses the order in which a group's members are joined, and the build sides.
//
// For up to kExactMembersMax members it uses dynamic programming over all bushy trees without cross
// products. Beyond that, or if only a cross product connects the members, it joins the pair with
// the fewest rows next. The cost of a join is its probe rows, plus twice its build rows (because a
// build writes), plus its output rows.
//
// A join on a unique key of one side does not multiply the other side's rows: each row finds a
// match with the probability that the key's row has passed its predicates. This rule, rather than
// products of guesses, keeps the estimates of the CH queries from exploding.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace diptych::olap {

inline constexpr size_t kJoinMembersMax = 64;
inline constexpr size_t kJoinTablesMax = kJoinMembersMax - 1;  // written tables; one for a domain
inline constexpr size_t kExactMembersMax = 10;

using MemberSet = uint64_t;  // bit i: member i

inline bool within(MemberSet part, MemberSet whole) {
  return (part & ~whole) == 0;
}

struct JoinRelation {
  double rows = 1;                                 // after its own predicates
  double unfiltered = 1;                           // before them
  std::vector<std::vector<uint32_t>> unique_keys;  // slots
  bool single_row = false;  // for certain: a cross product with it costs nothing
};

// One side of an equality: the members that it needs, its distinct values, and its slot if it is a
// plain column.
struct JoinSide {
  MemberSet members = 0;
  double distinct = 1;
  std::optional<uint32_t> slot;
};

struct JoinEquality {
  JoinSide left;
  JoinSide right;
};

// Any other predicate over two or more members.
struct OtherJoinPredicate {
  MemberSet members = 0;
  double selectivity = 1;
};

struct JoinTree {
  MemberSet members = 0;
  size_t relation = 0;  // of a leaf
  double rows = 1;
  std::unique_ptr<JoinTree> probe;  // null in a leaf
  std::unique_ptr<JoinTree> build;
};

struct JoinProblem {
  std::vector<JoinRelation> relations;  // 1 to kJoinMembersMax
  std::vector<JoinEquality> equalities;
  std::vector<OtherJoinPredicate> filters;
};

std::unique_ptr<JoinTree> order_joins(const JoinProblem& problem);

}  // namespace diptych::olap
