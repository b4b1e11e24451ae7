// Shadow: the tables as one run of a procedure should see them: the state at its snapshot, and what
// it has done itself since. And the timeline of all states, by which runs are judged.
//
// An actor notes a check for each operation while it runs (any_schema_actor.h); they are made
// later, one after the other on the same shadow, once the order of the commits is known.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "oltp/request.h"
#include "tests/dispatcher/any_schema.h"

namespace diptych::dispatcher::any_schema {

// The rows of all tables. Copies share those of the tables in which they do not differ.
class AllRows {
 public:
  const Rows& operator[](size_t table) const { return *tables_[table]; }
  Rows& to_change(size_t table) {
    auto& rows = tables_[table];
    if (rows.use_count() > 1) rows = std::make_shared<Rows>(*rows);
    return *rows;
  }
  void add_table() { tables_.push_back(std::make_shared<Rows>()); }

 private:
  std::vector<std::shared_ptr<Rows>> tables_;
};

std::string name_of(std::optional<base::ErrorCode> code);  // nothing: "ok"

// A bit of a row's written groups: it was inserted or erased.
inline constexpr uint32_t kWholeRow = uint32_t{1} << 31;

// A range of an index: keys whose first parts are at least those of `low`, and at most of `high`.
struct KeyBounds {
  Cells low;
  Cells high;
  size_t low_parts = 0;
  size_t high_parts = 0;
};

struct Shadow {
  Shadow(const Tables* all_tables, const AllRows& state)
      : tables(all_tables), before(state), now(state) {}

  const Tables* tables;
  AllRows before;
  AllRows now;
  std::map<std::pair<size_t, int>, uint32_t> written;  // groups, by table and number
  std::optional<base::ErrorCode> failure;              // of the transaction

  std::optional<int> find_row_id(size_t table, uint64_t row_id) const;
  RowPtr find_key(size_t table, const IndexSchema& index, const Cells& cells) const;
  std::vector<RowPtr> find_range(size_t table, const IndexSchema& index,
                                 const KeyBounds& bounds) const;

  // What the operation is refused with; nothing: it is done.
  std::optional<base::ErrorCode> insert(size_t table, int number, const Row& row);
  std::optional<base::ErrorCode> update(size_t table, int number,
                                        const std::vector<ColumnId>& columns, const Cells& cells);
  void erase(size_t table, int number);
  bool has_written() const;

 private:
  std::optional<base::ErrorCode> refusal_of_keys(size_t table, int number, const Cells& cells,
                                                 const Cells* old) const;
};
using Check = std::function<void(Shadow&)>;

// One of the runs of a call: the last one counts, the others met conflicts.
struct Run {
  uint64_t read_vid = 0;
  bool is_serializable = false;
  bool has_conflict = false;  // it returned one
  std::vector<Check> checks;
};

// Judges runs by the states that commits have made, and has the newest one.
class Timeline {
 public:
  explicit Timeline(const Tables* tables) : tables_(tables) {}

  const AllRows& latest() const { return latest_; }
  void add_table() { latest_.add_table(); }
  // What happened to a table otherwise than by calls; `committed`: it has taken a VID.
  void set_rows(size_t table, Rows rows, bool committed);

  // What a crash leaves, where commits are not logged: the state at the last save.
  void note_save();
  uint64_t lose_unsaved();  // gives how many commits

  // Whether the index can be built, or its unique keys still hold.
  bool allows_index(size_t table, const IndexSchema& index) const;

  // runs[i]: of requests[i]. All requests since the last time.
  void judge(std::span<const oltp::Request> requests, const std::vector<std::vector<Run>>& runs);
  uint64_t commits() const { return commits_; }

 private:
  void judge_commit(const Run& run);
  void judge_end(const oltp::Request& request, const Run& run);
  Shadow checked(const AllRows& state, const Run& run) const;
  void apply(const Shadow& shadow);
  void apply_row(size_t table, int number, uint32_t groups, const Shadow& shadow);
  void expect_unique(size_t table, int number) const;

  const Tables* tables_;
  AllRows latest_;
  uint64_t vid_ = 0;
  AllRows saved_;
  uint64_t saved_vid_ = 0;
  std::map<uint64_t, AllRows> states_;  // by VID, of what is being judged
  uint64_t commits_ = 0;
};

}  // namespace diptych::dispatcher::any_schema
