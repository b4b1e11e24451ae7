#include "tests/dispatcher/any_schema_shadow.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace diptych::dispatcher::any_schema {

using base::ErrorCode;

namespace {

RowPtr find_number(const Rows& rows, int number) {
  const auto found = rows.find(number);
  return found == rows.end() ? nullptr : found->second;
}

bool has_committed(const oltp::Request& request) {
  return request.outcome.ok() && request.commit_vid.value != 0;
}

}  // namespace

std::string name_of(std::optional<ErrorCode> code) {
  return code ? base::Error(*code).to_string() : "ok";
}

std::optional<int> Shadow::find_row_id(size_t table, uint64_t row_id) const {
  for (const auto& [number, row] : now[table]) {
    if (row->row_id == row_id) return number;
  }
  return std::nullopt;
}

RowPtr Shadow::find_key(size_t table, const IndexSchema& index, const Cells& cells) const {
  const Table& of = (*tables)[table];
  if (index.id == of.primary_key().id) {
    const auto number = number_of(of, cells);
    return number ? find_number(now[table], *number) : nullptr;
  }
  for (const auto& [number, row] : now[table]) {
    if (compare_keys(of, index, row->cells, cells) == 0) return row;
  }
  return nullptr;
}

std::vector<RowPtr> Shadow::find_range(size_t table, const IndexSchema& index,
                                       const KeyBounds& bounds) const {
  const Table& of = (*tables)[table];
  std::vector<RowPtr> rows;
  for (const auto& [number, row] : now[table]) {
    if (compare_keys(of, index, row->cells, bounds.low, bounds.low_parts) < 0) continue;
    if (compare_keys(of, index, row->cells, bounds.high, bounds.high_parts) > 0) continue;
    rows.push_back(row);
  }
  sort_by(of, index, &rows);
  return rows;
}

// By the first index in whose way it is.
std::optional<ErrorCode> Shadow::refusal_of_keys(size_t table, int number, const Cells& cells,
                                                 const Cells* old) const {
  const Table& of = (*tables)[table];
  for (const IndexSchema& index : of.schema.indexes) {
    if (old != nullptr && compare_keys(of, index, *old, cells) == 0) continue;
    if (!key_of(of, index, cells).ok()) return ErrorCode::kInvalidArgument;
    if (!is_unique(index)) continue;
    if (index.id == of.primary_key().id) {
      if (now[table].contains(number)) return ErrorCode::kAlreadyExists;
      continue;
    }
    for (const auto& [another, row] : now[table]) {
      if (old != nullptr && another == number) continue;
      if (compare_keys(of, index, row->cells, cells) == 0) return ErrorCode::kAlreadyExists;
    }
  }
  return std::nullopt;
}

std::optional<ErrorCode> Shadow::insert(size_t table, int number, const Row& row) {
  const Table& of = (*tables)[table];
  if (!fit(of, row.cells)) return ErrorCode::kInvalidArgument;
  if (const auto refusal = refusal_of_keys(table, number, row.cells, nullptr)) return refusal;
  now.to_change(table)[number] = std::make_shared<Row>(Row{row.row_id, as_read(of, row.cells)});
  written[{table, number}] |= kWholeRow;
  return std::nullopt;
}

std::optional<ErrorCode> Shadow::update(size_t table, int number,
                                        const std::vector<ColumnId>& columns, const Cells& cells) {
  const Table& of = (*tables)[table];
  const RowPtr old = now[table].at(number);
  Row row = *old;
  uint32_t groups = 0;
  for (size_t i = 0; i < columns.size(); ++i) {
    const ColumnId id = columns[i];
    if (of.is_primary(id) || !fits(of.schema.column(id), cells[i])) {
      return ErrorCode::kInvalidArgument;
    }
    row.cells[id.value] = as_read(of.layout.column(id), cells[i]);
    groups |= of.group_bit(id);
  }
  if (const auto refusal = refusal_of_keys(table, number, row.cells, &old->cells)) return refusal;
  now.to_change(table)[number] = std::make_shared<Row>(std::move(row));
  written[{table, number}] |= groups;
  return std::nullopt;
}

void Shadow::erase(size_t table, int number) {
  now.to_change(table).erase(number);
  written[{table, number}] |= kWholeRow;
}

// What came and went within the transaction is nothing.
bool Shadow::has_written() const {
  return std::any_of(written.begin(), written.end(), [&](const auto& write) {
    const auto [table, number] = write.first;
    return before[table].contains(number) || now[table].contains(number);
  });
}

void Timeline::set_rows(size_t table, Rows rows, bool committed) {
  latest_.to_change(table) = std::move(rows);
  if (committed) ++vid_;
}

void Timeline::note_save() {
  saved_ = latest_;
  saved_vid_ = vid_;
}

uint64_t Timeline::lose_unsaved() {
  latest_ = saved_;
  const uint64_t lost = vid_ - saved_vid_;
  vid_ = saved_vid_;
  return lost;
}

bool Timeline::allows_index(size_t table, const IndexSchema& index) const {
  const Table& of = (*tables_)[table];
  std::vector<RowPtr> rows;
  for (const auto& [number, row] : latest_[table]) {
    if (!key_of(of, index, row->cells).ok()) return false;
    rows.push_back(row);
  }
  if (!is_unique(index)) return true;
  sort_by(of, index, &rows);
  return std::adjacent_find(rows.begin(), rows.end(), [&](const RowPtr& a, const RowPtr& b) {
           return compare_keys(of, index, a->cells, b->cells) == 0;
         }) == rows.end();
}

// Commits in their order, and then whatever saw one of the states that they made.
void Timeline::judge(std::span<const oltp::Request> requests,
                     const std::vector<std::vector<Run>>& runs) {
  states_.clear();
  states_[vid_] = latest_;
  std::vector<size_t> committed;
  for (size_t i = 0; i < requests.size(); ++i) {
    ASSERT_FALSE(runs[i].empty());
    if (has_committed(requests[i])) committed.push_back(i);
  }
  std::sort(committed.begin(), committed.end(),
            [&](size_t a, size_t b) { return requests[a].commit_vid < requests[b].commit_vid; });
  for (const size_t i : committed) {
    ASSERT_EQ(requests[i].commit_vid.value, vid_ + 1);
    judge_commit(runs[i].back());
    if (::testing::Test::HasFailure()) return;
  }
  for (size_t i = 0; i < requests.size(); ++i) {
    for (size_t r = 0; r + 1 < runs[i].size(); ++r) {
      ASSERT_TRUE(states_.contains(runs[i][r].read_vid));
      static_cast<void>(checked(states_.at(runs[i][r].read_vid), runs[i][r]));
    }
    if (!has_committed(requests[i])) judge_end(requests[i], runs[i].back());
    if (::testing::Test::HasFailure()) return;
  }
}

// A serializable run would have seen the same at its commit, besides.
void Timeline::judge_commit(const Run& run) {
  ASSERT_TRUE(states_.contains(run.read_vid));
  const Shadow shadow = checked(states_.at(run.read_vid), run);
  EXPECT_FALSE(shadow.failure || run.has_conflict) << "it has failed, and has committed";
  if (run.is_serializable && run.read_vid != vid_) {
    SCOPED_TRACE("a serializable run, by the state at its commit");
    static_cast<void>(checked(latest_, run));
  }
  apply(shadow);
  states_[++vid_] = latest_;
  ++commits_;
}

void Timeline::judge_end(const oltp::Request& request, const Run& run) {
  ASSERT_TRUE(states_.contains(run.read_vid));
  const Shadow shadow = checked(states_.at(run.read_vid), run);
  const base::Result<void>& outcome = request.outcome;
  if (run.has_conflict || (!outcome.ok() && outcome.code() == ErrorCode::kConflict)) return;
  const auto code = outcome ? std::nullopt : std::optional(outcome.code());
  EXPECT_TRUE(code == shadow.failure)
      << (code ? outcome.error().to_string() : "ok") << ", and not " << name_of(shadow.failure);
  if (!code) {
    EXPECT_FALSE(shadow.has_written()) << "it has written, and has no VID";
  }
}

Shadow Timeline::checked(const AllRows& state, const Run& run) const {
  Shadow shadow(tables_, state);
  for (const Check& check : run.checks) check(shadow);
  return shadow;
}

void Timeline::apply(const Shadow& shadow) {
  for (const auto& [at, groups] : shadow.written) {
    ASSERT_NO_FATAL_FAILURE(apply_row(at.first, at.second, groups, shadow));
  }
  for (const auto& [at, groups] : shadow.written) expect_unique(at.first, at.second);
}

// Nobody has changed meanwhile what the run has written. A row that came and went is nothing.
void Timeline::apply_row(size_t table, int number, uint32_t groups, const Shadow& shadow) {
  const Table& of = (*tables_)[table];
  const RowPtr before = find_number(shadow.before[table], number);
  const RowPtr now = find_number(shadow.now[table], number);
  const RowPtr there = find_number(latest_[table], number);
  if (before == nullptr && now == nullptr) return;
  ASSERT_EQ(there != nullptr, before != nullptr) << "another run inserted or erased " << number;
  if (now == nullptr) latest_.to_change(table).erase(number);
  Row row = there == nullptr ? *now : *there;
  if (now != nullptr) row.row_id = now->row_id;
  const bool whole = (groups & kWholeRow) != 0;
  if (there != nullptr) {
    EXPECT_EQ(there->row_id, before->row_id);
  }
  for (size_t c = 0; c < of.column_count(); ++c) {
    if (!whole && (groups & of.group_bit(ColumnId(static_cast<uint16_t>(c)))) == 0) continue;
    if (there != nullptr) {
      EXPECT_TRUE(there->cells[c] == before->cells[c]) << "lost update";
    }
    if (now != nullptr) row.cells[c] = now->cells[c];
  }
  if (now != nullptr) latest_.to_change(table)[number] = std::make_shared<Row>(std::move(row));
}

void Timeline::expect_unique(size_t table, int number) const {
  const Table& of = (*tables_)[table];
  const RowPtr row = find_number(latest_[table], number);
  if (row == nullptr) return;
  for (const auto& [another, other] : latest_[table]) {
    if (another == number) continue;
    EXPECT_NE(other->row_id, row->row_id) << "two rows in one slot";
    for (const IndexSchema& index : of.schema.indexes) {
      if (!is_unique(index)) continue;
      EXPECT_NE(compare_keys(of, index, other->cells, row->cells), 0)
          << "two rows with a key: " << text_of(of, row->cells);
    }
  }
}

}  // namespace diptych::dispatcher::any_schema
