#include "olap/sql/sampled_predicate.h"

#include <algorithm>
#include <concepts>
#include <limits>
#include <type_traits>

#include "base/clock.h"
#include "base/string_ref.h"
#include "olap/execution/expression/expression.h"
#include "olap/execution/limits/memory_budget.h"
#include "olap/execution/limits/query_failure.h"
#include "olap/execution/limits/stop_signal.h"

namespace diptych::olap {
namespace {

// What takes more is left: a plan is not worth it.
constexpr uint64_t kTimeMaxNs = 2'000'000;
constexpr size_t kBytesMax = size_t{1} << 20;  // of texts that the predicate makes

// Samples have integers as doubles: the largest of these may be 2^63.
template <std::integral Integer>
Integer as_integer(double number) {
  constexpr auto kMin = static_cast<double>(std::numeric_limits<Integer>::min());
  constexpr auto kMax = static_cast<double>(std::numeric_limits<Integer>::max());
  return number >= kMax ? std::numeric_limits<Integer>::max()
                        : static_cast<Integer>(std::max(number, kMin));
}

// How many; none of a type whose values samples do not have.
uint32_t fill(const ColumnSample& sample, VectorBuffer* values) {
  uint32_t count = 0;
  if (values->type() == PhysicalType::kString) {
    for (const std::string& text : sample.texts) {
      if (count == kVectorRows - 1) break;
      values->values<base::StringRef>()[count++] = base::StringRef(text);
    }
    return count;
  }
  with_physical_type(values->type(), [&]<class Value>(Value) {
    if constexpr (std::is_same_v<Value, int32_t> || std::is_same_v<Value, int64_t> ||
                  std::is_same_v<Value, double>) {
      for (const double number : sample.quantiles) {
        if constexpr (std::is_same_v<Value, double>) {
          values->values<Value>()[count++] = number;
        } else {
          values->values<Value>()[count++] = as_integer<Value>(number);
        }
      }
    }
  });
  return count;
}

}  // namespace

std::optional<SampledMatches> sampled_matches(const Expression& predicate, uint32_t column,
                                              const base::DataType& type,
                                              const ColumnSample& sample) {
  VectorBuffer values(physical_type(type));
  SampledMatches found;
  found.values = fill(sample, &values);
  if (found.values == 0) return std::nullopt;
  set_bit(values.nulls(), found.values);  // the last one is null
  Batch batch;
  batch.columns.resize(column + 1);
  batch.columns[column] = values.view_with_nulls();
  Selection rows;
  select_all(found.values + 1, &rows);
  batch.selection = &rows;
  const StopFlag nobody = false;
  const StopSignal stop(&nobody, {}, base::steady_ns() + kTimeMaxNs);
  MemoryBudget memory({.query_bytes_max = kBytesMax});
  TruthMask truth;
  try {
    compile_expression(predicate, {&memory, &stop})->evaluate_truth(batch, rows, &truth);
  } catch (const QueryFailure&) {
    return std::nullopt;
  }
  for (uint32_t i = 0; i < found.values; ++i) {
    found.matches += storage::bit_at(truth.is_true, i) ? 1 : 0;
  }
  found.of_null = storage::bit_at(truth.is_true, found.values);
  return found;
}

}  // namespace diptych::olap
