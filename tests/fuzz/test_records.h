// The statements of test scripts in sqllogictest's form, which the SQL fuzz targets begin with.

#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"

namespace diptych::olap::fuzz {

inline std::string text_of_file(const std::filesystem::path& path) {
  std::ifstream in(path);
  DIPTYCH_CHECK(in.good(), "the sources are there");
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// The statements of a test script's records, which stand between empty lines: without their first
// lines and their results.
inline std::vector<std::string_view> statements_of_records(std::string_view text) {
  std::vector<std::string_view> statements;
  while (!text.empty()) {
    const std::string_view record = text.substr(0, text.find("\n\n"));
    text.remove_prefix(std::min(record.size() + 2, text.size()));
    // A record's first line is the first that is no comment.
    std::string_view rest = record;
    while (rest.starts_with("#"))
      rest.remove_prefix(std::min(rest.find('\n'), rest.size() - 1) + 1);
    const size_t sql = rest.find('\n');
    if (sql == rest.npos) continue;
    rest.remove_prefix(sql + 1);
    statements.push_back(rest.substr(0, rest.find("\n----")));
  }
  return statements;
}

// Those that PostgreSQL has answered: their tables are tests/olap/answers/tables.sql.
inline std::vector<std::string> answered_statements() {
  std::vector<std::string> statements;
  const std::filesystem::path folder = DIPTYCH_SOURCE_DIR "/tests/olap/answers";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".test") continue;
    const std::string text = text_of_file(entry.path());
    for (const std::string_view statement : statements_of_records(text)) {
      statements.emplace_back(statement);
    }
  }
  // In the same order everywhere: a mutation of a seed is the same again.
  std::sort(statements.begin(), statements.end());
  return statements;
}

}  // namespace diptych::olap::fuzz
