// Rewrites patterns of LIKE and SIMILAR TO with an ESCAPE clause into patterns without. The front
// end does so for literals, execution for all other patterns.
//
// The escape text is one UTF-8 character, or empty for no escape character; others are error 22025.

#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace diptych::olap {

// The same LIKE pattern with the backslash as its escape character.
base::Result<std::string> like_with_backslash(std::string_view pattern, std::string_view escape);

// The regular expressions of an SQL pattern's parts: `before` escape-double-quote `wanted`
// escape-double-quote `after`. Without separators there is only `wanted`, with one separator there
// is no `after`, and more than two are error 2200C.
struct SimilarParts {
  std::string before;
  std::string wanted;
  std::string after;

  // The expression for the whole text, without regard to the separators.
  std::string whole() const;
};
base::Result<SimilarParts> similar_parts(std::string_view pattern, std::string_view escape);

}  // namespace diptych::olap
