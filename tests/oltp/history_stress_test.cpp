// Random transactions over a few rows by several workers; the history checker looks at what they
// read and wrote.
//
// A row is an account; its token is the name (a unique index) and the balance; scans find it by
// branch (account_branch) or by branch and balance (account_balance). Key for the checker: branch
// and balance in one number.

#include <atomic>
#include <random>
#include <string>
#include <thread>

#include "tests/oltp/engine_fixture.h"
#include "tests/oltp/history_checker.h"

namespace diptych::oltp::test {
namespace {

using base::ErrorCode;
using base::Result;

constexpr int64_t kHistoryRows = 12;
constexpr int32_t kBranches = 3;
constexpr int64_t kBranchKeys = int64_t{1} << 40;  // tokens are below
constexpr int kBatches = 12;
constexpr size_t kBatchRequests = 64;

int64_t key_of(int32_t branch, uint64_t token) {
  return branch * kBranchKeys + static_cast<int64_t>(token);
}

// Runs bodies that note what they do.
class Recorder {
 public:
  Recorder(uint32_t workers, IsolationLevel level)
      : bank_(workers, 1'000'000, 60'000'000'000, level) {}

  Bank& bank() { return bank_; }
  uint64_t fresh_token() {
    // relaxed: only that it is unique.
    return next_token_.fetch_add(1, std::memory_order_relaxed);
  }

  using Body = std::function<Result<void>(Transaction&, HistoryRun*)>;
  // As one batch; `bodies[i]` on the worker i modulo their number.
  void run(const std::vector<Body>& bodies) {
    std::vector<std::vector<HistoryRun>> runs(bodies.size());  // [request]: all of its runs
    std::vector<Bank::Body> scripts;
    for (size_t i = 0; i < bodies.size(); ++i) {
      scripts.emplace_back([&, i](Transaction& txn) {
        HistoryRun& run = runs[i].emplace_back();
        run.read_vid = txn.read_vid().value;
        run.committed = false;
        return bodies[i](txn, &run);
      });
    }
    const auto calls = bank_.run_all(scripts);
    for (size_t i = 0; i < bodies.size(); ++i) {
      HistoryRun& last = runs[i].back();
      EXPECT_EQ(last.read_vid, calls[i].request.read_vid.value);
      last.committed = static_cast<bool>(calls[i].outcome());
      last.commit_vid = calls[i].commit_vid().value;
      EXPECT_TRUE(last.committed || calls[i].outcome().code() == ErrorCode::kAborted)
          << calls[i].outcome().error().to_string();
      for (HistoryRun& run : runs[i]) history_.push_back(std::move(run));
    }
  }
  const History& history() const { return history_; }

 private:
  Bank bank_;
  std::atomic<uint64_t> next_token_{1};  // writers: any worker
  History history_;
};

// What a random transaction does, each step noted.
class Actor {
 public:
  Actor(Recorder* recorder, Transaction* txn, HistoryRun* run)
      : recorder_(*recorder), bank_(recorder->bank()), txn_(*txn), run_(*run) {}

  Result<void> act() {
    switch (txn_.random() % 8) {
      case 0:
      case 1: return read(random_row());
      case 2: return scan_branch(random_branch());
      case 3: return scan_some(random_branch());
      case 4: return insert(random_row());
      case 5: return erase(random_row());
      case 6: return move(random_row(), random_branch());
      default: return update(random_row());
    }
  }
  int64_t random_row() { return static_cast<int64_t>(txn_.random() % kHistoryRows); }
  int32_t random_branch() { return static_cast<int32_t>(txn_.random() % kBranches); }

  Result<void> read(int64_t id) {
    auto balance = txn_.get<&Account::balance>(bank_.account_pkey, id);
    if (!balance && balance.code() != ErrorCode::kNotFound) return balance.error();
    note(read_of(id, balance ? static_cast<uint64_t>(*balance) : kAbsent));
    return {};
  }
  Result<void> scan_branch(int32_t branch) {
    std::vector<RowSeen> seen;
    auto done = txn_.scan<&Account::id, &Account::balance>(
        bank_.account_branch, prefix(bank_.account_branch, branch), {},
        [&](const RowHandle&, const auto& values) {
          seen.push_back(seen_of(values));
          return ScanStep::kContinue;
        });
    if (!done) return done.error();
    note(scan_of(key_of(branch, 0), key_of(branch + 1, 0), std::move(seen)));
    return {};
  }
  // A few rows from one end of two branches, by a limit or kStop: what lies behind was not read.
  Result<void> scan_some(int32_t branch) {
    const bool forward = txn_.random() % 2 == 0;
    const bool by_limit = txn_.random() % 2 == 0;
    const uint64_t wanted = 1 + txn_.random() % 3;
    ScanOptions options;
    options.direction = forward ? Direction::kForward : Direction::kBackward;
    if (by_limit) options.limit = wanted;
    std::vector<RowSeen> seen;
    int64_t last = 0;
    auto done = txn_.scan<&Account::id, &Account::balance, &Account::branch>(
        bank_.account_balance,
        between(bank_.account_balance, std::tuple(branch), std::tuple(branch + 1)), options,
        [&](const RowHandle&, const auto& values) {
          seen.push_back(seen_of(values));
          last = key_of(std::get<2>(values), static_cast<uint64_t>(std::get<1>(values)));
          return seen.size() < wanted ? ScanStep::kContinue : ScanStep::kStop;
        });
    if (!done) return done.error();
    int64_t lower = key_of(branch, 0);
    int64_t upper = key_of(branch + 2, 0);
    if (seen.size() == wanted) (forward ? upper : lower) = forward ? last + 1 : last;
    note(scan_of(lower, upper, std::move(seen)));
    return {};
  }
  Result<void> insert(int64_t id) {
    const uint64_t token = recorder_.fresh_token();
    const int32_t branch = random_branch();
    const std::string name = std::to_string(token);
    auto inserted =
        txn_.insert(bank_.account, Account{id, branch, std::string_view(name),
                                           static_cast<int64_t>(token), std::string_view(name)});
    if (inserted) {
      note(read_of(id, kAbsent));
      note(write_of(id, token, key_of(branch, token)));
      return {};
    }
    if (inserted.code() != ErrorCode::kAlreadyExists) return inserted.error();
    return read(id);  // the row is there: noted as what it is
  }
  Result<void> erase(int64_t id) {
    auto row = claim(id);
    if (!row) return missing_is_fine(row);
    txn_.erase(*row);
    note(erase_of(id));
    return {};
  }
  Result<void> move(int64_t id, int32_t branch) {
    auto row = claim(id);
    if (!row) return missing_is_fine(row);
    const uint64_t token = recorder_.fresh_token();
    const std::string name = std::to_string(token);
    txn_.update(*row, set<&Account::branch>(branch),
                set<&Account::balance>(static_cast<int64_t>(token)),
                set<&Account::name>(std::string_view(name)));
    note(write_of(id, token, key_of(branch, token)));
    return {};
  }
  // The token alone: account_branch does not change.
  Result<void> update(int64_t id) {
    auto row = claim(id);
    if (!row) return missing_is_fine(row);
    const uint64_t token = recorder_.fresh_token();
    txn_.update(*row, set<&Account::balance>(static_cast<int64_t>(token)));
    note(write_of(id, token, key_of(std::get<1>(row->values), token)));
    return {};
  }

 private:
  template <class Values>
  static RowSeen seen_of(const Values& values) {
    return {std::get<0>(values), static_cast<uint64_t>(std::get<1>(values))};
  }
  Result<Claimed<Account, std::tuple<int64_t, int32_t>>> claim(int64_t id) {
    auto row = txn_.get_for_update<&Account::balance, &Account::branch>(bank_.account_pkey, id);
    if (row) note(read_of(id, static_cast<uint64_t>(std::get<0>(row->values))));
    if (!row && row.code() == ErrorCode::kNotFound) note(read_of(id, kAbsent));
    return row;
  }
  template <class Row>
  static Result<void> missing_is_fine(const Row& row) {
    if (row.code() == ErrorCode::kNotFound) return {};
    return row.error();
  }
  void note(Operation operation) { run_.operations.push_back(std::move(operation)); }

  Recorder& recorder_;
  Bank& bank_;
  Transaction& txn_;
  HistoryRun& run_;
};

Recorder::Body random_transaction(Recorder* recorder, uint64_t seed) {
  return [recorder, seed](Transaction& txn, HistoryRun* run) -> Result<void> {
    for (uint64_t skip = 0; skip < seed % 97; ++skip)
      txn.random();  // a batch differs from the next
    Actor actor(recorder, &txn, run);
    const uint64_t steps = 2 + txn.random() % 4;
    for (uint64_t i = 0; i < steps; ++i) {
      if (auto done = actor.act(); !done) return done;
      if (txn.random() % 4 == 0) std::this_thread::yield();  // others come in between
    }
    if (txn.random() % 16 == 0) return txn.abort("one in 16");
    return {};
  };
}

// A transaction that reads in one of the ways that are validated, lets others come in, and writes.
// Each way is one whose validation alone can tell that the read has changed.
enum class Way : uint8_t { kRow, kKey, kRange };
Recorder::Body read_then_write(Recorder* recorder, Way way, uint64_t seed) {
  return [recorder, way, seed](Transaction& txn, HistoryRun* run) -> Result<void> {
    for (uint64_t skip = 0; skip < seed % 97; ++skip) txn.random();
    Actor actor(recorder, &txn, run);
    const int64_t mine = actor.random_row() / 2 * 2;
    const int64_t other = actor.random_row() / 2 * 2 + 1;
    const bool odd = txn.random() % 2 == 0;
    Result<void> read;
    if (way == Way::kRange) {
      read = txn.random() % 2 == 0 ? actor.scan_branch(actor.random_branch())
                                   : actor.scan_some(actor.random_branch());
    } else {
      read = actor.read(odd ? mine : other);
    }
    if (!read) return read;
    std::this_thread::yield();
    const int64_t target = odd ? other : mine;
    // Rows stay where they are, or come and go.
    if (way == Way::kRow) return actor.update(target);
    auto inserted = actor.insert(target);
    if (inserted && !run->operations.empty() &&
        run->operations.back().kind == Operation::Kind::kRead) {
      return actor.erase(target);
    }
    return inserted;
  };
}

void load(Recorder* recorder) {
  recorder->run({[recorder](Transaction& txn, HistoryRun* run) -> Result<void> {
    Actor actor(recorder, &txn, run);
    for (int64_t id = 0; id < kHistoryRows; ++id) {
      if (auto done = actor.insert(id); !done) return done;
    }
    return {};
  }});
}

// The committed run that wrote it; nullptr: none did.
HistoryRun* writer_of(History* history, uint64_t token) {
  for (HistoryRun& run : *history) {
    for (const Operation& operation : run.operations) {
      if (operation.kind != Operation::Kind::kWrite || operation.token != token) continue;
      if (run.committed) return &run;
    }
  }
  return nullptr;
}

// Changes one thing of a run that was drawn, so that it cannot have happened; tells which. "": that
// run has no such thing.
std::string break_at_random(History* history, std::mt19937_64* random) {
  const auto draw = [&](size_t below) { return static_cast<size_t>((*random)() % below); };
  const auto other_token = [&](uint64_t token) {
    return token != kAbsent && draw(2) == 0 ? kAbsent : token + 1 + draw(20);
  };
  HistoryRun& run = (*history)[draw(history->size())];
  if (run.operations.empty()) return "";
  Operation& operation = run.operations[draw(run.operations.size())];
  const size_t way = draw(3);
  if (operation.kind == Operation::Kind::kScan && !operation.seen.empty()) {
    const size_t at = draw(operation.seen.size());
    if (way == 0) {
      operation.seen[at].token = other_token(operation.seen[at].token);
      return "the token of a row that a scan met";
    }
    operation.seen.erase(operation.seen.begin() + static_cast<ptrdiff_t>(at));
    return "a row that a scan met is left out";
  }
  if (operation.kind != Operation::Kind::kRead) return "";
  HistoryRun* const writer =
      operation.token == kAbsent ? nullptr : writer_of(history, operation.token);
  if (way == 0 || writer == nullptr || writer == &run) {
    operation.token = other_token(operation.token);
    return "a read's token";
  }
  if (way == 1 || run.commit_vid == 0) {
    run.read_vid = writer->commit_vid - 1;
    return "the VID that a run has read at";
  }
  std::swap(run.commit_vid, writer->commit_vid);
  return "the VIDs of a run and of one that it depends on";
}

void expect_snapshot(const History& history) {
  const auto breaches = find_snapshot_breaches(history);
  EXPECT_TRUE(breaches.empty()) << breaches.size() << " breaches; the first, of kind "
                                << static_cast<int>(breaches.front().kind) << ": "
                                << breaches.front().text;
}

using Mix = Recorder::Body (*)(Recorder*, uint64_t);
struct NamedMix {
  const char* name;
  Mix make;
};
constexpr NamedMix kMixes[] = {
    {"Mixed", [](Recorder* recorder, uint64_t seed) { return random_transaction(recorder, seed); }},
    {"Rows", [](Recorder* r, uint64_t seed) { return read_then_write(r, Way::kRow, seed); }},
    {"Keys", [](Recorder* r, uint64_t seed) { return read_then_write(r, Way::kKey, seed); }},
    {"Ranges", [](Recorder* r, uint64_t seed) { return read_then_write(r, Way::kRange, seed); }},
};

class HistoryStress : public ::testing::TestWithParam<std::tuple<uint32_t, NamedMix>> {
 protected:
  History record(IsolationLevel level) {
    const auto& [workers, mix] = GetParam();
    Recorder recorder(workers, level);
    load(&recorder);
    uint64_t seed = 0;
    for (int batch = 0; batch < kBatches; ++batch) {
      std::vector<Recorder::Body> bodies;
      for (size_t i = 0; i < kBatchRequests; ++i) bodies.push_back(mix.make(&recorder, ++seed));
      recorder.run(bodies);
      recorder.bank().expect_replica_agrees();
    }
    return recorder.history();
  }
};

TEST_P(HistoryStress, SnapshotTransactionsSeeOneSnapshotAndLoseNoUpdate) {
  const History history = record(IsolationLevel::kSnapshot);
  expect_snapshot(history);
}

// Else the next test would show nothing.
TEST_P(HistoryStress, SnapshotTransactionsDoMakeCycles) {
  bool found = false;
  for (int round = 0; round < 20 && !found; ++round) {
    found = find_cycle(record(IsolationLevel::kSnapshot)).has_value();
  }
  EXPECT_TRUE(found);
}

TEST_P(HistoryStress, SerializableTransactionsMakeNoCycle) {
  const History history = record(IsolationLevel::kSerializable);
  expect_snapshot(history);
  const auto cycle = find_cycle(history);
  EXPECT_FALSE(cycle) << cycle->text;
}

// What the tests above do not find is not there.
TEST_P(HistoryStress, AnythingThatIsBrokenInARecordedHistoryIsFound) {
  constexpr uint64_t kBreaks = 24;
  const History history = record(IsolationLevel::kSerializable);
  std::mt19937_64 random(1);
  for (uint64_t broken = 0; broken < kBreaks;) {
    History changed = history;
    const std::string what = break_at_random(&changed, &random);
    if (what.empty()) continue;
    ++broken;
    EXPECT_TRUE(!find_snapshot_breaches(changed).empty() || find_cycle(changed)) << what;
  }
}

INSTANTIATE_TEST_SUITE_P(Workers, HistoryStress,
                         ::testing::Combine(::testing::Values(2U, 8U), ::testing::ValuesIn(kMixes)),
                         [](const auto& of) {
                           return std::get<1>(of.param).name +
                                  std::to_string(std::get<0>(of.param)) + "Workers";
                         });

}  // namespace
}  // namespace diptych::oltp::test
