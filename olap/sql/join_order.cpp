#include "olap/sql/join_order.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/check.h"

namespace diptych::olap {
namespace {

struct Estimate {
  double rows = 0;
  bool connected = false;  // by an equality: not a cross product
};

// One side's plan as far as the estimate of a join needs it.
struct Side {
  MemberSet members;
  double rows;
};

// Estimates the rows of joining two disjoint sides.
class JoinEstimate {
 public:
  explicit JoinEstimate(const JoinProblem& problem) : problem_(problem) {}

  Estimate join(const Side& a, const Side& b) const;
  // Whether a row of `other` finds one row of `own` at most, as far as keys say.
  bool is_unique(const Side& own, const Side& other) const;

 private:
  // The equality's sides as (within a, within b); false where it does not connect the two.
  static bool connects(const JoinEquality& equality, const Side& a, const Side& b,
                       const JoinSide** in_a, const JoinSide** in_b);
  bool is_single_row(const Side& side) const {
    return std::has_single_bit(side.members) &&
           problem_.relations[static_cast<size_t>(std::countr_zero(side.members))].single_row;
  }
  double key_selectivity(const Side& a, const Side& b, std::vector<bool>* covered) const;
  bool covers(const std::vector<uint32_t>& key, const Side& own, const Side& other,
              std::vector<bool>* used) const;

  const JoinProblem& problem_;
};

bool JoinEstimate::connects(const JoinEquality& equality, const Side& a, const Side& b,
                            const JoinSide** in_a, const JoinSide** in_b) {
  *in_a = &equality.left;
  *in_b = &equality.right;
  if (!within(equality.left.members, a.members)) std::swap(*in_a, *in_b);
  return within((*in_a)->members, a.members) && within((*in_b)->members, b.members);
}

bool JoinEstimate::covers(const std::vector<uint32_t>& key, const Side& own, const Side& other,
                          std::vector<bool>* used) const {
  used->assign(problem_.equalities.size(), false);
  for (const uint32_t slot : key) {
    bool found = false;
    for (size_t i = 0; i < problem_.equalities.size(); ++i) {
      const JoinSide* mine = nullptr;
      const JoinSide* theirs = nullptr;
      if (!connects(problem_.equalities[i], own, other, &mine, &theirs)) continue;
      if (mine->slot != slot) continue;
      found = true;
      (*used)[i] = true;
    }
    if (!found) return false;
  }
  return true;
}

// 1 / rows of the largest table whose unique key the equalities cover (and marks those), or 1.
double JoinEstimate::key_selectivity(const Side& a, const Side& b,
                                     std::vector<bool>* covered) const {
  double selectivity = 1;
  std::vector<bool> used;
  for (size_t r = 0; r < problem_.relations.size(); ++r) {
    const MemberSet member = MemberSet{1} << r;
    const bool in_a = (a.members & member) != 0;
    if (!in_a && (b.members & member) == 0) continue;
    const JoinRelation& relation = problem_.relations[r];
    for (const std::vector<uint32_t>& key : relation.unique_keys) {
      if (!covers(key, in_a ? a : b, in_a ? b : a, &used)) continue;
      const double share = 1 / std::max(1.0, relation.unfiltered);
      if (share >= selectivity) continue;
      selectivity = share;
      *covered = used;
    }
  }
  return selectivity;
}

bool JoinEstimate::is_unique(const Side& own, const Side& other) const {
  std::vector<bool> used;
  for (size_t r = 0; r < problem_.relations.size(); ++r) {
    if ((own.members & (MemberSet{1} << r)) == 0) continue;
    const JoinRelation& relation = problem_.relations[r];
    if (own.rows > relation.rows) continue;  // joins have multiplied its rows
    for (const std::vector<uint32_t>& key : relation.unique_keys) {
      if (covers(key, own, other, &used)) return true;
    }
  }
  return false;
}

Estimate JoinEstimate::join(const Side& a, const Side& b) const {
  Estimate estimate;
  estimate.connected = is_single_row(a) || is_single_row(b);
  std::vector<bool> covered(problem_.equalities.size(), false);
  double selectivity = key_selectivity(a, b, &covered);
  const MemberSet both = a.members | b.members;
  for (size_t i = 0; i < problem_.equalities.size(); ++i) {
    const JoinEquality& equality = problem_.equalities[i];
    const MemberSet needs = equality.left.members | equality.right.members;
    if (!within(needs, both) || within(needs, a.members) || within(needs, b.members)) continue;
    const JoinSide* in_a = nullptr;
    const JoinSide* in_b = nullptr;
    const bool connected = connects(equality, a, b, &in_a, &in_b);
    estimate.connected = estimate.connected || connected;
    if (covered[i]) continue;
    const double left = connected ? std::min(in_a->distinct, a.rows) : equality.left.distinct;
    const double right = connected ? std::min(in_b->distinct, b.rows) : equality.right.distinct;
    selectivity /= std::max({1.0, left, right});
  }
  for (const OtherJoinPredicate& filter : problem_.filters) {
    const bool here = within(filter.members, both) && !within(filter.members, a.members) &&
                      !within(filter.members, b.members);
    if (here) selectivity *= filter.selectivity;
  }
  estimate.rows = std::max(1.0, a.rows * b.rows * selectivity);
  return estimate;
}

double join_cost(double a_rows, double b_rows, double out_rows) {
  return std::max(a_rows, b_rows) + 2 * std::min(a_rows, b_rows) + out_rows;
}

std::unique_ptr<JoinTree> leaf(const JoinProblem& problem, size_t relation) {
  auto tree = std::make_unique<JoinTree>();
  tree->members = MemberSet{1} << relation;
  tree->relation = relation;
  tree->rows = problem.relations[relation].rows;
  return tree;
}

// The smaller side builds; one whose rows share keys counts for more than it has, since its matches
// come in chains.
std::unique_ptr<JoinTree> node(const JoinEstimate& estimate, std::unique_ptr<JoinTree> a,
                               std::unique_ptr<JoinTree> b, double rows) {
  constexpr double kChains = 1.5;
  const Side in_a{a->members, a->rows};
  const Side in_b{b->members, b->rows};
  const double build_a = a->rows * (estimate.is_unique(in_a, in_b) ? 1 : kChains);
  const double build_b = b->rows * (estimate.is_unique(in_b, in_a) ? 1 : kChains);
  auto tree = std::make_unique<JoinTree>();
  tree->members = a->members | b->members;
  tree->rows = rows;
  if (build_a < build_b) std::swap(a, b);
  tree->probe = std::move(a);
  tree->build = std::move(b);
  return tree;
}

struct Best {
  double cost = std::numeric_limits<double>::infinity();
  double rows = 0;
  MemberSet left = 0;  // 0 in a leaf
};

std::unique_ptr<JoinTree> tree_of(const JoinProblem& problem, const JoinEstimate& estimate,
                                  const std::vector<Best>& best, MemberSet members) {
  if (std::has_single_bit(members)) {
    return leaf(problem, static_cast<size_t>(std::countr_zero(members)));
  }
  const Best& entry = best[members];
  return node(estimate, tree_of(problem, estimate, best, entry.left),
              tree_of(problem, estimate, best, members & ~entry.left), entry.rows);
}

// The cheapest bushy tree without cross products; nullptr where there is none.
std::unique_ptr<JoinTree> order_exactly(const JoinProblem& problem, const JoinEstimate& estimate) {
  const size_t count = problem.relations.size();
  const MemberSet full = (MemberSet{1} << count) - 1;
  std::vector<Best> best(full + 1);
  for (size_t i = 0; i < count; ++i) {
    best[MemberSet{1} << i] = {0, problem.relations[i].rows, 0};
  }
  for (MemberSet members = 1; members <= full; ++members) {
    if (std::has_single_bit(members)) continue;
    const MemberSet lowest = members & (~members + 1);
    Best& entry = best[members];
    for (MemberSet left = (members - 1) & members; left != 0; left = (left - 1) & members) {
      if ((left & lowest) == 0) continue;  // each split once
      const Best& a = best[left];
      const Best& b = best[members & ~left];
      const double parts = a.cost + b.cost;
      if (parts >= entry.cost) continue;
      const Estimate joined = estimate.join({left, a.rows}, {members & ~left, b.rows});
      const double cost = parts + join_cost(a.rows, b.rows, joined.rows);
      if (!joined.connected || cost >= entry.cost) continue;
      entry = {cost, joined.rows, left};
    }
  }
  if (best[full].left == 0) return nullptr;
  return tree_of(problem, estimate, best, full);
}

std::unique_ptr<JoinTree> order_greedily(const JoinProblem& problem, const JoinEstimate& estimate) {
  std::vector<std::unique_ptr<JoinTree>> parts;
  for (size_t i = 0; i < problem.relations.size(); ++i) parts.push_back(leaf(problem, i));
  while (parts.size() > 1) {
    size_t best_a = 0;
    size_t best_b = 1;
    Estimate best;
    for (size_t a = 0; a < parts.size(); ++a) {
      for (size_t b = a + 1; b < parts.size(); ++b) {
        const Estimate joined =
            estimate.join({parts[a]->members, parts[a]->rows}, {parts[b]->members, parts[b]->rows});
        const bool first = a == 0 && b == 1;
        const bool better =
            joined.connected != best.connected ? joined.connected : joined.rows < best.rows;
        if (!first && !better) continue;
        best = joined;
        best_a = a;
        best_b = b;
      }
    }
    parts[best_a] = node(estimate, std::move(parts[best_a]), std::move(parts[best_b]), best.rows);
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(best_b));
  }
  return std::move(parts.front());
}

}  // namespace

std::unique_ptr<JoinTree> order_joins(const JoinProblem& problem) {
  const size_t count = problem.relations.size();
  DIPTYCH_CHECK(count >= 1 && count <= kJoinMembersMax, "a set of members is 64 bits");
  if (count == 1) return leaf(problem, 0);
  const JoinEstimate estimate(problem);
  if (count <= kExactMembersMax) {
    if (auto tree = order_exactly(problem, estimate)) return tree;
  }
  return order_greedily(problem, estimate);
}

}  // namespace diptych::olap
