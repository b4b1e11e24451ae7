// A cell, or a name, of a table for people.

#pragma once

#include <string>
#include <string_view>

namespace diptych::cli {

// Of UTF-8: control characters as escapes, those of Latin-1 (two bytes) too.
std::string on_one_line(std::string_view text);

}  // namespace diptych::cli
