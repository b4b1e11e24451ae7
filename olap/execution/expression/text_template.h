// Templates of SQL's format(), and texts as SQL writes them.

#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "olap/execution/limits/counted_text.h"

namespace diptych::olap {

// Appends an identifier as a statement has to write it, in quotes if they are needed.
void append_identifier(std::string_view name, CountedText* result);

// Appends a text as an SQL literal, in quotes.
void append_literal(std::string_view text, CountedText* result);

// Gives argument number i of format(), from 0; nullopt if it is NULL.
using TemplateArgument = std::function<std::optional<std::string_view>(size_t i)>;

// Appends the result of format(pattern, arguments...). A specifier is %[n$][-][width]type, with the
// types s, I and L; the width may be * or *n$. Throws QueryFailure.
void append_formatted(std::string_view pattern, size_t argument_count,
                      const TemplateArgument& argument, CountedText* result);

}  // namespace diptych::olap
