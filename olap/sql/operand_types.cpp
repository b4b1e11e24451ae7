// adopt_type and unify of operators.h.

#include <algorithm>

#include <fmt/format.h>

#include "olap/decimal_text.h"
#include "olap/sql/operators.h"
#include "olap/sql/type_rules.h"

namespace diptych::olap {
namespace {

using base::DataType;
using base::TypeKind;

// The literal beside values of `type`: an integer, or NULL, asks for no more digits than it has.
DataType literal_type(const Expression& literal, const DataType& type) {
  if (literal.type.kind == TypeKind::kDecimal && is_null_literal(literal)) {
    return decimal_type(1, 0);
  }
  const bool integer = is_integer(literal.type) && !is_null_literal(literal);
  return integer && type.kind == TypeKind::kDecimal ? as_decimal(literal) : literal.type;
}

}  // namespace

base::Result<void> adopt_type(const SourceText& source, const DataType& type, Bound* operand) {
  if (!operand->untyped) return {};
  operand->untyped = false;
  DataType target = type;
  if (target.is_string()) target.length = 0;  // a longer text is merely different
  if (auto moment = named_moment(source, target, operand->expression->literal)) {
    operand->expression = make_literal(target, *std::move(moment));
    return {};
  }
  auto value = base::convert_value(target, operand->expression->literal);
  if (!value && target.kind == TypeKind::kInt) {  // as a longer text
    target = kBigIntType;
    value = base::convert_value(target, operand->expression->literal);
  }
  const auto* const text = std::get_if<std::string>(&operand->expression->literal);
  if (!value && target.kind == TypeKind::kDecimal && text != nullptr) {  // with all its digits
    if (const auto written = decimal_type_of(*text)) {
      target = *written;
      value = cast_to_decimal(target, *text);
    }
  }
  if (!value) return source.wrong(operand->offset, value.error().message, value.error().state);
  if (target.kind == TypeKind::kChar && text != nullptr) {  // of the others' length if it fits
    const auto bytes = static_cast<uint32_t>(std::get<std::string>(*value).size());
    target.length = std::max({type.length, bytes, 1U});
  }
  operand->expression = make_literal(target, *std::move(value));
  return {};
}

base::Result<DataType> unify(const SourceText& source, std::string_view what, int64_t offset,
                             std::span<Bound*> operands, TypeIs type_is) {
  const auto anchors = [](const Bound* o) { return !o->untyped && !is_literal(*o->expression); };
  const auto typed_ones = [](const Bound* o) { return !o->untyped; };
  // The type of the columns among the operands, or of the literals where there are no columns.
  auto anchor = std::find_if(operands.begin(), operands.end(), anchors);
  if (anchor == operands.end()) {
    anchor = std::find_if(operands.begin(), operands.end(), typed_ones);
  }
  if (anchor != operands.end() && (*anchor)->expression->type.is_string()) {
    anchor = std::find_if(operands.begin(), operands.end(), typed_ones);
  }
  DataType type = anchor == operands.end() ? kTextType : (*anchor)->expression->type;
  const auto meet = [&](const Bound& operand) -> base::Result<void> {
    const Expression& e = *operand.expression;
    const bool literal = is_literal(e);
    const DataType own = literal ? literal_type(e, type) : e.type;
    const auto common =
        type_is == TypeIs::kUnseen ? compared_type(type, own) : common_type(type, own);
    if (!common) {
      return source.wrong(
          offset,
          fmt::format("{} cannot mix {} and {}", what, type.to_string(), e.type.to_string()),
          type_is == TypeIs::kUnseen ? base::SqlState("42883") : base::SqlState("42804"));
    }
    const bool adopts = literal && is_numeric(type) && convert_literal(e, type) != nullptr;
    if (!adopts || (type_is == TypeIs::kKept && common->kind != type.kind)) type = *common;
    return {};
  };
  for (const Bound* operand : operands) {
    if (operand->untyped) continue;
    if (auto met = meet(*operand); !met) return met.error();
  }
  for (Bound* operand : operands) {
    if (!operand->untyped) continue;  // these take what all others are
    if (auto adopted = adopt_type(source, type, operand); !adopted) return adopted.error();
    if (auto met = meet(*operand); !met) return met.error();
  }
  for (Bound* operand : operands) {
    operand->expression = cast_to(std::move(operand->expression), type);
  }
  return type;
}

}  // namespace diptych::olap
