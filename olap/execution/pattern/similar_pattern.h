// The patterns of LIKE and SIMILAR TO with ESCAPE as those that have no escape character of their
// own: what the front end does with literals, and execution with all others.
//
// The escape character is one of UTF-8, or none where it is empty; anything else is 22025.

#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace diptych::olap {

// LIKE's pattern with the backslash as its escape character.
base::Result<std::string> like_with_backslash(std::string_view pattern, std::string_view escape);

// The regular expressions of an SQL pattern's parts: `before` escape-double-quote `wanted`
// escape-double-quote `after`. Without separators there is but `wanted`, with one no `after`; more
// than two are 2200C.
struct SimilarParts {
  std::string before;
  std::string wanted;
  std::string after;

  // Of the whole text; the separators are as if they were not there.
  std::string whole() const;
};
base::Result<SimilarParts> similar_parts(std::string_view pattern, std::string_view escape);

}  // namespace diptych::olap
