#include "tests/dispatcher/any_schema_history.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <mutex>
#include <span>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "storage/compressed_block.h"
#include "storage/settling.h"
#include "tests/dispatcher/any_schema_actor.h"
#include "tests/dispatcher/any_schema_ddl.h"
#include "tests/dispatcher/bank_fixture.h"

namespace diptych::dispatcher::any_schema {

using base::Result;
using oltp::Nothing;

namespace {

constexpr size_t kTablesMax = 4;
constexpr size_t kIndexesMax = 6;  // of a table
// Of a large table, whose blocks have 1024 rows.
constexpr int kLargeRowsMin = 2200;
constexpr int kLargeRowsMax = 4000;
constexpr uint32_t kSweptMin = 500;
constexpr uint32_t kSweptMax = 2000;
constexpr uint32_t kSweptTogether = 10;
constexpr int kRestTurns = 3 * storage::kQuietFactor * storage::CompressedBlock::kQuietLooks;
constexpr std::chrono::minutes kCallsEnd{2};

template <class Value>
bool expect_ok(const Result<Value>& result) {
  EXPECT_TRUE(result.ok()) << result.error().to_string();
  return result.ok();
}

bool is_large(const Table& table) {
  return table.rows_max >= kLargeRowsMin;
}

// Of the calls that have not ended.
struct Pending {
  std::mutex mutex;
  std::condition_variable all_done;
  size_t left = 0;

  static void complete(oltp::Request* request) {
    auto* const pending = static_cast<Pending*>(request->context);
    const std::lock_guard lock(pending->mutex);
    if (--pending->left == 0) pending->all_done.notify_one();
  }
};

// Gives rows, some at a time. What it gave before is nothing any more.
class RowSource {
 public:
  RowSource(const Table& table, const std::vector<Cells>& rows, const Below& below)
      : table_(table), rows_(rows), below_(below) {}

  RowBatch next() {
    const size_t bytes = table_.layout.bytes;
    const size_t count =
        std::min<size_t>(1 + below_(rows_.size() < 1000 ? 5 : 500), rows_.size() - given_);
    batch_.assign(count * bytes / sizeof(uint64_t) + 1, 0);
    auto* const batch = reinterpret_cast<std::byte*>(batch_.data());
    for (size_t i = 0; i < count; ++i) {
      std::memcpy(batch + i * bytes, RowBytes(table_, rows_[given_ + i]).data(), bytes);
    }
    given_ += count;
    return {batch, count};
  }

 private:
  const Table& table_;
  const std::vector<Cells>& rows_;
  const Below& below_;
  std::vector<uint64_t> batch_;
  size_t given_ = 0;
};

// The rows of a range are these, in this order.
Result<void> verify_range(Transaction& txn, const Table& table, const IndexSchema& index,
                          const oltp::KeyRange& range, std::span<const RowPtr> expected) {
  SCOPED_TRACE(index.name + " of " + table.schema.name);
  size_t seen = 0;
  const auto visit = [&](const RowHandle& handle, const std::byte* bytes) {
    const Row row{handle.row_id.value, read_cells(table, bytes)};
    if (seen == expected.size()) {
      ADD_FAILURE() << "a row too many: " << row.row_id << " " << text_of(table, row.cells);
      return false;
    }
    EXPECT_TRUE(row == *expected[seen])
        << "row " << row.row_id << " " << text_of(table, row.cells) << ", and not "
        << expected[seen]->row_id << " " << text_of(table, expected[seen]->cells);
    ++seen;
    return true;
  };
  auto done = txn.scan_range(index.id, range, {}, {}, oltp::RowVisitor(visit));
  EXPECT_EQ(seen, expected.size());
  return done;
}

// By an ordered index all of the table's rows at once; by a hash index those of each key.
Result<void> verify_index(Transaction& txn, const Table& table, const IndexSchema& index,
                          const Rows& rows) {
  std::vector<RowPtr> expected;
  for (const auto& [number, row] : rows) expected.push_back(row);
  sort_by(table, index, &expected);
  if (!is_hash(index)) return verify_range(txn, table, index, {}, expected);
  for (size_t first = 0; first < expected.size();) {
    const Cells& cells = expected[first]->cells;
    size_t end = first + 1;
    while (end < expected.size() && compare_keys(table, index, cells, expected[end]->cells) == 0) {
      ++end;
    }
    const base::Key key = key_of(table, index, cells);
    const std::span<const RowPtr> same(expected.begin() + static_cast<std::ptrdiff_t>(first),
                                       end - first);
    auto done = verify_range(txn, table, index, {key, key.prefix_end(), true}, same);
    if (!done) return done;
    first = end;
  }
  return {};
}

}  // namespace

History::History(uint64_t seed, const Traits& traits, std::string path)
    : random_(seed),
      below_([this](uint64_t bound) { return random_() % bound; }),
      traits_(traits),
      options_(traits, std::move(path), below_) {
  note(fmt::format("seed {}{}{}{}{}, {} partitions", seed, traits.in_memory ? ", in memory" : "",
                   traits.crowded ? ", crowded" : "", traits.wide ? ", wide" : "",
                   traits.large ? ", large" : "", options_.partitions()));
  if (!traits.in_memory) {
    // What discard() leaves, since another open() has made it.
    expect_ok((*Database::open(options_.at_first()))->close());
  }
  open();
}

History::~History() {
  static_cast<void>(database_->discard());
  database_.reset();  // its workers run what the members after it are for
}

void History::stop(const std::string& why) const {
  ADD_FAILURE() << why << "\n" << text_;
  std::abort();
}

void History::go_round(size_t calls_max) {
  using Step = void (History::*)();
  std::vector<Step> steps = {
      &History::create_table, &History::create_index, &History::create_index,  &History::load,
      &History::load,         &History::checkpoint,   &History::crash,         &History::crash,
      &History::close,        &History::rebuild,      &History::replace_table, &History::drop_index,
      &History::truncate};
  if (traits_.large) {
    steps.push_back(&History::crash);
    for (int i = 0; i < 3; ++i) {
      steps.insert(steps.end(), {&History::load_much, &History::sweep, &History::rest});
    }
  }
  std::shuffle(steps.begin(), steps.end(), random_);
  for (const Step step : steps) {
    (this->*step)();
    if (::testing::Test::HasFailure()) return;
    call_procedures(1 + below_(below_(4) == 0 ? 5 : calls_max));
    if (::testing::Test::HasFailure()) return;
    verify("after calls");
    if (::testing::Test::HasFailure()) return;
  }
}

void History::open() {
  const DatabaseOptions options = options_.draw();
  isolation_ = options.isolation;
  is_logged_ = options.log != LogMode::kNone;
  checkpoints_before_ = counts_.checkpoints;
  note(fmt::format("open: {} workers, {}, {} log, {} bytes of memory, checkpoints after {}{}",
                   options.placement.oltp_workers,
                   isolation_ == IsolationLevel::kSnapshot ? "snapshot" : "serializable",
                   to_string(options.log), options.olap_memory_bytes_max,
                   options.checkpoint_log_bytes,
                   options.settled == base::Settled::kOn ? ", settled" : ""));
  auto opened = Database::open(options);
  if (!opened) stop(opened.error().to_string());
  database_ = std::move(*opened);
  for (Table& table : tables_) {
    const base::TableSchema* const there = database_->catalog().find_table(table.schema.name);
    if (there == nullptr) stop("a table is gone");
    EXPECT_EQ(there->indexes.size(), table.schema.indexes.size());
    table.schema = *there;
  }
  for (Tables& tables : schemas_) find_ids_again(&tables);
  register_procedures();
  is_replaying_ = true;
  expect_ok(database_->recover());
  is_replaying_ = false;
  note_save();  // or it is in a log, which stays
  // A large one first, and one in which something changes while that rests.
  while (tables_.size() < (traits_.large ? 2 : 1)) create_table();
}

// Indexes that have been dropped leave no ids to later openings.
void History::find_ids_again(Tables* tables) const {
  for (Table& table : *tables) {
    const base::TableSchema* const there = database_->catalog().find_table(table.schema.id);
    for (IndexSchema& index : table.schema.indexes) {
      if (there == nullptr) break;
      const auto found = std::ranges::find(there->indexes, index.name, &IndexSchema::name);
      if (found != there->indexes.end()) index.id = found->id;
    }
  }
}

uint64_t History::present_schema() {
  const auto same = [](const Table& a, const Table& b) {
    return a.schema.id == b.schema.id && std::ranges::equal(a.schema.indexes, b.schema.indexes, {},
                                                            &IndexSchema::name, &IndexSchema::name);
  };
  if (schemas_.empty() || !std::ranges::equal(schemas_.back(), tables_, same)) {
    schemas_.push_back(tables_);
  }
  return schemas_.size() - 1;
}

void History::note_save() {
  if (is_logged_) return;
  timeline_.note_save();
  saved_tables_ = tables_;
}

// Without a log a crash takes all since the last save, loads and DDL too.
void History::lose_unsaved() {
  if (is_logged_) return;
  met_before_.commits_lost += timeline_.lose_unsaved();
  const auto things = [](const Tables& tables) {
    size_t count = tables.size();
    for (const Table& table : tables) count += table.schema.indexes.size();
    return count;
  };
  // Some were dropped meanwhile.
  met_before_.ddl_lost += std::max(things(tables_), things(saved_tables_)) - things(saved_tables_);
  tables_ = saved_tables_;
  schemas_.push_back(tables_);  // another table may get the id of one that is lost
}

Met History::met() const {
  Met all = met_before_;
  all.add(database_->metrics(), options_.partitions(), counts_.checkpoints - checkpoints_before_);
  return all;
}

void History::register_procedures() {
  procedures_ = {define("default", std::nullopt), define("snapshot", IsolationLevel::kSnapshot),
                 define("serializable", IsolationLevel::kSerializable)};
  verify_ = *database_->register_procedure<Call, Nothing>(
      "verify", [this](Transaction& txn, const Call&) { return verify_indexes(txn); });
  learn_ = *database_->register_procedure<LoadedRows, Nothing>(
      "learn",
      [this](Transaction& txn, const LoadedRows& loaded) { return learn_row_ids(txn, loaded); });
}

History::Procedure History::define(const char* name, std::optional<IsolationLevel> level) {
  const bool is_serializable = level.value_or(isolation_) == IsolationLevel::kSerializable;
  oltp::ProcedureOptions<Call> options;
  options.isolation = level;
  return *database_->register_procedure<Call, Nothing>(
      name,
      [this, is_serializable](Transaction& txn, const Call& call) {
        return run_once(txn, call, is_serializable);
      },
      options);
}

Result<Nothing> History::run_once(Transaction& txn, const Call& call, bool is_serializable) {
  Run of_replay;
  Run& run = is_replaying_ ? of_replay : runs_[call.number].emplace_back();
  run.read_vid = txn.read_vid().value;
  run.is_serializable = is_serializable;
  const uint64_t steps_max = traits_.crowded && txn.random() % 4 == 0 ? 40 : 9;
  if (auto done = Actor(schemas_[call.schema], steps_max, txn, &run).act(call.task); !done) {
    run.has_conflict = done.code() == base::ErrorCode::kConflict;
    return done.error();
  }
  return Nothing{};
}

void History::create_table() {
  if (tables_.size() == kTablesMax) return;
  const bool is_large =
      traits_.large && (tables_.empty() || (tables_.size() > 1 && below_(3) == 0));
  tables_.push_back(make_table(fmt::format("t{}", tables_.size()), is_large));
  timeline_.add_table();
  for (uint64_t n = below_(4); n != 0; --n) create_index();
}

Table History::make_table(const std::string& name, bool is_large) {
  const TableWidth width = traits_.wide ? TableWidth::kWide : TableWidth::kNarrow;
  const std::string ddl = random_table_ddl(name, width, is_large ? kLargeRowsMax : 30, below_);
  note(ddl);
  const auto created = database_->execute_ddl(ddl);
  if (!created) stop(created.error().to_string());
  return {*database_->catalog().find_table(name),
          traits_.wide ? TextLengths::kAny : TextLengths::kModerate,
          is_large ? static_cast<int>(kLargeRowsMin + below_(kLargeRowsMax - kLargeRowsMin))
          : traits_.crowded ? 600
                            : 40};
}

void History::replace_table() {
  const size_t of_table = below_(tables_.size());
  const std::string name = tables_[of_table].schema.name;
  note("DROP TABLE " + name);
  if (!expect_ok(database_->execute_ddl("DROP TABLE " + name))) return;
  EXPECT_EQ(database_->catalog().find_table(name), nullptr);
  tables_[of_table] = make_table(name, is_large(tables_[of_table]));
  timeline_.set_rows(of_table, {}, false);
  ++counts_.drops;
  verify("after DROP TABLE");
}

void History::truncate() {
  const size_t of_table = below_(tables_.size());
  note("TRUNCATE " + tables_[of_table].schema.name);
  if (!expect_ok(database_->execute_ddl("TRUNCATE " + tables_[of_table].schema.name))) return;
  timeline_.set_rows(of_table, {}, true);
  ++counts_.truncations;
  verify("after TRUNCATE");
}

void History::drop_index() {
  Table& table = tables_[below_(tables_.size())];
  const size_t number = below_(table.schema.indexes.size());
  if (number == 0) return;
  const std::string ddl = "DROP INDEX " + table.schema.indexes[number].name;
  note(ddl);
  if (!expect_ok(database_->execute_ddl(ddl))) return;
  table.schema = *database_->catalog().find_table(table.schema.name);
  ++counts_.drops;
  verify("after DROP INDEX");
}

void History::create_index() {
  const size_t of_table = below_(tables_.size());
  Table& table = tables_[of_table];
  if (table.schema.indexes.size() == kIndexesMax) return;
  auto index = random_index(table.schema, fmt::format("i{}", ++index_names_), below_);
  if (!index) return;
  // Few rows of a large table would differ in it.
  if (is_large(table)) index->uniqueness = base::Uniqueness::kNonUnique;
  const std::string ddl = ddl_of(table.schema, *index);
  const auto done = database_->execute_ddl(ddl);
  note(ddl + (done ? "" : " " + done.error().to_string()));
  EXPECT_EQ(done.ok(), timeline_.allows_index(of_table, *index));
  if (done) ++counts_.indexes;
  table.schema = *database_->catalog().find_table(table.schema.name);
  verify("after CREATE INDEX");
}

// Rows of which some may be refused, or, every other time, none.
void History::load() {
  const size_t of_table = below_(tables_.size());
  const Table& table = tables_[of_table];
  const bool may_be_refused = below_(2) == 0;
  Shadow shadow(&tables_, timeline_.latest());
  bool is_refused = false;
  std::vector<int> numbers;
  std::vector<Cells> rows;
  for (uint64_t n = below_(traits_.crowded ? 300 : 12); n != 0; --n) {
    const auto number = static_cast<int>(below_(static_cast<uint64_t>(table.rows_max)));
    const bool is_there = shadow.now[of_table].contains(number);
    if (is_there && (!may_be_refused || below_(8) != 0)) continue;
    const Cells cells = some_cells(table, number, below_);
    if (shadow.insert(of_table, number, {0, cells})) {
      if (!may_be_refused) continue;
      is_refused = true;
    }
    numbers.push_back(number);
    rows.push_back(cells);
  }
  load_rows(of_table, numbers, rows, is_refused);
}

uint64_t History::some_large_table() {
  uint64_t table = below_(tables_.size());
  while (!is_large(tables_[table])) table = (table + 1) % tables_.size();
  return table;
}

// Of a large table all rows that are not there, or a half of them.
void History::load_much() {
  load_much(some_large_table());
}

void History::load_much(size_t of_table) {
  const Table& table = tables_[of_table];
  Shadow shadow(&tables_, timeline_.latest());
  std::vector<int> numbers;
  std::vector<Cells> rows;
  for (int n = below_(2) == 0 ? 0 : table.rows_max / 2; n < table.rows_max; ++n) {
    if (shadow.now[of_table].contains(n)) continue;
    const Cells cells = some_cells(table, n, below_);
    if (shadow.insert(of_table, n, {0, cells})) continue;
    numbers.push_back(n);
    rows.push_back(cells);
  }
  load_rows(of_table, numbers, rows, false);
}

void History::load_rows(size_t of_table, const std::vector<int>& numbers,
                        const std::vector<Cells>& rows, bool is_refused) {
  const Table& table = tables_[of_table];
  RowSource source(table, rows, below_);
  const auto loaded = database_->load(table.schema.id, [&] { return source.next(); });
  note(fmt::format("load {} rows of {}{}", rows.size(), table.schema.name,
                   loaded ? "" : ": " + loaded.error().to_string()));
  EXPECT_EQ(loaded.ok(), !is_refused);
  if (loaded && !rows.empty()) {
    ++counts_.loads;
    Rows with = timeline_.latest()[of_table];
    for (size_t i = 0; i < rows.size(); ++i) {
      with[numbers[i]] = std::make_shared<Row>(Row{0, as_read(table, rows[i])});
    }
    timeline_.set_rows(of_table, std::move(with), true);
    if (!expect_ok(database_->call(learn_, {of_table, &numbers}).get())) return;
  }
  verify("after a load");
}

Result<Nothing> History::learn_row_ids(Transaction& txn, const LoadedRows& loaded) {
  const Table& table = tables_[loaded.table];
  Rows rows = timeline_.latest()[loaded.table];
  for (const int number : *loaded.numbers) {
    Row row = *rows.at(number);
    const IndexSchema& index = table.primary_key();
    const auto found = txn.find_unique(index.id, key_of(table, index, row.cells), {});
    if (!found) return found.error();
    row.row_id = found->handle.row_id.value;
    rows[number] = std::make_shared<Row>(std::move(row));
  }
  timeline_.set_rows(loaded.table, std::move(rows), false);
  return Nothing{};
}

void History::checkpoint() {
  if (traits_.in_memory) return;
  note("checkpoint");
  ++counts_.checkpoints;
  expect_ok(database_->checkpoint());
  note_save();
}

void History::crash() {
  if (traits_.in_memory) return;
  note("crash");
  ++counts_.crashes;
  met_before_ = met();
  static_cast<void>(database_->discard());
  lose_unsaved();
  reopen();
}

void History::close() {
  if (traits_.in_memory) return;
  note("close");
  ++counts_.closes;
  met_before_ = met();
  expect_ok(database_->close());
  reopen();
}

void History::reopen() {
  database_.reset();
  open();
  verify("after reopening");
}

void History::rebuild() {
  note("rebuild");
  ++counts_.rebuilds;
  expect_ok(database_->rebuild_primary());
  verify("after rebuilding");
}

// Of half a block to two, so that blocks wear, and their columns are thawed. Where rows come anew
// at once, worn blocks melt; else they are rewritten.
void History::sweep() {
  const auto t = static_cast<uint32_t>(some_large_table());
  const auto rows = static_cast<uint32_t>(tables_[t].rows_max);
  const auto kind = below_(3) == 0 ? ActorsTask::Kind::kChange : ActorsTask::Kind::kErase;
  const uint32_t count = kSweptMin + static_cast<uint32_t>(below_(kSweptMax - kSweptMin));
  const auto first = static_cast<uint32_t>(below_(rows - count));
  note(fmt::format("{} {} rows of t{} from {}",
                   kind == ActorsTask::Kind::kErase ? "erase" : "change", count, t, first));
  std::vector<Call> calls;
  for (uint32_t at = first; at < first + count; at += kSweptTogether) {
    calls.push_back({.task = {kind, t, at, std::min(first + count, at + kSweptTogether)}});
  }
  run_calls(std::move(calls));
  const bool fails = ::testing::Test::HasFailure();
  if (!fails && kind == ActorsTask::Kind::kErase && below_(2) == 0) load_much(t);
}

// As many turns of compaction as columns wait for before they settle, and no block is written
// meanwhile.
void History::rest() {
  note("rest");
  const auto small = std::find_if_not(tables_.begin(), tables_.end(), is_large);
  const auto t = static_cast<uint32_t>(small - tables_.begin());
  for (int turn = 0; turn < kRestTurns && !::testing::Test::HasFailure(); ++turn) {
    run_calls({{.task = {.kind = ActorsTask::Kind::kOneTable, .table = t}}});
    expect_ok(database_->query("SELECT count(*) FROM " + small->schema.name));
  }
}

void History::call_procedures(size_t count) {
  run_calls(std::vector<Call>(count));
}

void History::run_calls(std::vector<Call> calls) {
  const size_t count = calls.size();
  const uint64_t schema = present_schema();
  runs_.assign(count, {});
  std::vector<oltp::Request> requests(count);
  Pending pending;
  pending.left = count;
  for (size_t i = 0; i < count; ++i) {
    calls[i].number = i;
    calls[i].schema = schema;
    requests[i].procedure = procedures_[below_(procedures_.size())].id;
    requests[i].arguments = std::as_bytes(std::span(&calls[i], 1));
    requests[i].context = &pending;
    requests[i].complete = &Pending::complete;
    const auto submitted = database_->submit(&requests[i], Admission::kWait);
    if (!submitted) stop(submitted.error().to_string());
  }
  {
    std::unique_lock lock(pending.mutex);
    const auto all_done = [&] { return pending.left == 0; };
    if (!pending.all_done.wait_for(lock, kCallsEnd, all_done)) stop("a call does not end");
  }
  timeline_.judge(requests, runs_);
  counts_.commits = timeline_.commits();
}

void History::verify(const char* when) {
  SCOPED_TRACE(when);
  if (!expect_ok(database_->call(verify_, {}).get())) return;
  expect_equal_replicas(database_.get());
  for (size_t t = 0; t < tables_.size(); ++t) {
    const base::TableSchema& schema = tables_[t].schema;
    const size_t rows = timeline_.latest()[t].size();
    EXPECT_EQ(*database_->row_count(schema.id), rows);
    const auto result = database_->query("SELECT count(*) FROM " + schema.name);
    if (!expect_ok(result)) return;
    EXPECT_EQ(std::get<int64_t>(result->rows.at(0).at(0)), static_cast<int64_t>(rows));
  }
}

Result<Nothing> History::verify_indexes(Transaction& txn) const {
  for (size_t t = 0; t < tables_.size(); ++t) {
    for (const IndexSchema& index : tables_[t].schema.indexes) {
      auto done = verify_index(txn, tables_[t], index, timeline_.latest()[t]);
      if (!done) return done.error();
    }
  }
  return Nothing{};
}

}  // namespace diptych::dispatcher::any_schema
