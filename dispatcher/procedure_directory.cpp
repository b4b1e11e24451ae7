#include "dispatcher/procedure_directory.h"

#include <fmt/format.h>

#include "base/utf8.h"

namespace diptych::dispatcher {
namespace {

std::string in_words(const base::BoundColumn& column) {
  const bool nullable = column.nullability == base::Nullability::kNullable;
  return fmt::format("{} {}{}", column.name, column.type.to_string(), nullable ? "" : " NOT NULL");
}

std::string difference(std::string_view what, const std::vector<base::BoundColumn>& columns,
                       const std::vector<base::BoundColumn>& others) {
  if (columns.size() != others.size()) {
    return fmt::format("{} of {} cells instead of {}", what, others.size(), columns.size());
  }
  for (size_t i = 0; i < columns.size(); ++i) {
    if (in_words(columns[i]) == in_words(others[i]) && columns[i].offset == others[i].offset) {
      continue;
    }
    return fmt::format("{} with \"{}\" at byte {} instead of \"{}\" at byte {}", what,
                       in_words(others[i]), others[i].offset, in_words(columns[i]),
                       columns[i].offset);
  }
  return {};
}

}  // namespace

ProcedureSignature signature_of(const oltp::ProcedureDefinition& definition) {
  const auto& arguments = definition.argument_columns;
  return {.name = definition.name,
          .id = {},
          .argument_bytes = definition.argument_bytes,
          .reply_bytes = definition.reply_bytes,
          .cells_hash = oltp::detail::cells_hash(base::columns_hash(arguments),
                                                 base::columns_hash(definition.reply_columns)),
          .argument_columns = arguments,
          .reply_columns = definition.reply_columns,
          .has_empty_arguments = definition.has_empty_arguments,
          .has_empty_reply = definition.has_empty_reply,
          .argument_texts = oltp::text_cells(arguments)};
}

std::string unfit(const oltp::ProcedureDefinition& definition) {
  if (definition.name.empty()) return "has no name";
  if (!base::is_valid_utf8(definition.name)) return "has a name that is not valid UTF-8";
  if (definition.argument_bytes > oltp::kProcedureStructBytesMax) {
    return fmt::format("takes arguments of {} bytes, {} are allowed: use a Text for more",
                       definition.argument_bytes, oltp::kProcedureStructBytesMax);
  }
  if (definition.reply_bytes > oltp::kProcedureStructBytesMax) {
    return fmt::format("gives a reply of {} bytes, {} are allowed: use a Text for more",
                       definition.reply_bytes, oltp::kProcedureStructBytesMax);
  }
  return {};
}

std::string difference(const ProcedureSignature& procedure, const ProcedureSignature& other) {
  std::string found = difference("arguments", procedure.argument_columns, other.argument_columns);
  if (!found.empty()) return found;
  if (procedure.argument_bytes != other.argument_bytes) {
    return fmt::format("arguments of {} bytes instead of {}", other.argument_bytes,
                       procedure.argument_bytes);
  }
  found = difference("a reply", procedure.reply_columns, other.reply_columns);
  if (!found.empty()) return found;
  if (procedure.reply_bytes != other.reply_bytes) {
    return fmt::format("a reply of {} bytes instead of {}", other.reply_bytes,
                       procedure.reply_bytes);
  }
  return {};
}

}  // namespace diptych::dispatcher
