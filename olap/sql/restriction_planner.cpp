// Restrictions that equalities carry from one member of a group to another, which no condition
// joins with it:
//
//   f(c.x) = s.k AND s.k = n.k AND n.r = r.r AND r.name = 'Europe', c of many rows, n and r of few
//     ->  c, semi-joined with (n joined with r) on f(c.x) = n.k, below all other joins
//
// So rows of c go before they are joined with anything, where the equality itself waits for the
// join with s. What is joined with c is a copy: both are there. (Yang et al., "Predicate Transfer",
// CIDR 2024, send filters along all joins; here they go where no join of the plan would.)

#include <algorithm>
#include <bit>
#include <optional>
#include <vector>

#include "olap/sql/group_state.h"
#include "olap/sql/predicate_rules.h"
#include "olap/sql/type_rules.h"

namespace diptych::olap {
namespace {

// The source's tables have one row, at most, for so many of the target: a copy costs next to
// nothing.
constexpr double kTargetRowsARow = 32;
// What the target keeps, at most, and a member of the source, to be worth its place there.
constexpr double kTargetShareMax = 0.5;
constexpr double kSourceShareMax = 0.75;
constexpr size_t kTransfersMax = 4;  // of a group

// One side of equalities, of one member; the numbers of the sides that it equals.
struct KeySide {
  const Expression* expression;
  size_t member;
  std::vector<size_t> equal_to;
};

class KeySides {
 public:
  void add(const Expression& left, size_t left_member, const Expression& right,
           size_t right_member) {
    const size_t a = number_of(left, left_member);
    const size_t b = number_of(right, right_member);
    sides_[a].equal_to.push_back(b);
    sides_[b].equal_to.push_back(a);
  }
  size_t size() const { return sides_.size(); }
  const KeySide& operator[](size_t side) const { return sides_[side]; }

  // Those that equal the side, through others.
  std::vector<size_t> equal_to(size_t side) const {
    std::vector<size_t> found = {side};
    for (size_t i = 0; i < found.size(); ++i) {
      for (const size_t next : sides_[found[i]].equal_to) {
        if (std::find(found.begin(), found.end(), next) == found.end()) found.push_back(next);
      }
    }
    found.erase(found.begin());
    return found;
  }

 private:
  size_t number_of(const Expression& expression, size_t member) {
    for (size_t i = 0; i < sides_.size(); ++i) {
      if (equal(*sides_[i].expression, expression)) return i;
    }
    sides_.push_back({&expression, member, {}});
    return sides_.size() - 1;
  }

  std::vector<KeySide> sides_;
};

size_t member_of(MemberSet one) {
  return static_cast<size_t>(std::countr_zero(one));
}

MemberSet set_of(size_t member) {
  return MemberSet{1} << member;
}

}  // namespace

// The members joined with each other as copies, by equalities of theirs that cannot fail.
Planned PlanBuilder::join_copies(const GroupState& state, MemberSet members) {
  GroupState copies;
  std::vector<TextPart> none;
  copies.text_parts = &none;
  for (size_t i = 0; i < state.members.size(); ++i) {
    if (!within(set_of(i), members)) continue;
    slots_.work().add_copies(size_of(*state.members[i].root));
    copies.members.push_back(copy_of(state.members[i]));
    copies.add_slots(copies.members.size() - 1, copies.members.back().layout);
  }
  for (const GroupState::Condition& condition : state.conditions) {
    const Expression& e = *condition.expression;
    if (e.kind != ExpressionKind::kEqual || !within(condition.members, members)) continue;
    if (!cannot_fail(e)) continue;
    ExpressionPtr copy = clone(e);
    const MemberSet set = copies.members_of(*copy);
    copies.conditions.push_back({std::move(copy), set});
  }
  return join_members(copies);
}

void PlanBuilder::transfer_restrictions(GroupState& state) {
  struct Pair {
    MemberSet a;
    MemberSet b;
    bool cannot_fail;
  };
  std::vector<Pair> joined;  // by equalities
  KeySides sides;
  for (const GroupState::Condition& condition : state.conditions) {
    const Expression& e = *condition.expression;
    if (e.kind != ExpressionKind::kEqual) continue;
    const MemberSet left = state.members_of(*e.children[0]);
    const MemberSet right = state.members_of(*e.children[1]);
    if (!std::has_single_bit(left) || !std::has_single_bit(right) || left == right) continue;
    slots_.work().step();
    joined.push_back({left, right, cannot_fail(e)});
    if (!joined.back().cannot_fail) continue;
    sides.add(*e.children[0], member_of(left), *e.children[1], member_of(right));
  }
  const auto are_joined = [&](MemberSet a, MemberSet b) {
    return std::any_of(joined.begin(), joined.end(), [&](const Pair& pair) {
      return (pair.a == a && pair.b == b) || (pair.a == b && pair.b == a);
    });
  };
  const auto is_small = [&](size_t member, double target_rows) {
    const Planned& planned = state.members[member];
    const Operator& scan = *planned.root;
    return scan.kind == OperatorKind::kScan &&
           planned.unfiltered * kTargetRowsARow <= target_rows &&
           std::all_of(scan.predicates.begin(), scan.predicates.end(),
                       [](const ExpressionPtr& predicate) { return cannot_fail(*predicate); });
  };
  const auto drops_rows = [&](size_t member) {
    const Planned& planned = state.members[member];
    return planned.rows() <= planned.unfiltered * kSourceShareMax;
  };
  // The member, and small ones joined with it that drop rows, but are not joined with the target;
  // nothing where none does.
  const auto source_of = [&](size_t member, size_t target, double target_rows) {
    MemberSet source = set_of(member);
    const auto add_next = [&](MemberSet in, MemberSet out) {
      if (!within(in, source) || within(out, source) || out == set_of(target)) return false;
      if (are_joined(out, set_of(target))) return false;
      if (!is_small(member_of(out), target_rows) || !drops_rows(member_of(out))) return false;
      source |= out;
      return true;
    };
    const auto add_some = [&] {
      return std::any_of(joined.begin(), joined.end(), [&](const Pair& pair) {
        return pair.cannot_fail && (add_next(pair.a, pair.b) || add_next(pair.b, pair.a));
      });
    };
    while (add_some()) slots_.work().step();
    return std::has_single_bit(source) && !drops_rows(member) ? MemberSet{0} : source;
  };
  size_t transfers = 0;
  for (size_t t = 0; t < sides.size() && transfers < kTransfersMax; ++t) {
    const size_t target = sides[t].member;
    for (const size_t s : sides.equal_to(t)) {
      slots_.work().step();
      const size_t member = sides[s].member;
      const double target_rows = state.members[target].rows();
      if (member == target || !is_small(member, target_rows) ||
          are_joined(set_of(target), set_of(member))) {
        continue;
      }
      const MemberSet source = source_of(member, target, target_rows);
      if (source == 0) continue;
      Planned inner = join_copies(state, source);
      SubqueryJoin restriction;
      restriction.conditions.push_back(make_expression(ExpressionKind::kEqual, kBooleanType,
                                                       clone(*sides[t].expression),
                                                       clone(*sides[s].expression)));
      if (semi_selectivity(inner, restriction.conditions) > kTargetShareMax) continue;
      state.members[target] =
          apply_subquery(restriction, std::move(state.members[target]), std::move(inner));
      ++transfers;
      break;
    }
  }
}

}  // namespace diptych::olap
