// Recursions of the naive reference, round by round.

#include <set>

#include "tests/olap/exec_naive.h"

namespace diptych::olap::test {

std::vector<Row> naive_recursion(const Operator& op, NaiveTables tables) {
  std::vector<Row> result;
  std::set<Row, NaiveRowBefore> seen;
  std::vector<Row> round = naive_execute(*op.children[0], tables);
  while (true) {
    if (!op.expressions.empty()) {
      std::erase_if(round, [&](const Row& row) { return !seen.insert(row).second; });
    }
    if (round.empty()) return result;
    result.insert(result.end(), round.begin(), round.end());
    tables.working[op.recursion] = std::move(round);
    round = naive_execute(*op.children[1], tables);
    if (result.size() > 10'000) throw std::logic_error("no naive version of what never ends");
  }
}

}  // namespace diptych::olap::test
