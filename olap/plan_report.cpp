#include "olap/plan_report.h"

#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "olap/query.h"

namespace diptych::olap {

namespace {

using Json = nlohmann::ordered_json;

constexpr double kMilliseconds = 1e-6;  // in a nanosecond

double milliseconds(uint64_t ns) {
  return static_cast<double>(ns) * kMilliseconds;
}

const OperatorFigures& figures_of(const PlanFigures& figures, const Operator* op) {
  static const OperatorFigures kNothing;
  const auto found = figures.operators.find(op);
  return found == figures.operators.end() ? kNothing : found->second;
}

std::string bytes_text(size_t bytes) {
  constexpr size_t kUnit = 1024;
  if (bytes < kUnit) return fmt::format("{} B", bytes);
  if (bytes < kUnit * kUnit) return fmt::format("{:.1f} KiB", static_cast<double>(bytes) / kUnit);
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (kUnit * kUnit));
}

std::string_view method_name(JoinMethod method) {
  switch (method) {
    case JoinMethod::kArray: return "array join";
    case JoinMethod::kHash: return "hash join";
    case JoinMethod::kAlternativeKeys: return "hash join by alternative keys";
    case JoinMethod::kRange: return "range join";
    case JoinMethod::kSingleRow: return "join with a single row";
    case JoinMethod::kNestedLoop: break;
  }
  return "nested loop join";
}

std::string actual_text(const Operator& op, const OperatorFigures& figures) {
  std::string text;
  if (figures.ran) {
    text = fmt::format("actual {} rows, {:.2f} ms", figures.rows, milliseconds(figures.own_ns));
  } else if (figures.shared.empty()) {
    text = "not run";
  } else {
    return fmt::format(" ({})", figures.shared);
  }
  if (figures.join_method) text += fmt::format(", {}", method_name(*figures.join_method));
  if (op.kind == OperatorKind::kScan && figures.ran) {
    text += fmt::format(", {} decoded, {} of {} blocks skipped", bytes_text(figures.decoded_bytes),
                        figures.blocks_skipped, figures.blocks);
    if (figures.filtered_rows != 0) {
      text += fmt::format(", {} rows filtered on codes", figures.filtered_rows);
    }
    if (figures.joinless_rows != 0) {
      text += fmt::format(", {} rows filtered by joins", figures.joinless_rows);
    }
  }
  if (figures.worse_rows != 0) {
    text += fmt::format(", {} rows filtered by the limit", figures.worse_rows);
  }
  if (figures.rounds != 0) text += fmt::format(", {} rounds", figures.rounds);
  if (figures.memory_bytes != 0) text += fmt::format(", {} kept", bytes_text(figures.memory_bytes));
  if (!figures.shared.empty()) text += ", " + figures.shared;
  return fmt::format(" ({})", text);
}

std::vector<std::string> text_report(const std::vector<PlanLine>& lines,
                                     const PlanFigures* figures) {
  std::vector<std::string> report;
  for (const PlanLine& line : lines) {
    std::string text = fmt::format("{}{} ({:.0f} rows)", std::string(2 * line.depth, ' '),
                                   line.text, line.op->estimated_rows);
    if (figures != nullptr) text += actual_text(*line.op, figures_of(*figures, line.op));
    report.push_back(std::move(text));
  }
  if (figures == nullptr) return report;
  report.push_back(fmt::format("execution: {} rows, {:.2f} ms, {} kept at most", figures->rows,
                               milliseconds(figures->execute_ns),
                               bytes_text(figures->memory_bytes)));
  for (const std::string& shared : figures->shared) report.push_back("shared: " + shared);
  if (figures->route == nullptr) return report;
  const QueryRoute& route = *figures->route;
  report.push_back(
      fmt::format("queue: {:.2f} ms until a batch took it", milliseconds(route.queue_ns)));
  if (route.long_lane_ns) {
    report.push_back(fmt::format("long lane: {:.2f} ms until it had a snapshot; snapshots keep {}",
                                 milliseconds(*route.long_lane_ns),
                                 bytes_text(route.snapshot_bytes())));
  }
  return report;
}

// The operator of lines[*next], with its children; *next becomes the line behind them.
Json json_operator(const std::vector<PlanLine>& lines, const PlanFigures* figures, size_t* next) {
  const PlanLine& line = lines[(*next)++];
  Json json = {{"operator", line.text}, {"estimated_rows", line.op->estimated_rows}};
  if (figures != nullptr) {
    const OperatorFigures& actual = figures_of(*figures, line.op);
    json["ran"] = actual.ran;
    json["actual_rows"] = actual.rows;
    json["time_ms"] = milliseconds(actual.own_ns);
    if (line.op->kind == OperatorKind::kScan) {
      json["decoded_bytes"] = actual.decoded_bytes;
      json["rows_filtered_on_codes"] = actual.filtered_rows;
      json["rows_filtered_by_joins"] = actual.joinless_rows;
      json["rows_filtered_by_limit"] = actual.worse_rows;
      json["blocks"] = actual.blocks;
      json["blocks_skipped"] = actual.blocks_skipped;
    }
    if (line.op->kind == OperatorKind::kRecursion) json["rounds"] = actual.rounds;
    if (actual.join_method) json["join_method"] = method_name(*actual.join_method);
    json["memory_bytes"] = actual.memory_bytes;
    if (!actual.shared.empty()) json["shared"] = actual.shared;
  }
  Json children = Json::array();
  while (*next < lines.size() && lines[*next].depth > line.depth) {
    children.push_back(json_operator(lines, figures, next));
  }
  json["children"] = std::move(children);
  return json;
}

void add_route(const QueryRoute& route, Json* json) {
  (*json)["queue_ms"] = milliseconds(route.queue_ns);
  if (!route.long_lane_ns) return;
  (*json)["long_lane_ms"] = milliseconds(*route.long_lane_ns);
  (*json)["snapshot_bytes"] = route.snapshot_bytes();
}

std::vector<std::string> json_report(const std::vector<PlanLine>& lines,
                                     const PlanFigures* figures) {
  size_t next = 0;
  Json json = {{"plan", json_operator(lines, figures, &next)}};
  if (figures != nullptr) {
    json["rows"] = figures->rows;
    json["execution_ms"] = milliseconds(figures->execute_ns);
    json["memory_bytes"] = figures->memory_bytes;
    json["shared"] = figures->shared;
    if (figures->route != nullptr) add_route(*figures->route, &json);
  }
  constexpr int kIndent = 2;
  std::istringstream in(json.dump(kIndent, ' ', false, Json::error_handler_t::replace));
  std::vector<std::string> report;
  for (std::string line; std::getline(in, line);) report.push_back(std::move(line));
  return report;
}

}  // namespace

std::vector<std::string> plan_report(const std::vector<PlanLine>& lines, ExplainFormat format,
                                     const PlanFigures* figures) {
  return format == ExplainFormat::kJson ? json_report(lines, figures) : text_report(lines, figures);
}

}  // namespace diptych::olap
