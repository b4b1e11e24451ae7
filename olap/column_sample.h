// ColumnSample: what a planner knows of a column's values from some of its rows: how many are
// different, which are common, how they are spread.
//
// Different values are estimated from those that came once and those that came again (Haas and
// Stokes, "Estimating the number of classes in a finite population", JASA 1998: Duj1, which
// PostgreSQL has, too).

#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"

namespace diptych::olap {

struct ColumnSample {
  struct Frequent {
    double number = 0;
    double share = 0;  // of all rows
  };

  bool is_whole = false;  // of every row: a value that is not here is not there
  double null_share = 0;
  double distinct = 0;             // nulls left out
  std::vector<Frequent> frequent;  // the most frequent first
  std::vector<double> quantiles;   // of numbers: ascending, with as many rows between any two
  std::vector<std::string> texts;  // of texts: some

  // The share of rows that have this value; nothing where it has another type.
  std::optional<double> share_of(const base::Value& value, double rows) const;
  // The share of rows with a number below this one; nothing where it is no number.
  std::optional<double> share_below(const base::Value& value) const;
};

// A value as the samples have it: the number that stands for it; nothing of a text or a null.
std::optional<double> numeric_value(const base::Value& value);
// The number that stands for a text: of its hash, as many bits as a double has.
double text_number(std::string_view text);

// The values that the drawn rows have in one column, by slot: a row keeps its slot while it lives.
struct SampledValues {
  // NaNs of two kinds, which are told from one another by is_none. A value that is NaN is a kNull.
  static constexpr double kNull = std::numeric_limits<double>::quiet_NaN();
  static const double kNone;  // no row has the slot
  static bool is_none(double number);

  bool is_text = false;
  std::vector<double> numbers;
  std::map<uint32_t, std::string> texts;  // of some slots
};

// Those of several snapshots, where nothing changed.
using SampledValuesPtr = std::shared_ptr<const SampledValues>;  // shared_ptr: see above

// A column's sample at one snapshot. It costs nothing until somebody asks.
//
// Threads    any.
// Cost       summary(), the first time: BM_SummarizeColumn.
class SampledColumn {
 public:
  enum class Extent : uint8_t { kSome, kWhole };
  SampledColumn(SampledValuesPtr values, Extent extent, uint64_t table_rows)
      : values_(std::move(values)), extent_(extent), table_rows_(table_rows) {}

  const SampledValues& values() const { return *values_; }
  const ColumnSample& summary() const;

 private:
  const SampledValuesPtr values_;
  const Extent extent_;
  const uint64_t table_rows_;
  mutable std::once_flag once_;
  mutable ColumnSample summary_;  // written under once_
};

// Every statement is planned with a copy of the statistics, which has them.
using SampledColumnPtr = std::shared_ptr<const SampledColumn>;  // shared_ptr: see above

}  // namespace diptych::olap
