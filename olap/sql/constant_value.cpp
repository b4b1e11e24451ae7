#include "olap/sql/constant_value.h"

#include <string>

#include "base/clock.h"
#include "base/interval.h"
#include "base/string_ref.h"
#include "olap/execution/expression/expression.h"
#include "olap/execution/limits/memory_budget.h"
#include "olap/execution/limits/query_failure.h"
#include "olap/execution/limits/stop_signal.h"
#include "olap/execution/vector/column_range.h"

namespace diptych::olap {
namespace {

constexpr uint64_t kTimeMaxNs = 2'000'000;
constexpr size_t kBytesMax = size_t{64} << 10;  // of texts

// The value in slot 0.
base::Value first_value(const Vector& vector, const base::DataType& type) {
  if (vector.is_null(0)) return {};
  return with_physical_type(vector.type, [&]<class T>(T) -> base::Value {
    const T value = vector.as<T>()[0];
    if constexpr (std::is_same_v<T, uint8_t>) {
      return value != 0;
    } else if constexpr (std::is_same_v<T, base::StringRef>) {
      return std::string(value.view());
    } else if constexpr (std::is_same_v<T, base::int128_t>) {
      return base::DecimalValue{value, type.scale};
    } else if constexpr (std::is_integral_v<T>) {
      return value_of(value, type);
    } else {
      return value;
    }
  });
}

}  // namespace

std::optional<base::Value> constant_value(const Expression& expression) {
  const StopFlag nobody = false;
  const StopSignal stop(&nobody, {}, base::steady_ns() + kTimeMaxNs);
  MemoryBudget memory({.query_bytes_max = kBytesMax});
  Selection row;
  select_all(1, &row);
  Batch batch;
  batch.selection = &row;
  try {
    const NodePtr node = compile_expression(expression, {&memory, &stop});
    return first_value(node->evaluate(batch, row), expression.type);
  } catch (const QueryFailure&) {
    return std::nullopt;
  }
}

}  // namespace diptych::olap
