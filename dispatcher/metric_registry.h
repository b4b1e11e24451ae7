// Metric registry: every metric once: name, kind, unit, help, and how it is read from Metrics.
//
// From this one table come the three faces: the struct (dispatcher/metrics.h), which it reads; the
// rows of the SQL table diptych_metrics; and the text that Prometheus scrapes. docs/metrics.md
// lists the same names, and a test compares them.
//
// Names end in their unit, as Prometheus has it: seconds, bytes, _total for counters. A metric of
// several values has a label for each (memory by part). A histogram's rows in SQL are told apart by
// the label too: count, sum, max, p50, p90, p99, p999; for Prometheus it has cumulative buckets up
// to each fourth power of two, which the histogram knows exactly.

#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "dispatcher/metrics.h"
#include "olap/system_table.h"

namespace diptych::dispatcher {

enum class MetricKind : uint8_t {
  kCounter,    // since the database was opened
  kGauge,      // now
  kHistogram,  // of what was recorded since the database was opened
};
std::string_view metric_kind_name(MetricKind kind);

struct MetricDefinition {
  using ReadNumber = double (*)(const Metrics&, size_t index);
  using ReadHistogram = const Histogram& (*)(const Metrics&);

  std::string_view name;
  MetricKind kind;
  std::string_view unit;
  std::string_view help;
  ReadNumber number = nullptr;        // of counters and gauges
  ReadHistogram histogram = nullptr;  // of histograms
  double scale = 1;                   // of a histogram: from what it records to the unit
  // Of a metric with labels: their one key and the values; `number` is asked for each by its index.
  std::string_view label;
  std::span<const std::string_view> label_values = {};
};

std::span<const MetricDefinition> metric_definitions();

inline constexpr std::string_view kMetricsTable = "diptych_metrics";

// diptych_metrics: name, label (NULL: the metric has one value), kind, unit, value, help.
std::vector<olap::SystemColumn> metric_columns();
std::vector<std::vector<base::Value>> metric_rows(const Metrics& metrics);

// Prometheus' text format, version 0.0.4.
std::string metrics_text(const Metrics& metrics);

}  // namespace diptych::dispatcher
