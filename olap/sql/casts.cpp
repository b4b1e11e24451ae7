// bind_cast of operators.h.

#include <fmt/format.h>

#include "olap/decimal_text.h"
#include "olap/sql/constant_folding.h"
#include "olap/sql/operators.h"
#include "olap/sql/type_rules.h"

namespace diptych::olap {
namespace {

using base::DataType;
using base::TypeKind;

// True for the casts that plan.h lists, of anything but literals.
bool castable(const DataType& from, const DataType& to) {
  if (to.is_string() || from.is_string()) return true;
  if (from.kind == TypeKind::kInterval || to.kind == TypeKind::kInterval) return false;
  if (is_datetime(from) || is_datetime(to)) return is_datetime(from) && is_datetime(to);
  const bool from_truth = from.kind == TypeKind::kBoolean;
  const bool to_truth = to.kind == TypeKind::kBoolean;
  if (from_truth || to_truth) {
    return (from_truth && to.kind == TypeKind::kInt) || (to_truth && from.kind == TypeKind::kInt);
  }
  return true;
}

// The digits of NUMERIC without any: as many as the operand has.
DataType any_numeric(const Expression& operand) {
  if (is_literal(operand) && operand.type.is_string()) {
    const auto* const text = std::get_if<std::string>(&operand.literal);
    if (text != nullptr) {
      if (const auto type = decimal_type_of(*text)) return *type;
    }
  }
  if (is_integer(operand.type) || operand.type.kind == TypeKind::kDecimal) {
    return as_decimal(operand);
  }
  return decimal_type(kWideDecimalDigitsMax, kQuotientScale);
}

base::Result<base::Value> convert(const DataType& type, const base::Value& literal) {
  const auto* const text = std::get_if<std::string>(&literal);
  if (text != nullptr && type.kind == TypeKind::kDecimal) return cast_to_decimal(type, *text);
  return base::convert_value(type, literal);
}

}  // namespace

BoundResult bind_cast(const SourceText& source, const DataType& written, int64_t offset,
                      Bound operand) {
  ExpressionPtr& e = operand.expression;
  const bool open = written.kind == TypeKind::kDecimal && written.precision == 0;
  if (open && e->type.kind == TypeKind::kDecimal) return operand;
  const DataType type = open ? any_numeric(*e) : written;
  if (e->type == type) return Bound{std::move(e), false, operand.offset};
  if (is_null_literal(*e) && (operand.untyped || castable(e->type, type))) {
    return Bound{make_null(type), false, operand.offset};
  }
  if (is_literal(*e) && !is_null_literal(*e)) {
    if (auto moment = named_moment(source, type, e->literal); moment && operand.untyped) {
      return Bound{make_literal(type, *std::move(moment)), false, operand.offset};
    }
    if (auto value = convert(type, e->literal); value && !type.is_string()) {
      return Bound{make_literal(type, *std::move(value)), false, operand.offset};
    } else if (!value && operand.untyped && !type.is_string()) {
      return source.wrong(operand.offset, value.error().message, value.error().state);
    }
    if (e->type.is_string() && type.is_string()) {
      DataType whole = type;
      whole.length = 0;  // cut when it runs
      auto text = base::convert_value(type.length == 0 ? type : whole, e->literal);
      if (text && type.length != 0) {
        return Bound{fold(make_expression(ExpressionKind::kCast, type,
                                          make_literal(whole, *std::move(text)))),
                     false, operand.offset};
      }
      if (!text) return source.wrong(operand.offset, text.error().message, "22001");
      return Bound{make_literal(type, *std::move(text)), false, operand.offset};
    }
  }
  if (!castable(e->type, type)) {
    return source.wrong(offset,
                        fmt::format("no cast from {} to {}", e->type.to_string(), type.to_string()),
                        "42846");
  }
  return Bound{fold(make_expression(ExpressionKind::kCast, type, std::move(e))), false,
               operand.offset};
}

}  // namespace diptych::olap
