// thrown_text: what an exception of a caller's code says, also where its what() gives nullptr, at
// which fmt and std::string would throw in the middle of a catch block.

#pragma once

#include <exception>

namespace diptych::base {

// Never nullptr; lives as long as the exception.
inline const char* thrown_text(const std::exception& thrown) noexcept {
  const char* const text = thrown.what();
  return text != nullptr ? text : "an exception without a text";
}

}  // namespace diptych::base
