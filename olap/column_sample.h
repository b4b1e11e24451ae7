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
#include <utility>
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

// The values that the drawn rows have in one column at some snapshot, by slot: a row keeps its slot
// while it lives. Immutable.
class SampledValues {
 public:
  // NaNs of two kinds, which are told from one another by is_none. A value that is NaN is a kNull.
  static constexpr double kNull = std::numeric_limits<double>::quiet_NaN();
  static const double kNone;  // no row has the slot
  static bool is_none(double number);

  explicit SampledValues(std::vector<double> numbers) : numbers_(std::move(numbers)) {}

  const std::vector<double>& numbers() const { return numbers_; }
  const std::vector<double>& sorted() const;  // without NaNs

 private:
  const std::vector<double> numbers_;
  mutable std::once_flag once_;
  mutable std::vector<double> sorted_;  // written under once_
};
// Those of several snapshots.
using SampledValuesPtr = std::shared_ptr<const SampledValues>;  // shared_ptr: see above
using SampledTexts = std::map<uint32_t, std::string>;           // by slot, of some slots
using SampledTextsPtr = std::shared_ptr<const SampledTexts>;    // shared_ptr: likewise

// A column's sample at one snapshot: values of an earlier one, and what changed since. So a new
// snapshot's costs what changed, and it is summed up only where somebody asks.
//
// Threads    any.
// Cost       summary(), the first time: passes over the sorted values, which are sorted once for
//            many snapshots (BM_SummarizeColumn).
class SampledColumn {
 public:
  enum class Extent : uint8_t { kSome, kWhole };
  struct Change {
    uint32_t slot;
    double number;
  };
  // `changes`: the last one of a slot counts. `texts`: nullptr of a column of no texts.
  SampledColumn(SampledValuesPtr values, std::vector<Change> changes, SampledTextsPtr texts,
                Extent extent, uint64_t table_rows);

  const ColumnSample& summary() const;
  std::vector<double> numbers() const;  // by slot, as those of SampledValues

 private:
  ColumnSample summarized() const;

  const SampledValuesPtr values_;
  const std::vector<Change> changes_;
  const SampledTextsPtr texts_;
  const Extent extent_;
  const uint64_t table_rows_;
  mutable std::once_flag once_;
  mutable ColumnSample summary_;  // written under once_
};
// Every statement is planned with a copy of the statistics, which has them.
using SampledColumnPtr = std::shared_ptr<const SampledColumn>;  // shared_ptr: see above

}  // namespace diptych::olap
