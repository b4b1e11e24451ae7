#include "workloads/queries/catalog.h"

#include <map>

#include <fmt/format.h>

#include "base/check.h"
#include "workloads/embedded_files.h"
#include "workloads/tpcc/population.h"

namespace diptych::workloads {
namespace {

using tpcc::Random;

std::string draw(std::string_view placeholder, Random* random) {
  const auto is = [&](std::string_view name) { return placeholder.starts_with(name); };
  if (is("NNAME")) {
    return std::string(tpcc::nation_name(random->between(0, tpcc::kNations - 1)));
  }
  if (is("RNAME")) {
    return std::string(tpcc::region_name(random->between(0, tpcc::kRegions - 1)));
  }
  if (is("CHAR")) return {static_cast<char>(random->between('a', 'z'))};
  if (is("DATE")) {
    return fmt::format("{}-{:02}-01", random->between(1993, 1997), random->between(1, 12));
  }
  if (is("PRICE")) return std::to_string(random->between(0, 100));
  if (is("QUANTITY")) return std::to_string(random->between(0, 10));
  DIPTYCH_CHECK(false, "the templates use only the placeholders of the paper");
  return {};
}

}  // namespace

std::string_view query_set_name(QuerySet set) {
  switch (set) {
    case QuerySet::kCh: return "ch";
    case QuerySet::kTemplates: return "templates";
    case QuerySet::kGrouped: break;
  }
  return "grouped";
}

std::vector<NamedQuery> catalog(QuerySet set) {
  const std::string folder = fmt::format("queries/{}/", query_set_name(set));
  std::vector<NamedQuery> queries;
  for (const EmbeddedFile& file : embedded_files()) {
    if (!file.path.starts_with(folder)) continue;
    const std::string_view name = file.path.substr(folder.size());
    queries.push_back({std::string(name.substr(0, name.find('.'))), file.text});
  }
  return queries;
}

std::string instantiate(std::string_view text, Random* random) {
  std::map<std::string_view, std::string> values;
  std::string out;
  while (true) {
    const size_t open = text.find('[');
    out += text.substr(0, open);
    if (open == std::string_view::npos) return out;
    const size_t close = text.find(']', open);
    DIPTYCH_CHECK(close != std::string_view::npos, "a placeholder ends with ]");
    const std::string_view placeholder = text.substr(open + 1, close - open - 1);
    auto [value, fresh] = values.try_emplace(placeholder);
    if (fresh) value->second = draw(placeholder, random);
    out += value->second;
    text.remove_prefix(close + 1);
  }
}

}  // namespace diptych::workloads
