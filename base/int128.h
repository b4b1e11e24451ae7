// 128-bit integers: the width in which decimals are summed, so that no sum of a column overflows.

#pragma once

namespace diptych::base {

__extension__ typedef __int128 int128_t;

}  // namespace diptych::base
