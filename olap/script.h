// Scripts: the statements of an SQL text, and where in the text an error lies.
//
// Threads    any.

#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace diptych::olap {

// Splits a script into statements at semicolons, by the SQL lexer, and drops empty ones. The
// statements are views of the script, so that the caller knows the place of each.
base::Result<std::vector<std::string_view>> split_statements(std::string_view script);

// A place in a script, given by the amount of text before it.
struct ScriptPlace {
  size_t lines = 0;
  size_t characters = 0;
  size_t characters_in_line = 0;  // before the place in its own line
};
// The place at the end of a text that begins at `place`.
ScriptPlace place_after(std::string_view text, ScriptPlace place = {});
// Converts the error of a statement that begins at `place`: a position within the statement becomes
// the position within the script.
base::Error error_in_script(base::Error error, std::string_view statement,
                            const ScriptPlace& place);

}  // namespace diptych::olap
