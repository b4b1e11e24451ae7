// Joins along a foreign key against a model: right whether a child's parent is missing, deleted,
// comes after it, or comes again as another row.

#include <algorithm>
#include <chrono>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "dispatcher/database.h"

namespace diptych::dispatcher {
namespace {

struct ParentRow {
  int32_t p_id = 0;
  int32_t kind = 0;
};
BOOST_DESCRIBE_STRUCT(ParentRow, (), (p_id, kind))

struct ChildRow {
  int32_t c_id = 0;
  base::Nullable<int32_t> parent;
};
BOOST_DESCRIBE_STRUCT(ChildRow, (), (c_id, parent))

constexpr int32_t kNoParent = -1;

// One change of either table: the row is erased where it is there, or inserted; a child that is
// there is moved to the parent half of the time.
struct FamilyChange {
  bool of_parent = false;
  bool moves = false;
  int32_t id = 0;
  int32_t value = 0;  // the kind, or the parent
};
BOOST_DESCRIBE_STRUCT(FamilyChange, (), (of_parent, moves, id, value))

const std::vector<std::string> kFamilyQueries = {
    "SELECT c_id, p_id, kind FROM child JOIN parent ON parent.p_id = child.parent",
    "SELECT c_id, p_id, kind FROM child LEFT JOIN parent ON parent.p_id = child.parent",
    "SELECT c_id, p_id, kind FROM child FULL JOIN parent ON parent.p_id = child.parent",
    "SELECT c_id FROM child WHERE NOT EXISTS (SELECT 1 FROM parent WHERE p_id = child.parent)",
    "SELECT p_id, count(c_id) FROM parent LEFT JOIN child ON p_id = child.parent GROUP BY p_id",
    "SELECT kind, count(*) FROM child JOIN parent ON p_id = child.parent GROUP BY kind"};

class ForeignKeyJoinModel : public ::testing::TestWithParam<uint32_t> {
 protected:
  using Rows = std::vector<std::string>;

  void SetUp() override {
    database_ = *Database::open({.placement = {.olap_threads = GetParam()},
                                 .block_rows = storage::kBlockRowsMin,
                                 .partitions = 2});
    for (const char* ddl :
         {"CREATE TABLE parent (p_id INT NOT NULL, kind INT NOT NULL, PRIMARY KEY (p_id))",
          "CREATE TABLE child (c_id INT NOT NULL, parent INT, PRIMARY KEY (c_id), "
          "FOREIGN KEY (parent) REFERENCES parent (p_id))"}) {
      const auto created = database_->execute_ddl(ddl);
      ASSERT_TRUE(created.ok()) << created.error().to_string();
    }
    const auto parents = *database_->bind_table<ParentRow>("parent");
    const auto children = *database_->bind_table<ChildRow>("child");
    const auto parent_by_id = *database_->bind_index<&ParentRow::p_id>("parent_pkey");
    const auto child_by_id = *database_->bind_index<&ChildRow::c_id>("child_pkey");
    change_ = *database_->register_procedure<FamilyChange, oltp::Nothing>(
        "change", [=](Transaction& txn, const FamilyChange& change) -> base::Result<oltp::Nothing> {
          if (change.of_parent) {
            if (const auto there = txn.get_for_update(parent_by_id, change.id)) {
              txn.erase(*there);
              return oltp::Nothing{};
            }
            const auto row = txn.insert(parents, ParentRow{change.id, change.value});
            return row ? base::Result<oltp::Nothing>(oltp::Nothing{}) : row.error();
          }
          const auto parent = change.value == kNoParent ? base::Nullable<int32_t>() : change.value;
          if (const auto there = txn.get_for_update(child_by_id, change.id)) {
            if (change.moves) {
              txn.update(*there, set<&ChildRow::parent>(parent));
            } else {
              txn.erase(*there);
            }
            return oltp::Nothing{};
          }
          const auto row = txn.insert(children, ChildRow{change.id, parent});
          return row ? base::Result<oltp::Nothing>(oltp::Nothing{}) : row.error();
        });
  }

  void make(const FamilyChange& change) {
    const auto made = database_->call(change_, change).get();
    ASSERT_TRUE(made.ok()) << made.error().to_string();
    std::map<int32_t, int32_t>& rows = change.of_parent ? parents_ : children_;
    if (rows.contains(change.id) && !(change.moves && !change.of_parent)) {
      rows.erase(change.id);
    } else {
      rows[change.id] = change.value;
    }
  }

  // The answers to kFamilyQueries, child by child.
  std::vector<Rows> expected() const {
    std::vector<Rows> answers(kFamilyQueries.size());
    std::map<int32_t, int> by_parent;
    std::map<int32_t, int> by_kind;
    for (const auto& [id, kind] : parents_) by_parent[id] = 0;
    for (const auto& [child, parent] : children_) {
      const auto found = parents_.find(parent);
      const std::string name = std::to_string(child);
      if (found == parents_.end()) {
        answers[1].push_back(name + "|NULL|NULL");
        answers[3].push_back(name);
        continue;
      }
      answers[0].push_back(name + "|" + std::to_string(parent) + "|" +
                           std::to_string(found->second));
      ++by_parent[parent];
      ++by_kind[found->second];
    }
    answers[1].insert(answers[1].end(), answers[0].begin(), answers[0].end());
    answers[2] = answers[1];
    for (const auto& [id, count] : by_parent) {
      if (count == 0) {
        answers[2].push_back("NULL|" + std::to_string(id) + "|" + std::to_string(parents_.at(id)));
      }
      answers[4].push_back(std::to_string(id) + "|" + std::to_string(count));
    }
    for (const auto& [kind, count] : by_kind) {
      answers[5].push_back(std::to_string(kind) + "|" + std::to_string(count));
    }
    for (Rows& rows : answers) std::sort(rows.begin(), rows.end());
    return answers;
  }

  void expect_joins_are_right() {
    const auto results = database_->query_batch(kFamilyQueries);
    const std::vector<Rows> answers = expected();
    for (size_t i = 0; i < results.size(); ++i) {
      ASSERT_TRUE(results[i].ok()) << results[i].error().to_string();
      Rows rows;
      for (const auto& row : results[i]->rows) {
        std::string line;
        for (const base::Value& value : row) {
          line += (line.empty() ? "" : "|") + base::to_string(value);
        }
        rows.push_back(line);
      }
      std::sort(rows.begin(), rows.end());
      ASSERT_EQ(rows, answers[i]) << kFamilyQueries[i];
    }
  }

  std::unique_ptr<Database> database_;
  ProcedureRef<FamilyChange, oltp::Nothing> change_;
  std::map<int32_t, int32_t> parents_;   // kinds by id
  std::map<int32_t, int32_t> children_;  // parents by id
};

TEST_P(ForeignKeyJoinModel, ParentsMissDisappearAndComeLater) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto below = [&](int32_t bound) {
    return static_cast<int32_t>(random() % static_cast<uint64_t>(bound));
  };
  // A child before its parent, which then comes, goes, and comes again as another row.
  make({.of_parent = false, .id = 1, .value = 7});
  expect_joins_are_right();
  for (const int32_t kind : {1, 1, 2}) {
    make({.of_parent = true, .id = 7, .value = kind});
    expect_joins_are_right();
  }
  for (int round = 0; round < 60 && !HasFailure(); ++round) {
    for (int32_t changes = 1 + below(40); changes > 0 && !HasFailure(); --changes) {
      if (below(2) == 0) {
        make({.of_parent = true, .id = below(40), .value = below(5)});
      } else {
        make({.of_parent = false,
              .moves = below(2) == 0,
              .id = below(120),
              .value = below(45) + kNoParent});
      }
    }
    expect_joins_are_right();
  }
}

// Of both tables most rows go, the others move to other places of the columns, and some come again.
TEST_P(ForeignKeyJoinModel, ParentsAndChildrenThatMoveFindEachOther) {
  constexpr auto kRows = 6 * static_cast<int32_t>(storage::kBlockRowsMin);
  std::mt19937_64 random(GetParam());
  const auto below = [&](int32_t bound) {
    return static_cast<int32_t>(random() % static_cast<uint64_t>(bound));
  };
  const auto moved = [&] { return database_->metrics().memory.replica.rows_moved; };
  for (int32_t id = 0; id < kRows && !HasFailure(); ++id) {
    make({.of_parent = true, .id = id, .value = below(5)});
    make({.of_parent = false, .id = id, .value = below(kRows + 9)});
  }
  for (int32_t id = 0; id < kRows && !HasFailure(); ++id) {
    if (below(12) != 0) make({.of_parent = true, .id = id});
    if (below(12) != 0) make({.of_parent = false, .id = id});
  }
  for (int i = 0; moved() == 0 && i < 1'000; ++i) {
    expect_joins_are_right();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_GT(moved(), 0U);
  for (int round = 0; round < 10 && !HasFailure(); ++round) {
    for (int i = 0; i < 50 && !HasFailure(); ++i) {
      make({.of_parent = true, .id = below(kRows), .value = below(5)});
    }
    expect_joins_are_right();
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, ForeignKeyJoinModel, ::testing::Values(1, 3));

}  // namespace
}  // namespace diptych::dispatcher
