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

#include "tests/dispatcher/any_schema_actor.h"
#include "tests/dispatcher/any_schema_ddl.h"
#include "tests/dispatcher/bank_fixture.h"

namespace diptych::dispatcher::any_schema {

using base::Result;
using oltp::Nothing;

namespace {

constexpr uint32_t kBlockRows = 1024;
constexpr size_t kTablesMax = 4;
constexpr size_t kIndexesMax = 6;  // of a table
constexpr std::chrono::minutes kCallsEnd{2};

template <class Value>
bool expect_ok(const Result<Value>& result) {
  EXPECT_TRUE(result.ok()) << result.error().to_string();
  return result.ok();
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
    const size_t count = std::min<size_t>(1 + below_(5), rows_.size() - given_);
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
      path_(std::move(path)) {
  note(fmt::format("seed {}{}{}{}", seed, traits.in_memory ? ", in memory" : "",
                   traits.crowded ? ", crowded" : "", traits.wide ? ", wide" : ""));
  if (!traits.in_memory) {
    // What discard() leaves, since another open() has made it.
    expect_ok((*Database::open({.path = path_, .block_rows = kBlockRows}))->close());
  }
  open();
  create_table();
}

History::~History() {
  database_->discard();
  database_.reset();  // its workers run what the members after it are for
}

void History::stop(const std::string& why) const {
  ADD_FAILURE() << why << "\n" << text_;
  std::abort();
}

void History::go_round(size_t calls_max) {
  using Step = void (History::*)();
  Step steps[] = {&History::create_table, &History::create_index, &History::create_index,
                  &History::load,         &History::load,         &History::checkpoint,
                  &History::crash,        &History::crash,        &History::close,
                  &History::rebuild};
  std::shuffle(std::begin(steps), std::end(steps), random_);
  for (const Step step : steps) {
    (this->*step)();
    if (::testing::Test::HasFailure()) return;
    call_procedures(1 + below_(below_(4) == 0 ? 5 : calls_max));
    if (::testing::Test::HasFailure()) return;
    verify("after calls");
    if (::testing::Test::HasFailure()) return;
  }
}

DatabaseOptions History::some_options() {
  static constexpr uint32_t kWorkers[] = {1, 1, 2, 3, 4, 8};
  static constexpr uint32_t kConflicts[] = {1'000'000, 1'000'000, 0, 1, 5};
  DatabaseOptions options;
  if (!traits_.in_memory) options.path = path_;
  options.block_rows = kBlockRows;
  options.random_seed = random_() | 1;
  options.placement.oltp_workers = kWorkers[below_(std::size(kWorkers))];
  options.isolation = below_(2) == 0 ? IsolationLevel::kSnapshot : IsolationLevel::kSerializable;
  options.log = below_(2) == 0 ? LogMode::kCommand : LogMode::kPhysical;
  options.conflicts_max = kConflicts[below_(std::size(kConflicts))];
  if (below_(3) == 0) options.push_limit_ns = below_(50'000);
  if (below_(2) == 0) options.log_file_bytes = 16 << 10;
  if (below_(3) == 0) options.batch_requests_max = 1 + static_cast<uint32_t>(below_(20));
  if (below_(3) == 0) options.apply_interval_ns = 100'000;
  return options;
}

void History::open() {
  const DatabaseOptions options = some_options();
  isolation_ = options.isolation;
  note(fmt::format("open: {} workers, {}, {} log", options.placement.oltp_workers,
                   isolation_ == IsolationLevel::kSnapshot ? "snapshot" : "serializable",
                   to_string(options.log)));
  auto opened = Database::open(options);
  if (!opened) stop(opened.error().to_string());
  database_ = std::move(*opened);
  for (Table& table : tables_) {
    const base::TableSchema* const there = database_->catalog().find_table(table.schema.name);
    if (there == nullptr) stop("a table is gone");
    EXPECT_EQ(there->indexes.size(), table.schema.indexes.size());
    table.schema = *there;
  }
  register_procedures();
  is_replaying_ = true;
  expect_ok(database_->recover());
  is_replaying_ = false;
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
  if (auto done = Actor(tables_, steps_max, txn, &run).act(); !done) {
    run.has_conflict = done.code() == base::ErrorCode::kConflict;
    return done.error();
  }
  return Nothing{};
}

void History::create_table() {
  if (tables_.size() == kTablesMax) return;
  const std::string name = fmt::format("t{}", tables_.size());
  const TableWidth width = traits_.wide ? TableWidth::kWide : TableWidth::kNarrow;
  const std::string ddl = random_table_ddl(name, width, below_);
  note(ddl);
  if (!expect_ok(database_->execute_ddl(ddl))) return;
  tables_.emplace_back(*database_->catalog().find_table(name),
                       traits_.wide ? TextLengths::kAny : TextLengths::kModerate,
                       traits_.crowded ? 600 : 40);
  timeline_.add_table();
  for (uint64_t n = below_(4); n != 0; --n) create_index();
}

void History::create_index() {
  const size_t of_table = below_(tables_.size());
  Table& table = tables_[of_table];
  if (table.schema.indexes.size() == kIndexesMax) return;
  const auto index = random_index(table.schema, fmt::format("i{}", ++index_names_), below_);
  if (!index) return;
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
}

void History::crash() {
  if (traits_.in_memory) return;
  note("crash");
  ++counts_.crashes;
  database_->discard();
  reopen();
}

void History::close() {
  if (traits_.in_memory) return;
  note("close");
  ++counts_.closes;
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

void History::call_procedures(size_t count) {
  runs_.assign(count, {});
  std::vector<Call> calls(count);
  std::vector<oltp::Request> requests(count);
  Pending pending;
  pending.left = count;
  for (size_t i = 0; i < count; ++i) {
    calls[i].number = i;
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
