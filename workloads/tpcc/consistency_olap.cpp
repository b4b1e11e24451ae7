#include <string_view>

#include <fmt/format.h>

#include "workloads/embedded_files.h"
#include "workloads/tpcc/consistency.h"

namespace diptych::workloads::tpcc {
namespace {

// "w_id = 1, w_ytd = 300000.00, districts = 299999.99"
std::string describe(const dispatcher::QueryResult& result, size_t row) {
  std::string text;
  for (size_t i = 0; i < result.columns.size(); ++i) {
    if (i != 0) text += ", ";
    text += fmt::format("{} = {}", result.columns[i].name, base::to_string(result.rows[row][i]));
  }
  return text;
}

}  // namespace

std::string_view condition_query(int condition, SizePolicy size) {
  DIPTYCH_CHECK(condition >= 1 && condition <= kConditions, "there are twelve conditions");
  static constexpr int kAdapted[] = {8, 9, 10, 11, 12};
  bool adapted = false;
  for (const int other : kAdapted) adapted = adapted || other == condition;
  const bool constant = size == SizePolicy::kConstant && adapted;
  return embedded_file(
      fmt::format("queries/consistency{}/C{:02}.sql", constant ? "_constant" : "", condition));
}

base::Result<ConsistencyReport> check_olap_consistency(dispatcher::Database* database,
                                                       SizePolicy size, const StopFlag& stop) {
  ConsistencyReport report;
  for (int condition = 1; condition <= kConditions; ++condition) {
    if (stopped(stop)) return base::ErrorCode::kCancelled;
    const auto result = database->query(condition_query(condition, size));
    if (!result) {
      return result.error().within(
          fmt::format("checking consistency condition {} on the OLAP replica", condition));
    }
    for (size_t row = 0; row < result->rows.size(); ++row) {
      report.add(condition, describe(*result, row));
    }
  }
  return report;
}

}  // namespace diptych::workloads::tpcc
