#include "olap/sql/type_name.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

namespace diptych::olap {
namespace {

using base::DataType;
using base::TypeKind;

constexpr uint32_t kStringBytesMax = 1 << 24;

// The numbers in parentheses after a type's name.
base::Result<std::vector<int64_t>> modifiers_of(const SourceText& source,
                                                const PgQuery__TypeName& name) {
  std::vector<int64_t> numbers;
  for (const Node* node : NodeList(name.typmods, name.n_typmods)) {
    const bool integer = node->node_case == PG_QUERY__NODE__NODE_A_CONST &&
                         node->a_const->val_case == PG_QUERY__A__CONST__VAL_IVAL;
    if (!integer) return source.wrong(start_of(node), "a whole number is needed here");
    numbers.push_back(node->a_const->ival->ival);
  }
  return numbers;
}

// DECIMAL(p,s) of at most so many digits.
base::Result<DataType> declared_decimal(const SourceText& source, const PgQuery__TypeName& name,
                                        const std::vector<int64_t>& numbers, unsigned digits_max) {
  if (numbers.empty()) {
    return source.wrong(name.location, "DECIMAL needs its digits, as in DECIMAL(12,2)");
  }
  const int64_t precision = numbers[0];
  const int64_t scale = numbers.size() > 1 ? numbers[1] : 0;
  if (precision < 1 || precision > digits_max || scale < 0 || scale > precision) {
    return source.wrong(name.location,
                        fmt::format("DECIMAL({},{}) is out of range: 1 to {} digits, of which the "
                                    "second number are after the point",
                                    precision, scale, digits_max),
                        "22023");
  }
  return DataType{TypeKind::kDecimal, static_cast<uint8_t>(precision), static_cast<uint8_t>(scale),
                  0};
}

// Without a number there is no limit: the grammar itself adds the 1 of CHAR where one is meant, and
// none to a constant such as char 'abc' or N'abc'.
base::Result<DataType> string_type(const SourceText& source, const PgQuery__TypeName& name,
                                   TypeKind kind, const std::vector<int64_t>& numbers) {
  if (numbers.empty()) return DataType{kind, 0, 0, 0};
  if (numbers[0] < 1 || numbers[0] > kStringBytesMax) {
    return source.wrong(
        name.location,
        fmt::format("a string's length is 1 to {}, not {}", kStringBytesMax, numbers[0]), "22023");
  }
  return DataType{kind, 0, 0, static_cast<uint32_t>(numbers[0])};
}

// True for the types of PostgreSQL that are not here: others there are not.
bool is_of_postgresql(std::string_view type) {
  constexpr std::string_view kTypes[] = {
      "bit",      "box",       "bytea",     "char",       "cidr",      "circle",    "inet",
      "json",     "jsonb",     "jsonpath",  "line",       "lseg",      "macaddr",   "macaddr8",
      "money",    "name",      "oid",       "path",       "pg_lsn",    "point",     "polygon",
      "regclass", "regtype",   "serial",    "time",       "timetz",    "tsquery",   "tsvector",
      "uuid",     "varbit",    "xml",       "xid",        "int4range", "int8range", "numrange",
      "tsrange",  "daterange", "bigserial", "smallserial"};
  return std::find(std::begin(kTypes), std::end(kTypes), type) != std::end(kTypes);
}

// By the names that the grammar gives; nullopt: it is none of a column's types.
std::optional<TypeKind> type_kind(std::string_view written) {
  if (written == "int4") return TypeKind::kInt;
  if (written == "int8") return TypeKind::kBigInt;
  if (written == "numeric") return TypeKind::kDecimal;
  if (written == "float8" || written == "double") return TypeKind::kDouble;
  if (written == "bool") return TypeKind::kBoolean;
  if (written == "date") return TypeKind::kDate;
  if (written == "timestamp") return TypeKind::kTimestamp;
  if (written == "bpchar") return TypeKind::kChar;
  if (written == "varchar" || written == "text") return TypeKind::kVarchar;
  return std::nullopt;
}

enum class TypePlace : uint8_t { kColumn, kCast };

base::Error unknown_type(const SourceText& source, const PgQuery__TypeName& name,
                         const std::string& written, TypePlace place) {
  const std::string supported = fmt::format(
      "INT, BIGINT, DECIMAL(p,s), DOUBLE PRECISION, BOOLEAN, DATE, TIMESTAMP, CHAR(n), "
      "VARCHAR(n){} are",
      place == TypePlace::kCast ? ", TEXT and INTERVAL" : " and TEXT");
  if (written == "int2") {
    return source.error(base::ErrorCode::kUnsupported, name.location,
                        "SMALLINT is not supported; use INT");
  }
  if (written == "float4") {
    return source.error(base::ErrorCode::kUnsupported, name.location,
                        "REAL is not supported; use DOUBLE PRECISION");
  }
  if (written == "timestamptz") {
    return source.error(base::ErrorCode::kUnsupported, name.location,
                        "TIMESTAMP WITH TIME ZONE is not supported; use TIMESTAMP");
  }
  if (written == "interval") {
    return source.error(base::ErrorCode::kUnsupported, name.location,
                        "a column cannot be an INTERVAL; a number of seconds or two TIMESTAMPs can "
                        "say the same");
  }
  if (is_of_postgresql(written)) {
    return source.error(base::ErrorCode::kUnsupported, name.location,
                        fmt::format("type \"{}\" is not supported; {}", written, supported));
  }
  const std::string hint =
      suggestion(written, {"int", "integer", "bigint", "decimal", "numeric", "float", "boolean",
                           "date", "timestamp", "char", "varchar", "text", "interval"});
  return source.wrong(name.location,
                      fmt::format("type \"{}\" does not exist{}", written,
                                  hint.empty() ? fmt::format("; {} supported", supported) : hint),
                      "42704");
}

base::Result<DataType> bind_in_place(const SourceText& source, const PgQuery__TypeName& name,
                                     TypePlace place) {
  const std::string written = joined(strings_of(NodeList(name.names, name.n_names)));
  if (name.n_array_bounds != 0) return source.unsupported(name.location, "an array type");
  const auto kind = type_kind(written);
  if (!kind) return unknown_type(source, name, written, place);
  const auto numbers = modifiers_of(source, name);
  if (!numbers) return numbers.error();
  const bool sized = written == "bpchar" || written == "varchar";
  const size_t numbers_max = written == "numeric" ? 2 : sized ? 1 : 0;
  if (numbers->size() > numbers_max) {
    return source.unsupported(start_of(name.typmods[numbers_max]), "this number after a type");
  }
  if (written == "numeric") {
    return declared_decimal(source, name, *numbers, base::kDecimalDigitsMax);
  }
  // PostgreSQL has no limit there; databases that were made with 1 keep it.
  if (written == "bpchar" && place == TypePlace::kColumn && numbers->empty()) {
    return DataType{TypeKind::kChar, 0, 0, 1};
  }
  return sized ? string_type(source, name, *kind, *numbers) : DataType{*kind};
}

}  // namespace

base::Result<DataType> bind_type(const SourceText& source, const PgQuery__TypeName& name) {
  return bind_in_place(source, name, TypePlace::kColumn);
}

base::Result<DataType> bind_cast_type(const SourceText& source, const PgQuery__TypeName& name) {
  const std::string written = joined(strings_of(NodeList(name.names, name.n_names)));
  if (written == "numeric" && name.n_array_bounds == 0 && name.n_typmods <= 2) {
    if (name.n_typmods == 0) return DataType{TypeKind::kDecimal, 0, 0, 0};
    const auto numbers = modifiers_of(source, name);
    if (!numbers) return numbers.error();
    return declared_decimal(source, name, *numbers, kWideDecimalDigitsMax);
  }
  if (written == "int2") return DataType{TypeKind::kInt};
  if (written == "float4") return DataType{TypeKind::kDouble};
  if (written == "timestamp" && name.n_array_bounds == 0 && name.n_typmods == 1) {
    const auto numbers = modifiers_of(source, name);
    if (!numbers) return numbers.error();
    if (numbers->front() < 0) {
      return source.wrong(start_of(name.typmods[0]), "a TIMESTAMP's digits are not negative",
                          "22023");
    }
    return DataType{TypeKind::kTimestamp};
  }
  if (written == "interval" && name.n_array_bounds == 0) return DataType{TypeKind::kInterval};
  return bind_in_place(source, name, TypePlace::kCast);
}

CastLimit cast_limit_of(const PgQuery__TypeName& name) {
  CastLimit limit;
  const std::string written = joined(strings_of(NodeList(name.names, name.n_names)));
  limit.small_integer = written == "int2";
  const bool fraction = written == "timestamp" && name.n_typmods == 1 &&
                        name.typmods[0]->node_case == PG_QUERY__NODE__NODE_A_CONST;
  if (fraction) limit.fraction_digits = name.typmods[0]->a_const->ival->ival;
  return limit;
}

bool is_interval_of_unit(const PgQuery__TypeName& name) {
  return joined(strings_of(NodeList(name.names, name.n_names))) == "interval" &&
         name.n_typmods != 0;
}

}  // namespace diptych::olap
