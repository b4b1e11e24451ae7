#include "olap/execution/riding_plans.h"

#include <algorithm>
#include <cstdint>
#include <tuple>

#include "olap/execution/scan/scan.h"

namespace diptych::olap {

namespace {

// Rows that plans which ride together are expected to keep, and how many plans.
constexpr double kRowsKeptMax = 1 << 20;
constexpr size_t kRidersMax = 16;
static_assert(kRidersMax <= kScansMax, "they may all scan one table");

// A scan that a LIMIT ends after this share of its rows, or less, costs less alone than its plan
// would wait for the others of a ride.
constexpr double kEarlyShareMax = 1.0 / 16;

struct LargestTable {
  uint64_t rows = 0;
  uint32_t table = 0;
};

// Without scans that end early.
LargestTable largest_table(const Operator& op, const storage::Replica& replica) {
  LargestTable largest;
  if (op.kind == OperatorKind::kLimit && share_read(op) <= kEarlyShareMax) return largest;
  if (op.kind == OperatorKind::kScan)
    largest = {replica.table(op.table).live_rows(), op.table.value};
  for (const OperatorPtr& child : op.children) {
    const LargestTable below = largest_table(*child, replica);
    if (std::tie(below.rows, below.table) > std::tie(largest.rows, largest.table)) largest = below;
  }
  return largest;
}

struct Rider {
  size_t place;
  LargestTable largest;
  double rows_kept;
};

}  // namespace

double share_read(const Operator& limit) {
  const Operator& child = *limit.children[0];
  const Operator* scan = &child;
  while (scan->kind == OperatorKind::kFilter || scan->kind == OperatorKind::kProject) {
    scan = scan->children[0].get();
  }
  if (scan->kind != OperatorKind::kScan || limit.limit == kNoLimit) return 1;
  const double wanted = static_cast<double>(limit.limit) + static_cast<double>(limit.offset);
  return std::min(1.0, wanted / std::max(1.0, child.estimated_rows));
}

double rows_kept(const Operator& op) {
  double rows = 0;
  switch (op.kind) {
    case OperatorKind::kHashJoin: rows = op.children[1]->estimated_rows; break;
    case OperatorKind::kAggregate:
    case OperatorKind::kRecursion: rows = op.estimated_rows; break;
    case OperatorKind::kSort:
    case OperatorKind::kWindow: rows = op.children[0]->estimated_rows; break;
    default: break;
  }
  for (const OperatorPtr& child : op.children) rows += rows_kept(*child);
  return rows;
}

std::vector<std::vector<size_t>> riding_plans(std::span<const Plan* const> plans,
                                              const storage::Replica& replica) {
  std::vector<Rider> riders;
  for (size_t i = 0; i < plans.size(); ++i) {
    const Operator& root = *plans[i]->root;
    riders.push_back({i, largest_table(root, replica), rows_kept(root)});
  }
  std::ranges::stable_sort(riders, {}, [](const Rider& rider) {
    return std::tuple(rider.largest.rows, rider.largest.table, rider.rows_kept);
  });
  std::vector<std::vector<size_t>> groups;
  const Rider* before = nullptr;
  double kept = 0;
  for (const Rider& rider : riders) {
    if (rider.largest.rows == 0) continue;
    kept += rider.rows_kept;
    if (before == nullptr || before->largest.table != rider.largest.table || kept > kRowsKeptMax ||
        groups.back().size() == kRidersMax) {
      groups.emplace_back();
      kept = rider.rows_kept;
    }
    groups.back().push_back(rider.place);
    before = &rider;
  }
  std::erase_if(groups, [](const std::vector<size_t>& group) { return group.size() < 2; });
  return groups;
}

}  // namespace diptych::olap
