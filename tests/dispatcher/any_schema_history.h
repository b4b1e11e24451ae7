// History: a database of random schemas through all that it goes through: batches of random
// procedures on any number of workers and at either isolation level, DDL, loads, checkpoints, and
// being closed or killed, opened otherwise than before, and its primary rebuilt. In large ones,
// with tables of several blocks, also ranges of rows that are changed or erased, and rest, in which
// the replica compacts what was written.
//
// Whatever runs did is judged (any_schema_shadow.h), and then both replicas, every index and every
// row are compared with what the judgement says is there.
//
// Threads  one. Procedures run on the database's workers meanwhile.

#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "dispatcher/database.h"
#include "tests/dispatcher/any_schema.h"
#include "tests/dispatcher/any_schema_options.h"
#include "tests/dispatcher/any_schema_shadow.h"
#include "tests/dispatcher/any_schema_task.h"

namespace diptych::dispatcher::any_schema {

struct Counts {
  uint64_t commits = 0;
  uint64_t indexes = 0;  // that were built
  uint64_t drops = 0;    // of indexes and tables
  uint64_t truncations = 0;
  uint64_t loads = 0;  // of some rows, that were not refused
  uint64_t checkpoints = 0;
  uint64_t crashes = 0;
  uint64_t closes = 0;
  uint64_t rebuilds = 0;
};

class History {
 public:
  // Of a database at `path`, where there is none yet, or of one in memory.
  History(uint64_t seed, const Traits& traits, std::string path);
  ~History();
  History(const History&) = delete;
  History& operator=(const History&) = delete;

  // All that there is between batches of calls, in any order, and such a batch after each. Ends at
  // the first failure.
  void go_round(size_t calls_max);
  const Counts& counts() const { return counts_; }
  Met met() const;
  // What has happened.
  const std::string& text() const { return text_; }

 private:
  struct Call {
    uint64_t number = 0;
    uint64_t schema = 0;  // of schemas_
    ActorsTask task;
  };
  struct LoadedRows {
    uint64_t table = 0;
    const std::vector<int>* numbers = nullptr;
  };
  using Procedure = ProcedureRef<Call, oltp::Nothing>;

  void open();
  void register_procedures();
  void find_ids_again(Tables* tables) const;
  uint64_t present_schema();
  Procedure define(const char* name, std::optional<IsolationLevel> level);
  base::Result<oltp::Nothing> run_once(Transaction& txn, const Call& call, bool is_serializable);

  void create_table();
  Table make_table(const std::string& name, bool is_large);
  void create_index();
  void drop_index();
  void replace_table();  // by one of its name
  void truncate();
  void load();
  void load_much();
  void load_much(size_t of_table);
  uint64_t some_large_table();
  void load_rows(size_t table, const std::vector<int>& numbers, const std::vector<Cells>& rows,
                 bool is_refused);
  void checkpoint();
  void crash();
  void close();
  void reopen();
  void note_save();
  void lose_unsaved();
  void rebuild();
  void sweep();
  void rest();
  void call_procedures(size_t count);
  void run_calls(std::vector<Call> calls);

  // Both replicas and every index have the timeline's newest rows, and no others.
  void verify(const char* when);
  base::Result<oltp::Nothing> verify_indexes(Transaction& txn) const;
  base::Result<oltp::Nothing> learn_row_ids(Transaction& txn, const LoadedRows& loaded);

  void note(const std::string& what) { text_ += what + "\n"; }
  // Of the whole program: what cannot be gone on from.
  [[noreturn]] void stop(const std::string& why) const;

  std::mt19937_64 random_;
  const Below below_;
  const Traits traits_;
  RandomOptions options_;
  Tables tables_;
  Timeline timeline_{&tables_};
  Counts counts_;
  Met met_before_;                   // in earlier lives
  uint64_t checkpoints_before_ = 0;  // counts_.checkpoints as this life began
  std::string text_;
  int index_names_ = 0;
  IsolationLevel isolation_ = IsolationLevel::kSnapshot;
  bool is_logged_ = true;
  Tables saved_tables_;  // where it is not logged
  // As they were when calls were made: what a call does hangs on the tables and indexes that there
  // are, and a replay may meet those that came later, too.
  std::deque<Tables> schemas_;
  std::unique_ptr<Database> database_;
  std::vector<Procedure> procedures_;  // the same one, of different isolation levels
  Procedure verify_;
  ProcedureRef<LoadedRows, oltp::Nothing> learn_;
  bool is_replaying_ = false;
  std::vector<std::vector<Run>> runs_;  // of the present calls
};

}  // namespace diptych::dispatcher::any_schema
