// MD5 (RFC 1321), for SQL's md5(): a short name of a text, not a protection of anything.

#pragma once

#include <string>
#include <string_view>

namespace diptych::olap {

// 32 hexadecimal digits, lower case.
std::string md5_hex(std::string_view bytes);

}  // namespace diptych::olap
