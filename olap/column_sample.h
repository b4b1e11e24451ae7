// ColumnSample: the planner's knowledge of a column's values, from a sample of rows: the number of
// distinct values, the frequent values and the distribution.
//
// Distinct values are estimated from the numbers of sampled values that occur once and that occur
// more often (Haas and Stokes, "Estimating the number of classes in a finite population", JASA
// 1998: Duj1, which PostgreSQL uses, too).

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
    double share = 0;  // share of all rows
  };

  bool is_whole = false;  // the sample has every row, so other values do not occur
  // The sample has every value, or nearly every one: hardly any was drawn only once.
  bool has_all_values = false;
  double null_share = 0;
  double distinct = 0;             // without nulls
  std::vector<Frequent> frequent;  // the most frequent first
  std::vector<double> quantiles;   // of numbers: ascending, with equal numbers of rows between them
  std::vector<std::string> texts;  // of text columns: some of the values

  // The share of rows that have this value; nullopt if the value has another type.
  std::optional<double> share_of(const base::Value& value, double rows) const;
  // The share of rows with a number below this one; nullopt if the value is not a number.
  std::optional<double> share_below(const base::Value& value) const;
};

// The number that represents a value in samples; nullopt for a text or a null.
std::optional<double> numeric_value(const base::Value& value);
// The number that represents a text: as many bits of its hash as a double holds.
double text_number(std::string_view text);

// SampledValues: the values of the drawn rows in one column at some snapshot, by slot. A row keeps
// its slot while it lives. Immutable.
class SampledValues {
 public:
  // Two kinds of NaN, which is_none() distinguishes. A value that is NaN counts as kNull.
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
// Several snapshots share the values.
using SampledValuesPtr = std::shared_ptr<const SampledValues>;  // shared_ptr: see above
using SampledTexts = std::map<uint32_t, std::string>;           // by slot, of some slots
using SampledTextsPtr = std::shared_ptr<const SampledTexts>;    // shared_ptr: likewise

// SampledColumn: a column's sample at one snapshot, as the values of an earlier snapshot and the
// changes since. So the sample of a new snapshot costs only the changes, and the summary is
// computed only if it is asked for.
//
// Threads    any.
// Cost       the first summary() passes over the sorted values, which are sorted once for many
//            snapshots (BM_SummarizeColumn).
class SampledColumn {
 public:
  enum class Extent : uint8_t { kSome, kWhole };
  struct Change {
    uint32_t slot;
    double number;
  };
  // The last of several `changes` of a slot counts. `texts` is nullptr if the column has no texts.
  SampledColumn(SampledValuesPtr values, std::vector<Change> changes, SampledTextsPtr texts,
                Extent extent, uint64_t table_rows);

  const ColumnSample& summary() const;
  std::vector<double> numbers() const;  // by slot, as in SampledValues

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
// Every statement is planned with a copy of the statistics, which shares the samples.
using SampledColumnPtr = std::shared_ptr<const SampledColumn>;  // shared_ptr: see above

}  // namespace diptych::olap
