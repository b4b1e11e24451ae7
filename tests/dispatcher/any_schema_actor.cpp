#include "tests/dispatcher/any_schema_actor.h"

#include <algorithm>
#include <stdexcept>

#include <gtest/gtest.h>

#include "tests/oltp/stress_yield.h"

namespace diptych::dispatcher::any_schema {

using base::ErrorCode;
using base::Result;

namespace {

template <class Value>
bool is_conflict(const Result<Value>& result) {
  return !result.ok() && result.code() == ErrorCode::kConflict;
}

template <class Value>
std::optional<ErrorCode> code_of(const Result<Value>& result) {
  return result.ok() ? std::nullopt : std::optional(result.code());
}

bool has(const std::vector<ColumnId>& columns, ColumnId id) {
  return std::find(columns.begin(), columns.end(), id) != columns.end();
}

void expect_cells(const Table& table, const std::vector<ColumnId>& columns, const Cells& seen,
                  const Row& row, const char* operation) {
  for (size_t i = 0; i < columns.size(); ++i) {
    const ColumnId id = columns[i];
    Cells instead = row.cells;
    if (seen[i] == row.cells[id.value]) continue;
    instead[id.value] = seen[i];
    ADD_FAILURE() << operation << " of " << text_of(table, row.cells) << " sees in column "
                  << id.value << text_of(table, instead);
  }
}

}  // namespace

Actor::Actor(const Tables& tables, uint64_t steps_max, Transaction& txn, Run* run)
    : tables_(tables), steps_max_(steps_max), txn_(txn), run_(run), below_([&txn](uint64_t bound) {
        return txn.random() % bound;
      }) {}

Actor::Done Actor::act(const ActorsTask& task) {
  using Kind = ActorsTask::Kind;
  if (task.kind == Kind::kChange || task.kind == Kind::kErase) return sweep(task);
  for (uint64_t step = 1 + below_(steps_max_); step != 0; --step) {
    oltp::let_others_in();
    table_ = task.kind == Kind::kOneTable ? task.table : below_(tables_.size());
    if (auto done = act_once(); !done) return done;
    if (txn_.failed()) return {};  // whatever it returns
  }
  return below_(8) == 0 ? end() : Done();
}

Actor::Done Actor::sweep(const ActorsTask& task) {
  table_ = task.table;
  for (uint32_t number = task.first; number < task.end; ++number) {
    oltp::let_others_in();
    auto done = look_up_number(static_cast<int>(number), [&](const Handle& handle) {
      return task.kind == ActorsTask::Kind::kErase ? erase(handle) : claim_and_change(handle);
    });
    if (!done || txn_.failed()) return done;
  }
  return {};
}

Actor::Done Actor::end() {
  check([](Shadow& shadow) { shadow.failure = ErrorCode::kAborted; });
  if (below_(2) == 0) throw std::runtime_error("thrown");
  return txn_.abort("one in sixteen");
}

Actor::Done Actor::act_once() {
  const Then erase_it = [this](const Handle& handle) { return erase(handle); };
  const Then change_it = [this](const Handle& handle) { return claim_and_change(handle); };
  switch (below_(14)) {
    case 0:
    case 1:
    case 2: return insert(some_number());
    case 3:
    case 4:
    case 5: return look_up_by_any_index(change_it);
    case 6: return look_up_by_any_index([](const Handle&) { return Done(); });
    case 7: {
      const int number = some_number();
      if (auto done = look_up_number(number, erase_it); !done || txn_.failed()) return done;
      return insert(number);
    }
    case 8: return look_up_number(some_number(), erase_it);
    case 9:
    case 10: return scan(false);
    case 11: return scan(true);
    case 12: {
      if (kept_.empty()) return {};
      const auto [of_table, handle] = kept_[below_(kept_.size())];
      table_ = of_table;
      return claim_and_change(handle);
    }
    default: return look_up_number(some_number(), change_it);
  }
}

int Actor::some_number() {
  return static_cast<int>(below_(static_cast<uint64_t>(table().rows_max)));
}

std::vector<ColumnId> Actor::some_columns() {
  std::vector<ColumnId> named;
  if (below_(3) == 0) return named;
  for (size_t c = 0; c < table().column_count(); ++c) {
    if (below_(3) == 0) named.push_back(column(c));
  }
  return named;
}

std::vector<ColumnId> Actor::meant_by(const std::vector<ColumnId>& named) const {
  if (!named.empty()) return named;
  std::vector<ColumnId> all;
  for (size_t c = 0; c < table().column_count(); ++c) all.push_back(column(c));
  return all;
}

Cells Actor::read(const std::vector<ColumnId>& columns, const std::byte* row) const {
  Cells cells;
  for (const ColumnId id : columns) cells.push_back(read_cell(table().layout.column(id), row));
  return cells;
}

Actor::Done Actor::failure() {
  if (!txn_.failed()) return {};
  return txn_.find_unique(table().primary_key().id, {}, {}).error();
}

Actor::Done Actor::insert(int number) {
  const Table& of = table();
  Cells cells = some_cells(of, number, below_);
  if (below_(60) == 0) {  // one that does not fit
    for (size_t c = 0; c < of.column_count(); ++c) {
      const base::DataType& type = of.schema.columns[c].type;
      if (!type.is_string() || type.length == 0 || of.is_primary(column(c))) continue;
      cells[c] = std::string(type.length + 1, 'o');
      break;
    }
  }
  const auto inserted = txn_.insert_row(of.schema.id, RowBytes(of, cells).data());
  if (is_conflict(inserted)) return inserted.error();
  const uint64_t row_id = inserted ? inserted->row_id.value : 0;
  const auto code = code_of(inserted);
  check([&of, t = table_, number, cells, code, row_id, failed = txn_.failed()](Shadow& shadow) {
    if (!code) {
      EXPECT_FALSE(shadow.find_row_id(t, row_id)) << "a slot is used twice";
    }
    const auto expected = shadow.insert(t, number, {row_id, cells});
    EXPECT_TRUE(code == expected) << "insert of " << text_of(of, cells) << " gives "
                                  << name_of(code) << ", not " << name_of(expected);
    EXPECT_EQ(failed, expected == ErrorCode::kInvalidArgument);
    if (failed) shadow.failure = expected;
  });
  if (!inserted) return {};
  if (below_(3) == 0) kept_.emplace_back(table_, *inserted);
  return below_(4) == 0 ? claim_and_change(*inserted) : Done();
}

// The way that is compiled into a procedure which knows the row's struct, where there is one.
Result<Actor::Found> Actor::find(const IndexSchema& index, const base::Key& key,
                                 const std::vector<ColumnId>& named) {
  const oltp::ColumnChoice choice{named.empty(), named, {}};
  if (below_(2) == 0 || !key.ok()) return txn_.find_unique(index.id, key, choice);
  const oltp::TableIndex* const compiled = txn_.compiled_index(index.id);
  if (compiled == nullptr) return txn_.find_unique(index.id, key, choice);
  const uint64_t hash = oltp::key_hash(key.bytes());
  const auto has_key = [&](const std::byte* row) {
    return compiled->encoder.matches(row, key.bytes());
  };
  const auto for_words = [&](const auto& visit) {
    for (const auto& columns : {meant_by(named), index.columns}) {
      for (const ColumnId id : columns) {
        const base::ColumnLayout& layout = table().layout.column(id);
        visit(oltp::words_of(layout.offset, layout.bytes));
      }
    }
  };
  const Found found = txn_.is_alone() ? txn_.find_alone(*compiled, hash, has_key)
                                      : txn_.find_shared(*compiled, hash, for_words, has_key);
  if (found.row == nullptr) return ErrorCode::kNotFound;
  return found;
}

Actor::Done Actor::look_up_by_any_index(const Then& then) {
  std::vector<const IndexSchema*> unique;
  for (const IndexSchema& index : table().schema.indexes) {
    if (is_unique(index)) unique.push_back(&index);
  }
  const IndexSchema& index = *unique[below_(unique.size())];
  return look_up(index, some_cells(table(), some_number(), below_), [&](const Handle& handle) {
    if (below_(4) == 0) kept_.emplace_back(table_, handle);
    return then(handle);
  });
}

Actor::Done Actor::look_up_number(int number, const Then& then) {
  return look_up(table().primary_key(), some_cells(table(), number, below_), then);
}

Actor::Done Actor::look_up(const IndexSchema& index, const Cells& key_cells, const Then& then) {
  const Table& of = table();
  const std::vector<ColumnId> named = some_columns();
  const std::vector<ColumnId> columns = meant_by(named);
  const auto found = find(index, key_of(of, index, key_cells), named);
  if (is_conflict(found)) return found.error();
  EXPECT_TRUE(found || found.code() == ErrorCode::kNotFound) << found.error().to_string();
  std::optional<Seen> seen;
  if (found) seen = Seen{found->handle.row_id.value, read(columns, found->row)};
  check([&of, &index, t = table_, key_cells, columns, seen](Shadow& shadow) {
    const RowPtr expected = shadow.find_key(t, index, key_cells);
    ASSERT_EQ(seen.has_value(), expected != nullptr)
        << "look-up by " << index.name << " of " << text_of(of, key_cells);
    if (!seen) return;
    EXPECT_EQ(seen->row_id, expected->row_id);
    expect_cells(of, columns, seen->cells, *expected, "look-up");
  });
  return found ? then(found->handle) : Done();
}

Actor::Done Actor::claim_and_change(const Handle& handle) {
  const Table& of = table();
  const std::vector<ColumnId> named = some_columns();
  uint32_t groups = 0;
  for (const ColumnId id : meant_by(named)) groups |= of.group_bit(id);
  std::vector<ColumnId> columns;  // all of the groups
  for (size_t c = 0; c < of.column_count(); ++c) {
    if ((groups & of.group_bit(column(c))) != 0) columns.push_back(column(c));
  }
  const auto claimed = txn_.claim_row(handle, named);
  if (is_conflict(claimed)) return claimed.error();
  EXPECT_TRUE(claimed || claimed.code() == ErrorCode::kInvalidArgument);
  std::optional<Seen> seen;
  if (claimed) seen = Seen{handle.row_id.value, read(columns, *claimed)};
  check([&of, t = table_, row_id = handle.row_id.value, columns, seen](Shadow& shadow) {
    const auto number = shadow.find_row_id(t, row_id);
    ASSERT_EQ(seen.has_value(), number.has_value()) << "claim of row " << row_id;
    if (seen) {
      expect_cells(of, columns, seen->cells, *shadow.now[t].at(*number), "claim");
    } else {
      shadow.failure = ErrorCode::kInvalidArgument;
    }
  });
  if (!claimed) return {};
  for (uint64_t n = below_(4); n != 0; --n) {
    if (auto done = update(handle, columns); !done || txn_.failed()) return done;
  }
  return below_(5) == 0 ? erase_claimed(handle) : Done();
}

Actor::Done Actor::update(const Handle& handle, const std::vector<ColumnId>& claimed) {
  const Table& of = table();
  const bool may_be_wrong = below_(60) == 0;  // a primary key, or what does not fit
  std::vector<ColumnId> columns;
  for (const ColumnId id : claimed) {
    if (below_(claimed.size()) < 2 && (may_be_wrong || !of.is_primary(id))) columns.push_back(id);
  }
  if (columns.empty()) return {};
  for (size_t i = 1; i < columns.size(); ++i) std::swap(columns[i], columns[below_(i + 1)]);
  Cells cells;
  for (const ColumnId id : columns) {
    const base::DataType& type = of.schema.column(id).type;
    const bool overlong = may_be_wrong && type.is_string() && type.length != 0 && below_(2) == 0;
    cells.push_back(overlong ? std::string(type.length + 1, 'o') : some_cell(of, id, below_));
  }
  write(handle, columns, cells);
  const Done outcome = failure();
  if (is_conflict(outcome)) return outcome;
  check([&of, t = table_, row_id = handle.row_id.value, columns, cells,
         code = code_of(outcome)](Shadow& shadow) {
    const auto number = shadow.find_row_id(t, row_id);
    ASSERT_TRUE(number) << "update of what is not there";
    const RowPtr old = shadow.now[t].at(*number);
    const auto expected = shadow.update(t, *number, columns, cells);
    EXPECT_TRUE(code == expected) << "update of " << text_of(of, old->cells) << " gives "
                                  << name_of(code) << ", not " << name_of(expected);
    if (expected) shadow.failure = expected;
  });
  return {};
}

void Actor::write(const Handle& handle, const std::vector<ColumnId>& columns, const Cells& cells) {
  const oltp::WritableRow open = txn_.open_row(handle, columns);
  if (open.row == nullptr) return;
  for (size_t i = 0; i < columns.size(); ++i) {
    write_cell(table().layout.column(columns[i]), cells[i], open.row);
  }
  if (open.shape != nullptr) txn_.close_row(open);
}

Actor::Done Actor::erase(const Handle& handle) {
  std::vector<ColumnId> named = some_columns();
  if (named.empty()) named.push_back(column(0));  // the erasure claims the other groups
  const auto claimed = txn_.claim_row(handle, named);
  if (is_conflict(claimed)) return claimed.error();
  EXPECT_TRUE(claimed.ok()) << claimed.error().to_string();
  return claimed ? erase_claimed(handle) : Done();
}

Actor::Done Actor::erase_claimed(const Handle& handle) {
  txn_.erase_row(handle);
  const Done outcome = failure();
  if (is_conflict(outcome)) return outcome;
  EXPECT_TRUE(outcome.ok()) << outcome.error().to_string();
  check([t = table_, row_id = handle.row_id.value](Shadow& shadow) {
    const auto number = shadow.find_row_id(t, row_id);
    ASSERT_TRUE(number) << "erasure of what is not there";
    shadow.erase(t, *number);
  });
  return {};
}

Actor::Scan Actor::some_scan() {
  const Table& of = table();
  Scan scan;
  scan.index = &of.schema.indexes[below_(of.schema.indexes.size())];
  const size_t parts = scan.index->columns.size();
  KeyBounds& bounds = scan.bounds;
  bounds.low = some_cells(of, some_number(), below_);
  bounds.high = bounds.low;
  scan.range.exact = is_hash(*scan.index) || below_(3) == 0;
  bounds.low_parts = scan.range.exact ? parts : below_(parts + 1);
  bounds.high_parts = bounds.low_parts;
  if (!scan.range.exact && below_(2) == 0) {
    bounds.high = some_cells(of, some_number(), below_);
    bounds.high_parts = below_(parts + 1);
  }
  scan.range.lower = key_of(of, *scan.index, bounds.low, bounds.low_parts);
  scan.range.upper = key_of(of, *scan.index, bounds.high, bounds.high_parts).prefix_end();
  if (below_(2) == 0) scan.options.direction = Direction::kBackward;
  if (below_(3) == 0) scan.options.limit = 1 + below_(6);
  if (below_(3) == 0) scan.rows_max = 1 + below_(5);
  scan.named = some_columns();
  return scan;
}

// What the scan does to the rows that it meets is checked after what it sees: none of it moves an
// entry of the index.
Actor::Done Actor::scan(bool writes) {
  const Scan scan = some_scan();
  const std::vector<ColumnId> columns = meant_by(scan.named);
  std::vector<Seen> seen;
  std::vector<Check> of_writes;
  Done written;
  const auto visit = [&](const Handle& handle, const std::byte* row) {
    seen.push_back({handle.row_id.value, read(columns, row)});
    if (below_(6) == 0) kept_.emplace_back(table_, handle);
    if (writes && below_(2) == 0) {
      std::vector<Check> before = std::move(run_->checks);
      run_->checks = std::move(of_writes);
      written = write_met(handle, *scan.index);
      of_writes = std::move(run_->checks);
      run_->checks = std::move(before);
      if (!written || txn_.failed()) return false;
    }
    // The limit is the visitor's to keep, as in Transaction::scan.
    return seen.size() < std::min(scan.options.limit, scan.rows_max);
  };
  const auto done = txn_.scan_range(scan.index->id, scan.range, scan.options,
                                    oltp::ColumnChoice{scan.named.empty(), scan.named, {}},
                                    oltp::RowVisitor(visit));
  if (!written) return written;
  if (is_conflict(done)) return done;
  check_scan(scan, std::move(seen), !done.ok(), txn_.failed());
  for (Check& each : of_writes) check(std::move(each));
  return {};
}

void Actor::check_scan(const Scan& scan, std::vector<Seen> seen, bool is_refused,
                       bool is_broken_off) {
  const Table& of = table();
  check([=, &of, t = table_, columns = meant_by(scan.named)](Shadow& shadow) {
    if (!scan.range.lower.ok() || !scan.range.upper.ok()) {
      EXPECT_TRUE(is_refused) << "scan of what no row has";
      shadow.failure = ErrorCode::kInvalidArgument;
      return;
    }
    std::vector<RowPtr> expected = shadow.find_range(t, *scan.index, scan.bounds);
    if (scan.options.direction == Direction::kBackward) {
      std::reverse(expected.begin(), expected.end());
    }
    expected.resize(std::min<uint64_t>({expected.size(), scan.options.limit, scan.rows_max}));
    const std::string what = "scan of " + scan.index->name;
    if (is_broken_off) {
      ASSERT_LE(seen.size(), expected.size()) << what;
    } else {
      ASSERT_EQ(seen.size(), expected.size())
          << what << " from " << text_of(of, scan.bounds.low) << " (" << scan.bounds.low_parts
          << " parts) to " << text_of(of, scan.bounds.high) << " (" << scan.bounds.high_parts
          << ")";
    }
    for (size_t i = 0; i < seen.size(); ++i) {
      ASSERT_EQ(seen[i].row_id, expected[i]->row_id) << what << ", row " << i;
      expect_cells(of, columns, seen[i].cells, *expected[i], what.c_str());
    }
  });
}

// Nothing that moves the row in the index.
Actor::Done Actor::write_met(const Handle& handle, const IndexSchema& index) {
  if (below_(3) == 0) return erase(handle);
  std::vector<ColumnId> columns;
  for (size_t c = 0; c < table().column_count(); ++c) {
    const ColumnId id = column(c);
    if (table().is_primary(id) || has(index.columns, id)) continue;
    if (below_(2) == 0) columns.push_back(id);
  }
  if (columns.empty()) return {};
  const auto claimed = txn_.claim_row(handle, columns);
  if (is_conflict(claimed)) return claimed.error();
  EXPECT_TRUE(claimed.ok()) << claimed.error().to_string();
  return claimed ? update(handle, columns) : Done();
}

}  // namespace diptych::dispatcher::any_schema
