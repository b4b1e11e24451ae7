// The Hermitage suite (Kleppmann; the anomalies are Adya's), but for cursors, and Fekete's
// read-only anomaly: each interleaving at both levels. What a level admits is the table of
// docs/isolation.md, which is read here.
//
// Hermitage's table `test` with the rows (1, 10) and (2, 20) are the accounts 1 and 2 of branch 7;
// a predicate over `value` is a scan of account_balance. Where a database would make a writer wait,
// this engine refuses it with kConflict.

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include "tests/oltp/schedule.h"

namespace diptych::oltp::test {
namespace {

using base::ErrorCode;
using base::Result;

constexpr int32_t kBranch = 7;
constexpr uint32_t kNoRetry = 0;

using Rows = std::map<int64_t, int64_t>;  // id -> value

// A database and what the transactions of a case do to it.
class Hermitage {
 public:
  Hermitage(IsolationLevel level, size_t transactions, int64_t first = 10, int64_t second = 20)
      : bank_(static_cast<uint32_t>(transactions), kNoRetry, 60'000'000'000, level),
        schedule_(transactions) {
    EXPECT_TRUE(bank_.put(1, kBranch, "1", first));
    EXPECT_TRUE(bank_.put(2, kBranch, "2", second));
  }

  Hermitage& begin(size_t t) { return schedule_.begin(t), *this; }
  Hermitage& end(size_t t) { return schedule_.end(t), *this; }
  Hermitage& write(size_t t, int64_t id, int64_t value) {
    return step(t, [this, id, value](Transaction& txn) -> Result<void> {
      auto row = txn.get_for_update<&Account::balance>(bank_.account_pkey, id);
      if (!row) return row.error();
      txn.update(*row, set<&Account::balance>(value));
      return {};
    });
  }
  Hermitage& insert(size_t t, int64_t id, int64_t value) {
    return step(t, [this, id, value](Transaction& txn) -> Result<void> {
      auto row = txn.insert(
          bank_.account,
          Account{id, kBranch, std::string_view(std::to_string(id)), value, std::string_view()});
      if (!row) return row.error();
      return {};
    });
  }
  Hermitage& read(size_t t, int64_t id, std::optional<int64_t>* value) {
    return step(t, [this, id, value](Transaction& txn) -> Result<void> {
      auto balance = txn.get<&Account::balance>(bank_.account_pkey, id);
      if (!balance) return balance.error();
      *value = *balance;
      return {};
    });
  }
  // The rows whose value is the wanted one; all rows, unless one is given.
  Hermitage& select(size_t t, std::optional<int64_t> wanted, Rows* rows) {
    return step(t, [this, wanted, rows](Transaction& txn) { return scan(txn, wanted, rows, {}); });
  }
  Hermitage& add_to_all(size_t t, int64_t amount) {
    return step(t, [this, amount](Transaction& txn) {
      return scan(txn, {}, nullptr, [amount](Transaction& inner, const auto& row) {
        inner.update(row, set<&Account::balance>(row.values + amount));
      });
    });
  }
  Hermitage& erase_where(size_t t, int64_t value) {
    return step(t, [this, value](Transaction& txn) {
      return scan(txn, value, nullptr,
                  [](Transaction& inner, const auto& row) { inner.erase(row); });
    });
  }
  Hermitage& abort(size_t t) {
    return step(t, [](Transaction& txn) -> Result<void> { return txn.abort("asked for"); });
  }

  void run() {
    outcomes_ = schedule_.run(&bank_);
    bank_.expect_replica_agrees();
  }
  bool committed(size_t t) const { return static_cast<bool>(outcomes_[t]); }
  // A transaction that did not commit lost against another.
  void expect_only_conflicts() const {
    for (const auto& outcome : outcomes_) {
      EXPECT_TRUE(outcome || outcome.code() == ErrorCode::kConflict) << outcome.error().to_string();
    }
  }
  Rows final_rows() {
    Rows rows;
    EXPECT_TRUE(bank_.run([&](Transaction& txn) { return scan(txn, {}, &rows, {}); }));
    return rows;
  }

 private:
  using BalanceRow = Claimed<Account, int64_t>;
  using Change = std::function<void(Transaction&, const BalanceRow&)>;

  Hermitage& step(size_t t, Schedule::Step step) {
    return schedule_.step(t, std::move(step)), *this;
  }
  Result<void> scan(Transaction& txn, std::optional<int64_t> wanted, Rows* rows,
                    const Change& change) {
    const auto& index = bank_.account_balance;
    std::vector<RowHandle> found;
    auto scanned = txn.scan<&Account::id, &Account::balance>(
        index, wanted ? prefix(index, kBranch, *wanted) : prefix(index, kBranch), {},
        [&](const RowHandle& handle, const auto& values) {
          if (rows != nullptr) (*rows)[std::get<0>(values)] = std::get<1>(values);
          found.push_back(handle);
          return ScanStep::kContinue;
        });
    if (!scanned) return scanned.error();
    if (!change) return {};
    for (const RowHandle& handle : found) {
      auto row = txn.claim<Account, &Account::balance>(handle);
      if (!row) return row.error();
      change(txn, *row);
    }
    return {};
  }

  Bank bank_;
  Schedule schedule_;
  std::vector<Result<void>> outcomes_;
};

using Value = std::optional<int64_t>;

// Each case gives whether the anomaly came about.

bool dirty_write(IsolationLevel level) {
  Hermitage h(level, 2);
  h.begin(0).begin(1).write(0, 1, 11).write(1, 1, 12).write(0, 2, 21).end(0).write(1, 2, 22).end(1);
  h.run();
  h.expect_only_conflicts();
  EXPECT_TRUE(h.committed(0) || h.committed(1));
  const Rows rows = h.final_rows();
  return rows != Rows{{1, 11}, {2, 21}} && rows != Rows{{1, 12}, {2, 22}};
}

bool aborted_read(IsolationLevel level) {
  Hermitage h(level, 2);
  Rows before;
  Rows after;
  h.begin(0).begin(1).write(0, 1, 101).select(1, {}, &before).abort(0).end(0);
  h.select(1, {}, &after).end(1);
  h.run();
  EXPECT_TRUE(h.committed(1));
  return before[1] != 10 || after[1] != 10;
}

bool intermediate_read(IsolationLevel level) {
  Hermitage h(level, 2);
  Rows before;
  Rows after;
  h.begin(0).begin(1).write(0, 1, 101).select(1, {}, &before).write(0, 1, 11).end(0);
  h.select(1, {}, &after).end(1);
  h.run();
  EXPECT_TRUE(h.committed(0) && h.committed(1));
  return before[1] == 101 || after[1] == 101;
}

bool circular_information_flow(IsolationLevel level) {
  Hermitage h(level, 2);
  Value first;
  Value second;
  h.begin(0).begin(1).write(0, 1, 11).write(1, 2, 22).read(0, 2, &first).read(1, 1, &second);
  h.end(0).end(1);
  h.run();
  h.expect_only_conflicts();
  return first == 22 || second == 11;
}

bool observed_transaction_vanishes(IsolationLevel level) {
  Hermitage h(level, 3);
  Value reads[4];
  h.begin(0).write(0, 1, 11).write(0, 2, 19).end(0);
  h.begin(1).write(1, 1, 12).begin(2).read(2, 1, &reads[0]).write(1, 2, 18).read(2, 2, &reads[1]);
  h.end(1).read(2, 2, &reads[2]).read(2, 1, &reads[3]).end(2);
  h.run();
  EXPECT_TRUE(h.committed(0) && h.committed(1) && h.committed(2));
  const bool repeats = reads[0] == reads[3] && reads[1] == reads[2];
  return !repeats || reads[0] != 11 || reads[1] != 19;
}

bool predicate_many_preceders(IsolationLevel level) {
  Hermitage h(level, 2);
  Rows before;
  Rows after;
  h.begin(0).begin(1).select(0, 30, &before).insert(1, 3, 30).end(1);
  h.select(0, {}, &after).end(0);
  h.run();
  EXPECT_TRUE(h.committed(0) && h.committed(1));
  EXPECT_TRUE(before.empty());
  return after.contains(3);
}

bool predicate_many_preceders_of_a_write(IsolationLevel level) {
  Hermitage h(level, 2);
  h.begin(0).begin(1).add_to_all(0, 10).end(0).erase_where(1, 20).end(1);
  h.run();
  h.expect_only_conflicts();
  EXPECT_TRUE(h.committed(0));
  return h.committed(1);
}

bool lost_update(IsolationLevel level) {
  Hermitage h(level, 2);
  Value reads[2];
  h.begin(0).begin(1).read(0, 1, &reads[0]).read(1, 1, &reads[1]);
  h.write(0, 1, 11).end(0).write(1, 1, 11).end(1);
  h.run();
  h.expect_only_conflicts();
  EXPECT_TRUE(h.committed(0));
  return h.committed(1);
}

bool read_skew(IsolationLevel level) {
  Hermitage h(level, 2);
  Value reads[2];
  h.begin(0).begin(1).read(0, 1, &reads[0]).write(1, 1, 12).write(1, 2, 18).end(1);
  h.read(0, 2, &reads[1]).end(0);
  h.run();
  EXPECT_TRUE(h.committed(0) && h.committed(1));
  return reads[1] != 20;
}

bool read_skew_by_predicate(IsolationLevel level) {
  Hermitage h(level, 2);
  Rows before;
  Rows after;
  h.begin(0).begin(1).select(0, 10, &before).write(1, 1, 12).end(1).select(0, 12, &after).end(0);
  h.run();
  EXPECT_TRUE(h.committed(0) && h.committed(1));
  EXPECT_EQ(before, (Rows{{1, 10}}));
  return !after.empty();
}

bool read_skew_of_a_write(IsolationLevel level) {
  Hermitage h(level, 2);
  Value read;
  h.begin(0).begin(1).read(0, 1, &read).write(1, 1, 12).write(1, 2, 18).end(1);
  h.erase_where(0, 20).end(0);
  h.run();
  h.expect_only_conflicts();
  EXPECT_TRUE(h.committed(1));
  return h.committed(0);
}

// The write is by a predicate that holds for a row only as long as another's change of it is not
// committed.
bool read_skew_of_an_early_write(IsolationLevel level) {
  Hermitage h(level, 2);
  Value read;
  Rows seen;
  h.begin(0).begin(1).read(0, 1, &read).select(1, {}, &seen).write(1, 1, 12).write(1, 2, 18);
  h.erase_where(0, 20).end(0).end(1);
  h.run();
  h.expect_only_conflicts();
  EXPECT_EQ(read, 10);
  EXPECT_EQ(seen, (Rows{{1, 10}, {2, 20}}));
  EXPECT_TRUE(h.committed(1));
  EXPECT_EQ(h.final_rows(), (Rows{{1, 12}, {2, 18}}));
  return h.committed(0);
}

bool write_skew(IsolationLevel level) {
  Hermitage h(level, 2);
  Value reads[4];
  h.begin(0).begin(1).read(0, 1, &reads[0]).read(0, 2, &reads[1]);
  h.read(1, 1, &reads[2]).read(1, 2, &reads[3]);
  h.write(0, 1, 11).write(1, 2, 21).end(0).end(1);
  h.run();
  h.expect_only_conflicts();
  EXPECT_TRUE(h.committed(0));
  return h.committed(1);
}

bool write_skew_by_predicate(IsolationLevel level) {
  Hermitage h(level, 2);
  Rows seen[2];
  h.begin(0).begin(1).select(0, 30, &seen[0]).select(1, 30, &seen[1]);
  h.insert(0, 3, 30).insert(1, 4, 30).end(0).end(1);
  h.run();
  h.expect_only_conflicts();
  EXPECT_TRUE(h.committed(0));
  return h.committed(1);
}

// Hermitage's G2 with two edges: the reader's view makes the cycle.
bool write_skew_by_two_edges(IsolationLevel level) {
  Hermitage h(level, 3);
  Rows seen[2];
  h.begin(0).begin(1).select(0, {}, &seen[0]).write(1, 2, 25).end(1);
  h.begin(2).select(2, {}, &seen[1]).end(2).write(0, 1, 0).end(0);
  h.run();
  h.expect_only_conflicts();
  EXPECT_EQ(seen[0], (Rows{{1, 10}, {2, 20}}));
  EXPECT_EQ(seen[1], (Rows{{1, 10}, {2, 25}}));
  return h.committed(0) && h.committed(1) && h.committed(2);
}

// Fekete, O'Neil, O'Neil (SIGMOD Record 2004): both accounts are empty, 1 is withdrawn from with a
// penalty unless 2 was paid into before. The reader sees the payment and no withdrawal, so that the
// withdrawal comes later, and yet was fined.
bool read_only_anomaly(IsolationLevel level) {
  Hermitage h(level, 3, 0, 0);
  Value withdraws[2];
  Value reads[2];
  h.begin(0).begin(1).read(0, 1, &withdraws[0]).read(0, 2, &withdraws[1]);
  h.write(1, 2, 20).end(1);
  h.begin(2).read(2, 1, &reads[0]).read(2, 2, &reads[1]).end(2);
  h.write(0, 1, -11).end(0);
  h.run();
  h.expect_only_conflicts();
  EXPECT_TRUE(h.committed(1) && h.committed(2));
  EXPECT_TRUE(reads[0] == 0 && reads[1] == 20);
  return h.committed(0);
}

struct Case {
  const char* name;
  bool (*anomaly)(IsolationLevel);
};
constexpr Case kCases[] = {
    {"G0", dirty_write},
    {"G1a", aborted_read},
    {"G1b", intermediate_read},
    {"G1c", circular_information_flow},
    {"OTV", observed_transaction_vanishes},
    {"PMP", predicate_many_preceders},
    {"PMP-write", predicate_many_preceders_of_a_write},
    {"P4", lost_update},
    {"G-single", read_skew},
    {"G-single-predicate", read_skew_by_predicate},
    {"G-single-write", read_skew_of_a_write},
    {"G-single-write-2", read_skew_of_an_early_write},
    {"G2-item", write_skew},
    {"G2", write_skew_by_predicate},
    {"G2-two-edges", write_skew_by_two_edges},
    {"read-only", read_only_anomaly},
};

struct Admitted {
  bool by_snapshot;
  bool by_serializable;
};

// The rows "| `G0` | what it is | prevented | prevented |" of docs/isolation.md.
std::map<std::string, Admitted> documented() {
  std::map<std::string, Admitted> table;
  std::ifstream file(std::string(DIPTYCH_SOURCE_DIR) + "/docs/isolation.md");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("| `")) continue;
    std::vector<std::string> cells;
    std::istringstream parts(line);
    for (std::string cell; std::getline(parts, cell, '|');) {
      const size_t first = cell.find_first_not_of(' ');
      if (first == std::string::npos) continue;
      cells.push_back(cell.substr(first, cell.find_last_not_of(' ') - first + 1));
    }
    if (cells.size() != 4) continue;
    const auto admits = [&](const std::string& cell) {
      EXPECT_TRUE(cell == "admitted" || cell == "prevented") << line;
      return cell == "admitted";
    };
    table[cells[0].substr(1, cells[0].size() - 2)] = {admits(cells[2]), admits(cells[3])};
  }
  return table;
}

class HermitageStress : public ::testing::TestWithParam<Case> {};

TEST_P(HermitageStress, EachLevelAdmitsWhatTheDocumentSays) {
  const auto table = documented();
  const auto row = table.find(GetParam().name);
  ASSERT_NE(row, table.end()) << "docs/isolation.md has no row for it";
  EXPECT_EQ(GetParam().anomaly(IsolationLevel::kSnapshot), row->second.by_snapshot);
  EXPECT_EQ(GetParam().anomaly(IsolationLevel::kSerializable), row->second.by_serializable);
}

INSTANTIATE_TEST_SUITE_P(Cases, HermitageStress, ::testing::ValuesIn(kCases), [](const auto& of) {
  std::string name = of.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(HermitageTable, NamesTheseCasesAndNoOther) {
  const auto table = documented();
  EXPECT_EQ(table.size(), std::size(kCases));
  for (const Case& of : kCases) EXPECT_TRUE(table.contains(of.name)) << of.name;
}

}  // namespace
}  // namespace diptych::oltp::test
