// TestRunner: runs one test script (cli/test_script.h) on a new database in memory.
//
// INSERT               of VALUES or of a query's rows goes in by way of Database::load; the
//                      engine's SQL reads only.
// No primary key       a table needs one here; a script of another engine may have none. The runner
//                      then adds a last, invisible column `slt_rowid` that counts the rows.
// Threads              one at a time; the database has its own.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/test_script.h"
#include "dispatcher/database.h"

namespace diptych::cli {

struct TestFailure {
  uint32_t line = 0;
  std::string what;  // lines for a person: what was expected, and what came
};

struct TestOutcome {
  size_t records = 0;
  std::vector<TestFailure> failures;
  std::vector<TestFailure> skipped;  // what was left out
};

class TestRunner {
 public:
  // `threads` of queries; 0: the default. `folder` is where a script's files lie.
  static base::Result<TestRunner> open(uint32_t threads, std::string folder);

  TestOutcome run(const std::vector<TestRecord>& records);

 private:
  TestRunner(std::unique_ptr<dispatcher::Database> database, std::string folder)
      : database_(std::move(database)), folder_(std::move(folder)) {}

  // What is wrong with a record; empty: nothing.
  std::string run_record(const TestRecord& record);
  std::string run_query(const TestRecord& record);
  std::string check_label(const TestRecord& record, const std::vector<std::string>& values);
  // These give how many rows were inserted, or are a query's.
  base::Result<uint64_t> run_statement(const std::string& sql);
  base::Result<uint64_t> insert(const std::string& sql);
  base::Result<void> create(const std::string& sql);
  // As an INSERT has them.
  base::Result<std::vector<std::vector<base::Value>>> rows_of(const std::string& query);
  base::Result<uint64_t> load(const TestRecord& record);

  std::unique_ptr<dispatcher::Database> database_;
  std::string folder_;
  std::map<std::string, uint64_t> rows_counted_;  // of tables with slt_rowid
  std::map<std::string, std::string> hash_by_label_;
};

}  // namespace diptych::cli
