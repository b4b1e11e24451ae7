// SqlMutator: other statements made of statements, which parse and find their columns most often.
//
// A run of a text's tokens (sql_runs.h) gives way to another of the same form: of the same text, of
// another statement, or with something put around it. Columns of a run from elsewhere become
// columns of the text. The same text and seed give the same text.
//
// Threads    any: it is not changed once it is made.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/schema.h"
#include "tests/fuzz/sql_runs.h"

namespace diptych::olap::fuzz {

class SqlMutator {
 public:
  SqlMutator(const std::vector<std::string>& statements, const base::Catalog& catalog);

  std::string mutated(std::string_view text, uint64_t seed) const;
  // With a run of the other.
  std::string crossed(std::string_view text, std::string_view other, uint64_t seed) const;

 private:
  struct Random;

  bool change(SqlTokens* tokens, Random* random) const;
  bool take_run(SqlTokens* tokens, const SqlTokens& from, Random* random) const;
  bool wrap_run(SqlTokens* tokens, Random* random) const;
  bool add_clause(SqlTokens* tokens, const SqlTokens& from, Random* random) const;
  bool drop_run(SqlTokens* tokens, Random* random) const;
  bool change_token(SqlTokens* tokens, Random* random) const;
  bool is_column(const SqlToken& token) const;
  // The columns of `run` become columns of the text, of the same type where it has one.
  void adapt(SqlTokens* run, const SqlTokens& text, Random* random) const;
  const SqlTokens& any_statement(Random* random) const;

  std::vector<SqlTokens> statements_;
  std::map<std::string, base::TypeKind, std::less<>> columns_;  // by name, without a table's
};

}  // namespace diptych::olap::fuzz
