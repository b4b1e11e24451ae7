// Names as SQL reads them: one that is not quoted stands for itself in lower case.

#pragma once

#include <string>
#include <string_view>

namespace diptych::cli {

inline std::string folded(std::string_view name) {
  std::string lower(name);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

}  // namespace diptych::cli
