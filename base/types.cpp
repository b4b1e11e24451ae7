#include "base/types.h"

#include <stdexcept>

#include <fmt/format.h>

namespace diptych::base {

std::string DataType::to_string() const {
  switch (kind) {
    case TypeKind::kInt: return "INT";
    case TypeKind::kBigInt: return "BIGINT";
    case TypeKind::kDecimal: return fmt::format("DECIMAL({},{})", precision, scale);
    case TypeKind::kDouble: return "DOUBLE";
    case TypeKind::kBoolean: return "BOOLEAN";
    case TypeKind::kDate: return "DATE";
    case TypeKind::kTimestamp: return "TIMESTAMP";
    case TypeKind::kChar: return length == 0 ? "CHAR" : fmt::format("CHAR({})", length);
    case TypeKind::kInterval: return "INTERVAL";
    case TypeKind::kVarchar: return length == 0 ? "TEXT" : fmt::format("VARCHAR({})", length);
  }
  return "?";
}

void throw_as_null_cell() {
  throw std::logic_error("the value of a cell is read that is NULL");
}

}  // namespace diptych::base
