// AggregateKind: the aggregate functions of a Plan.

#pragma once

#include <cstdint>

namespace diptych::olap {

enum class AggregateKind : uint8_t {
  kCountAll,
  kCount,
  kCountDistinct,
  kSum,
  kAvg,
  kMin,
  kMax,
  kBitAnd,  // of integers
  kBitOr,
  kBitXor,
  kVarSamp,
  kVarPop,
  kStddevSamp,
  kStddevPop,
  kCovarPop,  // of two DOUBLEs
  kStringAgg,
  kPercentileCont,  // of DOUBLE
  kPercentileDisc,
  kMode,
};

inline bool is_variance(AggregateKind kind) {
  return kind >= AggregateKind::kVarSamp && kind <= AggregateKind::kStddevPop;
}

// True for aggregates with WITHIN GROUP (ORDER BY value), which need a group's values in order.
inline bool is_ordered_set(AggregateKind kind) {
  return kind >= AggregateKind::kPercentileCont;
}

}  // namespace diptych::olap
