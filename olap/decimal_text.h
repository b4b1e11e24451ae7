// Texts and DOUBLEs as a cast reads them where the result is a DECIMAL: with an exponent, and
// rounded half away from zero to the digits that the type keeps, as PostgreSQL does. Texts that are
// loaded go through base::parse_value, which never rounds.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "base/types.h"
#include "base/value.h"

namespace diptych::olap {

// "12.345", " -1e3 " as `type`, a DECIMAL of up to 38 digits. Fails with 22P02 where the text is no
// number, 22003 where it has more digits before the point than the type.
base::Result<base::Value> cast_to_decimal(const base::DataType& type, std::string_view text);

// The DECIMAL that NUMERIC without digits is for this text: 38 digits, as many after the point as
// are written, if so many there are. Fails with 22P02.
base::Result<base::DataType> decimal_type_of(std::string_view text);

// `value` as a DECIMAL of `scale` digits after the point, in units of the last: its first 15
// significant digits, which a DOUBLE has whatever it is, and none of what lies behind them (1.005
// is 1.005 and not 1.00499999999999989). nullopt where no DECIMAL of 38 digits is that.
std::optional<base::int128_t> double_as_decimal(double value, uint8_t scale);

// The DOUBLE that is nearest to units * 10^-scale: the one that its text is read as.
double decimal_as_double(base::int128_t units, uint8_t scale);

}  // namespace diptych::olap
