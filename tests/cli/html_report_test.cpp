#include "cli/html_report.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace diptych::cli {
namespace {

// The text of the page's data element.
nlohmann::json data_of(const std::string& page) {
  const std::string begin = "<script type=\"application/json\" id=\"report\">";
  const size_t from = page.find(begin) + begin.size();
  return nlohmann::json::parse(page.substr(from, page.find("</script>", from) - from));
}

TEST(HtmlReport, IsCompleteAndNamesNoOtherFile) {
  const std::string page = to_html({}, "{}");
  EXPECT_GT(kChartLibrary.size(), 100'000u);
  EXPECT_NE(page.find(kChartLibrary), std::string::npos);
  const std::string own(kReportPage);
  for (const char* outside : {"http:", "https:", "src=", "href=", "@import", "url("}) {
    EXPECT_EQ(own.find(outside), std::string::npos) << outside;
  }
  EXPECT_TRUE(data_of(page)["cells"].empty());
}

TEST(HtmlReport, TextOfTheReportCannotEndItsElement) {
  const workloads::IsolationReport report;
  const std::string json =
      R"json({"machine": "</script><script>alert(1)", "commit": "/*CHART.JS*/"})json";
  const auto data = data_of(to_html(report, json));
  EXPECT_EQ(data["machine"], "</script><script>alert(1)");
  EXPECT_EQ(data["commit"], "/*CHART.JS*/");
}

TEST(HtmlReport, JsonThatIsNoneLeavesMachineAndCommitUnknown) {
  const auto data = data_of(to_html({}, "not json"));
  EXPECT_TRUE(data["machine"].is_null());
}

}  // namespace
}  // namespace diptych::cli
