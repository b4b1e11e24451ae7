// ExportMode: what an update's record holds: the columns that the transaction changed, or the whole
// row (as replicas do that copy rows: to be measured beside the other).

#pragma once

#include <cstdint>

namespace diptych::propagation {

enum class ExportMode : uint8_t { kColumns, kRows };

}  // namespace diptych::propagation
