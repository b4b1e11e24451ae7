// Casts of texts and DOUBLEs to DECIMAL. As in PostgreSQL, they accept exponents and round half
// away from zero to the digits of the type. Loads use base::parse_value, which never rounds.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "base/types.h"
#include "base/value.h"

namespace diptych::olap {

// Casts a text such as "12.345" or " -1e3 " to `type`, a DECIMAL of up to 38 digits. Fails with
// 22P02 if the text is not a number, and with 22003 if it has more digits before the point than the
// type.
base::Result<base::Value> cast_to_decimal(const base::DataType& type, std::string_view text);

// The type that NUMERIC without digits means for this text: a DECIMAL of 38 digits, with as many
// after the point as the text has, if there is room for them. Fails with 22P02.
base::Result<base::DataType> decimal_type_of(std::string_view text);

// `value` as a DECIMAL with `scale` digits after the point, in units of the last. It is made of the
// first 15 significant digits, which every DOUBLE represents, and of none beyond them (1.005 is
// 1.005 and not 1.00499999999999989). nullopt if it needs more than 38 digits.
std::optional<base::int128_t> double_as_decimal(double value, uint8_t scale);

// The DOUBLE nearest to units * 10^-scale, which is also the one that its text parses to.
double decimal_as_double(base::int128_t units, uint8_t scale);

}  // namespace diptych::olap
