// The statements of a script are views of it, in their order, none of them empty; each one, split
// again, is one. Input: the text of a script.

#include "tests/fuzz/sql_front_end.h"

namespace diptych::olap::fuzz {
namespace {

void check_split(std::string_view script) {
  const auto statements = split_statements(script);
  if (!statements) return check_refusal(statements.error());
  const char* at = script.data();
  const char* const end = script.data() + script.size();
  for (const std::string_view statement : *statements) {
    DIPTYCH_CHECK(!statement.empty(), "empty ones are dropped");
    DIPTYCH_CHECK(statement.data() >= at, "they stand in their order and do not overlap");
    at = statement.data() + statement.size();
    DIPTYCH_CHECK(at <= end, "and within the script");
    const auto again = split_statements(statement);
    DIPTYCH_CHECK(again.ok() && again->size() == 1, "a statement is one statement");
  }
}

}  // namespace
}  // namespace diptych::olap::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // A copy of exactly this size: a read behind it is seen.
  const std::string script(reinterpret_cast<const char*>(data), size);
  diptych::olap::fuzz::check_split(script);
  return 0;
}
