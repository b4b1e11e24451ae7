// HTML report of the isolation grid: one page with plots (Chart.js, inlined) that opens without a
// network. The page's own code and style are cli/report/page.html; the figures go in as JSON.

#pragma once

#include <string>
#include <string_view>

#include "workloads/isolation.h"

namespace diptych::cli {

// `json` is workloads::to_json of the report: the machine and the commit are taken from it, and the
// page carries it whole.
std::string to_html(const workloads::IsolationReport& report, std::string_view json);

// Files that are part of the binary; defined in sources that CMake makes of them.
extern const std::string_view kChartLibrary;  // chart.min.js
extern const std::string_view kReportPage;    // cli/report/page.html

}  // namespace diptych::cli
