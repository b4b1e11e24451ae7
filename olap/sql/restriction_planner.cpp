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
constexpr size_t kTransfersMax = 4;    // of a group
constexpr size_t kEqualitiesMax = 64;  // each is compared with each; further ones are not looked at

size_t member_of(MemberSet one) {
  return static_cast<size_t>(std::countr_zero(one));
}

MemberSet set_of(size_t member) {
  return MemberSet{1} << member;
}

// One side of equalities, of one member; the numbers of the sides that it equals.
struct KeySide {
  const Expression* expression;
  size_t member;
  std::vector<size_t> equal_to;
};

// A group's equalities, and which members can restrict others through them.
class Equalities {
 public:
  explicit Equalities(const std::vector<Planned>& members) : members_(members) {}

  void add(const Expression& equality, MemberSet left, MemberSet right) {
    joined_.push_back({left, right, cannot_fail(equality)});
    if (!joined_.back().cannot_fail) return;
    const size_t a = number_of(*equality.children[0], member_of(left));
    const size_t b = number_of(*equality.children[1], member_of(right));
    sides_[a].equal_to.push_back(b);
    sides_[b].equal_to.push_back(a);
  }

  size_t size() const { return joined_.size(); }
  // Of those that cannot fail.
  const std::vector<KeySide>& sides() const { return sides_; }
  // Those that equal the side, be it through others.
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

  // What restricts the target through the member: it, and small ones joined with it that drop rows
  // but are not joined with the target. Empty where they are not small, or drop none.
  MemberSet source(size_t member, size_t target) const {
    const MemberSet only = set_of(member);
    if (member == target || !is_small(member, target) || are_joined(only, set_of(target))) return 0;
    MemberSet source = only;
    for (MemberSet before = 0; before != source;) {
      before = source;
      for (const Pair& pair : joined_) {
        if (!pair.cannot_fail) continue;
        if (within(pair.a, source) && may_join(pair.b, target)) source |= pair.b;
        if (within(pair.b, source) && may_join(pair.a, target)) source |= pair.a;
      }
    }
    return source == only && !drops_rows(member) ? 0 : source;
  }

 private:
  struct Pair {
    MemberSet a;
    MemberSet b;
    bool cannot_fail;
  };

  bool are_joined(MemberSet a, MemberSet b) const {
    return std::any_of(joined_.begin(), joined_.end(), [&](const Pair& pair) {
      return (pair.a == a && pair.b == b) || (pair.a == b && pair.b == a);
    });
  }
  bool is_small(size_t member, size_t target) const {
    const Operator& scan = *members_[member].root;
    return scan.kind == OperatorKind::kScan &&
           members_[member].unfiltered * kTargetRowsARow <= members_[target].rows() &&
           std::all_of(scan.predicates.begin(), scan.predicates.end(),
                       [](const ExpressionPtr& predicate) { return cannot_fail(*predicate); });
  }
  bool drops_rows(size_t member) const {
    return members_[member].rows() <= members_[member].unfiltered * kSourceShareMax;
  }
  bool may_join(MemberSet next, size_t target) const {
    return next != set_of(target) && drops_rows(member_of(next)) &&
           is_small(member_of(next), target) && !are_joined(next, set_of(target));
  }
  size_t number_of(const Expression& expression, size_t member) {
    for (size_t i = 0; i < sides_.size(); ++i) {
      if (equal(*sides_[i].expression, expression)) return i;
    }
    sides_.push_back({&expression, member, {}});
    return sides_.size() - 1;
  }

  const std::vector<Planned>& members_;
  std::vector<Pair> joined_;
  std::vector<KeySide> sides_;
};

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
  Equalities equalities(state.members);
  for (const GroupState::Condition& condition : state.conditions) {
    const Expression& e = *condition.expression;
    if (e.kind != ExpressionKind::kEqual) continue;
    const MemberSet left = state.members_of(*e.children[0]);
    const MemberSet right = state.members_of(*e.children[1]);
    if (!std::has_single_bit(left) || !std::has_single_bit(right) || left == right) continue;
    slots_.work().step();
    equalities.add(e, left, right);
    if (equalities.size() == kEqualitiesMax) break;
  }
  size_t transfers = 0;
  for (size_t t = 0; t < equalities.sides().size() && transfers < kTransfersMax; ++t) {
    const KeySide& target = equalities.sides()[t];
    for (const size_t s : equalities.equal_to(t)) {
      slots_.work().step();
      const KeySide& key = equalities.sides()[s];
      const MemberSet source = equalities.source(key.member, target.member);
      if (source == 0) continue;
      Planned inner = join_copies(state, source);
      SubqueryJoin restriction;
      restriction.conditions.push_back(make_expression(
          ExpressionKind::kEqual, kBooleanType, clone(*target.expression), clone(*key.expression)));
      if (semi_selectivity(inner, restriction.conditions) > kTargetShareMax) continue;
      Planned& restricted = state.members[target.member];
      restricted = apply_subquery(restriction, std::move(restricted), std::move(inner));
      ++transfers;
      break;
    }
  }
}

}  // namespace diptych::olap
