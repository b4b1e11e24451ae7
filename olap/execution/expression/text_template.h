// Templates of SQL's format(), and texts as SQL writes them.

#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "olap/execution/limits/counted_text.h"

namespace diptych::olap {

// Appends an identifier as it has to be written in a statement: in quotes where it must.
void append_identifier(std::string_view name, CountedText* result);

// Appends a text as a literal of SQL, in quotes.
void append_literal(std::string_view text, CountedText* result);

// Of format(): argument number i, from 0; nullopt where it is NULL.
using TemplateArgument = std::function<std::optional<std::string_view>(size_t i)>;

// Appends what format(pattern, arguments...) gives: %[n$][-][width]type, with the types s, I and L,
// where a width may be * or *n$. Fails by QueryFailure.
void append_formatted(std::string_view pattern, size_t argument_count,
                      const TemplateArgument& argument, CountedText* result);

}  // namespace diptych::olap
